"""A backlog starves nobody: whatever waits, no transaction touches more than a bounded number of rows."""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, event
from sqlmodel import select

from backlog_fixtures import counted
from delivery_fixtures import START, ended, turn
from digest_fixtures import Shop, Silent, new_shop
from schemas.tables import Session as SessionRow
from schemas.tables import Turn
from stores.audit import audit
from tasks import sweep as sweeping
from tasks.digest import digest
from tasks.index import BATCH, index

TURNS = 2_000
#: A window's turns with their ledger rows and moments, each moment owed, and what the window itself is about.
ROWS = 900
STATEMENTS = 400


@pytest.fixture(params=["sqlite", "postgres"])
def quiet(request: pytest.FixtureRequest, home: Path) -> Generator[Shop]:
    """A shop in which nothing was said yet."""
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with new_shop(home, url) as made:
        yield made


@pytest.fixture
def shop(quiet: Shop) -> Shop:
    """The shop with one session that has fallen far behind."""
    for first in range(0, TURNS, 500):
        quiet.say(*(_said(number) for number in range(first, first + 500)))
    return quiet


def _said(number: int) -> dict[str, object]:
    role = "assistant" if number % 2 else "user"
    return turn(f"Parcel {number} has left the warehouse.", number, role=role, at=START + timedelta(seconds=number))


def _statements(shop: Shop) -> list[str]:
    told: list[str] = []

    def note(_c: Connection, _cursor: object, statement: str, *_: object) -> None:
        told.append(statement)

    event.listen(shop.kit.db.engine, "before_cursor_execute", note)
    try:
        index(shop.kit)
    finally:
        event.remove(shop.kit.db.engine, "before_cursor_execute", note)
    return told


def test_a_session_that_fell_behind_is_cut_in_small_transactions_each_turn_once(shop: Shop) -> None:
    most = shop.kit.policies.windows.window_turns

    with counted(shop.kit.db) as transactions:
        shop.cut()

    assert max(written.rows for written in transactions) <= 3 * most
    assert max(written.statements for written in transactions) <= 12
    assert sum(len(window.turn_ids) for window in shop.windows()) == TURNS
    assert max(len(window.turn_ids) for window in shop.windows()) <= most
    assert all(row.window_id is not None for row in _turns(shop))
    (session,) = shop.rows(SessionRow)
    assert (session.undigested_count, session.undigested_tokens, session.due_at) == (0, 0, None)


def test_the_books_are_right_in_the_middle_of_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep's time is up after the first transaction; the next one goes on."""
    monkeypatch.setattr(sweeping, "SECONDS_PER_SWEEP", 0.001)

    sweeping.sweep(shop.kit, Silent())

    waiting = [row for row in _turns(shop) if row.window_id is None]
    (session,) = shop.rows(SessionRow)
    assert 0 < len(waiting) < TURNS
    assert session.undigested_count == len(waiting)
    assert session.undigested_tokens == sum(row.token_count for row in waiting)
    while session.due_at is not None:
        sweeping.sweep(shop.kit, Silent())
        (session,) = shop.rows(SessionRow)
    assert all(row.window_id is not None for row in _turns(shop))


def test_a_sweep_of_a_session_that_goes_on_reads_only_what_still_waits(shop: Shop) -> None:
    shop.cut()
    shop.say(turn("And one more.", TURNS), ended(TURNS + 1))

    with counted(shop.kit.db) as transactions:
        shop.cut()

    # One turn into a window, its ledger row, the window, the session, the job's mark.
    assert max(written.rows for written in transactions) <= 5


def test_no_transaction_of_a_backlog_is_long(shop: Shop) -> None:
    with counted(shop.kit.db) as transactions:
        shop.cut()
        for _ in range(3):
            assert digest(shop.kit) is not None
        while index(shop.kit):
            pass

    assert max(written.rows for written in transactions) <= ROWS
    assert max(written.statements for written in transactions) <= STATEMENTS


def test_a_batch_of_the_index_costs_a_handful_of_statements(shop: Shop) -> None:
    shop.cut()
    assert digest(shop.kit) is not None
    owed = len(shop.owed())
    assert owed > BATCH

    told = _statements(shop)

    assert len(shop.owed()) == owed - BATCH
    asked = [statement for statement in told if not statement.startswith(("PRAGMA", "BEGIN"))]
    assert len(asked) < 40


def test_what_was_cut_in_pieces_adds_up(quiet: Shop) -> None:
    turns = 2 * quiet.kit.policies.windows.window_turns + BATCH
    quiet.say(*(_said(number) for number in range(turns)), ended(turns + 1))
    quiet.settle()

    found = audit(quiet.kit.db, quiet.kit.index, procedures=quiet.kit.policies.procedures)

    assert len(quiet.windows()) > 2
    assert found.differences == ()


def _turns(shop: Shop) -> list[Turn]:
    with shop.kit.db.read() as session:
        return list(session.exec(select(Turn)))

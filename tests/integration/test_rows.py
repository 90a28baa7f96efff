"""Many rows in one statement: only new ones, and every value as the column type has it. On both databases."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from sqlmodel import SQLModel, col, select

from schemas.tables import LedgerEntry, Turn
from schemas.tables import Session as SessionRow
from store_fixtures import STORES, migrated
from stores.rows import insert, insert_new, update_known
from stores.sql import Database

TENANT = uuid4()
NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
HARD = 'a "quoted", {braced}\\ text\n with NULL, 中文 and 🙂'


@pytest.fixture(params=STORES)
def db(request: pytest.FixtureRequest) -> Generator[Database]:
    yield from migrated(request)


def _empty(model: type[SQLModel]) -> dict[str, Any]:
    return dict.fromkeys(column.name for column in cast("Any", model).__table__.columns)


def _entry(number: int, **changes: Any) -> dict[str, Any]:
    entry = {
        "tenant_id": TENANT,
        "event_id": UUID(int=number),
        "kind": "turn",
        "state": "stored",
        "reason": None,
        "content_hash": "h",
        "producer": "p",
        "session_ref": None,
        "window_id": None,
        "received_at": NOW,
    }
    return {**entry, **changes}


def _turn(number: int, **changes: Any) -> dict[str, Any]:
    row = _empty(Turn) | {
        "tenant_id": TENANT,
        "event_id": UUID(int=number),
        "user_ref": UUID(int=7),
        "session_ref": UUID(int=8),
        "at": NOW,
        "received_at": NOW,
        "utc_offset_minutes": 0,
        "role": "user",
        "content": b"\0said",
        "language": "en",
        "token_count": number,
        "flags": list[str](),
    }
    return row | changes


def test_only_new_rows_are_answered(db: Database) -> None:
    first = [_entry(number) for number in range(3)]
    later = [_entry(number, content_hash="other") for number in (4, 1, 3)]

    assert db.write(lambda s: insert_new(s, LedgerEntry, first)) == first
    assert db.write(lambda s: insert_new(s, LedgerEntry, later)) == [later[2], later[0]]
    assert db.write(lambda s: insert_new(s, LedgerEntry, later)) == []
    assert db.write(lambda s: insert_new(s, LedgerEntry, [])) == []

    with db.read() as session:
        hashes = list(session.exec(select(LedgerEntry.content_hash).order_by(col(LedgerEntry.event_id))))
    assert hashes == ["h", "h", "h", "other", "other"]


def test_every_value_comes_back_as_it_went_in(db: Database) -> None:
    rows = [
        _turn(
            1,
            content=bytes(range(256)),
            at=NOW.astimezone(timezone(timedelta(hours=8))),
            original_at=NOW + timedelta(microseconds=1),
            flags=[HARD, "b"],
            thread_id=HARD,
            tool_ok=True,
            procedure_version=3,
            reply_to=UUID(int=5),
            seq=2**31 - 1,
        ),
        _turn(2, content=HARD.encode(), tool_ok=False, thread_id="NULL", seq=0),
        _turn(3, thread_id=""),
    ]

    db.write(lambda s: insert(s, Turn, rows))
    db.write(lambda s: insert(s, Turn, [_turn(1, content=b"late")]))

    with db.read() as session:
        found = {turn.event_id: turn.model_dump() for turn in session.exec(select(Turn))}
    assert found == {row["event_id"]: row for row in rows}


def test_a_naive_time_is_refused(db: Database) -> None:
    with pytest.raises(ValueError, match="naive time"):
        db.write(lambda s: insert(s, Turn, [_turn(1, at=NOW.replace(tzinfo=None))]))


def test_writers_of_the_same_rows_insert_each_once(db: Database) -> None:
    rows = [_entry(number) for number in range(1000)]

    def write(turn: int) -> int:
        return len(db.write(lambda s: insert_new(s, LedgerEntry, rows if turn % 2 else rows[::-1])))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, range(8))) == 1000


def test_an_update_changes_what_it_names_in_the_rows_it_names(db: Database) -> None:
    refs = [UUID(int=number) for number in range(3)]

    def session_row(ref: UUID) -> dict[str, Any]:
        counts = dict.fromkeys(("turn_count", "undigested_count", "undigested_tokens"), 1)
        own = {"id": ref, "tenant_id": TENANT, "user_ref": uuid4(), "session_hash": ref.hex, "session_id": b"\0s"}
        return _empty(SessionRow) | counts | own | {"last_received_at": NOW, "created_at": NOW}

    db.write(lambda s: insert(s, SessionRow, [session_row(ref) for ref in refs]))
    changes = [{"id": ref, "turn_count": 2 + place, "due_at": NOW if place else None} for place, ref in enumerate(refs)]
    db.write(lambda s: update_known(s, SessionRow, changes[:2]))
    db.write(lambda s: update_known(s, SessionRow, []))

    with db.read() as session:
        found = session.exec(select(SessionRow).order_by(col(SessionRow.id))).all()
    assert [(row.turn_count, row.due_at) for row in found] == [(2, None), (3, NOW), (1, None)]
    assert {row.undigested_count for row in found} == {1}

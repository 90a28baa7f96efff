"""The audit: silent on a service whose accounts add up, and for every rule loud when somebody breaks it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from sqlalchemy import delete, update
from sqlmodel import col
from typer.testing import CliRunner

from audit_fixtures import MORE_PLANTS, PLANTS, Books, letter, open_books, work, write_books
from delivery_fixtures import BATCH, ended, turn
from schemas.tables import LedgerEntry, Turn, Window
from services import scratch
from stores.audit import Audit, audit
from tasks.ingest import ingest_events
from workers.cli import build

Plant = Callable[[Books], None]


@pytest.fixture(scope="module")
def written() -> Generator[tuple[Path, str]]:
    """A folder with the books of one tenant on SQLite, written once: each test gets a copy."""
    with scratch() as folder:
        yield folder, write_books(folder)


@pytest.fixture
def books(written: tuple[Path, str], home: Path) -> Generator[Books]:
    """A copy of the books."""
    shutil.copytree(written[0], home, dirs_exist_ok=True)
    opened = open_books(home, written[1])
    yield opened
    opened.kit.close()


def _broken(books: Books) -> set[str]:
    return {one.check for one in audit(books.kit.db, books.kit.index).differences}


def test_accounts_that_add_up_are_left_in_peace(books: Books):
    found = audit(books.kit.db, books.kit.index)

    (account,) = found.accounts
    assert found.is_clean, found.differences
    assert found.letters == ()
    assert found.owed == 0
    assert (account.received, account.kept, account.waiting) == (15, 11, 0)
    assert account.receptions == (11, 3, 1, 0)
    assert account.states == {"digested": 6, "applied": 5, "rejected": 1}


@pytest.mark.parametrize("rule", sorted(PLANTS))
def test_a_planted_difference_is_named(books: Books, rule: str):
    PLANTS[rule](books)

    differences = {one.check: one for one in audit(books.kit.db, books.kit.index).differences}

    assert rule in differences
    assert differences[rule].count > 0
    assert differences[rule].ids or differences[rule].found


@pytest.mark.parametrize(("rule", "plant"), MORE_PLANTS)
def test_the_other_side_of_a_rule_is_seen_too(books: Books, rule: str, plant: Plant):
    plant(books)

    assert rule in _broken(books)


def test_every_rule_that_is_asked_can_be_broken(books: Books):
    asked = set(audit(books.kit.db, books.kit.index).checked)

    assert asked | {"receptions_stored", "receptions_rejected", "receptions_dead"} == set(PLANTS)


def test_turns_that_were_purged_are_no_difference(books: Books):
    said = books.first(Turn)
    books.change(
        delete(Turn).where(col(Turn.event_id) == said.event_id),
        update(LedgerEntry).where(col(LedgerEntry.event_id) == said.event_id).values(state="purged"),
    )

    assert not _broken(books) & {"window_turns", "event_without_turn", "receptions_stored"}


def test_work_that_waits_is_no_difference(books: Books):
    ingest_events(books.kit, books.key, [turn("I like rooibos.", 99)], batch=BATCH)

    found = audit(books.kit.db, books.kit.index)

    assert found.is_clean, found.differences
    assert found.accounts[0].waiting == 1


def test_what_a_running_service_owes_its_index_is_counted_and_no_difference(books: Books):
    PLANTS["outbox"](books)

    found = audit(books.kit.db, books.kit.index, running=True)

    assert found.is_clean
    assert found.owed == 1


def test_dead_letters_are_listed(books: Books):
    letter(books, "batch", "b1")
    letter(books, "attempt", "a1")

    found = audit(books.kit.db, books.kit.index)

    assert [one.key for one in found.letters] == ["b1"]
    assert found.letter_count == 1


def test_a_dead_window_with_its_letter_is_no_difference(books: Books):
    window = books.first(Window)
    PLANTS["window_letter"](books)
    letter(books, "window", str(window.id))

    assert "window_letter" not in _broken(books)


def test_the_command_says_it_and_exits_by_it(books: Books, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AFTERTURN_HOME", str(books.kit.settings.home))
    clean = CliRunner().invoke(build(), ["audit", "--json"])
    PLANTS["index_extra"](books)
    broken = CliRunner().invoke(build(), ["audit"])

    told = json.loads(clean.stdout)
    assert clean.exit_code == 0
    assert told["clean"]
    assert told["tenants"][0]["digested"] == 6
    assert broken.exit_code == 1
    assert "index_extra" in broken.stdout


def _audit_all(home: Path, url: str) -> tuple[Audit, set[str]]:
    books = open_books(home, write_books(home, url), url)
    try:
        clean = audit(books.kit.db, books.kit.index)
        for rule in ("index_version", "duplicate_fact", "merged_episode", "foreign_row", "outbox", "index_extra"):
            PLANTS[rule](books)
        for rule in ("event_window", "session_without_due", "procedure_rates", "window_turns", "receptions_stored"):
            PLANTS[rule](books)
        return clean, _broken(books)
    finally:
        books.kit.close()


def test_postgresql_is_asked_the_same(home: Path, postgres_url: str):
    clean, broken = _audit_all(home, postgres_url)

    assert clean.is_clean, clean.differences
    assert broken >= {
        *("index_version", "duplicate_fact", "merged_episode", "foreign_row", "outbox", "index_extra"),
        *("event_window", "session_without_due", "procedure_rates", "window_turns", "receptions_stored"),
    }


def test_accounts_still_add_up_after_more_work(books: Books):
    ingest_events(books.kit, books.key, [turn("I like rooibos.", 99), ended(120)], batch=BATCH)
    work(books.kit)

    assert _broken(books) == set()

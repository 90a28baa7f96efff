"""Sealed batches on both databases: opened under their own key only, and a batch that killed its worker ends alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest
from sqlmodel import Session, col, select

from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.ids import uuid7
from afterturn.sealing import Sealer
from backlog_fixtures import counted
from delivery_fixtures import BATCH, START, World, turn, world
from schemas.envelopes import disclose
from schemas.errors import BadBatch, StoreBusy
from schemas.tables import DeadLetter, LedgerEntry, Turn
from stores import dead, ledger
from stores.ledger import Tally
from stores.sql import Database
from tasks.ingest import ingest_batch, ingest_events
from tasks.receipts import Receipt

__all__ = ["world"]

T = TypeVar("T")


def _states(receipts: Sequence[Receipt]) -> list[str]:
    return [receipt.state for receipt in receipts]


def _turns(world: World) -> list[Turn]:
    with world.db.read() as session:
        return list(session.exec(select(Turn).order_by(col(Turn.at), col(Turn.event_id))))


def _ledger(world: World) -> dict[str, int]:
    with world.db.read() as session:
        return ledger.states(session, world.key.tenant_id)


def _seal(world: World, events: Sequence[dict[str, Any]], *, credential: str | None = None) -> str:
    parsed = parse_credential(credential or world.credential)
    sealer = Sealer(parsed.key_id, seal_key(parsed.secret), uuid7())
    return sealer.seal(uuid7(), encode_batch([_as_text(one) for one in events], sent_at=START))


def _as_text(sent: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, UUID) else value for name, value in sent.items()}


def _letters(world: World) -> list[DeadLetter]:
    with world.db.read() as session:
        return dead.waiting(session)


def test_a_sealed_batch_is_opened_and_kept(world: World):
    events = [turn("Hello", 0), turn("你好", 1)]

    receipts = ingest_batch(world.kit, _seal(world, events))

    assert _states(receipts) == ["stored", "stored"]
    assert [row.at for row in _turns(world)] == [START, START + timedelta(seconds=1)]


def test_a_batch_over_both_ways_is_one(world: World):
    events = [turn("Hello", 0, reply_to=None)]

    ingest_batch(world.kit, _seal(world, events))

    assert _states(ingest_events(world.kit, world.key, [_as_text(events[0])], batch=BATCH)) == ["duplicate"]


@pytest.mark.parametrize("spoil", ["not base64!", "", "forged"])
def test_a_batch_that_does_not_open_becomes_a_dead_letter(world: World, spoil: str):
    good = _seal(world, [turn()])
    blob = f"{good[:-8]}AAAAAAA=" if spoil == "forged" else spoil

    with pytest.raises(BadBatch):
        ingest_batch(world.kit, blob)

    letters = _letters(world)
    assert [letter.kind for letter in letters] == ["batch"]
    assert letters[0].payload is not None
    assert disclose(letters[0].payload) == blob


def test_a_batch_under_a_foreign_key_id_is_refused(world: World):
    stranger = "at_aaaaaaaaaaaa_" + "A" * 43

    with pytest.raises(BadBatch) as refused:
        ingest_batch(world.kit, _seal(world, [turn()], credential=stranger))

    assert refused.value.code == "unknown_key"
    assert _turns(world) == []


def test_a_redelivered_batch_is_taken_whole_and_leaves_no_trace_of_it(world: World):
    events = [turn(f"turn {n}", n) for n in range(4)]
    ingest_batch(world.kit, _seal(world, events[:2]))

    with counted(world.db) as transactions:
        receipts = ingest_batch(world.kit, _seal(world, events), redelivered=True)

    # Opening, the batch as such, the events, the end: however many events there are.
    assert len(transactions) == 4
    assert _states(receipts) == ["duplicate", "duplicate", "stored", "stored"]
    with world.db.read() as session:
        assert session.exec(select(DeadLetter)).all() == []


def test_a_batch_that_was_lost_whole_is_taken_event_by_event(world: World):
    blob = _seal(world, [turn(f"turn {n}", n) for n in range(4)])
    name = hashlib.sha256(blob.encode()).hexdigest()[:32]
    for _ in range(2):
        world.db.write(lambda session: dead.begin_attempt(session, f"{name}:whole"))

    with counted(world.db) as transactions:
        receipts = ingest_batch(world.kit, blob, redelivered=True)

    assert len(transactions) > 4 * 3
    assert _states(receipts) == ["stored"] * 4
    with world.db.read() as session:
        assert session.exec(select(DeadLetter)).all() == []


class _Away(Database):
    """A database that is away while events are kept: at the writes with these numbers."""

    def __init__(self, url: str, *numbers: int) -> None:
        super().__init__(url)
        self.numbers = numbers
        self.count = 0

    def write(self, fn: Callable[[Session], T], *, give_up_seconds: float | None = None) -> T:
        self.count += 1
        if self.count in self.numbers:
            raise StoreBusy("away")
        return super().write(fn, give_up_seconds=give_up_seconds)


@pytest.mark.parametrize("was_lost_whole", [False, True])
def test_a_database_that_is_away_for_a_while_kills_no_event(world: World, was_lost_whole: bool):
    blob = _seal(world, [turn()])
    name = hashlib.sha256(blob.encode()).hexdigest()[:32]
    if was_lost_whole:
        for _ in range(2):
            world.db.write(lambda session: dead.begin_attempt(session, f"{name}:whole"))

    # The batch's own attempt, what is tried of it (one event more to begin), and then the keeping itself.
    keeping = 4 if was_lost_whole else 3
    for _ in range(9):
        away = _Away(world.db.url, keeping)
        with pytest.raises(StoreBusy):
            ingest_batch(replace(world.kit, db=away), blob, redelivered=True)
        away.dispose()

    assert _states(ingest_batch(world.kit, blob, redelivered=True)) == ["stored"]
    assert _letters(world) == []


def test_an_event_whose_every_attempt_was_lost_ends_alone_as_a_dead_letter(world: World):
    poison, good = turn("poison", 0), turn("good", 1)
    name = f"{world.key.tenant_id}:{poison['event_id']}"
    for _ in range(3):
        world.db.write(lambda session: dead.begin_attempt(session, name))

    receipts = ingest_batch(world.kit, _seal(world, [poison, good]), redelivered=True)

    assert _states(receipts) == ["dead", "stored"]
    assert _ledger(world) == {"dead": 1, "stored": 1}
    letters = _letters(world)
    assert [(letter.kind, letter.error_code) for letter in letters] == [("event", "lost_workers")]
    with world.db.read() as session:
        entry = session.exec(select(LedgerEntry).where(LedgerEntry.event_id == poison["event_id"])).one()
        assert ledger.receptions(session) == Tally(stored=1, dead=1)
    assert entry.reason == "lost_workers"


def test_a_batch_whose_every_attempt_was_lost_before_it_opened_ends_as_a_dead_letter(world: World):
    blob = _seal(world, [turn()])

    name = hashlib.sha256(blob.encode()).hexdigest()[:32]
    for _ in range(3):
        world.db.write(lambda session: dead.begin_attempt(session, name))

    assert ingest_batch(world.kit, blob, redelivered=True) == []

    assert [(letter.kind, letter.error_code) for letter in _letters(world)] == [("batch", "lost_workers")]

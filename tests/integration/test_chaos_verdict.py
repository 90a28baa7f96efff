"""The verdict of a chaos run: each way of breaking a promise is seen, and what was planted is no difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, update
from sqlmodel import col

from afterturn.ids import uuid7
from delivery_fixtures import BATCH, World, event, new_world, turn
from schemas.envelopes import enclose
from schemas.errors import BadBatch
from schemas.tables import LedgerEntry, ProcedureOutcome, Turn
from tasks.ingest import ingest_batch, ingest_events
from workers.chaos.stream import Journal as Writer
from workers.chaos.verdict import Verdict, judge, read_journal


class Staged:
    """A world whose journal says what was published."""

    def __init__(self, home: Path) -> None:
        self.world: World = new_world(home)
        self.path = home / "journal"
        self.writer = Writer(self.path)
        self.said = [turn(f"turn {n}", n) for n in range(4)]
        self.outcome = event("procedure_outcome", 9, procedure={"name": "refund", "version": 1}, succeeded=True)
        for one in self.said:
            self.publish(one, "turn:user", str(one["content"]))
        self.publish(self.outcome, "outcome", "", "refund:1")
        ingest_events(self.world.kit, self.world.key, [*self.said, self.outcome], batch=BATCH)

    def publish(self, one: dict[str, Any], kind: str, content: str, detail: str = "") -> None:
        self.writer.begin("acme", str(one["event_id"]), kind, content, detail)
        self.writer.promise("acme", str(one["event_id"]))

    def verdict(self, *, destroyed: set[UUID] | None = None, poisoned: set[str] | None = None) -> Verdict:
        with self.world.db.read() as session:
            return judge(
                session,
                read_journal(self.path),
                destroyed=destroyed or set(),
                poisoned=poisoned or set(),
                lost_poison=0,
            )

    def change(self, statement: Any) -> None:
        self.world.db.write(lambda session: session.connection().execute(statement))


@pytest.fixture
def staged(home: Path) -> Staged:
    return Staged(home)


def test_a_kept_promise_is_no_difference(staged: Staged):
    verdict = staged.verdict()

    assert verdict.wrong == ()
    assert (verdict.published, verdict.promised, verdict.stored) == (5, 5, 5)


def test_what_was_begun_and_never_promised_may_be_missing(staged: Staged):
    staged.writer.begin("acme", str(uuid7()), "turn:user", "cut off")

    assert staged.verdict().wrong == ()


def _lose(staged: Staged) -> None:
    staged.publish(turn("lost"), "turn:user", "lost")


def _invent(staged: Staged) -> None:
    ingest_events(staged.world.kit, staged.world.key, [turn("nobody said this")], batch=BATCH)


def _reject(staged: Staged) -> None:
    staged.change(update(LedgerEntry).where(_is(staged, LedgerEntry)).values(state="rejected"))


def _alter(staged: Staged) -> None:
    staged.change(update(Turn).where(_is(staged, Turn)).values(content=enclose("something else")))


def _uncount(staged: Staged) -> None:
    staged.change(delete(ProcedureOutcome))


def _bury(staged: Staged) -> None:
    with pytest.raises(BadBatch):
        ingest_batch(staged.world.kit, "nobody planted this")


def _is(staged: Staged, table: Any) -> Any:
    return col(table.event_id) == staged.said[0]["event_id"]


@pytest.mark.parametrize(
    ("plant", "word"),
    [
        (_lose, "lost"),
        (_invent, "never published"),
        (_reject, "not kept"),
        (_alter, "another content"),
        (_uncount, "outcomes of acme"),
        (_bury, "nobody planted"),
    ],
)
def test_a_broken_promise_is_named(staged: Staged, plant: Callable[[Staged], None], word: str):
    plant(staged)

    assert any(word in wrong for wrong in staged.verdict().wrong)


def test_a_loss_of_the_broker_is_no_excuse_but_is_told_apart(staged: Staged):
    _lose(staged)
    journal = read_journal(staged.path)
    lost = journal.promised - {one["event_id"] for one in (*staged.said, staged.outcome)}

    (wrong,) = staged.verdict(destroyed=lost).wrong

    assert "lost with the broker and never sent again" in wrong


def test_planted_batches_must_be_dead_letters(staged: Staged):
    with pytest.raises(BadBatch):
        ingest_batch(staged.world.kit, "planted")

    assert staged.verdict(poisoned={"planted"}).wrong == ()
    assert staged.verdict(poisoned={"planted", "another"}).wrong != ()

"""A database that comes and goes: no event is taken for a poisoned one because its transaction was refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from sqlmodel import Session, col, select

from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.ids import uuid7
from afterturn.sealing import Sealer
from delivery_fixtures import World, turn, world
from schemas.errors import StoreBusy
from schemas.tables import DeadLetter
from stores import dead, ledger
from stores.sql import Database
from tasks.ingest import MAX_BEGUN, ingest_batch

__all__ = ["world"]

T = TypeVar("T")


class Fading(Database):
    """Refuses the transaction that keeps the event; takes those before and after it."""

    def write(self, fn: Callable[[Session], T], *, give_up_seconds: float | None = None) -> T:
        def fading(session: Session) -> T:
            found = fn(session)
            if ledger.states(session):
                raise StoreBusy("database: away for a moment")
            return found

        return super().write(fading, give_up_seconds=give_up_seconds)


def _sealed(world: World) -> str:
    found = parse_credential(world.credential)
    one = turn()
    event = {**one, "event_id": str(one["event_id"])}
    sealer = Sealer(found.key_id, seal_key(found.secret), uuid7())
    return sealer.seal(uuid7(), encode_batch([event], sent_at=datetime.now(UTC)))


def test_an_event_that_the_database_refused_again_and_again_is_kept_in_the_end(world: World):
    blob = _sealed(world)
    for _ in range(MAX_BEGUN + 2):
        away = Fading(world.kit.settings.database_url)
        with pytest.raises(StoreBusy):
            ingest_batch(replace(world.kit, db=away), blob, redelivered=True)
        away.dispose()

    (receipt,) = ingest_batch(world.kit, blob, redelivered=True)

    assert receipt.state == "stored"
    with world.db.read() as session:
        assert ledger.states(session) == {"stored": 1}
        assert session.exec(select(DeadLetter).where(col(DeadLetter.kind) == dead.ATTEMPT)).all() == []

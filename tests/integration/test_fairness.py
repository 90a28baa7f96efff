"""One tenant's flood delays another by no more than its share: where sessions are cut, and where windows wait."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from sqlmodel import Session, col, select

from afterturn.ids import uuid7
from delivery_fixtures import BATCH, World, ended, tenant_key, turn, world
from schemas.tables import Window
from stores import tenancy, windows
from stores.sql import insert_once
from stores.tenancy import KeyInfo, KnownUser
from tasks.ingest import ingest_events
from tasks.sweep import sweep

__all__ = ["world"]

FLOOD = 10_000


class Silent:
    """A broker that is away."""

    def queued(self, name: str) -> int:
        return 0

    def hint(self, name: str, count: int) -> bool:
        return False


def _user(session: Session, key: KeyInfo) -> KnownUser:
    return tenancy.ensure_users(session, key, ["u1"])["u1"]


def _due_windows(world: World, key: KeyInfo, count: int, *, due_for_seconds: float) -> None:
    """Windows that wait, as if they had been cut one after another."""

    def add(session: Session) -> None:
        user, now = _user(session, key), world.db.now(session)
        insert_once(
            session,
            Window,
            [
                {
                    "id": uuid7(),
                    "tenant_id": key.tenant_id,
                    "user_ref": user.id,
                    "session_ref": user.id,
                    "state": "waiting",
                    "turn_ids": [],
                    "prompt_version": "test-1",
                    "generation": user.generation,
                    "next_try_at": now - timedelta(seconds=due_for_seconds) + timedelta(milliseconds=number),
                    "created_at": now,
                }
                for number in range(count)
            ],
        )

    world.db.write(add)


def _serve(world: World, claims: int, *, at_once: int) -> list[UUID]:
    """The tenants of the next claims, with that many workers: each finishes its window when all have one."""
    served: list[UUID] = []
    held: list[windows.Claim] = []
    for _ in range(claims):
        if len(held) == at_once:
            first = held.pop(0)
            world.db.write(lambda session, claim=first: windows.finish(session, claim))
        claim = windows.claim_next(world.db, lease_seconds=600)
        assert claim is not None
        held.append(claim)
        served.append(claim.tenant_id)
    return served


@pytest.mark.parametrize("workers", [1, 8])
def test_a_flood_of_due_windows_costs_a_neighbour_every_second_slot_at_most(world: World, workers: int):
    small = tenant_key(world.db, "small")
    _due_windows(world, world.key, FLOOD, due_for_seconds=3600)
    _due_windows(world, small, 20, due_for_seconds=1)  # the last to come, behind 10,000 others

    served = _serve(world, 40 + workers, at_once=workers)

    assert Counter(served)[small.tenant_id] == 20
    assert small.tenant_id in served[:2]


def test_with_several_tenants_each_gets_its_share(world: World):
    others = [tenant_key(world.db, f"tenant {number}") for number in range(3)]
    _due_windows(world, world.key, 1000, due_for_seconds=3600)
    for other in others:
        _due_windows(world, other, 10, due_for_seconds=1)

    served = Counter(_serve(world, 40, at_once=4))

    assert {served[other.tenant_id] for other in others} == {10}


def test_a_flood_of_due_sessions_does_not_keep_a_neighbours_from_being_cut(world: World):
    small = tenant_key(world.db, "small")
    for start in range(0, 300, 100):
        flood = [turn("a", n, session_id=f"s{n}") for n in range(start, start + 100)]
        ends = [ended(500, session_id=f"s{n}") for n in range(start, start + 100)]
        ingest_events(world.kit, world.key, [*flood, *ends], batch=BATCH)
    few = [turn("a", n, session_id=f"t{n}") for n in range(5)]
    ingest_events(world.kit, small, [*few, *(ended(500, session_id=f"t{n}") for n in range(5))], batch=BATCH)

    cut = 0
    while swept := sweep(world.kit, Silent()).sessions:  # On a slow machine one sweep's time ends before.
        cut += swept

    assert cut == 305
    with world.db.read() as session:
        in_order_of_cutting = list(session.exec(select(Window.tenant_id).order_by(col(Window.id))))
    assert Counter(in_order_of_cutting[:10])[small.tenant_id] == 5

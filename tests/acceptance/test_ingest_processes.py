"""Several ingest processes at once: every event once, every conversation in its order, whoever took which batch."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlmodel import col, select

from delivery_fixtures import World, ended, ids, new_world, turn
from delivery_messages import is_quiet, push, sealed
from delivery_processes import worker
from schemas.tables import Session as SessionRow
from schemas.tables import Turn, Window
from services import wait_until
from store_fixtures import STORES, empty_url
from stores import ledger, turns
from workers import broker

BATCH, BATCHES, SESSIONS, THREADS = 20, 30, 12, 4
SECONDS = 60.0


@pytest.fixture(params=STORES)
def agents_world(request: pytest.FixtureRequest, home: Path, broker_url: str) -> Generator[World]:
    made = new_world(home, empty_url(request), broker_url=broker_url)
    yield made
    made.db.dispose()


def _conversations() -> list[dict[str, Any]]:
    """Turns of sessions that share threads, each turn an answer to the one before it in its thread, in their order."""
    said: list[dict[str, Any]] = []
    last: dict[str, UUID] = {}
    for number in range(BATCH * BATCHES):
        session = number % SESSIONS
        thread = f"t{session % THREADS}"
        place = {"user_id": f"u{session}", "session_id": f"s{session}", "thread_id": thread}
        said.append(turn(f"turn {number}", number, reply_to=last.get(thread), **place))
        last[thread] = said[-1]["event_id"]
    return said


def _received(world: World) -> ledger.Tally:
    with world.db.read() as session:
        return ledger.receptions(session)


def test_two_processes_keep_every_event_once_and_every_conversation_in_its_order(home: Path, agents_world: World):
    world, said, roll = agents_world, _conversations(), random.Random(7)
    shuffled = roll.sample(said, len(said))
    batches = [sealed(world, shuffled[start : start + BATCH]) for start in range(0, len(said), BATCH)]
    again = roll.sample(batches * 2, len(batches) * 2)

    url, settings = world.kit.settings.database_url, world.kit.settings
    with broker.connect(settings.broker_url) as client:
        for message in again:
            push(client, message)
        with worker(home, "ingest", database_url=url, workers_ingest_processes="2") as running:
            assert len(running.children()) == 2
            wait_until(lambda: sum(_received(world)) == 2 * len(said) and is_quiet(client), seconds=SECONDS)
            assert _names(world) <= {"afterturn-ingest", "afterturn-cli"}
            push(client, sealed(world, [ended(1000, user_id=f"u{n}", session_id=f"s{n}") for n in range(SESSIONS)]))
            wait_until(lambda: _cut_turns(world) == len(said), seconds=SECONDS, what="every turn in a window")

    assert _received(world) == ledger.Tally(stored=len(said) + SESSIONS, duplicate=len(said))
    with world.db.read() as session:
        kept = session.exec(select(Turn).order_by(col(Turn.at), col(Turn.event_id))).all()
        counted = session.exec(select(SessionRow.turn_count)).all()
        around = turns.neighbours(session, world.key.tenant_id, ids(said))
        windows = session.exec(select(Window).order_by(col(Window.created_at), col(Window.id))).all()
    assert [row.event_id for row in kept] == ids(said)
    assert list(counted) == [len(said) // SESSIONS] * SESSIONS
    # In a thread every turn answers the one before it, whoever said that.
    assert {one: side.previous and side.previous.event_id for one, side in around.items()} == {
        one["event_id"]: one["reply_to"] for one in said
    }
    assert _by_session(windows) == {
        row.session_ref: [str(one.event_id) for one in kept if one.session_ref == row.session_ref] for row in kept
    }


def _cut_turns(world: World) -> int:
    with world.db.read() as session:
        return sum(len(row.turn_ids) for row in session.exec(select(Window)).all())


def _names(world: World) -> set[str]:
    """Under which names processes are connected to PostgreSQL."""
    if world.db.is_sqlite:
        return set()
    here = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
    with world.db.read() as session:
        found = set(session.connection().execute(text(here)).scalars())
    assert "afterturn-ingest" in found
    return found


def _by_session(windows: Any) -> dict[UUID, list[str]]:
    found: dict[UUID, list[str]] = defaultdict(list)
    for row in windows:
        found[row.session_ref] += row.turn_ids
    return dict(found)

"""The model is away in every manner. Nothing waits for it in a slot, nothing is lost over it, and all drains after."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from sqlmodel import col, select

from delivery_fixtures import BATCH, World, ended, new_world, turn
from delivery_processes import beat, worker
from schemas.tables import Episode, Window
from scripted_model import Call, Reply, ScriptedModel, error, good
from services import wait_until
from stores import dead, ledger, windows
from tasks.ingest import ingest_events

# In turn, as they come: told to wait, broken, garbage in a 200, and nothing at all.
MANNERS = (
    error(429, "Slow down.", retry_after="1"),
    error(500, "The server had an error."),
    Reply(body="\x00{[garbage"),
    Reply(hangs=True),
)
WINDOWS = 8
SECONDS = 90.0
pytestmark = pytest.mark.timeout(300)


class Outage:
    """Answers badly in every manner, and counts it."""

    def __init__(self) -> None:
        self.failed: Counter[int] = Counter()
        self._next = itertools.count()

    def answer(self, call: Call) -> Reply:
        manner = next(self._next) % len(MANNERS)
        self.failed[manner] += 1
        return MANNERS[manner]


def _say(world: World) -> None:
    said = [
        one
        for number in range(WINDOWS)
        for where in [{"user_id": f"u{number % 5}", "session_id": f"s{number}"}]
        for one in (turn(f"I moved to town {number}.", number, **where), ended(number + 1, **where))
    ]
    ingest_events(world.kit, world.key, said, batch=BATCH)


def _rows(world: World) -> list[Window]:
    with world.db.read() as session:
        return list(session.exec(select(Window)))


def _stored(world: World) -> int:
    with world.db.read() as session:
        return ledger.states(session).get("stored", 0)


def _running(world: World) -> int:
    with world.db.read() as session:
        return windows.backlog(session).running


def test_a_model_that_is_away_holds_nothing_loses_nothing_and_is_paid_once(home: Path, broker_url: str):
    world, outage = new_world(home, broker_url=broker_url), Outage()
    with ScriptedModel() as server:
        server.always(outage.answer)
        given = {
            "workers_sweep_seconds": "0.5",
            "window_idle_seconds": "0",
            "window_write_margin_seconds": "8",
            "llm_base_url": server.url,
            "llm_api_key": "test",
            "llm_model_small": "scripted",
            "llm_timeout_seconds": "1",
            "llm_circuit_failures": "3",
            "llm_circuit_rest_seconds": "0.1",
        }
        with worker(home, "ingest", **given), worker(home, "llm", **given), beat(home, "beat", **given):
            _say(world)
            wait_until(lambda: min(outage.failed[n] for n in range(4)) >= 2, seconds=SECONDS, what="every manner twice")
            # All wait, and none of them in a worker: a slot is free again before its window may be tried.
            wait_until(lambda: _running(world) == 0, seconds=SECONDS, what="no slot held")
            assert _stored(world) > 0

            server.always(good())
            wait_until(lambda: _stored(world) == 0, seconds=SECONDS, what="the rest, without new traffic")

    failed = outage.failed.total()
    assert [row.state for row in _rows(world)] == ["applied"] * WINDOWS
    assert server.chat_calls <= WINDOWS + failed
    with world.db.read() as session:
        applied = Counter(session.exec(select(Episode.window_id).where(col(Episode.deleted_at).is_(None))))
        assert dead.waiting(session) == []
    assert sorted(applied.values()) == [1] * WINDOWS
    world.db.dispose()

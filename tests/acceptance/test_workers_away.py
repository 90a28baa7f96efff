"""Nobody works for a while, and agents go on: the broker keeps one copy of it, and it is taken in by age."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlmodel import col, select

from afterturn import Publisher
from delivery_fixtures import World, new_world
from delivery_messages import is_quiet, queue
from delivery_processes import beat, worker
from schemas.tables import LedgerEntry, Turn
from services import wait_until
from stores import dead, ledger
from tasks.app import QUEUES
from workers import broker
from workers.ticking import MAX_WAITING

SECONDS = 120.0
EVENTS = 5_000
QUICK = {"workers_sweep_seconds": "0.05", "workers_upkeep_seconds": "0.05", "window_idle_seconds": "600"}
pytestmark = pytest.mark.timeout(300)


def _used(client: Redis) -> int:
    """Bytes of all keys, every element counted. INFO's dataset is no measure: connections' buffers come and go."""
    books: Any = client  # redis-py's own types of this are partly unknown
    return sum(int(books.memory_usage(key, samples=0) or 0) for key in books.keys("*"))


def _waiting(client: Redis) -> list[bytes]:
    """The messages, oldest first."""
    told: Any = client.lrange(queue("ingest"), 0, -1)
    return list(reversed(told))


def test_work_that_nobody_takes_is_kept_once_and_drained_by_age(home: Path, broker_url: str):
    world = new_world(home, broker_url=broker_url)
    with broker.connect(broker_url) as client:
        publisher = Publisher(key=world.credential, url=broker_url)
        before = _used(client)
        with beat(home, "beat", **QUICK):
            said = [
                publisher.turn(f"u{number % 50}", f"s{number % 200}", "user", f"turn {number}: " + "word " * 20)
                for number in range(EVENTS)
            ]
            wait_until(lambda: publisher.stats().sent >= EVENTS, seconds=SECONDS, what="everything at the broker")
            # Beat has had time for hundreds of ticks.
            wait_until(lambda: client.llen(queue("pulse")) == MAX_WAITING, seconds=SECONDS, what="beat holding back")
            messages = _waiting(client)
            grown = _used(client) - before

            # One copy: each batch lies there once, and nothing else grows but beat's two short queues.
            assert len(messages) == len(set(messages))
            assert grown < 1.05 * sum(map(len, messages)) + 20_000
            assert all(int(str(client.llen(queue(name)))) <= 3 * MAX_WAITING for name in QUEUES if name != "ingest")

        # By age is how batches are taken; of two processes the later one may be the first to commit.
        with worker(home, "ingest", workers_ingest_processes="1", **QUICK):
            wait_until(lambda: _stored(world) == EVENTS, seconds=SECONDS, what="everything in SQL")
            wait_until(lambda: is_quiet(client), seconds=SECONDS, what="an empty queue")
        publisher.close()

    with world.db.read() as session:
        rows = session.exec(select(Turn.event_id).order_by(col(Turn.received_at), col(Turn.seq))).all()
        counted = ledger.receptions(session)
        assert dead.waiting(session) == []
    assert [str(event_id) for event_id in rows] == said
    assert (counted.stored, counted.duplicate) == (EVENTS, 0)
    world.db.dispose()


def _stored(world: World) -> int:
    with world.db.read() as session:
        return len(session.exec(select(LedgerEntry.event_id)).all())

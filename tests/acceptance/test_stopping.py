"""SIGTERM in the middle of work: a worker ends within its grace, loses nothing, and holds nobody up afterwards."""

from __future__ import annotations

import signal
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import select

from delivery_fixtures import BATCH, World, ended, new_world, turn
from delivery_messages import is_quiet, push, sealed
from delivery_processes import Running, beat, worker
from schemas.tables import Window
from scripted_model import BEHAVIOURS, ScriptedModel, good
from services import wait_until
from stores import dead, ledger
from stores.ledger import Tally
from tasks.ingest import ingest_events
from workers import broker

SECONDS = 90.0
GRACE_SECONDS = 6.0
# What a loaded machine adds to a grace; the hanging call alone would take 60 s.
MARGIN_SECONDS = 10.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


def _stop(running: Running) -> float:
    """Seconds from SIGTERM to the end."""
    began = time.monotonic()
    running.process.send_signal(signal.SIGTERM)
    running.process.wait(timeout=GRACE_SECONDS + MARGIN_SECONDS)
    return time.monotonic() - began


def _window(world: World) -> Window:
    with world.db.read() as session:
        return session.exec(select(Window)).one()


def _states(world: World) -> dict[str, int]:
    with world.db.read() as session:
        return ledger.states(session)


def _given(server: ScriptedModel) -> dict[str, str]:
    return {
        "workers_sweep_seconds": "0.5",
        "window_idle_seconds": "0",
        "workers_grace_seconds": str(GRACE_SECONDS),
        "llm_base_url": server.url,
        "llm_api_key": "test",
        "llm_model_small": "scripted",
        "llm_timeout_seconds": "60",
    }


def test_a_worker_in_the_middle_of_a_digest_gives_its_window_back(home: Path, broker_url: str, server: ScriptedModel):
    world = new_world(home, broker_url=broker_url)
    server.script(BEHAVIOURS["timeout"])
    ingest_events(world.kit, world.key, [turn("My name is Anna."), ended()], batch=BATCH)

    given = _given(server)
    with worker(home, "ingest", **given), beat(home, "beat", **given):
        with worker(home, "llm", **given) as running:
            server.wait_for_calls(1, timeout_seconds=SECONDS)
            assert _window(world).lease_until is not None

            assert _stop(running) < GRACE_SECONDS + MARGIN_SECONDS

        given_back = _window(world)
        assert running.process.returncode == 0
        assert not (home / "run" / "llm.ready").exists()
        # Free at once, without blame, and not suspect: nobody waits for a lease of minutes.
        assert (given_back.state, given_back.lease_until, given_back.attempts) == ("waiting", None, 0)
        assert given_back.crashes == 0

        with worker(home, "llm", **given):
            wait_until(lambda: _window(world).state == "applied", seconds=SECONDS, what="the digest")

    assert _states(world) == {"digested": 1, "applied": 1}
    assert server.chat_calls == 2
    world.db.dispose()


def test_a_worker_whose_digest_ends_in_time_finishes_it(home: Path, broker_url: str, server: ScriptedModel):
    world = new_world(home, broker_url=broker_url)
    slow = good()
    server.script(type(slow)(body=slow.body, headers=slow.headers, delay_seconds=1.5))
    ingest_events(world.kit, world.key, [turn("My name is Anna."), ended()], batch=BATCH)

    given = _given(server)
    with worker(home, "ingest", **given), beat(home, "beat", **given), worker(home, "llm", **given) as running:
        server.wait_for_calls(1, timeout_seconds=SECONDS)
        _stop(running)

    assert _window(world).state == "applied"
    assert server.chat_calls == 1
    world.db.dispose()


def test_a_worker_in_the_middle_of_a_batch_puts_it_back(home: Path, postgres_url: str, broker_url: str):
    world = new_world(home, postgres_url, broker_url=broker_url)
    ingest_events(world.kit, world.key, [turn("before", 0)], batch=BATCH)
    given = {
        "database_url": postgres_url,
        "workers_grace_seconds": str(GRACE_SECONDS),
        "workers_sweep_seconds": "60",
    }

    with broker.connect(broker_url) as client:
        with worker(home, "ingest", **given) as running, world.db.engine.connect() as holder:
            # The batch's transaction waits for this row as long as the test likes.
            holder.execute(text("SELECT id FROM sessions FOR UPDATE"))
            push(client, sealed(world, [turn(f"turn {number}", number) for number in range(1, 20)]))
            wait_until(lambda: _blocked(world) == 1, seconds=SECONDS, what="the batch in hand")

            assert _stop(running) < GRACE_SECONDS + MARGIN_SECONDS

        assert _states(world) == {"stored": 1}
        with worker(home, "ingest", **given):
            wait_until(lambda: _states(world) == {"stored": 20}, seconds=SECONDS, what="the batch")
            wait_until(lambda: is_quiet(client), seconds=SECONDS, what="an empty queue")

    with world.db.read() as session:
        assert ledger.receptions(session) == Tally(stored=20)
        assert dead.waiting(session) == []
    world.db.dispose()


def _blocked(world: World) -> int:
    asked = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with world.db.read() as session:
        return session.connection().execute(asked).scalar_one()

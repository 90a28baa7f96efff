"""What kills the process that handles it ends as a dead letter alone; everybody beside it goes on. Real processes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text, update
from sqlmodel import col, select

from delivery_fixtures import BATCH, START, World, ended, new_world, turn
from delivery_messages import is_quiet, push, sealed
from delivery_processes import Running, beat, pid_behind, worker
from schemas.tables import DeadLetter, Window
from scripted_model import Call, Reply, Script, ScriptedModel, good
from services import wait_until
from stores import dead, ledger
from tasks.ingest import MAX_BEGUN, MAX_WHOLE, ingest_events
from workers import broker

POISON = "I moved to Poisontown yesterday."
# A lone process starts anew each time; on a busy machine that takes seconds.
SECONDS = 180.0
QUICK = {"workers_sweep_seconds": "0.5", "window_idle_seconds": "0"}

pytestmark = pytest.mark.timeout(400)


class Killer:
    """A model's server that ends every process that asks it about the poison, once all of its neighbours are asking."""

    def __init__(self, server: ScriptedModel, neighbours: int) -> None:
        self.server = server
        self.neighbours = neighbours
        self.killed: list[int] = []
        self.first_kill = threading.Event()

    def answer(self, call: Call) -> Reply:
        if POISON in call.prompt:
            if not self.killed:
                self.server.wait_for_calls(self.neighbours + 1, timeout_seconds=SECONDS)
            pid = pid_behind(call.peer)
            self.killed.append(pid)
            os.kill(pid, signal.SIGKILL)
            self.first_kill.set()
            return Reply(drops=True)
        # In the first round the neighbours are still waiting for their answers when the process dies.
        self.first_kill.wait(SECONDS)
        return good()


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


def _model(server: ScriptedModel) -> dict[str, str]:
    return {
        **QUICK,
        "llm_base_url": server.url,
        "llm_api_key": "test",
        "llm_model_small": "scripted",
        # Longer than a busy machine takes to have all of them asking at once.
        "llm_timeout_seconds": "120",
    }


def _windows(world: World) -> dict[str, Window]:
    with world.db.read() as session:
        return {str(row.session_ref): row for row in session.exec(select(Window))}


def _states(world: World) -> dict[str, int]:
    with world.db.read() as session:
        return ledger.states(session)


def _let_leases_run_out(world: World) -> None:
    past = update(Window).where(col(Window.lease_until).is_not(None)).values(lease_until=START)
    world.db.write(lambda session: session.connection().execute(past))


def _open_letters(world: World) -> list[DeadLetter]:
    with world.db.read() as session:
        return dead.waiting(session)


def test_a_window_that_kills_its_process_ends_alone(home: Path, broker_url: str, server: ScriptedModel):
    world = new_world(home, broker_url=broker_url)
    neighbours, attempts = 2, 2
    killer = Killer(server, neighbours)
    script: Script = killer.answer
    server.always(script)
    said = [(turn(POISON, 0, user_id="u0", session_id="s0"), ended(1, user_id="u0", session_id="s0"))]
    for number in range(1, neighbours + 1):
        user = f"u{number % 2}"  # among them another session of the poisoned user
        where = {"user_id": user, "session_id": f"s{number}"}
        said.append((turn("My name is Anna.", number, **where), ended(number + 1, **where)))
    ingest_events(world.kit, world.key, [one for pair in said for one in pair], batch=BATCH)

    given = {**_model(server), "window_max_crashes": str(attempts)}
    with worker(home, "ingest", **given), beat(home, "beat", **given):
        with worker(home, "llm", **given) as first:
            wait_until(lambda: first.process.poll() is not None, seconds=SECONDS, what="the first worker's death")
        assert killer.killed == [first.process.pid]
        assert {row.lease_until is not None for row in _windows(world).values()} == {True}

        _let_leases_run_out(world)
        with worker(home, "llm", **given) as second:
            wait_until(lambda: len(_open_letters(world)) > 0, seconds=SECONDS, what="the dead letter")
            wait_until(lambda: _states(world).get("stored", 0) == 0, seconds=SECONDS, what="the neighbours")

            # Its lone processes died, the worker did not.
            assert second.process.poll() is None
            assert second.process.pid not in killer.killed
            _works_on(world, second)

    assert len(killer.killed) == 1 + attempts
    (letter,) = _open_letters(world)
    assert (letter.kind, letter.error_code, letter.attempts) == ("window", "worker_lost", attempts)
    assert _states(world) == {"dead_window": 1, "digested": neighbours + 1, "applied": neighbours + 2}
    world.db.dispose()


def _works_on(world: World, running: Running) -> None:
    """The worker that ran suspects still takes ordinary work."""
    later = [turn("I live in Lyon.", 50, user_id="u9", session_id="s9"), ended(51, user_id="u9", session_id="s9")]
    ingest_events(world.kit, world.key, later, batch=BATCH)
    wait_until(lambda: _states(world).get("stored", 0) == 0, seconds=SECONDS, what="what came later")
    assert running.process.poll() is None


def test_an_event_that_kills_its_process_ends_alone(home: Path, postgres_url: str, broker_url: str):
    world = new_world(home, postgres_url, broker_url=broker_url)
    poison = turn("poison", 1, user_id="victim", session_id="victim")
    ingest_events(world.kit, world.key, [turn("before", 0, user_id="victim", session_id="victim")], batch=BATCH)
    batch = [turn("good", 0, user_id="a"), poison, turn("good", 2, user_id="b")]

    given = {"database_url": postgres_url, "workers_sweep_seconds": "60"}
    with broker.connect(broker_url) as client, worker(home, "ingest", **given) as running:
        with psycopg.connect(postgres_url.replace("postgresql+psycopg://", "postgresql://", 1)) as holder:
            # Whoever takes the poison in waits for this row: that is where its process is met, and killed.
            holder.execute("SELECT id FROM sessions FOR UPDATE")
            push(client, sealed(world, batch))
            # Once as it came and redelivered with all of its batch; then alone.
            rounds = [(whole, 0) for whole in range(1 + MAX_WHOLE)]
            rounds += [(1 + MAX_WHOLE, alone) for alone in range(1, 1 + MAX_BEGUN)]
            for begun in rounds:
                wait_until(lambda n=begun: _is_met(world, poison, n), seconds=SECONDS, what=f"attempts {begun}")
                if begun == (1, 0):
                    push(client, sealed(world, [turn("neighbour", 9, user_id="c")]))
                    wait_until(lambda: _states(world).get("stored") == 2, seconds=SECONDS, what="the neighbour")
                _kill_pool(running)
            wait_until(lambda: len(_open_letters(world)) > 0, seconds=SECONDS, what="the dead letter")
            wait_until(lambda: _states(world).get("stored") == 4, seconds=SECONDS, what="the rest of the batch")
        wait_until(lambda: is_quiet(client), seconds=SECONDS, what="an empty queue")
        assert running.process.poll() is None

    (letter,) = _open_letters(world)
    assert (letter.kind, letter.error_code) == ("event", "lost_workers")
    assert _states(world) == {"dead": 1, "stored": 4}
    with world.db.read() as session:
        counted = ledger.receptions(session)
    # What was committed before the poison came up is met again in each attempt.
    assert (counted.stored, counted.dead, counted.rejected) == (4, 1, 0)
    world.db.dispose()


def _is_met(world: World, poison: dict[str, Any], begun: tuple[int, int]) -> bool:
    """So many attempts have begun at the batch as a whole and at the event alone, and a process waits for the row."""
    with world.db.read() as session:
        letters = session.exec(select(DeadLetter.key, DeadLetter.attempts).where(DeadLetter.kind == dead.ATTEMPT)).all()
        waiting = session.connection().execute(text(_COUNT)).scalar_one()
    whole = sum(attempts for key, attempts in letters if key.endswith(":whole"))
    alone = sum(attempts for key, attempts in letters if key.endswith(f":{poison['event_id']}"))
    return (whole, alone) == begun and waiting > 0


_COUNT = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def _kill_pool(running: Running) -> None:
    for pid in running.children():
        os.kill(pid, signal.SIGKILL)

"""From an agent's Publisher to rows in SQL, with real processes: nothing lost, nothing doubled, nothing readable."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redis import Redis
from sqlmodel import col, select

from afterturn import Publisher
from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.envelope import wrap
from afterturn.ids import uuid7
from afterturn.sealing import Sealer
from delivery_fixtures import START, World, ended, new_world, turn
from delivery_processes import Running, beat, celery_beat, celery_worker, inspected, registered, worker
from schemas.tables import Session as SessionRow
from schemas.tables import Turn, Window
from services import wait_until
from stores import dead, ledger
from tasks.app import PREFIX
from workers import broker

PLANTED = "zanzibar-peppermint-胡椒薄荷"
SECONDS = 60.0


@pytest.fixture
def agents_world(home: Path, broker_url: str) -> Generator[World]:
    """A tenant on SQLite beside a fresh broker."""
    made = new_world(home, broker_url=broker_url)
    yield made
    made.db.dispose()


@pytest.fixture
def client(agents_world: World) -> Generator[Redis]:
    """The broker, as an operator sees it."""
    with broker.connect(agents_world.kit.settings.broker_url) as connected:
        yield connected


def _turn_ids(world: World) -> list[UUID]:
    with world.db.read() as session:
        return list(session.exec(select(Turn.event_id)))


def _states(world: World) -> dict[str, int]:
    with world.db.read() as session:
        return ledger.states(session)


def _await_turns(world: World, count: int) -> None:
    wait_until(lambda: len(_turn_ids(world)) >= count, seconds=SECONDS, what=f"{count} turns")


def _queue(name: str) -> str:
    return f"{PREFIX}{name}"


def _is_quiet(client: Redis) -> bool:
    """Nothing waits for the ingest worker, and nothing is in its hands."""
    return not client.llen(_queue("ingest")) and not client.hlen(_queue("unacked.ingest"))


def _message(world: World, events: list[dict[str, Any]]) -> tuple[str, str]:
    """A sealed batch and its message id, to be sent as often as a test likes."""
    parsed = parse_credential(world.credential)
    message_id = uuid7()
    plain = [{k: str(v) if isinstance(v, UUID) else v for k, v in one.items()} for one in events]
    blob = Sealer(parsed.key_id, seal_key(parsed.secret), uuid7()).seal(message_id, encode_batch(plain, sent_at=START))
    return blob, str(message_id)


def _push(client: Redis, message: tuple[str, str], times: int = 1) -> None:
    blob, message_id = message
    for _ in range(times):
        client.lpush(_queue("ingest"), wrap(blob, message_id, str(uuid7())))


def _let_the_visibility_pass(client: Redis) -> None:
    """Makes every unacknowledged message of the ingest worker look older than its visibility time-out."""
    books: Any = client  # redis-py's own types of sorted sets are partly unknown
    index = _queue("unacked_index.ingest")
    for tag in books.zrange(index, 0, -1):
        books.zadd(index, {tag: 1.0})


def _readable(home: Path, word: str) -> list[str]:
    """The files in which the word stands in clear."""
    wanted = word.encode()
    files = [path for path in (home / "broker").rglob("*") if path.is_file()] + list(home.glob("*.log"))
    return [path.name for path in files if wanted in path.read_bytes()]


def test_what_an_agent_publishes_is_kept_and_its_session_cut(home: Path, agents_world: World, client: Redis):
    with celery_worker(home, "ingest") as running:
        publisher = Publisher(key=agents_world.credential, url=agents_world.kit.settings.broker_url)
        said = [
            publisher.turn("u1", "s1", "user" if n % 2 else "assistant", f"{PLANTED} {n}", ticket="T-1")
            for n in range(250)
        ]
        publisher.state("u1", "s1", {"intent": PLANTED})
        publisher.end("s1", user="u1", outcome="success")
        assert publisher.flush(30)

        _await_turns(agents_world, 250)
        wait_until(lambda: client.llen(_queue("llm")), what="a hint for the digest")
        publisher.close()

        assert sorted(map(str, _turn_ids(agents_world))) == sorted(said)
        assert _states(agents_world) == {"stored": 250, "applied": 2}
        with agents_world.db.read() as session:
            placed = [turn_id for row in session.exec(select(Window)) for turn_id in row.turn_ids]
        assert placed == said
        assert registered(home, "ingest")["tasks"] == ["afterturn.ingest", "afterturn.sweep"]

    assert running.process.returncode == 0
    assert not (home / "run" / "ingest.ready").exists()
    assert _readable(home, PLANTED) == []
    assert _readable(home, "胡椒薄荷") == []
    assert _readable(home, "afterturn.ingest") != []


def test_killed_workers_lose_nothing_and_double_nothing(home: Path, agents_world: World, client: Redis):
    twice = [turn(f"again {n}", n, user_id=f"u{n % 7}", session_id=f"s{n % 13}") for n in range(200)]
    resent = [_message(agents_world, twice[start : start + 50]) for start in range(0, 200, 50)]
    publisher = Publisher(key=agents_world.credential, url=agents_world.kit.settings.broker_url)

    def publish(first: int, last: int) -> list[str]:
        return [publisher.turn(f"u{n % 7}", f"s{n % 13}", "user", f"turn {n}") for n in range(first, last)]

    with worker(home, "ingest") as first:
        said = publish(0, 2000)
        for message in resent:
            _push(client, message, times=2)
        _await_turns(agents_world, 200)
        _kill_a_child(first)
        _await_turns(agents_world, 800)
        first.kill_group()
    said += publish(2000, 3000)
    assert publisher.flush(30)
    publisher.close()

    with worker(home, "ingest"):
        _let_the_visibility_pass(client)
        _await_turns(agents_world, 3200)
        wait_until(lambda: _is_quiet(client), seconds=SECONDS, what="an empty queue")

    expected = said + [str(one["event_id"]) for one in twice]
    assert sorted(map(str, _turn_ids(agents_world))) == sorted(expected)
    assert _states(agents_world) == {"stored": 3200}
    with agents_world.db.read() as session:
        counted = ledger.receptions(session)
        sessions = session.exec(select(SessionRow)).all()
        assert dead.waiting(session) == []
    assert counted.stored == 3200
    assert counted.duplicate >= 200
    assert counted.rejected == counted.dead == 0
    assert sum(row.turn_count for row in sessions) == 3200
    assert sum(row.undigested_count for row in sessions) == 3200


def _kill_a_child(running: Running) -> None:
    os.kill(running.children()[0], signal.SIGKILL)


def test_rubbish_in_the_queue_stops_nobody(home: Path, agents_world: World, client: Redis):
    good = _message(agents_world, [turn("fine")])
    blob, message_id = _message(agents_world, [turn("forged")])

    with worker(home, "ingest") as running:
        _push(client, (blob[:-8] + "AAAAAAA=", message_id))
        _push(client, (PLANTED, message_id))
        client.lpush(_queue("ingest"), wrap(blob, message_id, "t").replace("afterturn.ingest", "afterturn.digest"))
        _push(client, good)

        _await_turns(agents_world, 1)
        wait_until(lambda: _is_quiet(client), seconds=SECONDS, what="an empty queue")
        assert running.process.poll() is None

    with agents_world.db.read() as session:
        assert sorted(letter.kind for letter in dead.waiting(session)) == ["batch", "batch"]
    assert all(PLANTED not in str(line) for line in running.lines())


def test_a_broker_that_comes_back_is_served_again(home: Path, agents_world: World, client: Redis):
    with worker(home, "ingest"):
        _push(client, _message(agents_world, [turn("before", 0)]))
        _await_turns(agents_world, 1)

        broker.stop(home)
        again = broker.start(home)
        _push(client, _message(agents_world, [turn("after", 1)]))

        _await_turns(agents_world, 2)

    broker.stop(home)
    assert again.process is not None
    again.process.wait(timeout=10)


def test_two_beats_are_as_good_as_one(home: Path, agents_world: World, client: Redis):
    quick = {"workers_sweep_seconds": "0.2", "window_idle_seconds": "0.2"}
    with worker(home, "ingest", **quick) as running, beat(home, "one", **quick), celery_beat(home, "two", **quick):
        for number in range(30):
            where = {"user_id": f"u{number % 3}", "session_id": f"s{number}"}
            _push(client, _message(agents_world, [turn(f"turn {n}", n, **where) for n in range(4)]))
        _await_turns(agents_world, 120)
        wait_until(lambda: len(_window_turns(agents_world)) >= 120, seconds=SECONDS, what="windows")
        hinted = wait_until(lambda: client.llen(_queue("llm")), what="hints")
        wait_until(lambda: _sweeps(client) == 0, what="the last sweep")
        assert running.process.poll() is None

    placed = _window_turns(agents_world)
    assert len(placed) == len(set(placed)) == 120
    workers = agents_world.kit.settings.workers
    # Hints for twice the free slots, of each process: two sweeps at one moment both find the queue empty.
    most = 2 * (workers.slots - workers.reserved_slots) * workers.ingest_processes
    assert 0 < int(str(hinted)) <= most
    assert int(str(client.llen(_queue("llm")))) <= most


def _window_turns(world: World) -> list[str]:
    with world.db.read() as session:
        return [turn_id for row in session.exec(select(Window).order_by(col(Window.id))) for turn_id in row.turn_ids]


def _sweeps(client: Redis) -> int:
    return int(str(client.llen(_queue("pulse"))))


def test_the_embedded_worker_runs_every_other_task_and_digests(home: Path, agents_world: World, client: Redis):
    quick = {"workers_sweep_seconds": "0.5"}
    with worker(home, "ingest", **quick), worker(home, "app", **quick) as running, beat(home, "beat", **quick):
        _push(client, _message(agents_world, [turn("My name is Anna.", 0), turn("我叫李雷。", 1), ended(2)]))

        wait_until(lambda: _states(agents_world) == {"digested": 2, "applied": 1}, seconds=SECONDS, what="the digest")
        assert inspected(home) == [
            f"afterturn.{verb}" for verb in ("consolidate", "decay", "digest", "expire", "index", "reconcile")
        ]
        assert registered(home, "app")["tasks"] == inspected(home)
        assert running.process.poll() is None

    assert not [line for line in running.lines() if line["level"] == "ERROR"]
    assert all("Anna" not in str(line) and "李雷" not in str(line) for line in running.lines())


def test_a_broker_that_evicts_is_refused(home: Path, agents_world: World, client: Redis):
    books: Any = client
    books.config_set("maxmemory-policy", "allkeys-lru")

    with pytest.raises(AssertionError, match="noeviction"), worker(home, "ingest"):
        pass

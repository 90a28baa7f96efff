"""From a sealed batch to the commit: events a second and CPU an event, on SQLite and PostgreSQL, as the tables grow.

`python -m benchmarks.ingest --turns 1000,100000,1000000`; 5 million with `--turns 5000000`. Every batch is as full as
a Publisher makes it, with events of many users and sessions. Each row is the median of `--runs`. The table is grown by
SQL, with ids in the order of time, then fresh events are taken in by the function that the worker calls. `--through`
has the real worker take them from a real broker instead, which a Publisher filled before; `--processes` says how many
processes its pool has; `--beside` shows how long another process's small writes take meanwhile. CPU is that of the
ingesting processes (and, beside it, of PostgreSQL and the broker): on a shared machine trust it alone. Prints a table
and a JSON line.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import redis
from sqlalchemy import func, select, text, update

from afterturn import Publisher
from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.ids import uuid7
from afterturn.sealing import Sealer
from afterturn.sender import MAX_EVENTS
from schemas.tables import Tenant, Turn, metadata
from stores import ledger, tenancy
from stores.settings import Settings, as_environment, embedded_broker_url, load_settings
from stores.sql import Database, upgrade
from tasks.ingest import ingest_batch
from tasks.intake import Intake, open_intake
from workers import broker, presence
from workers.chaos.cluster import cluster

BATCH = MAX_EVENTS
QUEUE = "afterturn:v1:ingest"
WARM_UP = 10 * BATCH
USERS = 500
SAID = (
    "The parcel has still not arrived, and the tracking page shows nothing since Monday. Could you look into it?",
    "我上周买的耳机有杂音，换过一次还是一样，请问可以退款吗？订单号在之前的消息里。",
    "I see. I have asked the carrier, and they say that it will be delivered tomorrow before noon.",
)


def main() -> None:
    asked = arguments()
    rows: list[dict[str, Any]] = []
    for store in asked.stores.split(","):
        with ExitStack() as stack:
            settings = stack.enter_context(instance(store, asked.processes))
            upgrade(settings)
            intake = open_intake(settings)
            stack.callback(intake.db.dispose)
            credential = intake.db.write(make_key)
            run(intake, credential, 1_000, asked.talking)
            for turns in map(int, asked.turns.split(",")):
                grow(intake, turns)
                runs = [
                    through(settings, credential, asked.events, asked.talking, beside=asked.beside)
                    if asked.through
                    else run(intake, credential, asked.events, asked.talking)
                    for _ in range(asked.runs)
                ]
                measured = sorted(runs, key=lambda one: one["events_per_cpu_second"])[len(runs) // 2]
                rows.append({"store": store, "turns": turns, **measured})
                show(rows[-1])
    print(
        json.dumps(
            {"benchmark": "ingest", "through": asked.through, "batch": BATCH, "talking": asked.talking, "rows": rows}
        )
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", default="sqlite,postgres")
    parser.add_argument("--turns", default="1000,100000,1000000")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--talking", type=int, default=30, help="conversations that go on at once in one agent")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--through", action="store_true", help="through a broker and a worker")
    parser.add_argument("--processes", type=int, help="of that worker; the setting's default without it")
    parser.add_argument("--beside", action="store_true", help="through: small writes of another process meanwhile")
    return parser.parse_args()


@contextmanager
def instance(store: str, processes: int | None = None) -> Generator[Settings]:
    """Settings on a scratch folder, and PostgreSQL where it is asked for."""
    home = Path(tempfile.mkdtemp(prefix="at-bench-"))
    home.chmod(0o755)
    try:
        with ExitStack() as stack:
            given: dict[str, Any] = {"home": home, "broker_url": embedded_broker_url(home)}
            if processes is not None:
                given["workers"] = {"ingest_processes": processes}
            if store == "postgres":
                given["database_url"] = stack.enter_context(cluster(home / "pg"))
            yield load_settings(**given)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def make_key(session: Any) -> str:
    return tenancy.create_key(session, tenancy.create_tenant(session, "acme"), ("publish",))[1]


def grow(intake: Intake, turns: int) -> None:
    """Copies a turn and its ledger row until the table has so many, under ids and sessions of their own.

    Indexes are made anew afterwards, which takes a tenth of the time.
    """
    there = count(intake)
    if turns <= there:
        return
    is_sqlite = intake.db.is_sqlite
    for table, keep in (("turns", "window_id, session_ref"), ("event_ledger", "window_id, session_ref")):
        indexes = metadata.tables[table].indexes
        with intake.db.engine.execution_options(afterturn_writes=True).begin() as connection:
            for index in indexes:
                index.drop(connection)
            names = list(connection.execute(text(f"SELECT * FROM {table} LIMIT 1")).keys())  # noqa: S608
            fresh = {"event_id", *keep.split(", ")}
            columns = ", ".join(names)
            values = ", ".join(made(name, is_sqlite) if name in fresh else f"t.{name}" for name in names)
            numbers = (
                f"WITH RECURSIVE n(i) AS (SELECT {there} + 1 UNION ALL SELECT i + 1 FROM n WHERE i < {turns}) "  # noqa: S608
                if is_sqlite
                else ""
            )
            source = "n" if is_sqlite else f"generate_series({there} + 1, {turns}) AS n(i)"
            connection.execute(
                text(
                    f"INSERT INTO {table} ({columns}) {numbers}"  # noqa: S608
                    f"SELECT {values} FROM {source}, (SELECT * FROM {table} LIMIT 1) AS t"
                )
            )
            for index in indexes:
                index.create(connection)
    with intake.db.engine.execution_options(afterturn_writes=True).begin() as connection:
        connection.execute(text("ANALYZE"))


def made(name: str, is_sqlite: bool) -> str:
    """SQL for an id: event ids grow with time (version 7), sessions and windows are spread."""
    start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    if name == "event_id":
        digits = (
            f"printf('%012x7%019x', {start} + i, i)"
            if is_sqlite
            else f"lpad(to_hex({start} + i), 12, '0') || '7' || lpad(to_hex(i), 19, '0')"
        )
    else:
        number = "(CAST(i AS bigint) / 10 * 2654435761) % 4294967296"
        digits = (
            f"printf('%08x7%023x', {number}, i / 10)"
            if is_sqlite
            else f"lpad(to_hex({number}), 8, '0') || '7' || lpad(to_hex(i / 10), 23, '0')"
        )
    return digits if is_sqlite else f"({digits})::uuid"


def count(intake: Intake) -> int:
    with intake.db.read() as session:
        return int(session.scalar(select(func.count()).select_from(Turn)) or 0)


def batches(credential: str, events: int, talking: int) -> list[str]:
    """Sealed batches of so many events, as a Publisher makes them."""
    found = parse_credential(credential)
    sealer = Sealer(found.key_id, seal_key(found.secret), uuid7())
    roll = random.Random(events)
    source = said(roll, talking)
    return [
        sealer.seal(uuid7(), encode_batch([next(source) for _ in range(BATCH)], sent_at=datetime.now(UTC)))
        for _ in range(events // BATCH)
    ]


def said(roll: random.Random, talking: int) -> Iterator[dict[str, Any]]:
    """Turns of conversations of ten turns; so many go on at once."""
    now = datetime.now(UTC)
    for number in itertools.count():
        session = number // 10 + roll.randrange(talking)
        yield {
            "v": 1,
            "kind": "turn",
            "event_id": str(uuid7()),
            "user_id": f"u{session % USERS}",
            "session_id": f"s{session}",
            "at": now - timedelta(seconds=roll.random()),
            "published_at": now,
            "producer": "benchmark",
            "seq": number,
            "role": "user",
            "content": roll.choice(SAID),
        }


def run(intake: Intake, credential: str, events: int, talking: int) -> dict[str, Any]:
    """The worker's function, in this process."""
    sealed = batches(credential, events, talking)
    server = server_seconds(intake)
    wall, cpu = time.perf_counter(), time.process_time()
    for blob in sealed:
        ingest_batch(intake, blob)
    return told(events, time.perf_counter() - wall, time.process_time() - cpu, server_seconds(intake) - server)


def through(settings: Settings, credential: str, events: int, talking: int, *, beside: bool) -> dict[str, Any]:
    """The real pipe, from a full queue: the broker and the ingest worker run, the publisher is done before."""
    running = broker.start(settings.home)
    environment = {**os.environ, **as_environment(settings)}
    command = [sys.executable, "-m", "workers", "worker", "ingest"]
    log = (settings.home / "worker.log").open("ab")
    queue = redis.Redis.from_url(settings.redis_url)  # pyright: ignore[reportUnknownMemberType] - keyword arguments
    publish(settings, credential, events, talking)
    queue.rename(QUEUE, f"{QUEUE}.held")
    worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    intake = open_intake(settings)
    try:
        while not presence.ready_file(settings.home, "ingest").exists():
            time.sleep(0.1)
        # What a process pays once, at its first batches, is no price of an event.
        before = taken(intake)
        publish(settings, credential, WARM_UP, talking)
        while taken(intake) < before + WARM_UP:
            time.sleep(0.02)
        before += WARM_UP
        cpu, server, carried = tree_seconds(worker.pid), server_seconds(intake), cpu_of(running.pid)
        with small_writes(settings) if beside else nullcontext([]) as waits:
            wall = time.perf_counter()
            queue.rename(f"{QUEUE}.held", QUEUE)
            while taken(intake) < before + events:
                time.sleep(0.02)
            seconds = time.perf_counter() - wall
        spent = (tree_seconds(worker.pid) - cpu, server_seconds(intake) - server, cpu_of(running.pid) - carried)
        return {**told(events, seconds, *spent), **waited(waits)}
    finally:
        worker.terminate()
        worker.wait()
        queue.close()
        broker.stop(settings.home)
        if running.process is not None:
            running.process.wait()
        intake.db.dispose()


@contextmanager
def small_writes(settings: Settings) -> Generator[list[float]]:
    """The seconds that each of another process's small writes takes, twenty a second."""
    db = Database(settings.database_url)
    waits: list[float] = []
    is_over = threading.Event()

    def write() -> None:
        while not is_over.wait(0.05):
            started = time.perf_counter()
            db.write(lambda session: session.connection().execute(update(Tenant).values(name=Tenant.name)))
            waits.append(time.perf_counter() - started)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield waits
    finally:
        is_over.set()
        thread.join()
        db.dispose()


def waited(waits: list[float]) -> dict[str, Any]:
    if len(waits) < 2:
        return {}
    tenths = statistics.quantiles(waits, n=10)
    return {
        "small_writes": len(waits),
        "p50_ms": round(tenths[4] * 1e3),
        "p90_ms": round(tenths[8] * 1e3),
        "max_ms": round(max(waits) * 1e3),
    }


def publish(settings: Settings, credential: str, events: int, talking: int) -> None:
    """Leaves so many events in the broker."""
    roll = random.Random(events)
    with Publisher(key=credential, url=settings.broker_url, max_events=events + 1) as publisher:
        for number in range(events):
            session = number // 10 + roll.randrange(talking)
            publisher.turn(f"u{session % USERS}", f"s{session}", "user", roll.choice(SAID))
        while not publisher.flush():
            pass


def taken(intake: Intake) -> int:
    """How many events were received and committed. Counted by producer and day: asking costs nothing."""
    with intake.db.read() as session:
        return sum(ledger.receptions(session))


def told(events: int, wall: float, cpu: float, server: float, carried: float = 0.0) -> dict[str, Any]:
    return {
        "events_per_second": round(events / wall),
        "cpu_us_per_event": round(cpu / events * 1e6, 1),
        "server_cpu_us_per_event": round(server / events * 1e6, 1),
        "broker_cpu_us_per_event": round(carried / events * 1e6, 1),
        "events_per_cpu_second": round(events / (cpu + server + carried)),
    }


def server_seconds(intake: Intake) -> float:
    """CPU that PostgreSQL has used; 0 on SQLite, which is part of the process."""
    if intake.db.is_sqlite:
        return 0.0
    with intake.db.read() as session:
        folder = Path(str(session.scalar(text("SHOW data_directory"))))
    return tree_seconds(int((folder / "postmaster.pid").read_text().splitlines()[0]))


def tree_seconds(pid: int) -> float:
    """CPU of a process, its children, and those of them that have ended."""
    own = cpu_of(pid)
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(cpu_of(int(child)) for child in told)


def cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def show(row: dict[str, Any]) -> None:
    print("  ".join(f"{name}={value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()

"""Measures how fast the index takes what it is owed: records a second, CPU a record, and how much of it embeds.

    python -m benchmarks.indexing --moments 5000

Turns go in by ingest, windows are digested by the offline rules; only the index tasks afterwards are timed. The longest
write transaction of the way there is printed too: on SQLite it is how long everybody else waits.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sqlmodel import Session

from afterturn.ids import uuid7
from llm.face import Embedder
from schemas.indexing import Vector
from stores import tenancy
from stores.kit import Kit, open_kit
from stores.settings import load_settings
from stores.sql import Database, upgrade
from stores.tenancy import KeyInfo
from tasks.digest import digest
from tasks.index import index
from tasks.ingest import BatchInfo, ingest_events
from tasks.sweep import sweep

T = TypeVar("T")

TURNS_PER_SESSION = 200
PER_BATCH = 100
_SAID = (
    "I ordered the standing desk on Monday and it still has not arrived, order A-{n}.",
    "Thanks, I looked it up: parcel {n} left the warehouse in Lyon yesterday evening.",
    "我上周搬到了杭州，请把第 {n} 号包裹送到新地址，谢谢你的帮助。",
    "Could you also tell me whether the warranty of the BT-{n} headset covers a broken hinge?",
)


class NoBroker:
    """Hints go nowhere."""

    def queued(self, name: str) -> int:
        """Nothing waits."""
        return 0

    def hint(self, name: str, count: int) -> bool:
        """Nobody listens."""
        return False


@dataclass(slots=True)
class Clocked:
    """An embedder that says how much CPU it took."""

    real: Embedder
    cpu: float = 0.0
    texts: int = 0

    @property
    def name(self) -> str:
        """The real one's."""
        return self.real.name

    @property
    def dimensions(self) -> int:
        """The real one's."""
        return self.real.dimensions

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """The real one's vectors."""
        started = time.thread_time()
        vectors = self.real.embed(texts)
        self.cpu += time.thread_time() - started
        self.texts += len(texts)
        return vectors

    def close(self) -> None:
        """Ends it."""
        self.real.close()


@dataclass(slots=True)
class Writes:
    """How long each write transaction kept the others out, in CPU seconds of its thread, by what was going on."""

    by_stage: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    stage: str = ""

    def watch(self, db: Database) -> Database:
        """The same database, watched."""
        return _Watched(db.url, self)


class _Watched(Database):
    """A database whose write transactions are timed."""

    def __init__(self, url: str, writes: Writes) -> None:
        super().__init__(url)
        self.writes = writes

    def write(self, fn: Callable[[Session], T], *, give_up_seconds: float | None = None) -> T:
        """As ever."""

        def timed(session: Session) -> T:
            session.connection()
            started = time.thread_time()
            found = fn(session)
            self.writes.by_stage.setdefault(self.writes.stage, []).append(time.thread_time() - started)
            return found

        return super().write(timed, give_up_seconds=give_up_seconds)


@contextmanager
def scratch_kit(writes: Writes) -> Generator[tuple[Kit, KeyInfo, Clocked]]:
    """A migrated installation with one key."""
    with tempfile.TemporaryDirectory(prefix="at-") as home:
        settings = load_settings(home=Path(home))
        upgrade(settings)
        real = open_kit(settings)
        embedder = Clocked(real.embedder)
        kit = replace(real.with_live(embedder=embedder), db=writes.watch(real.db))
        try:
            yield kit, kit.db.write(_key), embedder
        finally:
            kit.close()
            real.db.dispose()


def _key(session: Session) -> KeyInfo:
    tenant = tenancy.create_tenant(session, "bench")
    key, _ = tenancy.create_key(session, tenant, ("publish", "recall"))
    return tenancy.key_info(session, key.id)


def fill(kit: Kit, key: KeyInfo, moments: int) -> None:
    """Publishes that many turns of several users, each session ended."""
    start = datetime.now(UTC) - timedelta(days=2)
    events: list[dict[str, object]] = []
    for number in range(moments):
        of, place = divmod(number, TURNS_PER_SESSION)
        who = {"user_id": f"u{of}", "session_id": f"s{of}", "at": start + timedelta(seconds=number)}
        role = "assistant" if place % 2 else "user"
        said = _SAID[number % len(_SAID)].format(n=number)
        events.append({"kind": "turn", "event_id": uuid7(), "role": role, "content": said, **who})
        if place == TURNS_PER_SESSION - 1 or number == moments - 1:
            events.append({"kind": "session_ended", "event_id": uuid7(), "outcome": "success", **who})
    info = BatchInfo(producer="bench")
    for first in range(0, len(events), PER_BATCH):
        ingest_events(kit, key, events[first : first + PER_BATCH], batch=info)


def main() -> None:
    """Prints a table and a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=5000)
    moments = parser.parse_args().moments
    logging.disable(logging.WARNING)
    writes = Writes()
    with scratch_kit(writes) as (kit, key, embedder):
        for stage, work in (
            ("ingest", lambda: fill(kit, key, moments)),
            ("cut", lambda: sweep(kit, NoBroker())),
            ("digest", lambda: _until_idle(lambda: digest(kit) is not None)),
        ):
            writes.stage = stage
            started, cpu = time.monotonic(), time.process_time()
            work()
            _say(stage, time.process_time() - cpu, time.monotonic() - started, writes)
        writes.stage = "index"
        embedder.embed(["warm"])
        embedder.cpu, embedder.texts = 0.0, 0
        started, cpu, records = time.monotonic(), time.process_time(), 0
        while count := index(kit):
            records += count
        cpu, wall = time.process_time() - cpu, time.monotonic() - started
        _say("index", cpu, wall, writes)
    found = {
        "records": records,
        "per_cpu_second": round(records / cpu, 1),
        "per_second": round(records / wall, 1),
        "cpu_ms_per_record": round(1000 * cpu / records, 2),
        "embedding_cpu_ms_per_record": round(1000 * embedder.cpu / records, 2),
        "texts": embedder.texts,
        "embedder": embedder.name,
        "longest_write_ms": {name: round(1000 * max(spans), 1) for name, spans in writes.by_stage.items()},
    }
    print(json.dumps(found))


def _until_idle(work: Callable[[], bool]) -> None:
    while work():
        pass


def _say(stage: str, cpu: float, wall: float, writes: Writes) -> None:
    spans = sorted(writes.by_stage.get(stage, [0.0]))
    print(
        f"{stage:8} {cpu:7.2f} s CPU {wall:7.2f} s   writes {len(spans):5}  longest {1000 * spans[-1]:7.1f} ms"
        f"  p99 {1000 * spans[int(len(spans) * 0.99)]:6.1f} ms"
    )


if __name__ == "__main__":
    main()

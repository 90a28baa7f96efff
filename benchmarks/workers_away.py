"""Workers are stopped while an agent goes on, for longer than a publisher waits for receipts: what the broker holds.

    python -m benchmarks.workers_away --seconds 200 --every 4

Shipped settings throughout. Prints, each half minute, how many messages wait, how many of them are copies, the bytes of
all keys against those of one copy, and what the publisher sent again; then starts the worker and prints in which order
all of it came into SQL. Exits 1 when anything was there twice, came out of order or got lost.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import text

from afterturn import Publisher
from stores.settings import Settings, embedded_broker_url, load_settings
from stores.sql import Database
from tasks.app import PREFIX
from workers import broker, processes
from workers.first_run import prepare

QUEUE = f"{PREFIX}ingest"
SAY_SECONDS = 30.0
#: Without anything new stored for so long, draining has ended.
STILL_SECONDS = 60.0


def main() -> None:
    """Runs it once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument(
        "--every", type=float, default=4.0, help="seconds between two events, each a message of its own"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="at-away-") as folder:
        home = Path(folder)
        running = broker.start(home)
        try:
            settings = load_settings(home=home, broker_url=embedded_broker_url(home), flower={"port": 0})
            prepare(settings)
            found = _run(settings, asked.seconds, asked.every)
        finally:
            broker.stop(home)
            if running.process is not None:
                running.process.wait(10)
    print(json.dumps(found))
    sys.exit(0 if found["copies"] == 0 and found["in_order"] and found["stored"] == found["said"] else 1)


def _run(settings: Settings, seconds: float, every: float) -> dict[str, Any]:
    books: Any = broker.connect(settings.broker_url)
    publisher = Publisher(key=settings.key_file.read_text("utf-8").strip(), url=settings.broker_url)
    said: list[str] = []
    began = time.monotonic()
    told_at = began
    while (now := time.monotonic()) < began + seconds:
        if now >= began + every * len(said):
            said.append(publisher.turn("u1", f"s{len(said) % 7}", "user", f"turn {len(said)} " + "word " * 40))
        if now >= told_at + SAY_SECONDS:
            told_at = now
            print(
                json.dumps({"at": round(now - began), **_held(books), "resent": publisher.stats().resent}), flush=True
            )
        time.sleep(0.05)
    publisher.flush(10)
    held = {**_held(books), "resent": publisher.stats().resent}
    drained, order = _drain(settings, len(said))
    left = publisher.flush(30, receipts=True)
    found = {"said": len(said), **held, "drain_seconds": drained, "stored": len(order), "in_order": order == said}
    found |= {"receipted": left, "resent_in_all": publisher.stats().resent}
    publisher.close()
    books.close()
    return found


def _held(books: Any) -> dict[str, int]:
    messages: list[bytes] = books.lrange(QUEUE, 0, -1)
    ids = [json.loads(message)["properties"]["correlation_id"] for message in messages]
    used = sum(int(books.memory_usage(key, samples=0) or 0) for key in books.keys("*"))
    return {
        "messages": len(messages),
        "copies": len(ids) - len(set(ids)),
        "one_copy_bytes": sum(map(len, messages)),
        "key_bytes": used,
    }


def _drain(settings: Settings, count: int) -> tuple[float, list[str]]:
    database = Database(settings.database_url)
    argv = (sys.executable, "-m", "workers", "worker", "ingest")
    process = subprocess.Popen(argv, env=processes.environment(settings), stderr=subprocess.DEVNULL)
    began = moved = time.monotonic()
    order: list[str] = []
    try:
        while len(order) < count and time.monotonic() < moved + STILL_SECONDS:
            time.sleep(0.5)
            before, order = len(order), _order(database)
            moved = time.monotonic() if len(order) > before else moved
        return round(time.monotonic() - began, 1), order
    finally:
        process.terminate()
        process.wait(30)
        database.dispose()


def _order(database: Database) -> list[str]:
    with database.read() as session:
        rows = session.connection().execute(text("SELECT event_id FROM turns ORDER BY received_at, rowid")).scalars()
        return [str(UUID(str(row))) for row in rows]


if __name__ == "__main__":
    main()

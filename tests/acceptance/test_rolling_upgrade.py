"""Workers of two versions share a queue: what only the newer one reads is kept by the older one and read in the end."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from delivery_fixtures import World, new_world, turn
from delivery_messages import is_quiet, push, sealed
from delivery_processes import CHECKOUT, beat, worker, worker_of
from schemas.envelopes import disclose
from schemas.tables import DeadLetter, Turn
from services import scratch, wait_until
from stores import dead, ledger
from stores.ledger import Tally
from workers import broker

SECONDS = 90.0
QUICK = {"workers_sweep_seconds": "0.5", "window_idle_seconds": "600"}
pytestmark = pytest.mark.timeout(300)


def _next_version(folder: Path) -> Path:
    """A checkout whose contract is one version further, and reads the present one as well."""
    kept = shutil.ignore_patterns(".*", "tests", "docs", "benchmarks", "__pycache__", "*.md")
    checkout = Path(shutil.copytree(CHECKOUT, folder / "next", ignore=kept))
    contract = checkout / "client" / "src" / "afterturn" / "events.py"
    text, count = re.subn(r"(?m)^VERSION = 1$", "VERSION = 2", contract.read_text("utf-8"))
    text, more = re.subn(r"v: Literal\[1\] = 1", "v: Literal[1, 2] = 1", text)
    assert (count, more) == (1, 1)
    contract.write_text(text, "utf-8")
    return checkout


def _mixed(number: int) -> list[dict[str, Any]]:
    """An event of today, one of today with a field of tomorrow, and one of tomorrow."""
    where = {"user_id": f"u{number % 5}", "session_id": f"s{number}"}
    return [
        turn(f"today {number}", 3 * number, **where),
        turn(f"with more {number}", 3 * number + 1, mood="sunny", **where),
        turn(f"tomorrow {number}", 3 * number + 2, v=2, **where),
    ]


def _said(world: World) -> list[str]:
    with world.db.read() as session:
        return sorted(disclose(content) for content in session.exec(select(Turn.content).order_by(col(Turn.at))))


def _parked(world: World) -> list[DeadLetter]:
    with world.db.read() as session:
        return dead.parked(session, limit=1000)


def test_a_rolling_upgrade_loses_nothing_and_counts_everything_once(home: Path, broker_url: str):
    world = new_world(home, broker_url=broker_url)
    url = world.kit.settings.database_url
    sent = [_mixed(number) for number in range(60)]

    with scratch() as folder, broker.connect(broker_url) as client, beat(home, "beat", **QUICK):
        checkout = _next_version(folder)
        given = {**QUICK, "database_url": url, "broker_url": broker_url}
        with worker(home, "ingest", **given):
            for batch in sent[:20]:
                push(client, sealed(world, batch))
            wait_until(lambda: len(_parked(world)) == 20, seconds=SECONDS, what="what only tomorrow reads")
            assert len(_said(world)) == 40

            # The new version starts beside the old one; both take from the queue, and the old one goes on parking.
            with worker_of(checkout, folder, "ingest", given) as newer:
                for batch in sent[20:]:
                    push(client, sealed(world, batch))
                wait_until(lambda: len(_said(world)) == 180, seconds=SECONDS, what="every event, of either version")
                wait_until(lambda: is_quiet(client), seconds=SECONDS, what="an empty queue")
                assert newer.process.poll() is None

    assert _said(world) == sorted(str(event["content"]) for batch in sent for event in batch)
    assert _parked(world) == []
    with world.db.read() as session:
        assert ledger.states(session) == {"stored": 180}
        assert ledger.receptions(session) == Tally(stored=180)
        assert dead.waiting(session) == []
    world.db.dispose()

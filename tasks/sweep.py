"""The pulse: cuts what is due into windows, ends what was lost, and says what waits. Everything is found again in SQL.

It takes no lease and keeps no place, so that two beats, a lost message and a lost broker all come to the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from afterturn.ids import uuid7
from memory.prompts import PROMPT_VERSION
from stores import outbox, windows
from stores.windows import Backlog
from tasks.app import DIGEST, INDEX, SWEEP
from tasks.base import MemoryTask, hint, memory_task, queued
from tasks.intake import Stores, process
from tasks.parked import read_parked

logger = logging.getLogger(__name__)

# On SQLite a transaction keeps every other writer waiting: a few sessions take about 20 ms.
SESSIONS_PER_CUT = 10
SECONDS_PER_SWEEP = 10.0
INDEX_HINTS = 2


class Hints(Protocol):
    """The way to the broker."""

    def queued(self, name: str) -> int:
        """How many messages wait for this task."""
        ...

    def hint(self, name: str, count: int) -> bool:
        """Sends that many."""
        ...


class Broker:
    """The real one."""

    def queued(self, name: str) -> int:
        """How many messages wait for this task."""
        return queued(name)

    def hint(self, name: str, count: int) -> bool:
        """Sends that many."""
        return hint(name, count)


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did: sessions cut, lost windows buried, hints sent for digests and for the index."""

    sessions: int
    buried: int
    digests: int
    indexing: int


def sweep(kit: Stores, broker: Hints) -> Swept:
    """Cuts every due session, bounded in time, then keeps the queues supplied with hints. Repeat: harmless."""
    cut = _cut(kit)
    policy = kit.policies.windows
    buried = kit.db.write(lambda session: windows.bury_lost(session, max_attempts=policy.max_attempts))
    if buried:
        logger.error("windows buried code=worker_lost count=%d", buried)
    with kit.db.read() as session:
        backlog = windows.backlog(session)
        owed = outbox.counts(session)
    slots = max(1, kit.settings.workers.slots - kit.settings.workers.reserved_slots)
    digests = _supply(broker, DIGEST, partial(wanted, backlog, slots))
    indexing = _supply(broker, INDEX, lambda: min(INDEX_HINTS, owed.owed - owed.leased))
    if cut or digests:
        logger.info(
            "swept sessions=%d due=%d running=%d digests=%d indexing=%d",
            *(cut, backlog.due, backlog.running, digests, indexing),
        )
    return Swept(cut, buried, digests, indexing)


def wanted(backlog: Backlog, slots: int) -> int:
    """How many hints should lie in the queue: one for each due window, at most twice the free slots, and always room
    for two, so that a slot that comes free finds its next work at once.
    """
    return min(backlog.due, 2 * max(1, slots - backlog.running))


def _cut(kit: Stores) -> int:
    policy, deadline, total = kit.policies.windows, time.monotonic() + SECONDS_PER_SWEEP, 0
    while time.monotonic() < deadline:
        count = kit.db.write(
            lambda session: windows.cut_due(
                session, policy=policy, limit=SESSIONS_PER_CUT, new_id=uuid7, prompt_version=PROMPT_VERSION
            )
        )
        total += count
        if count < SESSIONS_PER_CUT:
            break
    return total


def _supply(broker: Hints, name: str, needed: Callable[[], int]) -> int:
    want = needed()
    if want <= 0:
        return 0
    missing = want - broker.queued(name)
    return missing if missing > 0 and broker.hint(name, missing) else 0


class _FirstSweep:
    """Whether this process has read what older versions parked: after an upgrade every process is new."""

    done = False


@memory_task(SWEEP)
def sweep_task(task: MemoryTask) -> None:
    """Beat's pulse, and an ingest's word that a session has ended."""
    kit = process.intake()
    if not _FirstSweep.done:
        read_parked(kit)
        _FirstSweep.done = True
    sweep(kit, Broker())

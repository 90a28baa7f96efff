"""The pulse: cuts what is due into windows, ends what was lost, and says what waits. Everything is found again in SQL.

It takes no lease and keeps no place, so that two beats, a lost message and a lost broker all come to the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from uuid import UUID

from sqlmodel import Session

from afterturn.ids import uuid7
from memory.prompts import PROMPT_VERSION
from memory.windows import WindowPolicy
from stores import circuit, cutting, jobs, outbox, windows
from stores.windows import Backlog
from tasks.app import DIGEST, INDEX, SWEEP
from tasks.base import MemoryTask, hint, memory_task, queued
from tasks.intake import Stores, process
from tasks.parked import ParkedReader

logger = logging.getLogger(__name__)

# On SQLite a transaction keeps every other writer waiting: a few sessions, and no more turns than a window may hold.
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
    buried = kit.db.write(lambda session: _bury_lost(session, policy))
    if buried:
        logger.error("windows buried code=worker_lost count=%d", buried)
    with kit.db.read() as session:
        is_open = circuit.wait_seconds(session) > 0
        backlog = windows.backlog(session, answered_only=is_open)
        owed = outbox.due(session, limit=INDEX_HINTS)
    slots = max(1, kit.settings.workers.slots - kit.settings.workers.reserved_slots)
    digests = _supply(broker, DIGEST, partial(wanted, backlog, slots))
    indexing = _supply(broker, INDEX, lambda: owed)
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
    """Round after round over the tenants with due sessions, a few of each: none waits for all of another's."""
    deadline, total, in_round, place = time.monotonic() + SECONDS_PER_SWEEP, 0, 0, None
    while time.monotonic() < deadline:
        tenants = _due_tenants(kit, place)
        if tenants:
            in_round += kit.db.write(partial(_cut_share, kit.policies.windows, tenants)).sessions
            place = tenants[-1]
        elif in_round:
            total, in_round, place = total + in_round, 0, None
        else:
            break
    return total + in_round


def _bury_lost(session: Session, policy: WindowPolicy) -> int:
    jobs.note(session, SWEEP)
    return windows.bury_lost(session, max_crashes=policy.max_crashes)


def _due_tenants(kit: Stores, after: UUID | None) -> Sequence[UUID]:
    with kit.db.read() as session:
        return cutting.due_tenants(session, after=after, limit=SESSIONS_PER_CUT)


def _cut_share(policy: WindowPolicy, tenant_ids: Sequence[UUID], session: Session) -> cutting.Cutting:
    return cutting.cut_due(
        session,
        policy=policy,
        limit=SESSIONS_PER_CUT,
        new_id=uuid7,
        prompt_version=PROMPT_VERSION,
        tenant_ids=tenant_ids,
    )


def _supply(broker: Hints, name: str, needed: Callable[[], int]) -> int:
    want = needed()
    if want <= 0:
        return 0
    missing = want - broker.queued(name)
    return missing if missing > 0 and broker.hint(name, missing) else 0


_parked = ParkedReader()


@memory_task(SWEEP)
def sweep_task(task: MemoryTask) -> None:
    """Beat's pulse, and an ingest's word that a session has ended."""
    kit = process.intake()
    _parked.read(kit)
    sweep(kit, Broker())

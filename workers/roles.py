"""What each worker process is for: its queues, its tasks, its pool, and how long it may hold a message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from stores.policies import policies_of
from stores.settings import Settings

WorkerRole = Literal["ingest", "llm", "index", "upkeep", "app"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One kind of worker. `visibility_seconds` must exceed the longest task: the broker re-delivers after it."""

    name: WorkerRole
    queues: tuple[str, ...]
    modules: tuple[str, ...]
    pool: str
    visibility_seconds: Callable[[Settings], float]
    slots: Callable[[Settings], int]
    has_remote_control: bool = True
    recycle_after_tasks: int | None = None


# No remote control: this is the one worker that agents' messages reach.
INGEST = Role(
    name="ingest",
    queues=("ingest", "pulse"),
    modules=("tasks.ingest", "tasks.sweep"),
    pool="prefork",
    visibility_seconds=lambda _: 60.0,
    slots=lambda settings: settings.workers.ingest_processes,
    has_remote_control=False,
    recycle_after_tasks=5000,
)

# Threads wait for the model; the client's own time-out ends a call, nothing else could.
LLM = Role(
    name="llm",
    queues=("llm",),
    modules=("tasks.digest",),
    pool="threads",
    visibility_seconds=lambda settings: 2 * policies_of(settings).windows.lease_seconds,
    slots=lambda settings: settings.workers.slots,
)

# Threads, since no gRPC channel survives a fork.
INDEX = Role(
    name="index",
    queues=("index",),
    modules=("tasks.index",),
    pool="threads",
    visibility_seconds=lambda _: 600.0,
    slots=lambda settings: settings.workers.index_slots,
)

UPKEEP = Role(
    name="upkeep",
    queues=("upkeep",),
    modules=("tasks.decay", "tasks.expire", "tasks.consolidate", "tasks.reconcile"),
    pool="threads",
    visibility_seconds=lambda _: 1200.0,
    slots=lambda _: 1,
)

_TOGETHER = (LLM, INDEX, UPKEEP)

# All but ingest in one process, for one machine.
EMBEDDED = Role(
    name="app",
    queues=tuple(queue for part in _TOGETHER for queue in part.queues),
    modules=tuple(module for part in _TOGETHER for module in part.modules),
    pool="threads",
    visibility_seconds=lambda settings: max(part.visibility_seconds(settings) for part in _TOGETHER),
    slots=lambda settings: settings.workers.slots,
)

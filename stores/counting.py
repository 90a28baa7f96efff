"""Counters of several processes as one: each counts into files of its own in the data folder; who asks adds them up.

A process takes the lowest free slot of its role and goes on from what the last one in it had counted, so that counters
survive restarts and the folder stays as large as the most processes that ever ran at once.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Any, cast

from prometheus_client import REGISTRY, CollectorRegistry, ProcessCollector, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

#: Where prometheus-client looks for the folder; it reads the name itself.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_shared: Path | None = None


class Slots:
    """The name under which this process counts: its role and a slot that a lock holds; a forked child takes another."""

    def __init__(self, folder: Path, role: str) -> None:
        self._folder = folder
        self._role = role
        self._taken: tuple[int, str] | None = None
        self._locks: list[IO[str]] = []

    def name(self) -> str:
        """Distinct among living processes; the same for this one every time."""
        if self._taken is None or self._taken[0] != os.getpid():
            self._taken = os.getpid(), self._take()
        return self._taken[1]

    def _take(self) -> str:
        number = 0
        while True:
            name = f"{self._role}-{number}"
            lock = (self._folder / f"{name}.lock").open("a")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                number += 1
            else:
                self._locks.append(lock)  # held until this process ends, however it does
                return name


def folder_of(home: Path) -> Path:
    """Where the counters of a data folder lie."""
    return home / "run" / "counters"


def share(home: Path, role: str) -> None:
    """Has this process count where the others of this data folder do. Before `stores.metrics` is imported.

    Raises: RuntimeError when that has happened already: what it declared would count for this process alone.
    """
    folder = folder_of(home)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(name.startswith("afterturn_") for name in _declared()):
        msg = "counters were declared before it was said where they are kept"
        raise RuntimeError(msg)
    global _shared  # noqa: PLW0603 - a process counts in one place, and the library too knows but one
    os.environ[VARIABLE] = str(folder)
    values.ValueClass = cast("Any", values).MultiProcessValue(Slots(folder, role).name)
    _shared = folder


def exposition() -> bytes:
    """This process's counters, or those of the whole data folder when they are shared, as Prometheus text."""
    if _shared is None:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(_shared))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _declared() -> list[str]:
    return list(cast("dict[str, object]", vars(REGISTRY)["_names_to_collectors"]))

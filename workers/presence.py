"""Who is up, as files in the data folder say it: `up` waits for the ready files, doctor reads the start records.

Remote control cannot ask the ingest worker (it is off there on purpose), so every role says it by file.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.probe import pulse


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRecord:
    """A process that got ready. `tasks` are the names it runs."""

    role: str
    pid: int
    tasks: tuple[str, ...] = ()

    @property
    def is_alive(self) -> bool:
        """A process of that pid exists."""
        return is_alive(self.pid)


def is_alive(pid: int) -> bool:
    """A process of that pid exists, whoever's it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def run_folder(home: Path) -> Path:
    """Where records and locks of running processes lie."""
    return home / "run"


def ready_file(home: Path, role: str) -> Path:
    """Stands while the role's process works; holds its pid."""
    return run_folder(home) / f"{role}.ready"


def start_record(home: Path, role: str) -> Path:
    """Stays after the process's end: what it registered when it last started."""
    return run_folder(home) / f"{role}-worker.json"


def read(path: Path) -> StartRecord | None:
    """The record in a ready file or start record, if there is one that can be read."""
    try:
        told: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return StartRecord(role=told["role"], pid=int(told["pid"]), tasks=tuple(told.get("tasks", ())))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def announce_beat(home: Path) -> None:
    """Has Celery leave beat's ready file once it ticks; workers leave their own."""
    from celery.signals import beat_init  # noqa: PLC0415 - whoever only reads records needs no Celery

    def on_beat(**_: Any) -> None:
        path = ready_file(home, "beat")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"role": "beat", "pid": os.getpid()}), "utf-8")
        draft.replace(path)
        pulse.is_ready = True

    beat_init.connect(on_beat, weak=False)  # pyright: ignore[reportUnknownMemberType]

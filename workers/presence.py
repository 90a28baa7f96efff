"""Who is up: each worker and beat write a start record when they are ready, which `up` waits for and doctor reads.

Remote control cannot ask the ingest worker (its remote control is off on purpose), so every role says it by file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRecord:
    """A process that got ready. `tasks` are the names it will run."""

    role: str
    pid: int
    started_at: str
    tasks: tuple[str, ...] = ()

    @property
    def is_alive(self) -> bool:
        """A process of that pid exists."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def run_folder(home: Path) -> Path:
    """Where records and locks of running processes lie."""
    return home / "run"


def write(home: Path, role: str, tasks: Iterable[str] = ()) -> None:
    """Records that this process is ready. Readers see the whole record or none."""
    folder = run_folder(home)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ours = tuple(sorted(name for name in tasks if not name.startswith("celery.")))
    record = StartRecord(role=role, pid=os.getpid(), started_at=datetime.now(UTC).isoformat(), tasks=ours)
    draft = folder / f"{role}.{record.pid}.tmp"
    draft.write_text(json.dumps(asdict(record)), "utf-8")
    draft.replace(folder / f"{role}.json")


def read(home: Path, role: str) -> StartRecord | None:
    """The role's latest record, if there is one that can be read."""
    try:
        told: dict[str, Any] = json.loads((run_folder(home) / f"{role}.json").read_text("utf-8"))
        tasks = tuple(told["tasks"])
        return StartRecord(role=told["role"], pid=told["pid"], started_at=told["started_at"], tasks=tasks)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def clear(home: Path, role: str) -> None:
    """Forgets the role's record."""
    (run_folder(home) / f"{role}.json").unlink(missing_ok=True)


def announce_when_ready(home: Path, role: str) -> None:
    """Has Celery write this process's record once its worker consumes, or its beat ticks."""
    from celery.signals import beat_init, worker_ready  # noqa: PLC0415 - the CLI reads records without Celery

    def on_worker(sender: Any = None, **_: Any) -> None:
        write(home, role, sender.app.tasks)

    def on_beat(**_: Any) -> None:
        write(home, role)

    worker_ready.connect(on_worker, weak=False)  # pyright: ignore[reportUnknownMemberType]
    beat_init.connect(on_beat, weak=False)  # pyright: ignore[reportUnknownMemberType]

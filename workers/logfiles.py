"""The log files of a data folder: where they lie, and how they stay bounded while their processes go on writing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import IO

MAX_BYTES = 20_000_000


def log_path(home: Path, name: str) -> Path:
    """Where a role's output goes."""
    return home / "logs" / f"{name}.log"


def open_log(home: Path, name: str) -> IO[bytes]:
    """A role's log, open to append, mode 0600."""
    path = log_path(home, name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")  # noqa: PTH123 - sets the mode


def keep_bounded(home: Path, *, max_bytes: int = MAX_BYTES) -> None:
    """Turns over every log of the folder that is larger than `max_bytes`; one older one of each is kept.

    Raises: OSError when the disk is full.
    """
    for path in (*(home / "logs").glob("*.log"), home / "broker" / "valkey.log"):
        if path.is_file() and path.stat().st_size > max_bytes:
            _turn_over(path)


def _turn_over(path: Path) -> None:
    """Copies and empties the file in place: a process, and a pool's children, hold it open and would go on in it.

    All of them append, so the next line is the first of the file. One written between copy and cut is lost.
    """
    older = path.with_suffix(".log.1")
    draft = path.with_suffix(".log.tmp")
    with path.open("rb") as source, open(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as copy:  # noqa: PTH123
        shutil.copyfileobj(source, copy, 1 << 20)
    os.truncate(path, 0)
    draft.replace(older)

"""Who owns which part of a spool folder: a lock file for each process, held for as long as it lives.

The kernel lets go of a lock when its owner dies, however it dies. A lock counts only while its file is still the one
at its path: whoever removes a finished spool removes the file under the lock.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def lock_new(path: Path) -> int:
    """The descriptor of a lock file of our own, created and locked. Raises: OSError."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError:
            os.close(fd)
            raise
        if _is_at(fd, path):
            return fd
        os.close(fd)  # Somebody took it for a dead process's and removed it.


def lock_dead(path: Path) -> int | None:
    """The descriptor of a dead process's lock file, locked; None while its owner lives, or when it is gone."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    if _is_at(fd, path):
        return fd
    os.close(fd)
    return None


def _is_at(fd: int, path: Path) -> bool:
    held = os.fstat(fd)
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino)

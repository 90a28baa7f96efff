"""Spools of dead processes: found by a lock that nobody holds, sent by whoever is alive, removed with their receipts.

Their events keep the producer and the numbers that they were given; the receipts come to the sender.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import UUID

from pydantic_core import from_json

from afterturn.flocks import lock_dead
from afterturn.outgoing import Parcel
from afterturn.segments import MAGIC, Damage, Record, read_segment, segment_cipher
from afterturn.spool import WIPED_SUFFIX

if TYPE_CHECKING:
    from afterturn.buffer import Row

SCAN_SECONDS = 30.0
_LOCK = re.compile("[0-9a-f]{32}[.]lock")
_SEGMENT = re.compile("[0-9a-f]{32}-[0-9]{1,12}[.]seg")

log = logging.getLogger("afterturn")


class OrphanSegment:
    """A dead process's file: removed when all of it has been read and every event in it is settled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = int(path.stem.rpartition("-")[2])
        self.open: set[int] = set()
        self.is_read = False

    def settle(self, first_seq: int, last_seq: int) -> None:
        """These events need no more keeping."""
        self.open.difference_update(range(first_seq, last_seq + 1))
        self.remove_if_done()

    def remove_if_done(self) -> None:
        """Removes the file when nothing in it is needed."""
        if self.is_read and not self.open:
            self.path.unlink(missing_ok=True)


class Estate:
    """One dead process's spool, locked by us."""

    def __init__(self, lock_path: Path, lock_fd: int) -> None:
        self.lock_path = lock_path
        self.lock_fd = lock_fd
        self.producer = UUID(hex=lock_path.stem)
        self.damaged = 0
        files = sorted(lock_path.parent.glob(f"{lock_path.stem}-*.seg"))
        self._segments = [OrphanSegment(path) for path in files if _SEGMENT.fullmatch(path.name)]

    @property
    def is_empty(self) -> bool:
        """Whether it has no file: its owner has just ended, or has only just begun."""
        return not self._segments

    @property
    def is_newer(self) -> bool:
        """Whether a newer version wrote it: left alone."""
        return any(_is_newer(segment.path) for segment in self._segments)

    @property
    def is_done(self) -> bool:
        """Whether all of it is read and receipted."""
        return all(segment.is_read and not segment.open for segment in self._segments)

    def parcels(self, seal_key: bytes, max_events: int, max_bytes: int) -> Iterator[Parcel]:
        """Its events in order, each parcel from one segment."""
        trail = _Trail()
        for segment in self._segments:
            trail.begin(segment.number)
            rows: list[Row] = []
            size = 0
            cipher = segment_cipher(seal_key, self.producer, segment.number)
            for found in read_segment(segment.path.read_bytes(), cipher):
                self._report(trail.lost(found))
                if isinstance(found, Damage):
                    continue
                if rows and (len(rows) >= max_events or size + len(found.plain) > max_bytes):
                    yield Parcel(rows, segment, self.producer)
                    rows, size = [], 0
                segment.open.add(found.seq)
                rows.append(_row(found))
                size += len(found.plain)
            segment.is_read = True
            if rows:
                yield Parcel(rows, segment, self.producer)
            segment.remove_if_done()
        self._report(trail.end())

    def let_go(self, *, remove: bool) -> None:
        """Frees the lock; `remove`: nothing is left to own."""
        if remove:
            for path in self.lock_path.parent.glob(f"{self.lock_path.stem}-*{WIPED_SUFFIX}"):
                path.unlink(missing_ok=True)
            self.lock_path.unlink(missing_ok=True)
        os.close(self.lock_fd)

    def _report(self, lost: int) -> None:
        if lost:
            self.damaged += lost
            log.error("spool of a dead process was damaged: events=%d producer=%s", lost, self.producer)


class _Trail:
    """Counts what is missing by the events' numbers; damage without a neighbour to count from is one event."""

    def __init__(self) -> None:
        self._number = -1
        self._last_seq: int | None = None
        self._has_damage = False

    def begin(self, number: int) -> None:
        """The next segment. One that is missing before it was receipted and removed."""
        if number != self._number + 1:
            self._last_seq = None
        self._number = number

    def lost(self, found: Record | Damage) -> int:
        """How many events are known to be lost before this record."""
        if isinstance(found, Damage):
            self._has_damage = True
            return 0
        gap = 0 if self._last_seq is None else max(0, found.seq - self._last_seq - 1)
        lost = gap if self._last_seq is not None else int(self._has_damage)
        self._last_seq, self._has_damage = found.seq, False
        return lost

    def end(self) -> int:
        """How many are known to be lost after the last record."""
        return int(self._has_damage)


class Takeover:
    """Finds and reads spools of dead processes in one folder. For the sender's thread."""

    def __init__(self, folder: Path, seal_key: bytes) -> None:
        self._folder = folder
        self._seal_key = seal_key
        self._files = threading.RLock()
        self._scan_at = 0.0
        self._estates: list[Estate] = []
        self._reading: Iterator[Parcel] | None = None
        self._unread: list[Estate] = []
        self._damaged = 0

    @property
    def damaged(self) -> int:
        """Events that could not be read."""
        return self._damaged + sum(estate.damaged for estate in list(self._estates))

    def next_parcel(self, max_events: int, max_bytes: int) -> Parcel | None:
        """The next events of the dead, or None for now."""
        while True:
            if self._reading is not None:
                parcel = next(self._reading, None)
                if parcel is not None:
                    return parcel
                self._reading = None
            self._finish()
            if not self._unread and not self._scan():
                return None
            self._reading = self._unread.pop(0).parcels(self._seal_key, max_events, max_bytes)

    def close(self) -> None:
        """Lets everything go that is not done: the next process takes it over again. Repeat: harmless."""
        self._finish()
        for estate in self._estates:
            estate.let_go(remove=False)
        self._estates.clear()

    def hold(self) -> None:
        """Before a fork: no lock is being taken."""
        self._files.acquire()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._files.release()

    def abandon(self) -> None:
        """In a forked child: the parent goes on with it."""
        for estate in self._estates:
            os.close(estate.lock_fd)

    def _finish(self) -> None:
        for estate in [one for one in self._estates if one not in self._unread and one.is_done]:
            self._damaged += estate.damaged
            self._estates.remove(estate)
            estate.let_go(remove=True)

    def _scan(self) -> bool:
        now = time.monotonic()
        if now < self._scan_at:
            return False
        self._scan_at = now + SCAN_SECONDS
        for path in sorted(self._folder.glob("*.lock")):
            if _LOCK.fullmatch(path.name):
                try:
                    self._inherit(path)
                except OSError as exc:  # Another user's, or gone: not ours to send.
                    log.warning("spool of another process left alone: error=%s", type(exc).__name__)
        if self._unread:
            log.info("spools of dead processes taken over: count=%d", len(self._unread))
        return bool(self._unread)

    def _inherit(self, path: Path) -> None:
        with self._files:
            fd = lock_dead(path)
            if fd is None:
                return
            estate = Estate(path, fd)
            if estate.is_empty or estate.is_newer:
                # At once: its owner may be waiting for the lock of a file that it has only just made.
                estate.let_go(remove=estate.is_empty)
                return
            self._estates.append(estate)
        self._unread.append(estate)


def _row(record: Record) -> Row:
    return cast("Row", tuple(cast("list[object]", from_json(record.plain))))


def _is_newer(path: Path) -> bool:
    with path.open("rb") as file:
        magic = file.read(len(MAGIC))
    return magic[:-1] == MAGIC[:-1] and magic[-1] > MAGIC[-1]

"""Spools of dead processes: found by a lock that nobody holds, sent by whoever is alive, removed with their receipts.

Their events keep the producer and the numbers that they were given; the receipts come to the sender.
"""

from __future__ import annotations

import logging
import os
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

if TYPE_CHECKING:
    from afterturn.buffer import Row

SCAN_SECONDS = 30.0

log = logging.getLogger("afterturn")


class OrphanSegment:
    """A dead process's file: removed when all of it has been read and every event in it is settled."""

    def __init__(self, path: Path) -> None:
        self.path = path
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
        self._segments = [OrphanSegment(path) for path in sorted(lock_path.parent.glob(f"{lock_path.stem}-*.seg"))]

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
        last_seq: int | None = None
        for segment in self._segments:
            rows: list[Row] = []
            size = 0
            cipher = segment_cipher(seal_key, self.producer, int(segment.path.stem.rpartition("-")[2]))
            has_damage = False
            for found in read_segment(segment.path.read_bytes(), cipher):
                if isinstance(found, Damage):
                    has_damage = True
                    continue
                self._count_lost(last_seq, found.seq, has_damage=has_damage)
                last_seq, has_damage = found.seq, False
                if rows and (len(rows) >= max_events or size + len(found.plain) > max_bytes):
                    yield Parcel(rows, segment, self.producer)
                    rows, size = [], 0
                segment.open.add(found.seq)
                rows.append(_row(found))
                size += len(found.plain)
            if has_damage:
                self._count_lost(None, 0, has_damage=True)
            segment.is_read = True
            if rows:
                yield Parcel(rows, segment, self.producer)
            segment.remove_if_done()

    def let_go(self, *, remove: bool) -> None:
        """Frees the lock; `remove`: nothing is left to own."""
        if remove:
            self.lock_path.unlink(missing_ok=True)
        os.close(self.lock_fd)

    def _count_lost(self, last_seq: int | None, seq: int, *, has_damage: bool) -> None:
        """Numbers that are missing are events that were lost; without a neighbour, damage counts as one."""
        lost = max(0, seq - last_seq - 1) if last_seq is not None else 0
        lost = max(lost, 1 if has_damage else 0)
        if lost:
            self.damaged += lost
            log.error("spool of a dead process was damaged: events=%d producer=%s", lost, self.producer)


class Takeover:
    """Finds and reads spools of dead processes in one folder. For the sender's thread."""

    def __init__(self, folder: Path, seal_key: bytes) -> None:
        self._folder = folder
        self._seal_key = seal_key
        self._files = threading.Lock()
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
            with self._files:
                fd = lock_dead(path)
                if fd is None:
                    continue
                estate = Estate(path, fd)
                if estate.is_newer:
                    estate.let_go(remove=False)
                    continue
                self._estates.append(estate)
            self._unread.append(estate)
        if self._unread:
            log.info("spools of dead processes taken over: count=%d", len(self._unread))
        return bool(self._unread)


def _row(record: Record) -> Row:
    return cast("Row", tuple(cast("list[object]", from_json(record.plain))))


def _is_newer(path: Path) -> bool:
    with path.open("rb") as file:
        magic = file.read(len(MAGIC))
    return magic[:-1] == MAGIC[:-1] and magic[-1] > MAGIC[-1]

"""One process's spool: what was said is on disk, sealed, when the call returns, and stays until its receipt.

The agent's call copies into a mapped file and asks the system for nothing. A thread of the spool's own makes the files:
allocated (a hole would kill the agent with SIGBUS on a full disk), written to once (a first touch costs the call 5 us),
two ahead. Those whose events are all receipted are wiped and used again, or removed. What the kernel has is safe from
any death of the process, and not from a power cut: nothing is ever synced.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import mmap
import os
import threading
import time
from array import array
from collections import deque
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from afterturn.flocks import lock_new
from afterturn.segments import MAGIC, START, read_record, record_bytes, segment_cipher, write_record

SEGMENT_BYTES = 4 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
SPARES = 2
USED_SPARES = 3
MAPPED = 3
RETRY_SECONDS = 1.0
_PAGE = mmap.PAGESIZE
_PAGES_AT_ONCE = 64
_ZEROS_BYTES = 256 * 1024
WIPED_SUFFIX = ".old"

log = logging.getLogger("afterturn")


class Segment:
    """A file of ours. `offsets` are the places of its events, whose numbers go up by one from `first_seq`."""

    def __init__(self, path: Path, number: int, mapped: mmap.mmap, cipher: AESGCM) -> None:
        self.path = path
        self.number = number
        self.cipher = cipher
        self.mapped: mmap.mmap | None = mapped
        self.tail = START
        self.first_seq = 0
        self.offsets = array("I")
        self.settled = 0
        self.is_full = False

    @property
    def is_done(self) -> bool:
        """Whether nothing in it is needed any more, and nothing more will be written."""
        return self.is_full and self.settled >= len(self.offsets)


class Spool:
    """The segments of one producer. `append` under the buffer's lock; `read` and `settle` from the sender's thread."""

    def __init__(
        self,
        folder: Path,
        seal_key: bytes,
        producer: UUID,
        *,
        max_bytes: int = MAX_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self._folder = folder
        self._seal_key = seal_key
        self._producer = producer
        self._max_bytes = max_bytes
        self._segment_bytes = segment_bytes
        self._numbers = count()
        self._files = threading.RLock()
        self._file_bytes = 0
        self._lock_fd: int | None = None
        self._lock_path = folder / f"{producer.hex}.lock"
        self._current: Segment | None = None
        self._live: list[Segment] = []
        self._spares: deque[Segment] = deque()
        self._wake = threading.Event()
        self._closing = False
        self.blocked: str | None = None
        self.thread = threading.Thread(target=self._keep, name="afterturn-spool", daemon=True)

    def open(self) -> None:
        """Takes its place in the folder, with a segment to write to. Raises: OSError when the folder cannot be used.

        A full disk is no error here: events are refused and counted until there is room.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock_fd = lock_new(self._lock_path)
        self._current = self._make()
        if self._current is not None:
            self._live.append(self._current)
        with contextlib.suppress(RuntimeError):  # The process is ending: the calls make what they need themselves.
            self.thread.start()
        self._wake.set()

    @property
    def is_open(self) -> bool:
        """Whether it has its place in the folder."""
        return self._lock_fd is not None

    @property
    def unsettled_bytes(self) -> int:
        """What lies in segments with events that wait for their receipt."""
        return sum(segment.tail - START for segment in list(self._live) if segment.settled < len(segment.offsets))

    def append(self, seq: int, plain: bytes) -> bool:
        """Whether the event is on disk. False: its bound is reached, the disk is full, or it is larger than a segment.

        Numbers go up by one from one success to the next.
        """
        size = record_bytes(len(plain))
        segment = self._current
        if segment is None or segment.mapped is None or segment.tail + size > self._segment_bytes:
            segment = self._next_segment(seq, size)
            if segment is None or segment.mapped is None:
                return False
        offset = segment.tail
        # Reserved first: whatever interrupts the writing, no place is ever written twice under one key.
        segment.tail = offset + size
        write_record(segment.mapped, segment.cipher, offset, seq, plain)
        offsets = segment.offsets
        if len(offsets) != seq - segment.first_seq:  # Written before, and its call was interrupted.
            del offsets[seq - segment.first_seq :]
        offsets.append(offset)
        return True

    def read(self, first_seq: int, max_events: int, max_bytes: int) -> Iterator[bytes | None]:
        """Events as they were written, from a number on, all from one segment; None for one that does not open."""
        segment = next(one for one in list(self._live) if first_seq < one.first_seq + len(one.offsets))
        index = first_seq - segment.first_seq
        offsets = segment.offsets[index : index + max_events + 1]
        ends = [*offsets[1:], segment.tail] if len(offsets) <= max_events else offsets[1:]
        base = offsets[0]
        chosen = [place for place, end in zip(offsets, ends, strict=False) if place == base or end - base <= max_bytes]
        with segment.path.open("rb", buffering=0) as file:
            file.seek(base)
            part = file.read(ends[len(chosen) - 1] - base)
        for offset in chosen:
            found = read_record(part, segment.cipher, offset, base=base)
            yield None if found is None else found[0].plain

    def settle(self, first_seq: int, last_seq: int) -> None:
        """These events need no more keeping: a segment in which none is needed goes."""
        for segment in list(self._live):
            last = min(last_seq, segment.first_seq + len(segment.offsets) - 1)
            segment.settled += max(0, last - max(first_seq, segment.first_seq) + 1)
            if segment.is_done:
                self._wake.set()

    def close(self) -> None:
        """Ends: what waits for a receipt stays for the next process, everything else goes. Repeat: harmless."""
        if self._lock_fd is None:
            return
        self._closing = True
        self._wake.set()
        if self.thread.is_alive():
            self.thread.join(RETRY_SECONDS)
        with self._files:
            if self._current is not None:
                self._current.is_full = True
            kept = [segment for segment in self._live if not segment.is_done]
            for segment in [*self._spares, *self._live]:
                self._unmap(segment)
                if segment not in kept:
                    segment.path.unlink(missing_ok=True)
            self._live = kept
            self._spares.clear()
            self._current = None
            if not kept:
                self._lock_path.unlink(missing_ok=True)
            os.close(self._lock_fd)
            self._lock_fd = None

    def hold(self) -> None:
        """Before a fork: nobody is making files."""
        self._files.acquire()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._files.release()

    def abandon(self) -> None:
        """In a forked child: lets the parent's files go. Closing its lock is not unlocking, which would free it."""
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None
        for segment in [*self._spares, *self._live]:
            self._unmap(segment)

    def _next_segment(self, seq: int, size: int) -> Segment | None:
        if size > self._segment_bytes - START or self._lock_fd is None:
            return None
        if self._spares:
            segment = self._spares.popleft()
        elif self.blocked is not None:
            return None
        else:  # The thread got no turn in time: a few milliseconds now are better than an event less.
            with self._files:  # Held while the thread makes one: that is the last, then, where the bound allows one.
                segment = self._spares.popleft() if self._spares else self._make()
            if segment is None:
                return None
        if self._current is not None:
            self._current.is_full = True
        segment.first_seq = seq
        self._live.append(segment)
        self._current = segment
        self._wake.set()
        return segment

    def _keep(self) -> None:
        """The thread: segments ahead of the writer, and none behind it."""
        while not self._closing:
            self._wake.wait(RETRY_SECONDS if self.blocked else None)
            self._wake.clear()
            for place, segment in enumerate([one for one in self._live if one.is_full]):
                if segment.is_done:
                    self._reuse(segment)
                elif place >= MAPPED:  # The oldest are done first. Each is 4 MB of the agent's memory.
                    self._unmap(segment)
            while len(self._spares) < SPARES and not self._closing:
                with self._files:
                    segment = self._make()
                    if segment is None:
                        break
                    self._spares.append(segment)

    def _reuse(self, segment: Segment) -> None:
        """Makes a spare of a segment that nobody needs, which costs a tenth of a new one, or removes it.

        Between its two names it has one that no heir reads: half wiped it would look damaged.
        """
        with self._files:
            self._live.remove(segment)
            old = segment.path
            if segment.mapped is not None and len(self._spares) < USED_SPARES and not self._closing:
                number = next(self._numbers)
                with contextlib.suppress(FileNotFoundError):  # Somebody has emptied the folder.
                    old = old.rename(old.with_suffix(WIPED_SUFFIX))
                    _wipe(segment.mapped, segment.tail)
                    self._spares.append(self._segment(old.rename(self._path(number)), number, segment.mapped))
                    return
            self._unmap(segment)
            old.unlink(missing_ok=True)
            self._file_bytes -= self._segment_bytes

    def _make(self) -> Segment | None:
        """A new segment, or None when there is no room for one: `blocked` says why."""
        with self._files:
            if self._closing:
                return None
            if self._file_bytes + self._segment_bytes > self._max_bytes:
                self._block("bound")
                return None
            number = next(self._numbers)
            path = self._path(number)
            try:
                mapped = _allocate(path, self._segment_bytes)
            except OSError as exc:
                path.unlink(missing_ok=True)
                self._block(errno.errorcode.get(exc.errno or 0, "error"))
                return None
            self._file_bytes += self._segment_bytes
            self.blocked = None
            _populate(mapped)
        return self._segment(path, number, mapped)

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._producer.hex}-{number:08d}.seg"

    def _segment(self, path: Path, number: int, mapped: mmap.mmap) -> Segment:
        return Segment(path, number, mapped, segment_cipher(self._seal_key, self._producer, number))

    def _block(self, reason: str) -> None:
        if self.blocked is None:
            log.warning("spool gets no new segment: reason=%s", reason)
        self.blocked = reason

    @staticmethod
    def _unmap(segment: Segment) -> None:
        mapped, segment.mapped = segment.mapped, None
        if mapped is not None:
            mapped.close()


def _allocate(path: Path, size: int) -> mmap.mmap:
    """A new mapped file whose every block is on the disk. Raises: OSError."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):  # Not on macOS, where what is written out is as safe.
            os.posix_fallocate(fd, 0, size)
        # Written in large pieces before it is mapped: the first touch of a page costs a fifth then.
        _write_zeros(fd, size)
        os.pwrite(fd, MAGIC, 0)
        return mmap.mmap(fd, size)
    finally:
        os.close(fd)


def _write_zeros(fd: int, size: int) -> None:
    block = memoryview(bytes(_ZEROS_BYTES))
    while size > 0:
        size -= os.write(fd, block[:size])


def _wipe(mapped: mmap.mmap, end: int) -> None:
    for first in range(START, end, _ZEROS_BYTES):
        last = min(first + _ZEROS_BYTES, end)
        mapped[first:last] = bytes(last - first)
        time.sleep(0)  # Lets the agent's threads in between.


def _populate(mapped: mmap.mmap) -> None:
    """Writes to each page once, beside the magic, so that the agent's call never waits for one."""
    for first in range(0, len(mapped), _PAGE * _PAGES_AT_ONCE):
        for offset in range(max(first, _PAGE), min(first + _PAGE * _PAGES_AT_ONCE, len(mapped)), _PAGE):
            mapped[offset] = 0
        time.sleep(0)  # Lets the agent's threads in between.

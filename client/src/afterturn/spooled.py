"""A buffer whose every event is on disk before the call returns. What memory has no room for waits there alone."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, cast

from pydantic_core import from_json, to_json

from afterturn.buffer import Buffer, Row
from afterturn.forks import fork_gate
from afterturn.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Sequence

REFILL_EVENTS = 100
_ROW_BYTES = 1024

log = logging.getLogger("afterturn")


class SpooledBuffer(Buffer):
    """As its base, but for its bound: refused is what the spool cannot take. Memory's bound only spills to disk."""

    def __init__(self, spool: Spool, *, max_events: int, max_bytes: int) -> None:
        super().__init__(max_events=max_events, max_bytes=max_bytes)
        self.source = spool
        self.unreadable = 0
        self._spool = spool
        self._append = spool.append
        self._spilled_from: int | None = None
        self._writing = False
        self._interrupted: deque[tuple[Row, int]] = deque()

    def add(self, row: Row, size: int) -> bool:
        """Takes an event when it is on disk, or refuses it. Only under the lock."""
        if self._writing:  # A signal handler, in the middle of its own thread's writing: right after that.
            self._interrupted.append((row, size))
            return True
        self._writing = True
        try:
            taken = self._write(row, size)
            while self._interrupted:
                self._write(*self._interrupted.popleft())
        finally:
            self._writing = False
        return taken

    def ready(self) -> int:
        """About how many events `take` would give. Only under the lock."""
        if self._rows or self._spilled_from is None or not self._may_refill():
            return len(self._rows)
        return self.accepted - self._spilled_from

    def take(self, max_events: int, max_bytes: int) -> tuple[list[Row], int]:
        """As the base's; from disk what is only there."""
        if not self._rows and self._spilled_from is not None and self._may_refill():
            self._refill(self._spilled_from, max_bytes)
        return super().take(max_events, max_bytes)

    def _write(self, row: Row, size: int) -> bool:
        seq = self.accepted
        if row[7] != seq:
            row = (*row[:7], seq, *row[8:])
        try:
            plain = to_json(row, inf_nan_mode="null")
        except ValueError:  # The calls let no such event pass; if one does all the same, it alone is refused.
            log.error("event could not be encoded and was refused: event_id=%s", row[1])
            self.refused += 1
            return False
        if self.closed or not self._append(seq, plain):
            self.refused += 1
            return False
        self.accepted = seq + 1
        if self._spilled_from is None:
            kept = self._bytes + size
            if self._kept < self._max_events and kept <= self._max_bytes:
                # As `_line_up`, like the base's.
                self._rows.append((row, size))
                self._kept += 1
                self._bytes = kept
                if len(self._rows) >= self._wake_at:
                    self._ring()
            else:
                self._spilled_from = seq
        return True

    def _may_refill(self) -> bool:
        return not self._kept or self._has_room(REFILL_EVENTS * _ROW_BYTES)

    def _refill(self, first: int, max_bytes: int) -> None:
        """Reads back outside the lock: what is spilled stays so, and what is said meanwhile comes after it."""
        with fork_gate:
            read = [
                None if plain is None else (cast("Sequence[object]", from_json(plain)), len(plain))
                for plain in self._spool.read(first, REFILL_EVENTS, max_bytes)
            ]
        with self.lock:
            for found in read:
                if found is None:
                    self._give_up(first)
                else:
                    fields, size = found
                    self._line_up(cast("Row", tuple(fields)), _ROW_BYTES + size)
                first += 1
            self._spilled_from = None if first == self.accepted else first

    def _give_up(self, seq: int) -> None:
        log.error("spool gave an event back damaged: seq=%d", seq)
        self.unreadable += 1
        self.handed += 1
        self.released += 1
        self._spool.settle(seq, seq)

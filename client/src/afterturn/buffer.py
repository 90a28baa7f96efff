"""What has been said and is not known to be kept: a bounded line between the agent's threads and the sender's.

The agent's side is a few operations under one lock and, once per message, one release of a bell. No condition
variable: `queue.put` wakes its reader for every item, and each wake-up costs the caller a hand-over of the interpreter.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from afterturn.masking import Json
    from afterturn.outgoing import Source

Row = tuple[str, str, str, str, int, "int | None", int, int, "str | None", "str | None", "dict[str, Json] | None"]
"""An event in the order of `ROW_FIELDS`, and its other fields."""
ROW_FIELDS = (
    "kind",
    "event_id",
    "user_id",
    "session_id",
    "at",
    "at_offset",
    "published_at",
    "seq",
    "role",
    "content",
)

_NEVER = 1 << 62


class Buffer:
    """Events in order. At a bound the newest is refused and counted; what was sent counts until it is released.

    accepted >= handed >= released: taken from a caller, handed to the broker, known to be kept or given up.
    """

    def __init__(self, *, max_events: int, max_bytes: int) -> None:
        # Reentrant: a signal handler or a finalizer may publish while its own thread is in here.
        self.lock = threading.RLock()
        self._moved = threading.Condition(self.lock)
        self._bell = threading.Lock()
        self._bell.acquire()
        self._wake_at = _NEVER
        self._rows: deque[tuple[Row, int]] = deque()
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept = 0
        self.accepted: int = 0
        self.refused = 0
        self.handed = 0
        self.released = 0
        self._done_until = 0
        self.source: Source | None = None
        self._hurry_until = -math.inf
        self.closed = False

    @property
    def held(self) -> int:
        """Events that are not in the broker yet."""
        return self.accepted - self.handed

    @property
    def unreceipted(self) -> int:
        """Events that are in the broker and not known to be kept."""
        return self.handed - self.released

    def add(self, row: Row, size: int) -> bool:
        """Takes an event of about `size` bytes, or refuses it. Only under the lock."""
        kept = self._bytes + size
        if self.closed or self._kept >= self._max_events or kept > self._max_bytes:
            self.refused += 1
            return False
        self.accepted += 1
        # As `_line_up`: this runs in every call, and another one would cost it a tenth of its time.
        self._rows.append((row, size))
        self._kept += 1
        self._bytes = kept
        if len(self._rows) >= self._wake_at:
            self._ring()
        return True

    def _has_room(self, size: int) -> bool:
        return self._kept < self._max_events and self._bytes + size <= self._max_bytes

    def _line_up(self, row: Row, size: int) -> None:
        self._rows.append((row, size))
        self._kept += 1
        self._bytes += size
        if len(self._rows) >= self._wake_at:
            self._ring()

    def ready(self) -> int:
        """About how many events `take` would give. Only under the lock."""
        return len(self._rows)

    def wait(self, count: int, timeout: float | None) -> None:
        """Sleeps until `count` events are here, somebody is in a hurry, or the time is over. For the sender alone."""
        with self.lock:
            ready = self.ready()
            if self.closed or ready >= count or (ready and self.hurries()):
                return
            self._wake_at = count
        if not self._bell.acquire(timeout=-1 if timeout is None else timeout):
            with self.lock:
                if self._wake_at == _NEVER:  # Rung between the time-out and here: the bell is ours to take.
                    self._bell.acquire()
                self._wake_at = _NEVER

    def take(self, max_events: int, max_bytes: int) -> tuple[list[Row], int]:
        """The oldest events, at least one if there is any, and what they take here; they count until released.

        max_bytes: of their JSON, about.
        """
        rows: list[Row] = []
        size = 0
        with self.lock:
            line = self._rows
            while line and len(rows) < max_events:
                row, row_size = line[0]
                max_bytes -= row_size // 2  # In memory an event takes about twice its JSON.
                if rows and max_bytes < 0:
                    break
                line.popleft()
                rows.append(row)
                size += row_size
        return rows, size

    def hand_over(self, count: int) -> None:
        """So many more events are in the broker, or have failed for good."""
        with self.lock:
            self.handed += count
            if not self.held:
                self._hurry_until = -math.inf
            self._moved.notify_all()

    def shrink(self, size: int) -> None:
        """What is kept has become smaller by so many bytes: rows became a sealed message."""
        with self.lock:
            self._bytes -= size

    def release(self, count: int, size: int, done_until: int) -> None:
        """Events that were handed over need no more keeping; every one with a number below `done_until` is released."""
        with self.lock:
            self._kept -= count
            self._bytes -= size
            self.released += count
            self._done_until = done_until
            self._moved.notify_all()

    def hasten(self, seconds: float) -> None:
        """Until the buffer is empty, or for so long, the sender has no patience: it does not wait for more events."""
        with self.lock:
            if self.held:
                self._hurry_until = max(self._hurry_until, time.monotonic() + seconds)
                self._ring()

    def close(self) -> None:
        """Takes no more events; what is here goes without waiting."""
        with self.lock:
            self.closed = True
            self._ring()

    def hurries(self) -> bool:
        """Whether somebody waits for the buffer to be empty."""
        return self.closed or time.monotonic() < self._hurry_until

    def wait_until_empty(self, timeout: float) -> bool:
        """Whether everything that is here now has been handed over within `timeout` seconds."""
        with self.lock:
            goal = self.accepted
            return self._moved.wait_for(lambda: self.handed >= goal, timeout)

    def wait_until_released(self, timeout: float) -> bool:
        """Whether everything that is here now is known to be kept, or given up, within `timeout` seconds."""
        with self.lock:
            goal = self.accepted
            return self._moved.wait_for(lambda: self._done_until >= goal, timeout)

    def ring(self) -> None:
        """Wakes the sender for something other than an event."""
        with self.lock:
            self._ring()

    def _ring(self) -> None:
        if self._wake_at != _NEVER:
            self._wake_at = _NEVER
            self._bell.release()

"""What has been said and not been sent yet: a bounded line between the agent's threads and the sender's.

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
    """Events in order. At a bound the newest is refused and counted; what is being sent counts until it is settled."""

    def __init__(self, *, max_events: int, max_bytes: int) -> None:
        # Reentrant: a signal handler or a finalizer may publish while its own thread is in here.
        self.lock = threading.RLock()
        self._settled = threading.Condition(self.lock)
        self._bell = threading.Lock()
        self._bell.acquire()
        self._wake_at = _NEVER
        self._rows: deque[tuple[Row, int]] = deque()
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._bytes = 0
        self.held = 0
        self.accepted = 0
        self.refused = 0
        self._hurry_until = -math.inf
        self.closed = False

    def next_seq(self) -> int:
        """The number of the next event that is accepted. Only under the lock."""
        return self.accepted

    def add(self, row: Row, size: int) -> bool:
        """Takes an event of about `size` bytes, or refuses it. Only under the lock."""
        if self.closed or self.held >= self._max_events or self._bytes + size > self._max_bytes:
            self.refused += 1
            return False
        self._rows.append((row, size))
        self.held += 1
        self._bytes += size
        self.accepted += 1
        if len(self._rows) >= self._wake_at:
            self._ring()
        return True

    def wait(self, count: int, timeout: float | None) -> None:
        """Sleeps until `count` events are here, somebody is in a hurry, or the time is over. For the sender alone."""
        with self.lock:
            if self.closed or len(self._rows) >= count or (self._rows and self.hurries()):
                return
            self._wake_at = count
        if not self._bell.acquire(timeout=-1 if timeout is None else timeout):
            with self.lock:
                if self._wake_at == _NEVER:  # Rung between the time-out and here: the bell is ours to take.
                    self._bell.acquire()
                self._wake_at = _NEVER

    def take(self, max_events: int, max_bytes: int) -> tuple[list[Row], int]:
        """The oldest events, at least one if there is any, and their bytes. They count until `settle`."""
        rows: list[Row] = []
        size = 0
        with self.lock:
            while self._rows and len(rows) < max_events and (not rows or size + self._rows[0][1] <= max_bytes):
                row, row_size = self._rows.popleft()
                rows.append(row)
                size += row_size
        return rows, size

    def settle(self, count: int, size: int) -> None:
        """Events that were taken have left for good."""
        with self.lock:
            self.held -= count
            self._bytes -= size
            if not self.held:
                self._hurry_until = -math.inf
            self._settled.notify_all()

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
        """Whether everything that is here now has left within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self.lock:
            goal = self.accepted
            while self.accepted - self.held < goal:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._settled.wait(left)
        return True

    def _ring(self) -> None:
        if self._wake_at != _NEVER:
            self._wake_at = _NEVER
            self._bell.release()

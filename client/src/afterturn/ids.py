"""UUIDv7: ids that sort by the time they were made, and strictly within one process.

Source: RFC 9562, section 6.2, method 2 (a random counter below the millisecond). The standard library has none on 3.11.
"""

from __future__ import annotations

import os
import random
import threading
import time
from uuid import UUID

_VARIANT = 0b10 << 62


class _Clock:
    """The last id given out. One per process: a forked child starts its own, with new randomness."""

    def __init__(self) -> None:
        # Reentrant: a signal handler may publish while the same thread is in here.
        self._lock = threading.RLock()
        self._random = random.Random(os.urandom(32))  # noqa: S311 - unique, not secret; a system call would cost more than the rest
        self._milliseconds = -1
        self._prefix = ""
        self._low = 0

    def next(self, milliseconds: int) -> str:
        """The next id: the first half is made once a millisecond, the second counts up in random steps."""
        with self._lock:
            if milliseconds > self._milliseconds:  # A clock that was set back stands still until it has caught up.
                self._milliseconds = milliseconds
                time_hex = f"{milliseconds:012x}"
                self._prefix = f"{time_hex[:8]}-{time_hex[8:]}-7{self._random.getrandbits(12):03x}-"
                # Below the variant one bit stays free: room for 2**29 steps before it would be touched.
                self._low = _VARIANT | self._random.getrandbits(61)
            else:
                self._low += 1 + self._random.getrandbits(32)
            low = f"{self._low:x}"
            return f"{self._prefix}{low[:4]}-{low[4:]}"


_clock = _Clock()


def restart() -> None:
    """In a forked child: the next ids come from new randomness. Registered here, and harmless to call twice."""
    global _clock  # noqa: PLW0603 - process-wide by nature
    _clock = _Clock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=restart)


def uuid7_text(now_ns: int | None = None) -> str:
    """A new UUIDv7 in its usual spelling. `now_ns` is a `time.time_ns()` already read."""
    return _clock.next((time.time_ns() if now_ns is None else now_ns) // 1_000_000)


def uuid7(now_ns: int | None = None) -> UUID:
    """A new UUIDv7."""
    return UUID(uuid7_text(now_ns))

"""UUIDv7: ids that sort by the time they were made, and strictly within one process.

Source: RFC 9562, section 6.2, method 2 (a random counter below the millisecond). The standard library has none on 3.11.
"""

from __future__ import annotations

import os
import random
import threading
import time
from uuid import UUID

_RANDOM_BITS = 74  # 12 above the variant and 62 below it
_LOW = (1 << 62) - 1


class _Clock:
    """The last value given out. One per process: a forked child starts its own, with new randomness."""

    def __init__(self) -> None:
        # Reentrant: a signal handler may publish while the same thread is in here.
        self.lock = threading.RLock()
        self.random = random.Random(os.urandom(32))  # noqa: S311 - unique, not secret; a system call costs more than the rest
        self.last = 0

    def next(self, milliseconds: int) -> int:
        """A value of 48 + 74 bits above every earlier one."""
        with self.lock:
            if milliseconds > self.last >> _RANDOM_BITS:
                # The top bit stays free, so that a burst has room to count up inside its millisecond.
                self.last = milliseconds << _RANDOM_BITS | self.random.getrandbits(_RANDOM_BITS - 1)
            else:
                self.last += 1 + self.random.getrandbits(32)
            return self.last


_clock = _Clock()


def _restart() -> None:
    global _clock  # noqa: PLW0603 - process-wide by nature
    _clock = _Clock()


os.register_at_fork(after_in_child=_restart)


def uuid7_text(now_ns: int | None = None) -> str:
    """A new UUIDv7 in its usual spelling. `now_ns` is a `time.time_ns()` already read."""
    value = _clock.next((time.time_ns() if now_ns is None else now_ns) // 1_000_000)
    text = f"{_with_marks(value):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def uuid7(now_ns: int | None = None) -> UUID:
    """A new UUIDv7."""
    return UUID(int=_with_marks(_clock.next((time.time_ns() if now_ns is None else now_ns) // 1_000_000)))


def _with_marks(value: int) -> int:
    """The 122 bits with version 7 and the RFC variant set."""
    return value >> 74 << 80 | 7 << 76 | (value >> 62 & 0xFFF) << 64 | 2 << 62 | (value & _LOW)

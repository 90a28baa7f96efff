"""UUIDv7: ids that sort by the time they were made, and strictly within one process.

Source: RFC 9562, section 6.2, method 2 (a random counter below the millisecond). The standard library has none on 3.11.
"""

from __future__ import annotations

import os
import random
import threading
import time
from itertools import count
from uuid import UUID

_VARIANT = 0b10 << 14
_LAST_BITS = 48


class _Clock:
    """The last id given out. One per process: a forked child starts its own, with new randomness.

    All but the time is random from the start. The last 48 bits count up from there: with the highest of them set they
    always have twelve digits, and no process ever gets to their end.
    """

    def __init__(self) -> None:
        chance = random.Random(os.urandom(32))  # noqa: S311 - unique, not secret; a system call would cost more than the rest
        self.low = count(1 << (_LAST_BITS - 1) | chance.getrandbits(_LAST_BITS - 2))
        self.last = (-1, "")
        self._middle = f"-7{chance.getrandbits(12):03x}-{_VARIANT | chance.getrandbits(14):04x}-"
        # Reentrant: a signal handler may publish while the same thread is in here.
        self._lock = threading.RLock()

    def advance(self, milliseconds: int) -> str:
        """How ids of this millisecond begin. A clock that was set back stands still until it has caught up."""
        with self._lock:
            if milliseconds > self.last[0]:
                time_hex = "%012x" % milliseconds  # noqa: UP031 - an f-string's format takes twice as long
                self.last = (milliseconds, time_hex[:8] + "-" + time_hex[8:] + self._middle)
            return self.last[1]


_clock = _Clock()


def restart() -> None:
    """In a forked child: the next ids come from new randomness. Registered here, and harmless to call twice."""
    global _clock  # noqa: PLW0603 - process-wide by nature
    _clock = _Clock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=restart)


def uuid7_text(now_ns: int | None = None) -> str:
    """A new UUIDv7 in its usual spelling. `now_ns` is a `time.time_ns()` already read."""
    milliseconds = (time.time_ns() if now_ns is None else now_ns) // 1_000_000
    clock = _clock
    last, prefix = clock.last
    if milliseconds > last:
        prefix = clock.advance(milliseconds)
    return prefix + "%x" % next(clock.low)  # noqa: UP031 - as above


def uuid7(now_ns: int | None = None) -> UUID:
    """A new UUIDv7."""
    return UUID(uuid7_text(now_ns))

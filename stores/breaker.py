"""A circuit breaker: what failed repeatedly is left alone for a while, then tried by one caller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Breaker:
    """Closed, it lets everybody through; open, nobody; after `rest_seconds` one trial decides.

    Safe between threads. `clock` is monotonic seconds.
    """

    def __init__(
        self, *, failures: int = 3, rest_seconds: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = failures
        self._rest = rest_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try = 0.0

    def allows(self) -> bool:
        """Whether to try now. An open breaker that has rested lets one caller through and rests again."""
        with self._lock:
            if self._failures < self._limit:
                return True
            if self._clock() < self._next_try:
                return False
            self._next_try = self._clock() + self._rest
            return True

    def succeeded(self) -> None:
        """Closes it."""
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        """Counts a failure; opens it at the limit."""
        with self._lock:
            self._failures += 1
            self._next_try = self._clock() + self._rest

    @property
    def is_open(self) -> bool:
        """Whether callers are turned away at the moment."""
        with self._lock:
            return self._failures >= self._limit and self._clock() < self._next_try

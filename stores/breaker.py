"""A circuit breaker: what failed repeatedly is left alone for a while, then tried by one caller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Breaker:
    """Closed, it lets everybody through; open, nobody; after `rest_seconds` one trial decides.

    Safe between threads. `clock` is monotonic seconds. `fair_seconds` is what a `call` may take.
    """

    def __init__(
        self,
        *,
        failures: int = 3,
        rest_seconds: float = 10.0,
        fair_seconds: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = failures
        self._rest = rest_seconds
        self._fair = fair_seconds
        self._due: dict[object, float] = {}
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try = 0.0

    def allows(self) -> bool:
        """Whether to try now. An open breaker that has rested lets one caller through and rests again."""
        with self._lock:
            self._count_overdue()
            if self._failures < self._limit:
                return True
            if self._clock() < self._next_try:
                return False
            self._next_try = self._clock() + self._rest
            return True

    @contextmanager
    def call(self) -> Generator[None]:
        """Around one call: it fails by an exception or by taking longer than is fair, whoever still waits for it.

        One that hangs counts again after every `fair_seconds`: it may hold the last thread that could try.
        """
        token = object()
        with self._lock:
            fair_until = self._due[token] = self._clock() + self._fair
        try:
            yield
        except BaseException:
            self._end(token, has_failed=True)
            raise
        self._end(token, has_failed=self._clock() > fair_until)

    def succeeded(self) -> None:
        """Closes it."""
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        """Counts a failure; opens it at the limit."""
        with self._lock:
            self._failures += 1
            self._next_try = self._clock() + self._rest

    def _end(self, token: object, *, has_failed: bool) -> None:
        with self._lock:
            del self._due[token]
        if has_failed:
            self.failed()
        else:
            self.succeeded()

    def _count_overdue(self) -> None:
        now = self._clock()
        for token, due in self._due.items():
            if now > due:
                self._due[token] = now + self._fair
                self._failures += 1
                self._next_try = max(self._next_try, now + self._rest if self._failures == self._limit else 0.0)

    @property
    def is_open(self) -> bool:
        """Whether callers are turned away at the moment."""
        with self._lock:
            return self._failures >= self._limit and self._clock() < self._next_try

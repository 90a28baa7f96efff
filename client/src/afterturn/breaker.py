"""When to try a broker that failed again: at once never, soon at first, seldom later. Pure: `now` is an argument."""

from __future__ import annotations

import random
from typing import Literal

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
HURRIED_PAUSE_SECONDS = 0.1

BrokerState = Literal["unknown", "up", "down"]


class Breaker:
    """Open after a failure, for a pause that doubles; then one try decides. Nobody waits for it but the sender."""

    def __init__(self) -> None:
        self.state: BrokerState = "unknown"
        self._pause = FIRST_PAUSE_SECONDS
        self._failed_at = 0.0
        self._retry_at = 0.0

    def worked(self) -> None:
        """The broker did what it was asked."""
        self.state = "up"
        self._pause = FIRST_PAUSE_SECONDS

    def failed(self, now: float) -> None:
        """It did not."""
        self.state = "down"
        self._failed_at = now
        # Jitter keeps a fleet of agents from knocking all at once when the broker is back.
        self._retry_at = now + self._pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)

    def pause_seconds(self, now: float, *, hurried: bool) -> float:
        """How long to leave it alone yet; 0 when it may be tried. Somebody who waits for a flush shortens it."""
        if self.state != "down":
            return 0.0
        until = min(self._retry_at, self._failed_at + HURRIED_PAUSE_SECONDS) if hurried else self._retry_at
        return max(0.0, until - now)

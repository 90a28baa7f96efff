"""How long to wait before what fell is started again: longer with every fall, from the start after a steady run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

STEADY_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 0.25
MAX_PAUSE_SECONDS = 30.0


@dataclass(slots=True, kw_only=True)
class Falls:
    """The falls of one process: `total` ever, `in_a_row` since it last ran for STEADY_SECONDS."""

    total: int = 0
    in_a_row: int = 0
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    pause_seconds: float = 0.0
    _started_at: float = 0.0
    _fell_at: float = 0.0

    def started(self) -> None:
        """It was started just now."""
        self._started_at = self.clock()

    def fell(self) -> None:
        """It ended, or could not be started. Chooses when to try again."""
        is_steady = self.clock() - self._started_at > STEADY_SECONDS
        self.in_a_row = 1 if is_steady else self.in_a_row + 1
        self.total += 1
        pause = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self.in_a_row - 1, 16))
        self.pause_seconds = pause * random.uniform(0.75, 1.0)  # noqa: S311 - jitter, not a secret
        self._fell_at = self.clock()

    def may_start(self) -> bool:
        """Whether its pause is over."""
        return self.in_a_row == 0 or self.clock() >= self._fell_at + self.pause_seconds

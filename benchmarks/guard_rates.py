"""Rates with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of how many, with the Wilson interval of 95 %. Source: Wilson 1927; z = 1.96."""

    wrong: int
    count: int

    @property
    def share(self) -> float:
        """In [0, 1]; 0 of nothing."""
        return self.wrong / self.count if self.count else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper bound, in [0, 1]. (0, 1) of nothing."""
        if not self.count:
            return 0.0, 1.0
        share, z, n = self.wrong / self.count, 1.96, self.count
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)


def cell(rate: Rate | None) -> str:
    """A rate as a table shows it: with its interval, in per cent."""
    if rate is None:
        return "-"
    low, high = rate.interval
    return f"{rate.wrong} / {rate.count} = {100 * rate.wrong / rate.count:.1f} % ({100 * low:.1f}–{100 * high:.1f})"

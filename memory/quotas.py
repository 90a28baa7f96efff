"""Quotas by the day: how full the fullest day around a statement is, in whatever order statements are judged."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta

DAY = timedelta(days=1)


def fullest_day(times: Sequence[datetime], at: datetime) -> int:
    """The most of these times that share a stretch of one day with `at`, in any order.

    Workers judge windows at once and late words come last: counting only what was said before would give each of them
    a share of its own.
    """
    near = sorted(one for one in times if at - DAY < one < at + DAY)
    starts = [one for one in near if one <= at]
    return max((bisect_left(near, start + DAY) - place for place, start in enumerate([*starts, at])), default=0)

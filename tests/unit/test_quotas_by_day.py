"""A day's share holds in whatever order statements are judged."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.quotas import DAY, fullest_day
from memory_fixtures import START

_HOURS = st.integers(0, 120)


def test_the_fullest_day_by_numbers() -> None:
    at = [START + timedelta(hours=hours) for hours in (0, 10, 20, 30, 40)]

    assert fullest_day([], START) == 0
    assert fullest_day(at, START) == 3
    assert fullest_day(at, START + timedelta(hours=30)) == 3
    assert fullest_day(at, START + timedelta(hours=63)) == 1
    assert fullest_day(at, START + timedelta(hours=64)) == 0


@given(st.lists(_HOURS, max_size=30), st.integers(1, 4))
def test_no_stretch_of_a_day_ever_holds_more_than_its_share(hours: list[int], most: int) -> None:
    kept: list[int] = []
    for hour in hours:
        times = [START + timedelta(hours=one) for one in kept]
        if fullest_day(times, START + timedelta(hours=hour)) < most:
            kept.append(hour)

    assert all(sum(first <= one < first + 24 for one in kept) <= most for first in kept)
    refused = [hour for hour in set(hours) if hour not in kept]
    days = DAY / timedelta(hours=1)
    assert all(sum(abs(one - hour) < days for one in kept) >= most for hour in refused)

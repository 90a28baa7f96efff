"""Intervals on a calendar, seen from one local moment: days, weeks, months, years, clock times, holidays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

Precision = Literal["instant", "day", "week", "month", "year", "unknown"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """World time [start, end) in aware UTC, as exact as it was said. An instant has start == end."""

    start: datetime
    end: datetime
    precision: Precision


@dataclass(frozen=True, slots=True)
class Stay:
    """Local days [first, last] with the precision in which they were said."""

    first: date
    last: date
    precision: Precision

    def in_zone(self, zone: tzinfo) -> Resolved:
        """The same days as UTC instants: local midnight to the midnight after the last day."""
        start = datetime.combine(self.first, time(), zone)
        end = datetime.combine(self.last + timedelta(days=1), time(), zone)
        return Resolved(start.astimezone(UTC), end.astimezone(UTC), self.precision)


def one_day(day: date) -> Stay:
    """A single day."""
    return Stay(day, day, "day")


def week_of(day: date, weeks: int = 0) -> Stay:
    """The week (Monday to Sunday) of `day`, moved by `weeks`."""
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)
    return Stay(monday, monday + timedelta(days=6), "week")


def weekday_of(day: date, weeks: int, weekday: int) -> Stay:
    """The given weekday (0 = Monday) of the week of `day`, moved by `weeks`."""
    return one_day(week_of(day, weeks).first + timedelta(days=weekday))


def weekend_of(day: date, weeks: int) -> Stay:
    """Saturday and Sunday of the week of `day`, moved by `weeks`."""
    saturday = week_of(day, weeks).first + timedelta(days=5)
    return Stay(saturday, saturday + timedelta(days=1), "day")


def month_of(day: date, months: int = 0) -> Stay:
    """The calendar month of `day`, moved by `months`. Raises: ValueError outside years 1 to 9999."""
    index = day.year * 12 + day.month - 1 + months
    return named_month(index // 12, index % 12 + 1)


def named_month(year: int, month: int) -> Stay:
    """A month of a year. Raises: ValueError for one that is not on the calendar."""
    first = date(year, month, 1)
    after = date(year + month // 12, month % 12 + 1, 1)
    return Stay(first, after - timedelta(days=1), "month")


def year_of(year: int) -> Stay:
    """A year."""
    return Stay(date(year, 1, 1), date(year, 12, 31), "year")


def edge_of(stay: Stay, edge: str) -> Stay:
    """The `start`, `middle` or `end` of a month (about five days, precision week) or of a year (its month)."""
    if stay.precision == "year":
        month = {"start": 1, "middle": 6, "end": 12}[edge]
        return named_month(stay.first.year, month)
    middle = stay.first.replace(day=13)
    first = {"start": stay.first, "middle": middle, "end": stay.last - timedelta(days=4)}[edge]
    return Stay(first, first + timedelta(days=4), "week")


def nearest(today: date, month: int, day: int) -> date:
    """The date of that month and day that is closest to `today`; the past one when two are as close.

    Raises: ValueError when no year near has it.
    """
    near = [
        candidate
        for year in range(today.year - 4, today.year + 5)
        if 1 <= year <= 9998 and (candidate := _maybe_date(year, month, day)) is not None
    ]
    if not near:
        msg = "no such day"
        raise ValueError(msg)
    return min(near, key=lambda candidate: (abs((candidate - today).days), candidate))


def past_month(today: date, month: int) -> Stay:
    """That month of this year, or of the last when it has not begun."""
    return named_month(today.year if month <= today.month else today.year - 1, month)


def coming_month(today: date, month: int) -> Stay:
    """That month of this year, or of the next when it is over."""
    return named_month(today.year if month >= today.month else today.year + 1, month)


def _maybe_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


FIXED_HOLIDAYS = {
    "元旦": (1, 1), "元旦节": (1, 1), "情人节": (2, 14), "妇女节": (3, 8), "三八节": (3, 8), "劳动节": (5, 1),
    "五一": (5, 1), "五一节": (5, 1), "儿童节": (6, 1), "六一": (6, 1), "教师节": (9, 10), "国庆": (10, 1),
    "国庆节": (10, 1), "十一": (10, 1), "双十一": (11, 11), "双11": (11, 11), "双十二": (12, 12), "平安夜": (12, 24),
    "圣诞": (12, 25), "圣诞节": (12, 25), "christmas": (12, 25), "christmas day": (12, 25), "christmas eve": (12, 24),
    "new year's day": (1, 1), "new year's eve": (12, 31), "valentine's day": (2, 14), "halloween": (10, 31),
}  # fmt: skip

LUNAR_HOLIDAYS = {
    "春节": ((2024, 2, 10), (2025, 1, 29), (2026, 2, 17), (2027, 2, 6), (2028, 1, 26), (2029, 2, 13), (2030, 2, 3)),
    "端午": ((2024, 6, 10), (2025, 5, 31), (2026, 6, 19), (2027, 6, 9), (2028, 5, 28), (2029, 6, 16), (2030, 6, 5)),
    "中秋": ((2024, 9, 17), (2025, 10, 6), (2026, 9, 25), (2027, 9, 15), (2028, 10, 3), (2029, 9, 22), (2030, 9, 12)),
}
"""First days, from the published tables of the Chinese calendar for 2024 to 2030."""


def holiday(today: date, name: str, year: int | None = None) -> Stay | None:
    """The day of a holiday: of `year`, else the one closest to today. None when its date is not known."""
    folded = name.lower()
    if folded in FIXED_HOLIDAYS:
        month, day = FIXED_HOLIDAYS[folded]
        return one_day(date(year, month, day) if year else nearest(today, month, day))
    festival = "春节" if folded in {"过年", "大年初一"} else folded.removesuffix("节") if folded != "春节" else folded
    days = [date(*known) for known in LUNAR_HOLIDAYS.get(festival, ())]
    if year:
        known = [day for day in days if day.year == year]
    else:
        known = [day for day in days if abs((day - today).days) <= 400]
    return one_day(min(known, key=lambda day: abs((day - today).days))) if known else None

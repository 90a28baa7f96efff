"""How wide a world time is that was said as a day, a week, a month or a year, in the zone it was said in."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_DAY = timedelta(days=1)
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d)")


def window_end(start: datetime, precision: str, tz: str | None) -> datetime:
    """The end of the day, week, month or year that begins at `start` in its zone; `start` itself for an instant."""
    zone = zone_of(tz)
    local = start.astimezone(zone)
    match precision:
        case "day":
            local += _DAY
        case "week":
            local += 7 * _DAY
        case "month":
            local = (local.replace(day=1) + 32 * _DAY).replace(day=1)
        case "year":
            local = local.replace(year=local.year + 1)
        case _:
            pass
    return local.astimezone(UTC)


def zone_of(tz: str | None) -> tzinfo:
    """The zone a version renders in: an IANA name, an offset such as +08:00, or UTC when there is none."""
    if tz is None:
        return UTC
    if offset := _OFFSET.fullmatch(tz):
        minutes = int(offset["hours"]) * 60 + int(offset["minutes"])
        return timezone(timedelta(minutes=-minutes if offset["sign"] == "-" else minutes))
    try:
        return ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC

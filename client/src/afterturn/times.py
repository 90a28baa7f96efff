"""Times as the batch carries them: whole microseconds since 1970 in UTC, and the offset they were said in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    """Microseconds since 1970 of an aware time, exact."""
    return (at - EPOCH) // MICROSECOND


def offset_minutes(at: datetime) -> int:
    """The zone offset of an aware time, rounded to minutes."""
    return round((at.utcoffset() or timedelta()).total_seconds() / 60)

"""How far eval and demo have moved the world's clock. Leases, attempts and due times never look at it."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlmodel import Session

from schemas.tables import ClockOffset
from stores.sql import upsert

_ROW = 1


def offset_seconds(session: Session) -> float:
    """World time minus real time, in seconds; 0.0 where nobody moved it."""
    row = session.get(ClockOffset, _ROW, populate_existing=True)
    return 0.0 if row is None else row.seconds


def world_now(session: Session, real: datetime) -> datetime:
    """The world's time at this real one."""
    return real + timedelta(seconds=offset_seconds(session))


def set_offset(session: Session, seconds: float) -> None:
    """Moves the world's clock to real time plus `seconds`."""
    upsert(session, ClockOffset, [{"id": _ROW, "seconds": float(seconds)}], key=["id"], update=["seconds"])


def advance(session: Session, seconds: float) -> float:
    """Moves the world's clock on by `seconds`; the new offset. Raises: ValueError for a step back."""
    if seconds < 0:
        msg = "the world's clock only moves forward"
        raise ValueError(msg)
    upsert(session, ClockOffset, [{"id": _ROW, "seconds": float(seconds)}], key=["id"], add=["seconds"])
    return offset_seconds(session)

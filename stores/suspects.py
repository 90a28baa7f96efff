"""Claims without an outcome: windows that run alone because a worker was lost over them, and what a stopping one holds.

A lease that ended while the window is still open makes it suspect. `crashes` counts its runs alone from their begin, so
that a process that takes everything with it is counted too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, update
from sqlmodel import Session, col, select

from schemas.tables import Window
from stores.sql import database_now
from stores.windows import OPEN, Claim, claim_of


def adopt(session: Session, window_id: UUID, epoch: int, *, lease_seconds: float) -> Claim | None:
    """The claim of that epoch, held for another lease by the process that runs it alone; None when it has gone.

    The lease begins anew, since a process takes seconds to start on a busy machine.
    """
    now = database_now(session)
    row = session.exec(
        select(Window)
        .where(
            Window.id == window_id,
            Window.epoch == epoch,
            col(Window.state).in_(OPEN),
            col(Window.lease_until) > now,
        )
        .with_for_update()
    ).one_or_none()
    if row is None:
        return None
    row.lease_until = now + timedelta(seconds=lease_seconds)
    session.add(row)
    return replace(claim_of(row, now), is_suspect=True)


def lease_left_seconds(session: Session, claim: Claim) -> float:
    """How long the claim still stands; 0.0 when it has ended, by an outcome or otherwise."""
    row = session.exec(
        select(Window.lease_until).where(
            Window.id == claim.window_id, Window.epoch == claim.epoch, col(Window.lease_until).is_not(None)
        )
    ).one_or_none()
    return 0.0 if row is None else max(0.0, (row - database_now(session)).total_seconds())


def end_without_outcome(session: Session, claim: Claim, *, delay_seconds: float, is_crash: bool) -> bool:
    """Ends a claim whose lone process brought no outcome: due again after the delay, still suspect.

    False when there was one. A process that never got as far as the window, or that ended in order, is no crash of it.
    """
    at = database_now(session) + timedelta(seconds=delay_seconds)
    uncounted = 0 if is_crash else 1
    return _end(
        session, claim, lease_until=database_now(session), next_try_at=at, crashes=col(Window.crashes) - uncounted
    )


def release(session: Session, claims: Sequence[Claim]) -> int:
    """Gives claims back at once and without blame, as a process that is told to stop does; answers how many stood.

    Whatever their threads still do is stale from then on. A suspect stays one.
    """
    released = 0
    for claim in sorted(claims, key=lambda claim: claim.window_id):
        if claim.is_suspect:
            changes = {"lease_until": database_now(session), "crashes": col(Window.crashes) - 1}
        else:
            changes = {"lease_until": None, "attempts": col(Window.attempts) - 1}
        released += _end(session, claim, epoch=claim.epoch + 1, **changes)
    return released


def waiting(session: Session) -> int:
    """How many windows are suspect now."""
    query = (
        select(func.count())
        .select_from(Window)
        .where(col(Window.lease_until) <= database_now(session), col(Window.state).in_(OPEN))
    )
    return session.exec(query).one()


def _end(session: Session, claim: Claim, **values: Any) -> bool:
    statement = (
        update(Window)
        .where(
            col(Window.id) == claim.window_id,
            col(Window.epoch) == claim.epoch,
            col(Window.state).in_(OPEN),
            col(Window.lease_until).is_not(None),
        )
        .values(**values)
    )
    return session.connection().execute(statement).rowcount == 1

"""A tenant's tokens of one day (UTC), as rows of what each attempt on a window set aside and then used.

An attempt that did not end (its worker was lost) is charged in full. Before a call there is a reservation, so that no
number of workers at once goes over.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from sqlalchemy import delete, func, update
from sqlmodel import Session, col, select

from schemas.tables import Reservation, Tenant, Window
from stores.sql import database_now, insert_once

#: Instructions, context and the answer's frame, beside the window's own turns.
OVERHEAD_TOKENS = 4_000
#: Rows older than this say nothing that a budget needs; what a window cost stands on the window.
KEPT_DAYS = 7


def reserve(session: Session, tenant_id: UUID, window_id: UUID, epoch: int, *, answer_tokens: int, limit: int) -> bool:
    """Sets tokens aside for an attempt; False, with nothing changed, when the tenant's day has not that many left.

    A tenant with a budget below one window's price gets one attempt a day: else its windows would wait for ever.
    """
    # The tenant's row queues its reservations up, so that two workers never take the same remainder.
    session.exec(select(Tenant.id).where(Tenant.id == tenant_id).with_for_update()).one()
    now = database_now(session)
    today = now.date()
    window = session.get_one(Window, window_id, populate_existing=True)
    tokens = window.token_count + OVERHEAD_TOKENS + answer_tokens
    taken = spent(session, tenant_id, today)
    if taken and taken + tokens > limit:
        return False
    reservation = Reservation(
        window_id=window_id,
        epoch=epoch,
        tenant_id=tenant_id,
        day=today,
        tokens=tokens,
        spent_before=_tokens(window),
        created_at=now,
    )
    insert_once(session, Reservation, [reservation])
    old = delete(Reservation).where(
        col(Reservation.tenant_id) == tenant_id, col(Reservation.day) < today - timedelta(days=KEPT_DAYS)
    )
    session.connection().execute(old)
    return True


def settle(session: Session, window_id: UUID, epoch: int) -> None:
    """Ends an attempt's reservation: what its window has cost since then is what it used. Repeat: harmless."""
    window = session.get(Window, window_id, populate_existing=True)
    if window is None:
        return
    statement = (
        update(Reservation)
        .where(
            col(Reservation.window_id) == window_id,
            col(Reservation.epoch) == epoch,
            col(Reservation.used).is_(None),
        )
        .values(used=_tokens(window) - col(Reservation.spent_before))
    )
    session.connection().execute(statement)


def spent(session: Session, tenant_id: UUID, day: date) -> int:
    """Tokens that the tenant used or set aside on that day."""
    query = select(_SUM).where(Reservation.tenant_id == tenant_id, Reservation.day == day)
    return int(session.exec(query).one())


def spent_today(session: Session) -> dict[UUID, int]:
    """Tokens used or set aside today, by tenant; tenants without any are left out."""
    today = database_now(session).date()
    query = select(Reservation.tenant_id, _SUM).where(Reservation.day == today).group_by(col(Reservation.tenant_id))
    return {tenant_id: int(tokens) for tenant_id, tokens in session.exec(query)}


def seconds_to_tomorrow(now: datetime) -> float:
    """Until the next day (UTC) begins; more than 0."""
    tomorrow = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
    return (tomorrow - now).total_seconds()


_SUM = func.coalesce(func.sum(func.coalesce(col(Reservation.used), col(Reservation.tokens))), 0)


def _tokens(window: Window) -> int:
    return sum(int(window.usage.get(name, 0)) for name in ("input_tokens", "output_tokens"))

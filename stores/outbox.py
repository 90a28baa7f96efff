"""Index writes that are owed: written with the change itself, claimed, and gone only if nothing moved meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import CursorResult, Select, and_, bindparam, delete, exists, func, or_, select, text, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from afterturn.ids import uuid7
from schemas.tables import OutboxRow, Tenant
from stores import tracing
from stores.sql import database_now, upsert

_MINE = and_(col(OutboxRow.id) == bindparam("row"), col(OutboxRow.epoch) == bindparam("was"))
_SETTLE = delete(OutboxRow).where(
    _MINE, col(OutboxRow.row_version) == bindparam("version"), col(OutboxRow.generation) == bindparam("of")
)
_AGAIN = update(OutboxRow).where(_MINE).values(lease_until=None, next_try_at=bindparam("at"), attempts=0)
_LATER = (
    update(OutboxRow).where(_MINE).values(lease_until=None, next_try_at=bindparam("at"), error_code=bindparam("code"))
)

# As the indexes have it.
_IS_FRESH = col(OutboxRow.error_code).is_(None)


@dataclass(frozen=True, slots=True)
class OutboxCounts:
    """How far the index is behind."""

    owed: int
    leased: int
    failed: int


def owe(
    session: Session, *, tenant: UUID, user: UUID, kind: str, record_id: UUID, row_version: int, generation: int
) -> None:
    """Notes that the index must be told about a record.

    Repeat: one row per record. A claim that is under way keeps its lease and finds the version moved.
    """
    owe_all(
        session,
        [{"tenant_id": tenant, "user_ref": user, "kind": kind, "record_id": record_id, "row_version": row_version}],
        generation=generation,
    )


def owe_all(session: Session, records: Sequence[dict[str, Any]], *, generation: int) -> None:
    """`owe` for many: records of {tenant_id, user_ref, kind, record_id, row_version}, each record once."""
    now = database_now(session)
    fixed = {"generation": generation, "attempts": 0, "epoch": 0, "next_try_at": now, "error_code": None}
    fixed |= {"traceparent": tracing.current()}
    upsert(
        session,
        OutboxRow,
        [{"id": uuid7(), **record, **fixed, "created_at": now} for record in records],
        key=["kind", "record_id"],
        update=["row_version", "generation", "attempts", "next_try_at", "error_code", "traceparent"],
    )


def claim(session: Session, *, limit: int, lease_seconds: float) -> list[OutboxRow]:
    """Takes up to `limit` due rows, oldest due first; their epoch and attempts are one higher, their lease runs.

    Of a user with a running lease nothing is taken: one claim per user at a time. Commit at once, work afterwards.
    """
    if session.get_bind().dialect.name == "postgresql":
        # Claims queue up here for their millisecond; SQLite's single writer gives the same. Without it two claims could
        # take two rows of one user before either's lease can be seen.
        session.connection().execute(text("SELECT pg_advisory_xact_lock(4119200418)"))
    now = database_now(session)
    other = aliased(OutboxRow)
    due = (
        select(OutboxRow)
        .where(
            col(OutboxRow.next_try_at) <= now,
            ~exists().where(and_(col(other.user_ref) == col(OutboxRow.user_ref), col(other.lease_until) > now)),
        )
        .order_by(col(OutboxRow.next_try_at), col(OutboxRow.id))
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    rows = list(session.scalars(due))
    for row in rows:
        row.epoch += 1
        row.attempts += 1
        row.lease_until = now + timedelta(seconds=lease_seconds)
    session.flush()
    return rows


def settle_all(session: Session, rows: Sequence[OutboxRow]) -> None:
    """`settle` for many: one statement takes what did not move, one makes the rest due again at once."""
    if not rows:
        return
    claims = [{"row": row.id, "was": row.epoch, "version": row.row_version, "of": row.generation} for row in rows]
    session.connection().execute(_SETTLE, claims)
    now = database_now(session)
    session.connection().execute(_AGAIN, [{"row": row.id, "was": row.epoch, "at": now} for row in rows])


def postpone_all(session: Session, delays: Sequence[tuple[OutboxRow, float, str]]) -> None:
    """`postpone` for many: each row with its delay in seconds and the code of what kept it."""
    if not delays:
        return
    now = database_now(session)
    later = [
        {"row": row.id, "was": row.epoch, "at": now + timedelta(seconds=seconds), "code": code}
        for row, seconds, code in delays
    ]
    session.connection().execute(_LATER, later)


def settle(session: Session, row: OutboxRow) -> bool:
    """Ends a claim that did its work: True when nothing is owed any more.

    False when the record moved meanwhile (it is due again at once) or the claim has passed to another worker.
    """
    mine = and_(col(OutboxRow.id) == row.id, col(OutboxRow.epoch) == row.epoch)
    unmoved = and_(col(OutboxRow.row_version) == row.row_version, col(OutboxRow.generation) == row.generation)
    if _changed(session, delete(OutboxRow).where(mine, unmoved)):
        return True
    again = update(OutboxRow).where(mine).values(lease_until=None, next_try_at=database_now(session), attempts=0)
    _changed(session, again)
    return False


def postpone(session: Session, row: OutboxRow, *, delay_seconds: float, error_code: str) -> bool:
    """Ends a claim that failed: due again after the delay. False when the claim has passed to another worker."""
    retry_at = database_now(session) + timedelta(seconds=delay_seconds)
    mine = and_(col(OutboxRow.id) == row.id, col(OutboxRow.epoch) == row.epoch)
    later = update(OutboxRow).where(mine).values(lease_until=None, next_try_at=retry_at, error_code=error_code)
    return _changed(session, later) > 0


def due(session: Session, *, limit: int) -> int:
    """How many rows could be claimed now, counted up to `limit`: the table itself may be long."""
    now = database_now(session)
    is_free = or_(col(OutboxRow.lease_until).is_(None), col(OutboxRow.lease_until) <= now)
    # The order is there for the planner: without it a table of which nothing is due is read to its end.
    some = select(col(OutboxRow.id)).where(col(OutboxRow.next_try_at) <= now, is_free)
    return _counted(session, some.order_by(col(OutboxRow.next_try_at), col(OutboxRow.id)), limit)


def counts(session: Session, *, limit: int) -> OutboxCounts:
    """How much is owed, leased right now, and waiting after a failure; each counted up to `limit`."""
    now = database_now(session)
    created, lease = col(OutboxRow.created_at), col(OutboxRow.lease_until)
    is_free = or_(lease.is_(None), lease <= now)
    # In the order of the indexes that hold such rows alone.
    fresh = select(col(OutboxRow.id)).where(_IS_FRESH).order_by(col(OutboxRow.tenant_id), created)
    failed = select(col(OutboxRow.id)).where(~_IS_FRESH).order_by(created)
    leased = select(col(OutboxRow.id)).where(lease > now).order_by(lease)
    return OutboxCounts(
        owed=min(limit, _counted(session, fresh, limit) + _counted(session, failed, limit)),
        leased=_counted(session, leased, limit),
        failed=_counted(session, failed.where(is_free), limit),
    )


def oldest(session: Session) -> datetime | None:
    """Since when the oldest row has been owed; None when nothing is."""
    first = select(func.min(col(OutboxRow.created_at)))
    of_tenant = first.where(_IS_FRESH, col(OutboxRow.tenant_id) == col(Tenant.id)).correlate(Tenant).scalar_subquery()
    both = (select(func.min(of_tenant)).select_from(Tenant), first.where(~_IS_FRESH))
    # min() of nothing is NULL, which its type does not say.
    found = [cast("datetime | None", session.connection().execute(query).scalar_one()) for query in both]
    return min((at for at in found if at is not None), default=None)


def count(session: Session) -> int:
    """How much is owed, all of it: reads the table to its end."""
    return session.connection().execute(select(func.count()).select_from(OutboxRow)).scalar_one()


def _counted(session: Session, query: Select[Any], limit: int) -> int:
    return session.connection().execute(select(func.count()).select_from(query.limit(limit).subquery())).scalar_one()


def _changed(session: Session, statement: Any) -> int:
    result = session.connection().execute(statement)
    return cast("CursorResult[Any]", result).rowcount

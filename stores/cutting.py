"""Cuts sessions into windows, under the session row's lock: each turn goes into exactly one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, select

from memory.windows import WindowPolicy, cut, due_at
from schemas.tables import Session as SessionRow
from schemas.tables import Tenant, Turn, User, Window
from stores import ledger, sessions, turns
from stores.sql import database_now, insert_once


def cut_due(
    session: Session,
    *,
    policy: WindowPolicy,
    limit: int,
    new_id: Callable[[], UUID],
    prompt_version: str,
    tenant_ids: Sequence[UUID] | None = None,
) -> int:
    """Cuts the undigested turns of up to `limit` due sessions into windows; answers how many sessions it looked at.

    With `tenant_ids` each of these tenants gets an equal share of the limit; else the oldest due come first.

    Each session's row is locked meanwhile, and one that somebody else holds is left to them. A session that goes on
    keeps the turns of a last window that still has room; late turns become windows of their own.
    """
    now = database_now(session)
    due = [
        row
        for where, share in _shares(tenant_ids, limit)
        for row in session.exec(
            select(SessionRow)
            .where(*where, col(SessionRow.due_at) <= now)
            .order_by(col(SessionRow.due_at), col(SessionRow.id))
            .limit(share)
            .with_for_update(skip_locked=True)
        ).all()
    ]
    for row in due:
        _cut_session(session, row, policy=policy, now=now, new_id=new_id, prompt_version=prompt_version)
    return len(due)


def due_tenants(session: Session, *, after: UUID | None, limit: int) -> Sequence[UUID]:
    """Up to `limit` tenants with due sessions, in the order of their ids, from after the given one."""
    has_due = (
        select(SessionRow.id)
        .where(col(SessionRow.tenant_id) == col(Tenant.id), col(SessionRow.due_at) <= database_now(session))
        .exists()
    )
    query = select(Tenant.id).where(has_due).order_by(col(Tenant.id)).limit(limit)
    return session.exec(query if after is None else query.where(col(Tenant.id) > after)).all()


def _shares(tenant_ids: Sequence[UUID] | None, limit: int) -> list[tuple[tuple[ColumnElement[bool], ...], int]]:
    if tenant_ids is None:
        return [((), limit)]
    share = max(1, limit // max(1, len(tenant_ids)))
    return [((col(SessionRow.tenant_id) == tenant_id,), share) for tenant_id in tenant_ids]


def _cut_session(
    session: Session,
    row: SessionRow,
    *,
    policy: WindowPolicy,
    now: datetime,
    new_id: Callable[[], UUID],
    prompt_version: str,
) -> None:
    waiting = turns.undigested(session, row.id)
    idle = due_at(
        first_undigested_at=row.first_undigested_at,
        last_received_at=row.last_received_at,
        undigested_tokens=0,
        has_ended=sessions.is_over(row.ended_at, row.last_turn_at),
        policy=policy,
    )
    is_over = idle is None or idle <= now
    generation = session.exec(select(User.generation).where(User.id == row.user_ref)).one()
    by_id = {turn.event_id: turn for turn in waiting}
    for ids in cut(turns.sizes(waiting), policy, only_full=not is_over):
        window_id = new_id()
        window = Window(
            id=window_id,
            tenant_id=row.tenant_id,
            user_ref=row.user_ref,
            session_ref=row.id,
            turn_ids=[str(event_id) for event_id in ids],
            token_count=sum(by_id[event_id].token_count for event_id in ids),
            prompt_version=prompt_version,
            generation=generation,
            next_try_at=now,
            created_at=now,
        )
        insert_once(session, Window, [window])
        turns.assign(session, row.tenant_id, ids, window_id)
        ledger.enter_window(session, row.tenant_id, ids, window_id)
        for event_id in ids:
            del by_id[event_id]
    _settle(session, row, list(by_id.values()), policy)


def _settle(session: Session, row: SessionRow, left: Sequence[Turn], policy: WindowPolicy) -> None:
    first = min((turn.received_at for turn in left), default=None)
    tokens = sum(turn.token_count for turn in left)
    statement = (
        update(SessionRow)
        .where(col(SessionRow.id) == row.id)
        .values(
            undigested_count=len(left),
            undigested_tokens=tokens,
            first_undigested_at=first,
            due_at=due_at(
                first_undigested_at=first,
                last_received_at=row.last_received_at,
                undigested_tokens=tokens,
                has_ended=sessions.is_over(row.ended_at, row.last_turn_at),
                policy=policy,
            ),
        )
    )
    session.connection().execute(statement)

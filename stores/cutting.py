"""Cuts sessions into windows, under the session row's lock: each turn goes into exactly one.

A transaction cuts a bounded number of turns: on SQLite it keeps everybody else from writing. A session that has more
stays due, and the next transaction goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, select

from memory.windows import TurnSize, WindowPolicy, cut, due_at
from schemas.tables import Session as SessionRow
from schemas.tables import Tenant, User, Window
from stores import ledger, sessions, turns
from stores.sql import database_now, insert_once


@dataclass(frozen=True, slots=True)
class Cutting:
    """What one transaction did: sessions that it looked at, turns that went into windows."""

    sessions: int
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    session: Session
    policy: WindowPolicy
    now: datetime
    new_id: Callable[[], UUID]
    prompt_version: str


def cut_due(
    session: Session,
    *,
    policy: WindowPolicy,
    limit: int,
    new_id: Callable[[], UUID],
    prompt_version: str,
    tenant_ids: Sequence[UUID] | None = None,
) -> Cutting:
    """Cuts the undigested turns of up to `limit` due sessions into windows, `policy.window_turns` turns in all.

    With `tenant_ids` each of these tenants gets an equal share of the limit; else the oldest due come first.

    Each session's row is locked meanwhile, and one that somebody else holds is left to them. A session that goes on
    keeps the turns of a last window that still has room; late turns become windows of their own.
    """
    now = database_now(session)
    work = _Work(session=session, policy=policy, now=now, new_id=new_id, prompt_version=prompt_version)
    looked, left = 0, policy.window_turns
    for where, share in _shares(tenant_ids, limit):
        due = (
            select(SessionRow)
            .where(*where, col(SessionRow.due_at) <= now)
            .order_by(col(SessionRow.due_at), col(SessionRow.id))
            .limit(share)
            .with_for_update(skip_locked=True)
        )
        for row in session.exec(due).all() if left > 0 else ():
            if left > 0:
                left -= _cut_session(work, row, left)
                looked += 1
    return Cutting(looked, policy.window_turns - left)


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


def _cut_session(work: _Work, row: SessionRow, room: int) -> int:
    """Cuts up to `room` turns of a session; answers how many went into windows."""
    found = turns.undigested(work.session, row.id, limit=room + 1)
    is_whole, waiting = len(found) <= room, found[:room]
    idle = due_at(
        first_undigested_at=row.first_undigested_at,
        last_received_at=row.last_received_at,
        undigested_tokens=0,
        has_ended=sessions.is_over(row.ended_at, row.last_turn_at),
        policy=work.policy,
    )
    is_over = idle is None or idle <= work.now
    windows = cut([TurnSize(*turn[:4]) for turn in waiting], work.policy, only_full=not (is_over and is_whole))
    if not is_whole and room < work.policy.window_turns and len(windows) == 1:
        return 0  # it may be a part of a window: a transaction of its own takes it whole
    by_id = {turn.event_id: turn for turn in waiting}
    for ids in windows:
        _add_window(work, row, ids, tokens=sum(by_id.pop(event_id).tokens for event_id in ids))
    taken = len(waiting) - len(by_id)
    if is_whole:
        _settle(work, row, list(by_id.values()))
    else:
        _stay_due(work, row, taken, sum(turn.tokens for turn in waiting if turn.event_id not in by_id))
    return taken


def _add_window(work: _Work, row: SessionRow, ids: Sequence[UUID], *, tokens: int) -> None:
    window = Window(
        id=work.new_id(),
        tenant_id=row.tenant_id,
        user_ref=row.user_ref,
        session_ref=row.id,
        turn_ids=[str(event_id) for event_id in ids],
        token_count=tokens,
        prompt_version=work.prompt_version,
        generation=work.session.exec(select(User.generation).where(User.id == row.user_ref)).one(),
        next_try_at=work.now,
        created_at=work.now,
    )
    insert_once(work.session, Window, [window])
    turns.assign(work.session, row.tenant_id, ids, window.id)
    ledger.enter_window(work.session, row.tenant_id, window.id)


def _stay_due(work: _Work, row: SessionRow, taken: int, tokens: int) -> None:
    """Counts down what waits, and no more: to know the rest of the session would be to read it."""
    changes = {
        "undigested_count": col(SessionRow.undigested_count) - taken,
        "undigested_tokens": col(SessionRow.undigested_tokens) - tokens,
    }
    work.session.connection().execute(update(SessionRow).where(col(SessionRow.id) == row.id).values(changes))


def _settle(work: _Work, row: SessionRow, left: Sequence[turns.Undigested]) -> None:
    """Says what of the session still waits, once all of it was looked at. Until then it stays due."""
    first = min((turn.received_at for turn in left), default=None)
    tokens = sum(turn.tokens for turn in left)
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
                policy=work.policy,
            ),
        )
    )
    work.session.connection().execute(statement)

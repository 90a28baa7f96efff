"""What recall reads beside the index: a conversation's end, working states, what waits to be confirmed, the lag.

Reads only. An agent sees its own last words here before any window has been digested.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, and_, false, func, or_
from sqlmodel import Session, col, select

from memory.records import Live, MomentRecord, PendingRecord, Sight
from schemas.delivery import Session as SessionRow
from schemas.delivery import WindowState
from schemas.envelopes import disclose_json
from schemas.tables import Evidence, OutboxRow, Turn, Window, WorkingState
from stores.recall import moment_records
from stores.sessions import session_ref

LAST_TURNS = 6
UNDIGESTED_TURNS = 24
PENDING = 5


def find_session(session: Session, users: Sequence[UUID], session_hash: str) -> UUID | None:
    """The session of that hash among everyone that the user is; None for one that was never heard of."""
    refs = [session_ref(user, session_hash) for user in users]
    return session.exec(select(col(SessionRow.id)).where(col(SessionRow.id).in_(refs))).first()


@dataclass(frozen=True, slots=True)
class _Waiting:
    sessions: tuple[UUID, ...]
    windows: tuple[UUID, ...]
    count: int
    oldest_at: datetime | None


def live(session: Session, sight: Sight) -> Live:
    """All of it for one question."""
    waiting = _waiting(session, sight)
    return Live(
        tail=tuple(_tail(session, sight, waiting)),
        states=tuple(states(session, sight)),
        to_confirm=tuple(pending(session, sight)),
        undigested_turns=waiting.count,
        oldest_undigested_at=waiting.oldest_at,
        unindexed=session.exec(
            select(func.count()).select_from(OutboxRow).where(col(OutboxRow.user_ref).in_(sight.users))
        ).one(),
    )


def tail(session: Session, sight: Sight) -> list[MomentRecord]:
    """The session's last turns, and everything of the user that is not digested yet; oldest first.

    Nothing later than the question's `as_of`; a staff turn only with its ticket; held-back parts are named.
    """
    return _tail(session, sight, _waiting(session, sight))


def _tail(session: Session, sight: Sight, waiting: _Waiting) -> list[MomentRecord]:
    here: list[ColumnElement[bool]] = []
    if sight.session_ref is not None:
        here.append(col(Turn.session_ref) == sight.session_ref)
    if sight.thread_id is not None:
        here.append(col(Turn.thread_id) == sight.thread_id)
    last = _newest(session, sight, or_(*here), LAST_TURNS) if here else []
    fresh: list[Turn] = []
    if waiting.sessions or waiting.windows:
        unclaimed = and_(col(Turn.session_ref).in_(waiting.sessions), col(Turn.window_id).is_(None))
        claimed = col(Turn.window_id).in_(waiting.windows)
        fresh = _newest(session, sight, or_(unclaimed, claimed), UNDIGESTED_TURNS)
    rows = sorted({t.event_id: t for t in (*last, *fresh)}.values(), key=lambda turn: (turn.at, turn.event_id))
    applied = _applied(session, {turn.window_id for turn in rows if turn.window_id is not None})
    judged = {turn.event_id for turn in rows if turn.window_id in applied}
    records = moment_records(session, sight, [(turn.event_id, turn) for turn in rows])
    return [replace(record, undigested=record.id not in judged) for record in records]


def _applied(session: Session, window_ids: Collection[UUID]) -> set[UUID]:
    """Those of the windows whose turns have been judged."""
    done = col(Window.state) == WindowState.APPLIED
    return set(session.exec(select(col(Window.id)).where(col(Window.id).in_(window_ids), done)))


def states(session: Session, sight: Sight) -> list[tuple[str, dict[str, Any], datetime]]:
    """(scope, state, updated at) of the session, thread and ticket that the question is about."""
    if sight.as_of < sight.now:
        # A state has no history to show: the present one would be news from after the asked day.
        return []
    named = {"session": sight.session_ref, "thread": sight.thread_id, "ticket": sight.ticket_id}
    ways = [
        and_(col(WorkingState.scope) == scope, col(WorkingState.scope_key) == str(key))
        for scope, key in named.items()
        if key is not None
    ]
    rows = session.exec(
        select(WorkingState)
        .where(
            col(WorkingState.tenant_id) == sight.tenant_id,
            col(WorkingState.ended_at).is_(None),
            or_(*ways) if ways else false(),
        )
        .order_by(col(WorkingState.updated_at).desc())
    )
    found: list[tuple[str, dict[str, Any], datetime]] = []
    for row in rows:
        value = disclose_json(row.state)
        if isinstance(value, dict):
            found.append((row.scope, cast("dict[str, Any]", value), row.updated_at))
    return found


def pending(session: Session, sight: Sight) -> list[PendingRecord]:
    """Evidence that waits, newest first, one a key: its key and time, never its words."""
    rows = session.exec(
        select(Evidence)
        .where(
            col(Evidence.tenant_id) == sight.tenant_id,
            col(Evidence.user_ref).in_(sight.users),
            col(Evidence.write_status) == "pending_review",
            col(Evidence.at) <= sight.as_of,
        )
        .order_by(col(Evidence.at).desc(), col(Evidence.id))
        .limit(PENDING)
    )
    return [PendingRecord(id=row.id, key=row.key, at=row.at, reason_codes=tuple(row.reason_codes)) for row in rows]


def _newest(session: Session, sight: Sight, condition: ColumnElement[bool], limit: int) -> list[Turn]:
    own_ticket = col(Turn.ticket_id) == sight.ticket_id if sight.ticket_id is not None else false()
    in_thread = col(Turn.thread_id) == sight.thread_id if sight.thread_id is not None else false()
    conditions = [
        col(Turn.tenant_id) == sight.tenant_id,
        # Of others only what was said in the thread that the question names.
        or_(col(Turn.user_ref).in_(sight.users), in_thread),
        col(Turn.role).in_(("user", "assistant", "staff")),
        or_(col(Turn.role) != "staff", own_ticket),
        col(Turn.at) <= sight.as_of,
        condition,
    ]
    if sight.known_at is not None:
        conditions.append(col(Turn.received_at) <= sight.known_at)
    if sight.between is not None:
        conditions += [col(Turn.at) >= sight.between[0], col(Turn.at) <= sight.between[1]]
    rows = session.exec(
        select(Turn).where(*conditions).order_by(col(Turn.at).desc(), col(Turn.event_id).desc()).limit(limit)
    )
    return list(rows)


def _waiting(session: Session, sight: Sight) -> _Waiting:
    """Where the user's undigested turns are, by looking at what is open: the cost does not grow with the history."""
    sessions = session.exec(
        select(SessionRow).where(
            col(SessionRow.tenant_id) == sight.tenant_id,
            col(SessionRow.user_ref).in_(sight.users),
            col(SessionRow.undigested_count) > 0,
        )
    ).all()
    windows = session.exec(
        select(Window).where(
            col(Window.tenant_id) == sight.tenant_id,
            col(Window.user_ref).in_(sight.users),
            col(Window.state) != WindowState.APPLIED,
        )
    ).all()
    still_open = [window for window in windows if window.state != WindowState.DEAD]
    times = [row.first_undigested_at or row.last_received_at for row in sessions]
    times += [window.created_at for window in still_open]
    return _Waiting(
        sessions=tuple(row.id for row in sessions),
        # A dead window is over, but nothing of it was kept: its turns can only come back from the tail.
        windows=tuple(window.id for window in windows),
        count=sum(row.undigested_count for row in sessions) + sum(len(window.turn_ids) for window in still_open),
        oldest_at=min(times, default=None),
    )

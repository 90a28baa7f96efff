"""What recall reads beside the index: a conversation's end, working states, what waits to be confirmed, the lag.

Reads only. An agent sees its own last words here before any window has been digested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, func
from sqlmodel import Session, col, select

from memory.moments import Part
from memory.records import Live, MomentRecord, PendingRecord, Sight
from memory.spans import echoes
from schemas.delivery import Session as SessionRow
from schemas.delivery import WindowState
from schemas.envelopes import disclose_json
from schemas.tables import Evidence, OutboxRow, Review, Turn, Window, WorkingState
from stores.held import Held, held_back
from stores.recall import SAID, Said, foreign, moment_records, said
from stores.repeats import words as words_in
from stores.sessions import session_ref
from stores.sights import Form, Talk, aside, form, given, pick, several, turns_in, values

LAST_TURNS = 6
UNDIGESTED_TURNS = 24
PENDING = 5

_Heard = tuple[Said, bool]


def find_session(session: Session, users: Sequence[UUID], session_hash: str) -> UUID | None:
    """The session of that hash among everyone that the user is; None for one that was never heard of."""
    refs = [session_ref(user, session_hash) for user in users]
    if len(refs) == 1:
        # Its id follows from its names; whether it is there yet makes no difference to any answer.
        return refs[0]
    return session.exec(select(col(SessionRow.id)).where(col(SessionRow.id).in_(refs))).first()


@dataclass(frozen=True, slots=True)
class _Waiting:
    sessions: tuple[UUID, ...]
    windows: tuple[UUID, ...]
    talks: tuple[UUID, ...]
    count: int
    oldest_at: datetime | None


def live(session: Session, sight: Sight, talks: Sequence[Talk], own: Held | None = None) -> Live:
    """All of it for one question but what the index is owed.

    The tail is the session's last turns, and everything of the user that is not digested yet; oldest first, nothing
    later than the question's `as_of`, a staff turn only with its ticket.
    """
    waiting = _waiting(session, sight, talks)
    heard = _tail(session, sight, waiting)
    others = foreign(sight, (one for one, _ in heard))
    held = own if own is not None and not others else held_back(session, sight, others)
    records = moment_records([(one.turn.event_id, one) for one, _ in heard], held)
    tail = [replace(record, undigested=not is_judged) for record, (_, is_judged) in zip(records, heard, strict=True)]
    return Live(
        tail=tuple(_untold(session, sight, waiting, tail, held)),
        states=tuple(states(session, sight)),
        to_confirm=tuple(pending(session, sight)),
        undigested_turns=waiting.count,
        oldest_undigested_at=waiting.oldest_at,
    )


def _untold(
    session: Session, sight: Sight, waiting: _Waiting, tail: list[MomentRecord], held: Held
) -> list[MomentRecord]:
    """The tail without what its undigested answers repeat of held-back statements of their conversations.

    What was digested has its spans; an answer that came after them has none before its window is applied.
    """
    if not held.cuts or not any(_may_repeat(one) for one in tail):
        return tail
    ids = {one for found in held.evidence.values() for one in found}
    talks = {*waiting.sessions, *waiting.talks, *((sight.session_ref,) if sight.session_ref is not None else ())}
    words = words_in(session, sight.tenant_id, ids, talks)
    if not words:
        return tail
    return [
        replace(one, cuts=(*one.cuts, *(Part(*place) for place in echoes(one.turn.content, words))))
        if _may_repeat(one)
        else one
        for one in tail
    ]


def _may_repeat(one: MomentRecord) -> bool:
    return one.undigested and one.turn.role == "assistant"


def unindexed(session: Session, users: Sequence[UUID]) -> int:
    """How many of the user's records the index is owed."""
    return session.connection().execute(_unindexed(), {"users": users}).scalar_one()


def _tail(session: Session, sight: Sight, waiting: _Waiting) -> list[_Heard]:
    """Turns in the order of the conversation, each with whether a window has judged it."""
    seen = form(sight)
    found: list[_Heard] = []
    if sight.session_ref is not None:
        found += _newest(session, _in_session(seen), values(sight, session=sight.session_ref))
    if sight.thread_id is not None:
        found += _newest(session, _in_thread(seen), values(sight, thread=sight.thread_id))
    found = sorted(found, key=_order)[-LAST_TURNS:]
    # Two questions, each with an index of its own, where one with an "or" would have none.
    fresh: list[_Heard] = []
    if waiting.sessions:
        fresh += _newest(session, _unclaimed(seen), values(sight, sessions=waiting.sessions))
    if waiting.windows:
        fresh += _newest(session, _claimed(seen), values(sight, windows=waiting.windows))
    found += sorted(fresh, key=_order)[-UNDIGESTED_TURNS:]
    by_id = {one[0].turn.event_id: one for one in found}
    return [one for one in sorted(by_id.values(), key=_order) if sight.reads(one[0].turn.agent_id)]


def _order(one: _Heard) -> tuple[datetime, UUID]:
    return one[0].turn.at, one[0].turn.event_id


def states(session: Session, sight: Sight) -> list[tuple[str, dict[str, Any], datetime]]:
    """(scope, state, updated at) of the session, thread and ticket that the question is about."""
    if sight.as_of < sight.now:
        # A state has no history to show: the present one would be news from after the asked day.
        return []
    named = {"session": sight.session_ref, "thread": sight.thread_id, "ticket": sight.ticket_id}
    keys = {scope: str(key) for scope, key in named.items() if key is not None}
    if not keys:
        return []
    rows = session.connection().execute(_states(), {"tenant": sight.tenant_id, "keys": list(keys.values())})
    found: list[tuple[str, dict[str, Any], datetime]] = []
    for row in rows:
        value = disclose_json(row.state) if keys.get(row.scope) == row.scope_key else None
        if isinstance(value, dict):
            found.append((row.scope, cast("dict[str, Any]", value), row.updated_at))
    return found


def pending(session: Session, sight: Sight) -> list[PendingRecord]:
    """Evidence that waits, newest first, one a key: its key and time, never its words."""
    rows = session.connection().execute(_pending(), values(sight))
    return [PendingRecord(id=row.id, key=row.key, at=row.at, reason_codes=tuple(row.reason_codes)) for row in rows]


def _waiting(session: Session, sight: Sight, talks: Sequence[Talk]) -> _Waiting:
    """Where the user's undigested turns are, by looking at what is open: the cost does not grow with the history."""
    bound = {"tenant": sight.tenant_id, "users": sight.users}
    windows = session.connection().execute(_windows(), bound).all()
    still_open = [window for window in windows if window.state != WindowState.DEAD]
    open_talks = [talk for talk in talks if talk.undigested_count]
    times = [talk.since for talk in open_talks if talk.since is not None]
    times += [window.created_at for window in still_open]
    return _Waiting(
        sessions=tuple(talk.id for talk in open_talks),
        # A dead window is over, but nothing of it was kept: its turns can only come back from the tail.
        windows=tuple(window.id for window in windows),
        talks=tuple(dict.fromkeys(window.session_ref for window in windows)),
        count=sum(talk.undigested_count for talk in open_talks) + sum(len(one.turn_ids) for one in still_open),
        oldest_at=min(times, default=None),
    )


def _newest(session: Session, query: Select[Any], bound: dict[str, object]) -> list[_Heard]:
    rows = session.connection().execute(query, bound)
    return [(said(row), row[0] == WindowState.APPLIED) for row in rows]


@cache
def _in_session(seen: Form) -> Select[Any]:
    return _spoken(seen, col(Turn.session_ref) == given("session"), LAST_TURNS).where(_by_user())


@cache
def _in_thread(seen: Form) -> Select[Any]:
    # Of others only what was said in the thread that the question names.
    place = and_(col(Turn.tenant_id) == given("tenant"), col(Turn.thread_id) == given("thread"))
    return _spoken(seen, place, LAST_TURNS)


@cache
def _unclaimed(seen: Form) -> Select[Any]:
    place = and_(col(Turn.session_ref).in_(several("sessions")), col(Turn.window_id).is_(None))
    return _spoken(seen, place, UNDIGESTED_TURNS).where(_by_user())


@cache
def _claimed(seen: Form) -> Select[Any]:
    return _spoken(seen, col(Turn.window_id).in_(several("windows")), UNDIGESTED_TURNS).where(_by_user())


def _spoken(seen: Form, place: ColumnElement[bool], limit: int) -> Select[Any]:
    return (
        pick(Window.state, *SAID)
        .select_from(Turn)
        .outerjoin(Window, col(Window.id) == col(Turn.window_id))
        .where(
            aside(Turn.tenant_id) == given("tenant"),
            col(Turn.role).in_(("user", "assistant", "staff")),
            *turns_in(seen),
            place,
        )
        .order_by(col(Turn.at).desc(), col(Turn.event_id).desc())
        .limit(limit)
    )


def _by_user() -> ColumnElement[bool]:
    return aside(Turn.user_ref).in_(several("users"))


@cache
def _windows() -> Select[Any]:
    unjudged = (WindowState.WAITING, WindowState.ANSWERED, WindowState.DEAD)
    return pick(Window.id, Window.session_ref, Window.state, Window.turn_ids, Window.created_at).where(
        aside(Window.tenant_id) == given("tenant"),
        col(Window.user_ref).in_(several("users")),
        col(Window.state).in_(unjudged),
    )


@cache
def _states() -> Select[Any]:
    state = WorkingState
    return (
        pick(state.scope, state.scope_key, state.state, state.updated_at)
        .where(
            col(state.tenant_id) == given("tenant"),
            col(state.scope).in_(("session", "thread", "ticket")),
            col(state.scope_key).in_(several("keys")),
            col(state.ended_at).is_(None),
        )
        .order_by(col(state.updated_at).desc())
    )


@cache
def _pending() -> Select[Any]:
    return (
        pick(Evidence.id, Evidence.key, Evidence.at, Evidence.reason_codes)
        .where(
            aside(Evidence.tenant_id) == given("tenant"),
            col(Evidence.user_ref).in_(several("users")),
            col(Evidence.write_status) == "pending_review",
            col(Evidence.at) <= given("as_of"),
            # Who said yes already waits for a reviewer, and is not asked again.
            ~exists().where(col(Review.evidence_id) == col(Evidence.id), col(Review.verdict) == "confirm"),
        )
        .order_by(col(Evidence.at).desc(), col(Evidence.id))
        .limit(PENDING)
    )


@cache
def _unindexed() -> Select[Any]:
    return pick(func.count()).select_from(OutboxRow).where(col(OutboxRow.user_ref).in_(several("users")))

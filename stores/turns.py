"""Turns as rows, opened into values in the order of their conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, cast
from uuid import UUID

import sqlalchemy
from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, case, or_, tuple_, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from memory.turns import TurnView
from memory.windows import in_order
from schemas.envelopes import disclose, disclose_json
from schemas.tables import Observation, Turn
from stores.rows import insert

_IDS_PER_QUERY = 500
# No objects that a session tracks, and no text: a session that fell behind has thousands of them.
_UNDIGESTED = (
    sqlalchemy.select(
        col(Turn.event_id), col(Turn.at), col(Turn.token_count), col(Turn.reply_to), col(Turn.received_at)
    )
    .where(col(Turn.window_id).is_(None))
    .order_by(col(Turn.at), col(Turn.event_id))
)


class Neighbours(NamedTuple):
    """The turns right before and right after one, in its session."""

    previous: TurnView | None
    next: TurnView | None


class Undigested(NamedTuple):
    """A turn without a window, as far as cutting and the session's dues are concerned."""

    event_id: UUID
    at: datetime
    tokens: int
    reply_to: UUID | None
    received_at: datetime


def add(session: Session, rows: Sequence[Mapping[str, Any]], observations: Sequence[Mapping[str, Any]] = ()) -> None:
    """Keeps new turns, undigested, and their tools' payloads. Repeat: a turn that is there stays as it is."""
    insert(session, Turn, rows)
    insert(session, Observation, observations)


def views(session: Session, tenant_id: UUID, ids: Sequence[UUID]) -> list[TurnView]:
    """The turns with these ids that are still there, in conversation order, opened.

    A tool's turn carries its payload as content as long as the observation is kept, and no content after that.
    """
    rows = plain(session, tenant_id, ids)
    payloads = _payloads(session, tenant_id, [row.event_id for row in rows if row.role == "tool"])
    return in_order(view(row, payloads.get(row.event_id)) for row in rows)


def before(session: Session, tenant_id: UUID, ids: Sequence[UUID], count: int = 2) -> list[TurnView]:
    """Up to `count` turns that come right before the first of `ids`: read-only context, in order.

    Of its session; of its thread, whoever said them, when it stands in one: a reply's question may be another user's.
    Turns of `ids` themselves are left out (a reply may stand after its target and be dated before it).
    """
    firsts = [first for chunk in _chunks(ids) if (first := _first(session, tenant_id, chunk)) is not None]
    if not firsts or count <= 0:
        return []
    first = min(firsts, key=lambda row: (row.at, row.event_id))
    query = (
        select(Turn)
        .where(_same_talk(first), Turn.tenant_id == tenant_id, _earlier(first))
        .where(or_(col(Turn.role) != "staff", col(Turn.session_ref) == first.session_ref))
        .order_by(col(Turn.at).desc(), col(Turn.event_id).desc())
        .limit(count)
    )
    return in_order(view(row) for row in session.exec(query))


def neighbours(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> dict[UUID, Neighbours]:
    """For each turn that is there, what was said before and after it, by (at, event_id).

    In its session; of a turn in a thread, in that thread, whoever said them: a reply and its question are neighbours.
    Tools and systems say nothing, and a staff turn is neighbour to staff turns of its ticket alone.
    """
    beside: dict[UUID, tuple[UUID | None, UUID | None]] = {}
    for chunk in _chunks(event_ids):
        rows = session.connection().execute(_beside(), {"tenant": tenant_id, "ids": chunk})
        beside.update((event_id, (before, after)) for event_id, before, after in map(tuple, rows))
    named = {one for pair in beside.values() for one in pair if one is not None}
    found = {one.event_id: view(one) for one in plain(session, tenant_id, sorted(named))}
    return {
        event_id: Neighbours(*(None if one is None else found.get(one) for one in pair))
        for event_id, pair in beside.items()
    }


def near(session: Session, tenant_id: UUID, rows: Sequence[Turn]) -> list[Turn]:
    """What else was said in the windows of these turns; next to undigested ones, what else is undigested there."""
    windows = sorted({row.window_id for row in rows if row.window_id is not None})
    fresh = sorted({row.session_ref for row in rows if row.window_id is None})
    ours = {row.event_id for row in rows}
    found: list[Turn] = []
    for chunk in _chunks(windows):
        query = select(Turn).where(Turn.tenant_id == tenant_id, col(Turn.window_id).in_(chunk))
        found += session.exec(query.order_by(col(Turn.event_id)))
    for chunk in _chunks(fresh):
        query = select(Turn).where(Turn.tenant_id == tenant_id, col(Turn.session_ref).in_(chunk))
        found += session.exec(query.where(col(Turn.window_id).is_(None)).order_by(col(Turn.event_id)))
    return [row for row in found if row.event_id not in ours]


def tail(session: Session, tenant_id: UUID, session_ref: UUID, *, limit: int) -> list[TurnView]:
    """The last `limit` turns of a session, in order."""
    query = (
        select(Turn)
        .where(Turn.session_ref == session_ref, Turn.tenant_id == tenant_id)
        .order_by(col(Turn.at).desc(), col(Turn.event_id).desc())
        .limit(limit)
    )
    return in_order(view(row) for row in session.exec(query))


def undigested(session: Session, session_ref: UUID, *, limit: int) -> list[Undigested]:
    """The first `limit` turns of a session that belong to no window yet, by (at, event_id)."""
    rows = session.connection().execute(_UNDIGESTED.where(col(Turn.session_ref) == session_ref).limit(limit))
    return [Undigested(*row) for row in rows]


def assign(session: Session, tenant_id: UUID, ids: Sequence[UUID], window_id: UUID) -> int:
    """Puts turns into a window; answers how many were in none before."""
    assigned = 0
    for chunk in _chunks(ids):
        statement = (
            update(Turn)
            .where(col(Turn.tenant_id) == tenant_id, col(Turn.event_id).in_(chunk), col(Turn.window_id).is_(None))
            .values(window_id=window_id)
        )
        assigned += session.connection().execute(statement).rowcount
    return assigned


def traceparents(session: Session, tenant_id: UUID, ids: Sequence[UUID]) -> list[str]:
    """The traces that these turns were said in, each once."""
    found: dict[str, None] = {}
    for chunk in _chunks(ids):
        query = select(Turn.traceparent).where(
            Turn.tenant_id == tenant_id, col(Turn.event_id).in_(chunk), col(Turn.traceparent).is_not(None)
        )
        found |= dict.fromkeys(one for one in session.exec(query.distinct()) if one is not None)
    return list(found)


def view(row: Turn, payload: str | None = None) -> TurnView:
    """A row as rules see it, with a tool's payload in place of its content. `tool` is the tool's name."""
    return TurnView(
        event_id=row.event_id,
        role=row.role,
        content=disclose(row.content) if payload is None else payload,
        at=row.at,
        name=None if row.name is None else disclose(row.name),
        tz=row.tz,
        utc_offset_minutes=row.utc_offset_minutes,
        tool=None if row.tool is None else disclose_json(row.tool).get("name"),
        tool_ok=row.tool_ok,
        procedure_name=row.procedure_name,
        procedure_version=row.procedure_version,
        actor_id=row.actor_id,
        agent_id=row.agent_id,
        thread_id=row.thread_id,
        ticket_id=row.ticket_id,
        reply_to=row.reply_to,
        source=row.source,
        language=row.language,
        token_count=row.token_count,
        flags=tuple(row.flags),
    )


def plain(session: Session, tenant_id: UUID, ids: Sequence[UUID]) -> list[Turn]:
    """The turns with these ids that are still there, in no order: carriers of a row that the session does not track."""
    rows: list[Turn] = []
    for chunk in _chunks(ids):
        found = session.connection().execute(_by_id(), {"tenant": tenant_id, "ids": chunk})
        rows.extend(cast("list[Turn]", list(found)))
    return rows


@cache
def _by_id() -> Select[Any]:
    table = cast("Table", cast("Any", Turn).__table__)
    return sqlalchemy.select(*table.columns).where(
        col(Turn.tenant_id) == bindparam("tenant"), col(Turn.event_id).in_(bindparam("ids", expanding=True))
    )


def _first(session: Session, tenant_id: UUID, ids: Sequence[UUID]) -> Turn | None:
    query = _by_id().order_by(col(Turn.at), col(Turn.event_id)).limit(1)
    return cast("Turn | None", session.connection().execute(query, {"tenant": tenant_id, "ids": ids}).first())


def _payloads(session: Session, tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, str]:
    found: dict[UUID, str] = {}
    for chunk in _chunks(ids):
        query = select(Observation.event_id, Observation.content).where(
            Observation.tenant_id == tenant_id, col(Observation.event_id).in_(chunk)
        )
        found.update({row[0]: disclose(row[1]) for row in session.exec(query)})
    return found


def _chunks(ids: Sequence[UUID]) -> Iterable[Sequence[UUID]]:
    for start in range(0, len(ids), _IDS_PER_QUERY):
        yield ids[start : start + _IDS_PER_QUERY]


def _earlier(row: Turn) -> ColumnElement[bool]:
    return or_(col(Turn.at) < row.at, and_(col(Turn.at) == row.at, col(Turn.event_id) < row.event_id))


def _same_talk(row: Turn) -> ColumnElement[bool]:
    return col(Turn.session_ref) == row.session_ref if row.thread_id is None else col(Turn.thread_id) == row.thread_id


@cache
def _beside() -> Select[Any]:
    """(turn, the one before, the one after): two steps in an index a turn, in one statement for all of them."""
    turn, other = aliased(Turn, name="turn"), aliased(Turn, name="other")
    heard = or_(
        col(other.role).in_(("user", "assistant")),
        and_(
            col(turn.role) == "staff",
            col(other.role) == "staff",
            col(other.ticket_id).is_not_distinct_from(col(turn.ticket_id)),
        ),
    )
    place, there = (tuple_(col(one.at), col(one.event_id)) for one in (turn, other))

    def nearest(same_talk: ColumnElement[bool], *, earlier: bool) -> Any:
        order = (col(other.at), col(other.event_id))
        return (
            sqlalchemy.select(col(other.event_id))
            .where(col(other.tenant_id) == col(turn.tenant_id), same_talk, heard)
            .where(there < place if earlier else there > place)
            .order_by(*((one.desc() for one in order) if earlier else order))
            .limit(1)
            .correlate(turn)
            .scalar_subquery()
        )

    in_session = col(other.session_ref) == col(turn.session_ref)
    in_thread = col(other.thread_id) == col(turn.thread_id)
    sides = [
        case(
            (col(turn.thread_id).is_(None), nearest(in_session, earlier=earlier)),
            else_=nearest(in_thread, earlier=earlier),
        )
        for earlier in (True, False)
    ]
    return sqlalchemy.select(col(turn.event_id), *sides).where(
        col(turn.tenant_id) == bindparam("tenant"), col(turn.event_id).in_(bindparam("ids", expanding=True))
    )

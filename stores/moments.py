"""Moments as rows: one for each turn that is searched by itself. Their text is made from the turn, never kept twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import sqlalchemy
from sqlalchemy import Select, Table, and_, update
from sqlmodel import Session, col, select

from memory.turns import TurnView
from schemas.tables import Moment, Turn
from stores.sql import insert_once

_IDS_PER_QUERY = 500
_ROWS: Select[Any] = sqlalchemy.select(*cast("Table", cast("Any", Moment).__table__).columns)


def add(
    session: Session,
    *,
    tenant_id: UUID,
    user_ref: UUID,
    session_ref: UUID,
    episode_id: UUID | None,
    turns: Iterable[TurnView],
    shared_threads: Collection[str] = (),
    new_id: Callable[[], UUID],
) -> None:
    """One moment a turn. Repeat: harmless.

    A staff turn's has ticket scope: it comes back only with that ticket. A turn's in a thread that several users share
    has thread scope: whoever is in the thread may find it.
    """
    rows: list[dict[str, Any]] = []  # mappings: a model costs more than its insert
    for turn in turns:
        scope, scope_key = "user", str(user_ref)
        if turn.role == "staff" and turn.ticket_id is not None:
            scope, scope_key = "ticket", turn.ticket_id
        elif turn.role != "staff" and turn.thread_id in shared_threads:
            scope, scope_key = "thread", str(turn.thread_id)
        rows.append(
            {
                "id": new_id(),
                "tenant_id": tenant_id,
                "user_ref": user_ref,
                "session_ref": session_ref,
                "event_id": turn.event_id,
                "episode_id": episode_id,
                "scope": scope,
                "scope_key": scope_key,
                "at": turn.at,
                "row_version": 1,
            }
        )
    insert_once(session, Moment, rows)


def share(session: Session, tenant_id: UUID, thread_id: str) -> list[Moment]:
    """Opens a thread's moments to everybody in it, once a second user has joined; answers the rows that changed."""
    query = (
        select(Moment.id)
        .join(Turn, and_(col(Turn.tenant_id) == col(Moment.tenant_id), col(Turn.event_id) == col(Moment.event_id)))
        .where(Turn.tenant_id == tenant_id, Turn.thread_id == thread_id, Turn.role != "staff")
        .where(Moment.scope == "user", col(Moment.deleted_at).is_(None))
    )
    return _change(session, session.exec(query).all(), scope="thread", scope_key=thread_id)


def touch(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> list[Moment]:
    """Moves the row version of the moments of these turns, so that the index takes them anew; answers the rows."""
    return _change(session, [row.id for row in of_turns(session, tenant_id, event_ids)])


def of_turns(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> list[Moment]:
    """The live moments of these turns, as rows that the session does not track."""
    rows: list[Moment] = []
    for chunk in _chunks(event_ids):
        query = _ROWS.where(col(Moment.tenant_id) == tenant_id, col(Moment.event_id).in_(chunk))
        rows.extend(_plain(session, query.where(col(Moment.deleted_at).is_(None))))
    return rows


def soft_delete(session: Session, episode_ids: Sequence[UUID], *, now: datetime) -> list[Moment]:
    """A moment dies with its episode: soft-deletes theirs and answers the rows, which the index is owed."""
    alive = select(Moment.id).where(col(Moment.episode_id).in_(episode_ids), col(Moment.deleted_at).is_(None))
    return _change(session, session.exec(alive).all(), deleted_at=now)


def pass_on(session: Session, event_ids: Sequence[UUID], tenant_id: UUID, to: UUID) -> None:
    """The moments of these turns live, and die, with this episode from now on: a summary's, or a member's again."""
    for chunk in _chunks(event_ids):
        statement = update(Moment).where(col(Moment.tenant_id) == tenant_id, col(Moment.event_id).in_(chunk))
        session.connection().execute(statement.values(episode_id=to))


def _change(session: Session, ids: Sequence[UUID], **values: object) -> list[Moment]:
    """Changes rows and moves their version; answers them as they stand now."""
    rows: list[Moment] = []
    for chunk in _chunks(sorted(ids)):
        statement = update(Moment).where(col(Moment.id).in_(chunk))
        session.connection().execute(statement.values(**values, row_version=col(Moment.row_version) + 1))
        rows.extend(_plain(session, _ROWS.where(col(Moment.id).in_(chunk))))
    return rows


def _plain(session: Session, query: Select[Any]) -> list[Moment]:
    return cast("list[Moment]", list(session.connection().execute(query)))


def _chunks(ids: Sequence[UUID]) -> Iterable[Sequence[UUID]]:
    for start in range(0, len(ids), _IDS_PER_QUERY):
        yield ids[start : start + _IDS_PER_QUERY]

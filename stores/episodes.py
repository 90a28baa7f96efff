"""Episodes as rows: one a window, later perhaps one for several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

from sqlalchemy import ColumnElement, or_, update
from sqlmodel import Session, col, select

from schemas.decisions import EpisodeView, Trend
from schemas.drafts import Outcome, Sentiment
from schemas.envelopes import disclose, disclose_json, enclose, enclose_json
from schemas.tables import Episode, Turn, Window
from stores.sights import aside
from stores.sql import insert_once


def add(
    session: Session,
    view: EpisodeView,
    *,
    episode_id: UUID,
    tenant_id: UUID,
    user_ref: UUID,
    session_ref: UUID | None,
    window_id: UUID | None,
    recorded_at: datetime,
    expires_at: datetime | None,
    member_ids: Sequence[UUID] = (),
) -> bool:
    """Keeps an episode. False when its window has one already: nothing is changed then."""
    row = Episode(
        id=episode_id,
        tenant_id=tenant_id,
        user_ref=user_ref,
        session_ref=session_ref,
        window_id=window_id,
        ticket_id=view.ticket_id,
        agent_id=view.agent_id,
        summary=enclose(view.summary),
        outcome=view.outcome,
        outcome_turn_ids=[str(event_id) for event_id in view.outcome_turn_ids],
        sentiment=view.sentiment,
        sentiment_trend=view.sentiment_trend,
        tags=list(view.tags),
        entities=enclose_json([list(entity) for entity in view.entities]),
        procedure_name=view.procedure_name,
        turn_ids=[str(event_id) for event_id in view.turn_ids],
        language=view.language,
        started_at=view.started_at,
        ended_at=view.ended_at,
        recorded_at=recorded_at,
        importance=view.importance,
        strength=view.importance,
        confidence=view.confidence,
        member_ids=[str(member_id) for member_id in member_ids],
        expires_at=expires_at,
    )
    return bool(insert_once(session, Episode, [row]))


def recent(session: Session, user_ref: UUID, *, limit: int) -> list[str]:
    """The summaries of a user's newest live episodes."""
    query = (
        select(Episode.summary)
        .where(Episode.user_ref == user_ref, col(Episode.deleted_at).is_(None))
        .order_by(col(Episode.recorded_at).desc(), col(Episode.id).desc())
        .limit(limit)
    )
    return [disclose(summary) for summary in session.exec(query)]


def live(session: Session, tenant_id: UUID, user_ref: UUID) -> list[Episode]:
    """A user's episodes that are neither deleted nor merged into another, oldest first."""
    query = (
        select(Episode)
        .where(
            Episode.tenant_id == tenant_id,
            Episode.user_ref == user_ref,
            col(Episode.deleted_at).is_(None),
            col(Episode.consolidated_into).is_(None),
        )
        .order_by(col(Episode.started_at), col(Episode.id))
    )
    return list(session.exec(query))


def view(row: Episode) -> EpisodeView:
    """A row as the rules see it."""
    entities = cast("list[list[str]]", disclose_json(row.entities))
    return EpisodeView(
        summary=disclose(row.summary),
        outcome=cast("Outcome", row.outcome),
        outcome_turn_ids=tuple(UUID(event_id) for event_id in row.outcome_turn_ids),
        sentiment=cast("Sentiment", row.sentiment),
        sentiment_trend=cast("Trend", row.sentiment_trend),
        tags=tuple(row.tags),
        entities=tuple((name, kind) for name, kind in entities),
        procedure_name=row.procedure_name,
        turn_ids=tuple(UUID(event_id) for event_id in row.turn_ids),
        language=row.language,
        started_at=row.started_at,
        ended_at=row.ended_at,
        importance=row.importance,
        confidence=row.confidence,
        ticket_id=row.ticket_id,
        agent_id=row.agent_id,
    )


def conclude(session: Session, session_ref: UUID, outcome: Outcome, *, failure_gain: float) -> list[Episode]:
    """Gives a session's last episode the end that its agent named; answers it if that changed something.

    While turns of the session wait, nothing: the last window takes the word with it. A failure matters by
    `failure_gain` more.
    """
    waits = session.exec(
        select(Turn.event_id)
        .outerjoin(Window, col(Window.id) == col(Turn.window_id))
        .where(Turn.session_ref == session_ref)
        .where(or_(col(Turn.window_id).is_(None), col(Window.state).in_(("waiting", "answered"))))
        .limit(1)
    ).first()
    last = session.exec(
        select(Episode)
        .where(Episode.session_ref == session_ref, col(Episode.deleted_at).is_(None))
        .order_by(col(Episode.ended_at).desc(), col(Episode.id).desc())
        .limit(1)
    ).first()
    if waits is not None or last is None or last.outcome == outcome:
        return []
    gain = failure_gain if outcome == "failure" else 0.0
    importance = min(1.0, last.importance + gain)
    return _change(session, [last.id], outcome=outcome, confidence=1.0, importance=importance)


def touch(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> list[Episode]:
    """Moves the row version of the live episodes that tell of these turns, summaries of several included; the rows."""
    if not event_ids:
        return []
    windows = select(Turn.window_id).where(Turn.tenant_id == tenant_id, col(Turn.event_id).in_(event_ids))
    told = session.exec(select(Episode.id, Episode.consolidated_into).where(col(Episode.window_id).in_(windows))).all()
    ids = {one for pair in told for one in pair if one is not None}
    return _change(session, ids, col(Episode.deleted_at).is_(None))


def merge_into(session: Session, episode_ids: Collection[UUID], into: UUID, *, now: datetime) -> list[Episode]:
    """Soft-deletes members of a merged episode and answers them; `part` undoes it until they are purged."""
    alive = col(Episode.deleted_at).is_(None)
    return _change(session, episode_ids, alive, consolidated_into=into, deleted_at=now)


def part(session: Session, summary_id: UUID, *, now: datetime) -> list[Episode]:
    """Undoes a merge: its members live again and their summary ends; answers all of them. Repeat: harmless.

    The summary's row stays, so that its members are not merged again the next night.
    """
    members = list(session.exec(select(Episode.id).where(Episode.consolidated_into == summary_id)))
    back = _change(
        session, members, col(Episode.consolidated_into) == summary_id, consolidated_into=None, deleted_at=None
    )
    return [*back, *_change(session, [summary_id], col(Episode.deleted_at).is_(None), deleted_at=now)]


def merged_ids(session: Session, user_ref: UUID) -> set[UUID]:
    """The episodes of a user that stand in a summary of several, also in one that was undone or has expired."""
    summaries = session.exec(select(Episode).where(Episode.user_ref == user_ref, aside(Episode.window_id).is_(None)))
    return {UUID(member_id) for row in summaries for member_id in row.member_ids}


def _change(session: Session, ids: Collection[UUID], *where: ColumnElement[bool], **values: object) -> list[Episode]:
    if not ids:
        return []
    changing = select(Episode.id).where(col(Episode.id).in_(ids), *where).order_by(col(Episode.id)).with_for_update()
    changed = session.exec(changing).all()
    statement = update(Episode).where(col(Episode.id).in_(changed))
    session.connection().execute(statement.values(**values, row_version=col(Episode.row_version) + 1))
    anew = select(Episode).where(col(Episode.id).in_(changed)).execution_options(populate_existing=True)
    return list(session.exec(anew))

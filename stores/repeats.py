"""Where a conversation repeats what is held back in it: its assistant's turns, and what was held back there.

A conversation is one session, as far as REACH answers go: what is said again long after is another matter.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlmodel import Session, col, select

from memory.turns import TurnView
from schemas.envelopes import disclose
from schemas.tables import Evidence, Span, Turn
from stores.turns import view

#: How many answers after a statement may still speak of it.
REACH = 100

#: Why a turn that was taken back is held back.
UNDONE = "undone"

_SPEAKING = ("user", "staff")
_ANSWERING = ("assistant", "system")


class Untold(NamedTuple):
    """A held-back statement's value: why it is held back, and by which statement."""

    evidence_id: UUID
    reason: str
    value: str


def answers(session: Session, tenant_id: UUID, session_ref: UUID, since: datetime) -> list[Turn]:
    """The first REACH answers of a session from `since` on, digested or not, in order."""
    query = (
        select(Turn)
        .where(Turn.tenant_id == tenant_id, Turn.session_ref == session_ref, col(Turn.at) >= since)
        .where(col(Turn.role).in_(_ANSWERING))
        .order_by(col(Turn.at), col(Turn.event_id))
        .limit(REACH)
    )
    return list(session.exec(query))


def untold(session: Session, tenant_id: UUID, session_ref: UUID, answered: Sequence[TurnView]) -> list[Untold]:
    """The values held back in a session that these answers of it are near enough to repeat."""
    since = _reach(session, tenant_id, session_ref, answered)
    query = (
        select(Evidence.id, Span.reason, Evidence.value)
        .where(Evidence.tenant_id == tenant_id, Evidence.session_ref == session_ref)
        .where(col(Span.evidence_id) == col(Evidence.id), col(Span.event_id) == col(Evidence.event_id))
        .where(col(Span.released_at).is_(None))
    )
    if since is not None:
        query = query.where(col(Evidence.at) >= since)
    return [Untold(one, reason, disclose(value)) for one, reason, value in session.exec(query.distinct())]


def taken_back(session: Session, tenant_id: UUID, session_ref: UUID, answered: Sequence[TurnView]) -> list[TurnView]:
    """What people said in a session and was taken back, near enough for these answers to repeat."""
    since = _reach(session, tenant_id, session_ref, answered)
    query = (
        select(Turn)
        .where(Turn.tenant_id == tenant_id, Turn.session_ref == session_ref, col(Turn.role).in_(_SPEAKING))
        .where(Span.tenant_id == tenant_id, col(Span.event_id) == col(Turn.event_id))
        .where(Span.reason == UNDONE, col(Span.released_at).is_(None))
    )
    if since is not None:
        query = query.where(col(Turn.at) >= since)
    return [view(row) for row in session.exec(query)]


def words(session: Session, tenant_id: UUID, held: Collection[UUID], sessions: Collection[UUID]) -> list[str]:
    """What must not be repeated in these sessions: values of the `held` statements made there, and what was taken back.

    Shape: `held` are ids of evidence.
    """
    if not sessions:
        return []
    stated = select(Evidence.id, Evidence.value).where(col(Evidence.session_ref).in_(sessions))
    found = [disclose(value) for one, value in session.exec(stated) if one in held] if held else []
    whole = (
        select(Turn.content)
        .where(Turn.tenant_id == tenant_id, col(Turn.session_ref).in_(sessions), col(Turn.role).in_(_SPEAKING))
        .where(Span.tenant_id == tenant_id, col(Span.event_id) == col(Turn.event_id))
        .where(Span.reason == UNDONE, col(Span.released_at).is_(None))
    )
    return [*found, *(disclose(content) for content in session.exec(whole))]


def _reach(session: Session, tenant_id: UUID, session_ref: UUID, answered: Sequence[TurnView]) -> datetime | None:
    """When the earliest statement that the first of these answers may repeat was made; None for any."""
    first = min((turn.at for turn in answered), default=None)
    query = select(Turn.at).where(
        Turn.tenant_id == tenant_id, Turn.session_ref == session_ref, col(Turn.role).in_(_ANSWERING)
    )
    if first is not None:
        query = query.where(col(Turn.at) < first)
    return session.exec(query.order_by(col(Turn.at).desc()).offset(REACH - 1).limit(1)).first()

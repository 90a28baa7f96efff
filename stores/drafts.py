"""Fact drafts as rows: what was answered and what became of it. And what the gate's quotas count."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func
from sqlmodel import Session, col, select

from memory.quotas import DAY
from schemas.memories import WriteStatus
from schemas.tables import Draft, Evidence, FactDecision
from stores.sql import insert_once


def add(session: Session, rows: Sequence[Draft]) -> None:
    """Keeps a window's drafts. Repeat: one row per window and ordinal."""
    insert_once(session, Draft, rows)


def kept_in_session(session: Session, session_ref: UUID) -> int:
    """How many statements of a session counted at once so far."""
    query = (
        select(func.count())
        .select_from(Evidence)
        .where(Evidence.session_ref == session_ref, Evidence.write_status == WriteStatus.AUTO)
    )
    return session.exec(query).one()


def kept_from_source(session: Session, users: Collection[UUID], source: str, *, around: datetime) -> list[datetime]:
    """When statements of these users that came by a source and counted at once were made, a day around `around`."""
    query = select(Evidence.at).where(
        col(Evidence.user_ref).in_(users),
        Evidence.write_status == WriteStatus.AUTO,
        Evidence.source == source,
        *_near(around),
    )
    return list(session.exec(query))


def identity_changes(session: Session, users: Collection[UUID], *, around: datetime) -> list[datetime]:
    """When statements that changed who these users were said to be were made, a day around `around`.

    First words change nothing. By the time of the words, so that the import of a long history is no flood of changes.
    """
    changing = select(FactDecision.evidence_id).where(
        col(FactDecision.user_ref).in_(users), FactDecision.op == "supersede"
    )
    query = select(Evidence.at).where(col(Evidence.id).in_(changing), Evidence.type == "identity", *_near(around))
    return list(session.exec(query))


def _near(at: datetime) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return col(Evidence.at) > at - DAY, col(Evidence.at) < at + DAY

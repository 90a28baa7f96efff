"""Fact drafts as rows: what was answered and what became of it. And what the gate's quotas count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func
from sqlmodel import Session, col, select

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


def kept_from_source(session: Session, user_ref: UUID, source: str, *, before: datetime) -> int:
    """How many statements of a user that came by a source in the day before `before` counted at once."""
    query = (
        select(func.count())
        .select_from(Evidence)
        .where(
            Evidence.user_ref == user_ref,
            Evidence.write_status == WriteStatus.AUTO,
            Evidence.source == source,
            col(Evidence.at) > before - timedelta(days=1),
            col(Evidence.at) <= before,
        )
    )
    return session.exec(query).one()


def identity_changes(session: Session, user_ref: UUID, *, before: datetime) -> int:
    """How many statements of the day before `before` changed who the user was said to be. First words change nothing.

    By the time of the words, so that the import of a long history is no flood of changes.
    """
    query = (
        select(func.count(col(FactDecision.evidence_id).distinct()))
        .select_from(FactDecision)
        .join(Evidence, col(Evidence.id) == col(FactDecision.evidence_id))
        .where(
            FactDecision.user_ref == user_ref,
            FactDecision.op == "supersede",
            Evidence.type == "identity",
            col(Evidence.at) > before - timedelta(days=1),
            col(Evidence.at) <= before,
        )
    )
    return session.exec(query).one()

"""Fact drafts as rows: what was answered and what became of it. And what the gate's quotas count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func
from sqlmodel import Session, col, select

from schemas.memories import WriteStatus
from schemas.tables import Draft, Evidence
from stores.sql import insert_once


@dataclass(frozen=True, slots=True)
class Quota:
    """What was kept at once so far: statements of this session, and changes of identity in the last day."""

    kept_in_session: int
    identity_changes_today: int


def add(session: Session, rows: Sequence[Draft]) -> None:
    """Keeps a window's drafts. Repeat: one row per window and ordinal."""
    insert_once(session, Draft, rows)


def quota(session: Session, user_ref: UUID, session_ref: UUID, *, now: datetime) -> Quota:
    """Counts over evidence that counted at once."""
    auto = Evidence.write_status == WriteStatus.AUTO
    kept = session.exec(
        select(func.count()).select_from(Evidence).where(Evidence.session_ref == session_ref, auto)
    ).one()
    changes = session.exec(
        select(func.count())
        .select_from(Evidence)
        .where(
            Evidence.user_ref == user_ref,
            Evidence.type == "identity",
            col(Evidence.recorded_at) > now - timedelta(days=1),
            auto,
        )
    ).one()
    return Quota(kept, changes)

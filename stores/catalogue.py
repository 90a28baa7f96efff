"""What is remembered, page by page, for people and tools that look through it. Reads only; pages go by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from schemas.delivery import Session as SessionRow
from schemas.delivery import WindowState
from schemas.tables import Episode, Evidence, Fact, FactDecision, Procedure, ProcedureVersion, Window

Status = Literal["current", "past", "pending", "all"]

_SHOWN = ("auto", "approved")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended: the time and id of its last row. The next page holds what is older."""

    at: datetime
    id: UUID


def undigested_turns(session: Session, users: Sequence[UUID]) -> int:
    """How many turns of these users no window has digested: those in none, and those in a window that is not over."""
    if not users:
        return 0
    loose = select(func.sum(col(SessionRow.undigested_count))).where(
        col(SessionRow.user_ref).in_(users), col(SessionRow.undigested_count) > 0
    )
    under_way = select(col(Window.turn_ids)).where(
        col(Window.user_ref).in_(users), col(Window.state).in_((WindowState.WAITING, WindowState.ANSWERED))
    )
    return int(session.exec(loose).one() or 0) + sum(len(ids) for ids in session.exec(under_way))


def facts(
    session: Session,
    tenant_id: UUID,
    users: Sequence[UUID],
    *,
    status: Status,
    now: datetime,
    after: Place | None,
    limit: int,
) -> list[Fact]:
    """Versions that no fold has superseded, newest record first; `current` hold now, `past` no longer do."""
    holds = or_(col(Fact.valid_until).is_(None), col(Fact.valid_until) > now)
    conditions: list[ColumnElement[bool]] = [
        col(Fact.tenant_id) == tenant_id,
        col(Fact.user_ref).in_(users),
        col(Fact.deleted_at).is_(None),
        col(Fact.superseded_at).is_(None),
        col(Fact.write_status).in_(_SHOWN),
    ]
    if status == "current":
        conditions += [holds, or_(col(Fact.expires_at).is_(None), col(Fact.expires_at) > now)]
    elif status == "past":
        conditions.append(~holds)
    if after is not None:
        conditions.append(_older(col(Fact.recorded_at), col(Fact.id), after))
    query = select(Fact).where(*conditions).order_by(col(Fact.recorded_at).desc(), col(Fact.id).desc()).limit(limit)
    return list(session.exec(query))


def pending(
    session: Session, tenant_id: UUID, users: Sequence[UUID], *, after: Place | None, limit: int
) -> list[Evidence]:
    """Statements that wait for a reviewer or for the user, newest first."""
    conditions: list[ColumnElement[bool]] = [
        col(Evidence.tenant_id) == tenant_id,
        col(Evidence.user_ref).in_(users),
        col(Evidence.write_status) == "pending_review",
    ]
    if after is not None:
        conditions.append(_older(col(Evidence.recorded_at), col(Evidence.id), after))
    order = (col(Evidence.recorded_at).desc(), col(Evidence.id).desc())
    return list(session.exec(select(Evidence).where(*conditions).order_by(*order).limit(limit)))


def episodes(
    session: Session, tenant_id: UUID, users: Sequence[UUID], *, now: datetime, after: Place | None, limit: int
) -> list[Episode]:
    """Episodes that stand, the latest first."""
    conditions: list[ColumnElement[bool]] = [
        col(Episode.tenant_id) == tenant_id,
        col(Episode.user_ref).in_(users),
        col(Episode.deleted_at).is_(None),
        col(Episode.write_status).in_(_SHOWN),
        or_(col(Episode.expires_at).is_(None), col(Episode.expires_at) > now),
    ]
    if after is not None:
        conditions.append(_older(col(Episode.recorded_at), col(Episode.id), after))
    order = (col(Episode.recorded_at).desc(), col(Episode.id).desc())
    return list(session.exec(select(Episode).where(*conditions).order_by(*order).limit(limit)))


def procedures(
    session: Session, tenant_id: UUID, *, after: Place | None, limit: int
) -> list[tuple[ProcedureVersion, Procedure]]:
    """Versions of the tenant's procedures, newest first."""
    conditions: list[ColumnElement[bool]] = [
        col(ProcedureVersion.tenant_id) == tenant_id,
        col(ProcedureVersion.write_status).in_(_SHOWN),
        col(Procedure.deleted_at).is_(None),
    ]
    if after is not None:
        conditions.append(_older(col(ProcedureVersion.created_at), col(ProcedureVersion.id), after))
    query = (
        select(ProcedureVersion, Procedure)
        .join(Procedure, col(Procedure.id) == col(ProcedureVersion.procedure_id))
        .where(*conditions)
        .order_by(col(ProcedureVersion.created_at).desc(), col(ProcedureVersion.id).desc())
        .limit(limit)
    )
    return list(session.exec(query))


def fact(session: Session, tenant_id: UUID, fact_id: UUID) -> Fact | None:
    """One version, superseded or not, of this tenant."""
    row = session.get(Fact, fact_id)
    return row if row is not None and row.tenant_id == tenant_id and row.deleted_at is None else None


def episode(session: Session, tenant_id: UUID, episode_id: UUID) -> Episode | None:
    """One episode of this tenant."""
    row = session.get(Episode, episode_id)
    return row if row is not None and row.tenant_id == tenant_id and row.deleted_at is None else None


def procedure(session: Session, tenant_id: UUID, version_id: UUID) -> tuple[ProcedureVersion, Procedure] | None:
    """One version of a procedure of this tenant."""
    version = session.get(ProcedureVersion, version_id)
    if version is None or version.tenant_id != tenant_id:
        return None
    owner = session.get(Procedure, version.procedure_id)
    return None if owner is None or owner.deleted_at is not None else (version, owner)


def history(session: Session, row: Fact) -> tuple[list[Fact], list[FactDecision]]:
    """All versions that a fact's slot ever had, and what each fold decided; both oldest first."""
    versions = session.exec(
        select(Fact)
        .where(
            col(Fact.tenant_id) == row.tenant_id, col(Fact.slot_hash) == row.slot_hash, col(Fact.deleted_at).is_(None)
        )
        .order_by(col(Fact.recorded_at), col(Fact.valid_from), col(Fact.id))
    )
    decisions = session.exec(
        select(FactDecision)
        .where(col(FactDecision.tenant_id) == row.tenant_id, col(FactDecision.slot_hash) == row.slot_hash)
        .order_by(col(FactDecision.decided_at), col(FactDecision.id))
    )
    return list(versions), list(decisions)


def _older(at: Mapped[datetime], row_id: Mapped[UUID], place: Place) -> ColumnElement[bool]:
    return or_(at < place.at, and_(at == place.at, row_id < place.id))

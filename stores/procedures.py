"""Procedures, their versions and outcomes as rows. Rates are a cache of the outcomes, made by the caller's rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, update
from sqlmodel import Session, col, select

from schemas.envelopes import enclose, enclose_json
from schemas.tables import Procedure, ProcedureOutcome, ProcedureVersion
from stores.sql import insert_once

#: Procedures that agents run belong to the organisation; a chat never changes their steps.
SCOPE = "organization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One use of a version. `source` is tool, user, model or event; `event_id` makes it count once."""

    event_id: UUID
    user_ref: UUID | None
    session_ref: UUID | None
    succeeded: bool
    source: str
    weight: float
    at: datetime


@dataclass(frozen=True, slots=True)
class Rates:
    """What a rule makes of outcomes."""

    ema: float
    successes: float
    failures: float


def named(
    session: Session,
    tenant_id: UUID,
    name: str,
    version: int | None,
    *,
    new_id: Callable[[], UUID],
    now: datetime,
    language: str = "und",
) -> ProcedureVersion:
    """The version that an agent names, the newest when it names none; kept with its name alone when it is new.

    Repeat: the same row. Two writers at once get one row.
    """
    procedure = {
        "id": new_id(),
        "tenant_id": tenant_id,
        "scope": SCOPE,
        "scope_key": str(tenant_id),
        "name": name,
        "kind": "sop",
        "created_at": now,
        "deleted_at": None,
    }
    insert_once(session, Procedure, [procedure])
    row = session.exec(
        select(Procedure).where(
            Procedure.tenant_id == tenant_id,
            Procedure.scope == SCOPE,
            Procedure.scope_key == str(tenant_id),
            Procedure.name == name,
        )
    ).one()
    if version is None:
        newest = session.exec(
            select(func.max(ProcedureVersion.version)).where(ProcedureVersion.procedure_id == row.id)
        ).one()
        version = newest or 1
    fresh = ProcedureVersion(
        id=new_id(),
        tenant_id=tenant_id,
        procedure_id=row.id,
        version=version,
        trigger=enclose(name.replace("-", " ").replace("_", " ")),
        steps=enclose_json([]),
        language=language,
        created_at=now,
    )
    insert_once(session, ProcedureVersion, [fresh])
    return session.exec(
        select(ProcedureVersion).where(ProcedureVersion.procedure_id == row.id, ProcedureVersion.version == version)
    ).one()


def count_outcome(
    session: Session,
    version: ProcedureVersion,
    outcome: Outcome,
    *,
    rates: Callable[[Sequence[ProcedureOutcome]], Rates],
    new_id: Callable[[], UUID],
) -> bool:
    """Keeps one outcome and computes the version's rates anew from all rows. False: this event was counted already."""
    row = ProcedureOutcome(
        id=new_id(),
        tenant_id=version.tenant_id,
        version_id=version.id,
        user_ref=outcome.user_ref,
        event_id=outcome.event_id,
        session_ref=outcome.session_ref,
        succeeded=outcome.succeeded,
        source=outcome.source,
        weight=outcome.weight,
        at=outcome.at,
    )
    if not insert_once(session, ProcedureOutcome, [row]):
        return False
    result = rates(outcomes(session, version.id))
    statement = (
        update(ProcedureVersion)
        .where(col(ProcedureVersion.id) == version.id)
        .values(
            ema=result.ema,
            successes=result.successes,
            failures=result.failures,
            row_version=col(ProcedureVersion.row_version) + 1,
        )
    )
    session.connection().execute(statement)
    session.refresh(version)
    return True


def outcomes(session: Session, version_id: UUID) -> Sequence[ProcedureOutcome]:
    """Every outcome of a version in the order of time, whatever the order of arrival."""
    return session.exec(
        select(ProcedureOutcome)
        .where(ProcedureOutcome.version_id == version_id)
        .order_by(col(ProcedureOutcome.at), col(ProcedureOutcome.event_id))
    ).all()


def get(session: Session, version_id: UUID) -> tuple[Procedure, ProcedureVersion] | None:
    """A version and its procedure; None when either is gone."""
    return session.exec(
        select(Procedure, ProcedureVersion)
        .where(ProcedureVersion.id == version_id, ProcedureVersion.procedure_id == Procedure.id)
        .where(col(Procedure.deleted_at).is_(None))
    ).one_or_none()

"""Procedures, their versions and outcomes as rows. Rates are a cache of the outcomes, made by the caller's rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, update
from sqlmodel import Session, col, select

from schemas.envelopes import enclose, enclose_json
from schemas.tables import Procedure, ProcedureOutcome, ProcedureVersion
from stores.sql import insert_once

#: Procedures that agents run belong to the organisation; a chat never changes their steps.
SCOPE = "organization"
#: The source of what an agent reported itself. All others are read off a window.
REPORTED = "event"


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


def known(session: Session, tenant_id: UUID, name: str, version: int | None) -> ProcedureVersion | None:
    """The version that stands under a name, the newest when none is given; None when there is none."""
    query = (
        select(ProcedureVersion)
        .join(Procedure, col(Procedure.id) == col(ProcedureVersion.procedure_id))
        .where(Procedure.tenant_id == tenant_id, Procedure.scope == SCOPE, Procedure.name == name)
        .where(col(Procedure.deleted_at).is_(None))
        .order_by(col(ProcedureVersion.version).desc())
        .limit(1)
    )
    return session.exec(query if version is None else query.where(ProcedureVersion.version == version)).first()


def count_outcome(
    session: Session,
    version: ProcedureVersion,
    outcome: Outcome,
    *,
    rates: Callable[[Sequence[ProcedureOutcome]], Rates],
    new_id: Callable[[], UUID],
) -> bool:
    """Keeps one outcome and computes the version's rates anew from all rows. False when nothing changed.

    An event counts once. What an agent reported of a session takes the place of what was read off its windows.
    """
    # Two users' windows may end one procedure at once: the second reads the first's row, too.
    session.exec(select(ProcedureVersion.id).where(ProcedureVersion.id == version.id).with_for_update()).one()
    row = {"id": new_id(), "tenant_id": version.tenant_id, "version_id": version.id, **asdict(outcome)}
    same_use = (
        col(ProcedureOutcome.version_id) == version.id,
        col(ProcedureOutcome.session_ref) == outcome.session_ref,
    )
    if outcome.source == REPORTED:
        if not insert_once(session, ProcedureOutcome, [row]):
            return False
        read_off = delete(ProcedureOutcome).where(*same_use, col(ProcedureOutcome.source) != REPORTED)
        session.connection().execute(read_off)
    else:
        reported = select(ProcedureOutcome.id).where(*same_use, ProcedureOutcome.source == REPORTED)
        if session.exec(reported.limit(1)).first() or not insert_once(session, ProcedureOutcome, [row]):
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

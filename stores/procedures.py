"""Procedures, their versions and outcomes as rows. Rates are a cache of the outcomes, made by the caller's rule.

An outcome row is never changed or taken away: what was undone stays, and is told apart when the rates are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, or_, update
from sqlmodel import Session, col, select

from memory.procedures import OutcomeView
from schemas.envelopes import enclose, enclose_json
from schemas.tables import Procedure, ProcedureOutcome, ProcedureVersion, Undo
from stores import undos
from stores.sql import insert_once

#: Procedures that agents run belong to the organisation; a chat never changes their steps.
SCOPE = "organization"
#: The source of what an agent reported itself. All others are read off a window.
REPORTED = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One use of a version. `source` is tool, user, model or event; `event_id` makes it count once.

    `event_source` is the channel that the event came through, by which it can be taken back.
    """

    event_id: UUID
    user_ref: UUID | None
    session_ref: UUID | None
    succeeded: bool
    source: str
    weight: float
    at: datetime
    event_source: str | None = None


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
    rates: Callable[[Sequence[OutcomeView]], Rates],
    new_id: Callable[[], UUID],
) -> bool:
    """Keeps one outcome and computes the version's rates anew from all rows. False when nothing changed.

    An event counts once.
    """
    _lock(session, version.id)
    row = {"id": new_id(), "tenant_id": version.tenant_id, "version_id": version.id, **asdict(outcome)}
    return bool(insert_once(session, ProcedureOutcome, [row])) and _recount(session, version, rates)


def recount(
    session: Session, tenant_id: UUID, undo: Undo, *, rates: Callable[[Sequence[OutcomeView]], Rates]
) -> tuple[int, list[ProcedureVersion]]:
    """Computes the rates anew of all versions with outcomes under an undo; how many outcomes, and the versions changed.

    The undo, or its withdrawal, stands in `undos` already. All versions are locked in their order: an outcome that is
    being counted right now is either among the rows, or finds the undo.
    """
    every = select(ProcedureVersion).where(ProcedureVersion.tenant_id == tenant_id).order_by(col(ProcedureVersion.id))
    versions = session.exec(every.with_for_update().execution_options(populate_existing=True)).all()
    touched = undos.outcomes(session, undo)
    named = {row.version_id for row in touched}
    return len(touched), [one for one in versions if one.id in named and _recount(session, one, rates)]


def outcomes(session: Session, version_id: UUID) -> Sequence[ProcedureOutcome]:
    """Every outcome row of a version in the order of time, whatever the order of arrival; also what was taken back."""
    return session.exec(
        select(ProcedureOutcome)
        .where(ProcedureOutcome.version_id == version_id)
        .order_by(col(ProcedureOutcome.at), col(ProcedureOutcome.event_id))
    ).all()


def outcome_views(session: Session, version: ProcedureVersion) -> list[OutcomeView]:
    """The outcomes of a version as the rules fold them, each with whether an undo stands over it."""
    rows = outcomes(session, version.id)
    undone = undos.covering_outcomes(session, version.tenant_id, rows)
    return [
        OutcomeView(
            event_id=row.event_id,
            at=row.at,
            succeeded=row.succeeded,
            weight=row.weight,
            session_ref=row.session_ref,
            is_reported=row.source == REPORTED,
            is_undone=row.id in undone,
        )
        for row in rows
    ]


def _lock(session: Session, version_id: UUID) -> None:
    # Two users' windows may end one procedure at once: the second reads the first's row, too.
    session.exec(select(ProcedureVersion.id).where(ProcedureVersion.id == version_id).with_for_update()).one()


def _recount(session: Session, version: ProcedureVersion, rates: Callable[[Sequence[OutcomeView]], Rates]) -> bool:
    result = rates(outcome_views(session, version))
    changes = (
        col(ProcedureVersion.ema) != result.ema,
        col(ProcedureVersion.successes) != result.successes,
        col(ProcedureVersion.failures) != result.failures,
    )
    statement = (
        update(ProcedureVersion)
        .where(col(ProcedureVersion.id) == version.id, or_(*changes))
        .values(
            ema=result.ema,
            successes=result.successes,
            failures=result.failures,
            row_version=col(ProcedureVersion.row_version) + 1,
        )
    )
    changed = session.connection().execute(statement).rowcount
    session.refresh(version)
    return changed > 0


def get(session: Session, version_id: UUID) -> tuple[Procedure, ProcedureVersion] | None:
    """A version and its procedure; None when either is gone."""
    return session.exec(
        select(Procedure, ProcedureVersion)
        .where(ProcedureVersion.id == version_id, ProcedureVersion.procedure_id == Procedure.id)
        .where(col(Procedure.deleted_at).is_(None))
    ).one_or_none()

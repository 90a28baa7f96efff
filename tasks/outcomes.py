"""Keeps how a procedure fared, whoever tells it: rates computed anew from all rows, and the index told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from sqlmodel import Session

from memory.procedures import OutcomeView, ProcedurePolicy, stats
from schemas.tables import ProcedureOutcome, ProcedureVersion
from stores import outbox, procedures
from stores.procedures import Outcome, Rates


def note(
    session: Session,
    version: ProcedureVersion,
    outcome: Outcome,
    *,
    policy: ProcedurePolicy,
    new_id: Callable[[], UUID],
) -> bool:
    """Keeps one outcome of a version, whoever tells it. False when it changed nothing."""
    is_new = procedures.count_outcome(session, version, outcome, rates=lambda rows: rates(rows, policy), new_id=new_id)
    if is_new:
        # A procedure is the organisation's: nobody's erasure moves its generation.
        outbox.owe(
            session,
            tenant=version.tenant_id,
            user=version.tenant_id,
            kind="procedure",
            record_id=version.id,
            row_version=version.row_version,
            generation=0,
        )
    return is_new


def rates(rows: Sequence[ProcedureOutcome], policy: ProcedurePolicy) -> Rates:
    """What outcome rows come to."""
    views = [OutcomeView(event_id=row.event_id, at=row.at, succeeded=row.succeeded, weight=row.weight) for row in rows]
    result = stats(views, policy)
    return Rates(result.ema, result.successes, result.failures)

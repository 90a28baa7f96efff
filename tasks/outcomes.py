"""Keeps how a procedure fared, whoever tells it: rates computed anew from all rows, and the index told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from sqlmodel import Session

from memory.procedures import OutcomeView, ProcedurePolicy, stats
from schemas.tables import ProcedureVersion, Undo
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
    fold = partial(rates, policy=policy)
    has_changed = procedures.count_outcome(session, version, outcome, rates=fold, new_id=new_id)
    if has_changed:
        _owe(session, version)
    return has_changed


def take_back(session: Session, undo: Undo, policy: ProcedurePolicy) -> int:
    """Makes the rates of what an undo, or its withdrawal, is about from what still counts; how many outcomes it is."""
    count, changed = procedures.recount(session, undo.tenant_id, undo, rates=partial(rates, policy=policy))
    for version in changed:
        _owe(session, version)
    return count


def rates(views: Sequence[OutcomeView], policy: ProcedurePolicy) -> Rates:
    """What outcomes come to."""
    result = stats(views, policy)
    return Rates(result.ema, result.successes, result.failures)


def _owe(session: Session, version: ProcedureVersion) -> None:
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

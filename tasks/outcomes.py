"""Counts how a procedure fared in a window: one outcome a deciding event, rates computed anew from all rows."""

from __future__ import annotations

from collections.abc import Sequence

from memory.procedures import OutcomeView, ProcedurePolicy, stats, verdict
from schemas.drafts import WindowDraft
from schemas.tables import ProcedureOutcome
from stores import outbox, procedures
from stores.procedures import Outcome, Rates
from tasks.work import Work


def count(work: Work, draft: WindowDraft) -> str | None:
    """Keeps the window's outcome; the procedure's name, or None when none was used or nothing shows how it went.

    Repeat: an event counts once.
    """
    policy = work.kit.policies.procedures
    found = verdict(work.said, draft.procedure, policy)
    if found is None:
        return None
    decided = next(turn for turn in work.said if turn.event_id == found.event_id)
    version = procedures.named(
        work.session,
        work.claim.tenant_id,
        found.name,
        found.version,
        new_id=work.kit.new_id,
        now=work.now,
        language=decided.language,
    )
    outcome = Outcome(
        event_id=found.event_id,
        user_ref=work.claim.user_ref,
        session_ref=work.claim.session_ref,
        succeeded=found.succeeded,
        source=found.source,
        weight=found.weight,
        at=decided.at,
    )
    if procedures.count_outcome(
        work.session, version, outcome, rates=lambda rows: rates(rows, policy), new_id=work.kit.new_id
    ):
        outbox.owe(
            work.session,
            tenant=version.tenant_id,
            user=version.tenant_id,
            kind="procedure",
            record_id=version.id,
            row_version=version.row_version,
            generation=0,
        )
    return found.name


def rates(rows: Sequence[ProcedureOutcome], policy: ProcedurePolicy) -> Rates:
    """What outcome rows come to."""
    views = [OutcomeView(event_id=row.event_id, at=row.at, succeeded=row.succeeded, weight=row.weight) for row in rows]
    result = stats(views, policy)
    return Rates(result.ema, result.successes, result.failures)

"""The audit's rules of one tenant's memories: nothing twice, nothing without its evidence, counts as their rows say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from uuid import UUID

from sqlalchemy import and_, func, select
from sqlmodel import Session, col

from memory.procedures import ProcedurePolicy, stats
from schemas.delivery import EventState, WindowState
from schemas.tables import Episode, Evidence, Fact, LedgerEntry, ProcedureOutcome, ProcedureVersion, Window
from stores import procedures
from stores.auditing.reading import batched, has_rows, is_not, present, rows_of, stream


def memory_checks(session: Session, tenant_id: UUID, policy: ProcedurePolicy) -> dict[str, Iterable[str]]:
    """Every rule by name."""
    return {
        "duplicate_fact": _duplicate_facts(session, tenant_id),
        "duplicate_evidence": _duplicate_evidence(session, tenant_id),
        "evidence_window": _evidence_of_unapplied(session, tenant_id),
        "fact_evidence": _facts_without_evidence(session, tenant_id),
        "duplicate_outcome": _duplicate_outcomes(session, tenant_id),
        "outcome_event": _outcomes_without_event(session, tenant_id),
        "event_outcome": _events_without_outcome(session, tenant_id),
        "procedure_rates": _wrong_rates(session, tenant_id, policy),
        "merged_episode": _wrong_merges(session, tenant_id),
    }


def _duplicate_facts(session: Session, tenant_id: UUID) -> Iterator[str]:
    """The same value twice in one slot: over the same time, or both without an end."""
    same = (col(Fact.slot_hash), col(Fact.value_hash), col(Fact.polarity))
    times = (col(Fact.valid_from), col(Fact.valid_until))
    live = (col(Fact.tenant_id) == tenant_id, col(Fact.superseded_at).is_(None), col(Fact.deleted_at).is_(None))
    twice = select(*same, func.count()).where(*live).having(func.count() > 1)
    yield from rows_of(session, twice.group_by(*same, *times))
    yield from rows_of(session, twice.where(col(Fact.valid_until).is_(None)).group_by(*same))


def _duplicate_evidence(session: Session, tenant_id: UUID) -> Iterator[str]:
    """One sentence counted twice for one value: a window that was applied twice leaves this."""
    return rows_of(
        session,
        select(col(Evidence.event_id), col(Evidence.slot_hash), func.count())
        .where(col(Evidence.tenant_id) == tenant_id)
        .group_by(
            col(Evidence.event_id),
            col(Evidence.slot_hash),
            col(Evidence.quote_start),
            col(Evidence.op),
            col(Evidence.value_hash),
        )
        .having(func.count() > 1),
    )


def _evidence_of_unapplied(session: Session, tenant_id: UUID) -> Iterator[str]:
    return rows_of(
        session,
        select(col(Evidence.id), col(Evidence.window_id))
        .outerjoin(Window, col(Window.id) == col(Evidence.window_id))
        .where(
            col(Evidence.tenant_id) == tenant_id,
            col(Evidence.window_id).is_not(None),
            is_not(col(Window.state), WindowState.APPLIED.value),
        ),
    )


def _facts_without_evidence(session: Session, tenant_id: UUID) -> Iterator[str]:
    query = select(col(Fact.id), col(Fact.evidence_ids)).where(
        col(Fact.tenant_id) == tenant_id, col(Fact.superseded_at).is_(None), col(Fact.deleted_at).is_(None)
    )
    for batch in batched(stream(session, query)):
        wanted = {UUID(one) for _, evidence_ids in batch for one in evidence_ids}
        there = present(session, col(Evidence.id), wanted)
        yield from (
            str(fact_id)
            for fact_id, evidence_ids in batch
            if not evidence_ids or not {UUID(one) for one in evidence_ids} <= there
        )


def _duplicate_outcomes(session: Session, tenant_id: UUID) -> Iterator[str]:
    """An event that counts for two versions; twice for one is kept out by a unique key."""
    return rows_of(
        session,
        select(col(ProcedureOutcome.event_id), func.count())
        .where(col(ProcedureOutcome.tenant_id) == tenant_id)
        .group_by(col(ProcedureOutcome.event_id))
        .having(func.count() > 1),
    )


def _outcomes_without_event(session: Session, tenant_id: UUID) -> Iterator[str]:
    kept = (EventState.APPLIED.value, EventState.DIGESTED.value, EventState.PURGED.value)
    return rows_of(
        session,
        select(col(ProcedureOutcome.id), col(ProcedureOutcome.event_id))
        .outerjoin(
            LedgerEntry,
            and_(col(LedgerEntry.tenant_id) == tenant_id, col(LedgerEntry.event_id) == col(ProcedureOutcome.event_id)),
        )
        .where(col(ProcedureOutcome.tenant_id) == tenant_id, is_not(col(LedgerEntry.state), *kept)),
    )


def _events_without_outcome(session: Session, tenant_id: UUID) -> Iterator[str]:
    return rows_of(
        session,
        select(col(LedgerEntry.event_id))
        .outerjoin(
            ProcedureOutcome,
            and_(
                col(ProcedureOutcome.tenant_id) == tenant_id,
                col(ProcedureOutcome.event_id) == col(LedgerEntry.event_id),
            ),
        )
        .where(
            col(LedgerEntry.tenant_id) == tenant_id,
            col(LedgerEntry.kind) == "procedure_outcome",
            col(LedgerEntry.state) == EventState.APPLIED.value,
            col(ProcedureOutcome.id).is_(None),
        ),
    )


def _wrong_rates(session: Session, tenant_id: UUID, policy: ProcedurePolicy) -> Iterator[str]:
    """Versions whose cached counts are not what their outcome rows come to."""
    versions = session.scalars(select(ProcedureVersion).where(col(ProcedureVersion.tenant_id) == tenant_id)).all()
    for version in versions:
        views = procedures.outcome_views(session, version)
        told = stats(views, policy)
        pairs = (
            (told.successes, version.successes),
            (told.failures, version.failures),
            (told.ema, version.ema),
        )
        if not all(math.isclose(one, other, abs_tol=1e-9) for one, other in pairs):
            yield f"{version.id} outcomes={len(views)} counted={version.successes + version.failures:g}"


def _wrong_merges(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Summaries of several episodes without members, with another's members, or that share one with another summary."""
    query = select(col(Episode.id), col(Episode.member_ids)).where(
        col(Episode.tenant_id) == tenant_id, col(Episode.window_id).is_(None), col(Episode.deleted_at).is_(None)
    )
    summaries = list(stream(session, query))
    shared = Counter(member for _, members in summaries for member in members)
    for summary_id, members in summaries:
        ids = [UUID(member) for member in members]
        elsewhere = select(col(Episode.id)).where(
            col(Episode.id).in_(ids),
            col(Episode.consolidated_into).is_not(None),
            col(Episode.consolidated_into) != summary_id,
        )
        if not ids or any(shared[member] > 1 for member in members) or has_rows(session, elsewhere):
            yield str(summary_id)

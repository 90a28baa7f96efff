"""Memories as the API shows them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from afterturn.wire import EvidenceRef
from memory.recalled import fact_text
from memory.records import EpisodeRecord, FactRecord, ProcedureRecord
from schemas.envelopes import disclose
from schemas.tables import Episode, Evidence, Fact, FactDecision, ProcedureVersion


class MemoryView(BaseModel):
    """One memory. `status` is current, past, superseded or pending_review; fields of other kinds are left out."""

    id: str
    kind: str
    text: str
    status: str
    key: str | None = None
    subject: str | None = None
    object: str | None = None
    value: str | None = None
    polarity: str | None = None
    scope: str | None = None
    confidence: float = 1.0
    importance: float | None = None
    volatile: bool = False
    contested: bool = False
    language: str = "und"
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    precision: str | None = None
    recorded_at: datetime
    superseded_at: datetime | None = None
    expires_at: datetime | None = None
    outcome: str | None = None
    tags: tuple[str, ...] = ()
    version: int | None = None
    reason_codes: tuple[str, ...] = ()
    evidence: tuple[EvidenceRef, ...] = ()


class MemoryPage(BaseModel):
    """A page. `next_cursor` is null on the last one.

    Of the user that was asked for: `is_known`, whether anything of them ever came, and what still waits to be digested.
    """

    items: tuple[MemoryView, ...]
    next_cursor: str | None = None
    is_known: bool | None = None
    undigested_turns: int = 0


class DecisionView(BaseModel):
    """What one fold changed in a slot, and by which rule."""

    op: str
    rule_id: str
    evidence_id: str | None = None
    fact_id: str | None = None
    replaced_ids: tuple[str, ...] = ()
    decided_at: datetime


class MemoryDetail(BaseModel):
    """A memory, every version of its slot (oldest first), and what was decided when."""

    memory: MemoryView
    history: tuple[MemoryView, ...] = ()
    decisions: tuple[DecisionView, ...] = ()


def memory_of(
    record: FactRecord | EpisodeRecord | ProcedureRecord,
    *,
    now: datetime,
    language: str,
    row: Fact | Episode | ProcedureVersion,
) -> MemoryView:
    """A record as it is shown at `now`; the row gives what only tables know."""
    if isinstance(record, FactRecord):
        return _fact(record, now=now, language=language, expires_at=getattr(row, "expires_at", None))
    if isinstance(record, EpisodeRecord):
        return MemoryView(
            id=str(record.id),
            kind="episode",
            text=record.summary,
            status="current",
            confidence=record.confidence,
            importance=record.importance,
            valid_from=record.started_at,
            valid_until=record.ended_at,
            recorded_at=row.recorded_at if isinstance(row, Episode) else record.ended_at,
            expires_at=getattr(row, "expires_at", None),
            outcome=record.outcome,
            tags=record.tags,
            evidence=tuple(EvidenceRef(event_id=turn_id) for turn_id in record.turn_ids),
        )
    return MemoryView(
        id=str(record.id),
        kind="procedure",
        text="\n".join((record.trigger, *record.steps)),
        key=record.name,
        status="current",
        confidence=record.ema,
        recorded_at=record.created_at,
        version=record.version,
    )


def pending_view(row: Evidence) -> MemoryView:
    """A statement that waits, with its words: only for reviewers."""
    ref = EvidenceRef(event_id=str(row.event_id), quote=disclose(row.quote), at=row.at, role=row.role)
    return MemoryView(
        id=str(row.id),
        kind="fact",
        text=f"{row.key}: {disclose(row.value)}",
        status=row.write_status,
        key=row.key,
        subject=disclose(row.subject),
        object=None if row.object is None else disclose(row.object),
        value=disclose(row.value),
        polarity=row.op,
        scope=row.scope,
        confidence=row.confidence,
        language=row.language,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        precision=row.precision,
        recorded_at=row.recorded_at,
        reason_codes=tuple(row.reason_codes),
        evidence=(ref,),
    )


def decision_view(row: FactDecision) -> DecisionView:
    """A decision, without the values that went in."""
    return DecisionView(
        op=row.op,
        rule_id=row.rule_id,
        evidence_id=None if row.evidence_id is None else str(row.evidence_id),
        fact_id=None if row.fact_id is None else str(row.fact_id),
        replaced_ids=tuple(row.replaced_ids),
        decided_at=row.decided_at,
    )


def _fact(record: FactRecord, *, now: datetime, language: str, expires_at: datetime | None) -> MemoryView:
    is_past = record.valid_until is not None and record.valid_until <= now
    status = "superseded" if record.superseded_at is not None else "past" if is_past else "current"
    return MemoryView(
        id=str(record.id),
        kind="fact",
        text=fact_text(record, language=language, is_past=is_past),
        status=status,
        key=record.key,
        subject=record.subject,
        object=record.object,
        value=record.value,
        polarity=record.polarity,
        scope=record.scope,
        confidence=record.confidence,
        importance=record.importance,
        volatile=record.volatile,
        contested=record.contested,
        language=record.language,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        precision=record.precision,
        recorded_at=record.recorded_at,
        superseded_at=record.superseded_at,
        expires_at=expires_at,
        evidence=record.evidence,
    )

"""Slots as rows: their evidence, their versions, and the writing of a fold. No rule decides anything here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from sqlalchemy import text, update
from sqlmodel import Session, col, select

from schemas.decisions import Change, EvidenceView, FactVersion, Fold, Op
from schemas.envelopes import disclose, enclose
from schemas.tables import Evidence, Fact, FactDecision, Window
from stores.sql import insert_once


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a fact lives. `hash` is the keyed hash of all the rest, under the tenant's key."""

    tenant_id: UUID
    user_ref: UUID
    scope: str
    scope_key: str
    subject: str
    key: str
    object: str | None
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a version is stored with, beside what the fold says of it."""

    volatility: str
    sensitivity: str
    expires_at: datetime | None


def add_evidence(session: Session, rows: Sequence[Evidence]) -> int:
    """Keeps evidence; answers how many rows are new. Repeat: a row with an id that is there stays as it is."""
    return len(insert_once(session, Evidence, rows))


def evidence(session: Session, tenant_id: UUID, slot_hash: str) -> list[EvidenceView]:
    """All evidence of a slot, opened, in the fold's order."""
    query = (
        select(Evidence)
        .where(Evidence.tenant_id == tenant_id, Evidence.slot_hash == slot_hash)
        .order_by(col(Evidence.at), col(Evidence.event_id), col(Evidence.quote_start), col(Evidence.id))
    )
    return [evidence_view(row) for row in session.exec(query)]


def evidence_of_turn(session: Session, tenant_id: UUID, event_id: UUID) -> list[EvidenceView]:
    """All that was taken from one turn, opened, whatever slots it went to."""
    query = select(Evidence).where(Evidence.tenant_id == tenant_id, Evidence.event_id == event_id)
    return [evidence_view(row) for row in session.exec(query)]


def lock_slot(session: Session, slot: Slot) -> None:
    """Keeps a slot to this transaction. A user's own are kept by the user's row; a ticket's or thread's are shared."""
    if slot.scope != "user" and session.get_bind().dialect.name == "postgresql":
        number = int(slot.hash[:15], 16)
        session.connection().execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})


def windows_of(session: Session, evidence_ids: Sequence[UUID]) -> dict[UUID, tuple[UUID, ...]]:
    """The turns of the window in which each piece of evidence was found; nothing for one that no window gave."""
    if not evidence_ids:
        return {}
    query = select(Evidence, Window).where(
        col(Evidence.id).in_(evidence_ids), col(Window.id) == col(Evidence.window_id)
    )
    return {row.id: tuple(UUID(event_id) for event_id in window.turn_ids) for row, window in session.exec(query)}


def versions(session: Session, tenant_id: UUID, slot_hash: str) -> list[FactVersion]:
    """The versions of a slot that no fold has superseded, current and past ones, those that have expired included.

    A fold that does not see what has expired would write it again, from the evidence that is still there.
    """
    query = select(Fact).where(
        Fact.tenant_id == tenant_id, Fact.slot_hash == slot_hash, col(Fact.superseded_at).is_(None)
    )
    return [version(row) for row in session.exec(query)]


def write_fold(
    session: Session,
    slot: Slot,
    fold: Fold,
    *,
    kept: Callable[[FactVersion], Kept],
    value_hash: Callable[[str], str],
    now: datetime,
) -> list[Fact]:
    """Writes a fold's difference: new versions in, replaced ones superseded, confirmed ones brought up to date.

    What was said again lives again, at full strength, if it had expired or faded.
    `value_hash` is the keyed hash of a canonical value. Answers the rows that changed, as they stand now.
    """
    before = [item.replaces for item in fold.insert if item.replaces is not None]
    replaced = _rows_by_id(session, [*before, *(item.id for item in fold.confirm)])
    rows = [
        _row(slot, item, kept=kept(item), value_hash=value_hash(item.canonical), replaced=replaced.get(item.replaces))
        for item in fold.insert
    ]
    insert_once(session, Fact, rows)
    for fact_id in fold.supersede:
        _change(session, fact_id, superseded_at=now, row_version=col(Fact.row_version) + 1)
    for item in fold.confirm:
        _change(session, item.id, **_confirmed(replaced[item.id], item, kept(item).expires_at))
    changed = [*(item.id for item in (*fold.insert, *fold.confirm)), *fold.supersede]
    return list(_rows_by_id(session, changed).values())


def touch(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> list[Fact]:
    """Moves the row version of the live facts that quote these turns, so that the index takes them anew; the rows."""
    if not event_ids:
        return []
    slots = select(Evidence.slot_hash).where(Evidence.tenant_id == tenant_id, col(Evidence.event_id).in_(event_ids))
    quoting = select(Fact.id).where(
        Fact.tenant_id == tenant_id,
        col(Fact.slot_hash).in_(slots),
        col(Fact.superseded_at).is_(None),
        col(Fact.deleted_at).is_(None),
    )
    ids = sorted(session.exec(quoting))
    for fact_id in ids:
        _change(session, fact_id, row_version=col(Fact.row_version) + 1)
    return list(_rows_by_id(session, ids).values())


def add_decisions(
    session: Session, slot: Slot, changes: Sequence[Change], *, ids: Iterable[UUID], now: datetime
) -> None:
    """Appends what a fold changed, one row a change; `ids` are fresh."""
    rows = [
        FactDecision(
            id=decision_id,
            tenant_id=slot.tenant_id,
            user_ref=slot.user_ref,
            slot_hash=slot.hash,
            op=change.op,
            rule_id=change.rule_id,
            evidence_id=change.evidence_id,
            fact_id=change.fact_id,
            replaced_ids=[str(fact_id) for fact_id in change.replaced_ids],
            inputs=dict(change.inputs),
            decided_at=now,
        )
        for decision_id, change in zip(ids, changes, strict=False)
    ]
    insert_once(session, FactDecision, rows)


def evidence_view(row: Evidence) -> EvidenceView:
    """A row as the fold reads it."""
    return EvidenceView(
        id=row.id,
        event_id=row.event_id,
        quote_start=row.quote_start,
        at=row.at,
        key=row.key,
        type=row.type,
        op=cast("Op", row.op),
        value=disclose(row.value),
        canonical=disclose(row.canonical),
        role=row.role,
        write_status=row.write_status,
        recorded_at=row.recorded_at,
        quote=disclose(row.quote),
        confidence=row.confidence,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        precision=row.precision,
        tz=row.tz,
        source=row.source,
        agent_id=row.agent_id,
        session_ref=row.session_ref,
        ticket_id=row.scope_key if row.scope == "ticket" else None,
        language=row.language,
        guard_flags=tuple(row.guard_flags),
    )


def version(row: Fact) -> FactVersion:
    """A row as the fold writes it."""
    return FactVersion(
        id=row.id,
        key=row.key,
        type=row.type,
        polarity="-" if row.polarity == "-" else "+",
        value=disclose(row.value),
        canonical=disclose(row.canonical),
        language=row.language,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        precision=row.precision,
        tz=row.tz,
        recorded_at=row.recorded_at,
        said_at=row.said_at,
        confidence=row.confidence,
        importance=row.importance,
        evidence_ids=tuple(UUID(evidence_id) for evidence_id in row.evidence_ids),
        rule_id=row.rule_id,
        write_status=row.write_status,
        contested=row.contested,
        recorded_by=row.recorded_by,
        source=row.source,
        agent_id=row.agent_id,
        session_ref=row.session_ref,
        ticket_id=row.ticket_id,
    )


def _row(slot: Slot, item: FactVersion, *, kept: Kept, value_hash: str, replaced: Fact | None) -> Fact:
    return Fact(
        id=item.id,
        tenant_id=slot.tenant_id,
        user_ref=slot.user_ref,
        scope=slot.scope,
        scope_key=slot.scope_key,
        slot_hash=slot.hash,
        subject=enclose(slot.subject),
        key=slot.key,
        type=item.type,
        object=None if slot.object is None else enclose(slot.object),
        polarity=item.polarity,
        value=enclose(item.value),
        canonical=enclose(item.canonical),
        value_hash=value_hash,
        language=item.language,
        valid_from=item.valid_from,
        valid_until=item.valid_until,
        precision=item.precision,
        tz=item.tz,
        said_at=item.said_at,
        recorded_at=item.recorded_at,
        confidence=item.confidence,
        importance=item.importance,
        strength=item.importance,
        volatility=kept.volatility,
        sensitivity=kept.sensitivity,
        write_status=item.write_status,
        contested=item.contested,
        source=item.source,
        recorded_by=item.recorded_by,
        agent_id=item.agent_id,
        session_ref=item.session_ref,
        ticket_id=item.ticket_id,
        evidence_ids=[str(evidence_id) for evidence_id in item.evidence_ids],
        rule_id=item.rule_id,
        access_count=replaced.access_count if replaced else 0,
        last_accessed_at=replaced.last_accessed_at if replaced else None,
        extensions=replaced.extensions if replaced else 0,
        expires_at=kept.expires_at,
    )


def _confirmed(row: Fact, item: FactVersion, expires_at: datetime | None) -> dict[str, object]:
    values: dict[str, object] = {
        "evidence_ids": [str(evidence_id) for evidence_id in item.evidence_ids],
        "confidence": item.confidence,
        "said_at": item.said_at,
        "row_version": col(Fact.row_version) + 1,
    }
    if item.said_at > row.said_at:
        values |= {"deleted_at": None, "strength": row.importance}
        # An extension that was granted is not taken back.
        values["expires_at"] = max(expires_at, row.expires_at or expires_at) if expires_at is not None else None
    return values


def _rows_by_id(session: Session, ids: Sequence[UUID]) -> dict[UUID | None, Fact]:
    if not ids:
        return {}
    found = session.exec(select(Fact).where(col(Fact.id).in_(ids)).execution_options(populate_existing=True))
    return {row.id: row for row in found}


def _change(session: Session, fact_id: UUID, **values: object) -> None:
    session.connection().execute(update(Fact).where(col(Fact.id) == fact_id).values(**values))

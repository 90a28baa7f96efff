"""What a memory's story is made of: its slot's evidence and versions, decisions, drafts and verdicts. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlmodel import Session, col, select

from schemas.tables import Draft, Episode, Evidence, Fact, FactDecision, Review, Window
from schemas.tables import Session as SessionRow
from stores import reviews


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotStory:
    """All rows of one slot, oldest first. Deleted versions are left out."""

    evidence: Sequence[Evidence]
    versions: Sequence[Fact]
    decisions: Sequence[FactDecision]
    drafts: Sequence[Draft]
    verdicts: Sequence[Review]
    sessions: dict[UUID, SessionRow]


def slot_story(session: Session, tenant_id: UUID, slot_hash: str) -> SlotStory:
    """Everything that was said and decided in a slot."""
    evidence = session.exec(
        select(Evidence)
        .where(Evidence.tenant_id == tenant_id, Evidence.slot_hash == slot_hash)
        .order_by(col(Evidence.at), col(Evidence.event_id), col(Evidence.quote_start), col(Evidence.id))
    ).all()
    versions = session.exec(
        select(Fact)
        .where(Fact.tenant_id == tenant_id, Fact.slot_hash == slot_hash, col(Fact.deleted_at).is_(None))
        .order_by(col(Fact.recorded_at), col(Fact.valid_from), col(Fact.id))
    ).all()
    decisions = session.exec(
        select(FactDecision)
        .where(FactDecision.tenant_id == tenant_id, FactDecision.slot_hash == slot_hash)
        .order_by(col(FactDecision.decided_at), col(FactDecision.id))
    ).all()
    ids = [row.id for row in evidence]
    drafts = session.exec(select(Draft).where(col(Draft.evidence_id).in_(ids)).order_by(col(Draft.recorded_at))).all()
    said = reviews.of_evidence(session, ids)
    return SlotStory(
        evidence=evidence,
        versions=versions,
        decisions=decisions,
        drafts=drafts,
        verdicts=[row for rows in said.values() for row in rows],
        sessions=_sessions(session, [row.session_ref for row in evidence]),
    )


def draft(session: Session, tenant_id: UUID, draft_id: UUID) -> Draft | None:
    """One draft of this tenant."""
    row = session.get(Draft, draft_id)
    return row if row is not None and row.tenant_id == tenant_id else None


def window(session: Session, row: Episode | Draft) -> Window | None:
    """The window that a row came from."""
    return None if row.window_id is None else session.get(Window, row.window_id)


def _sessions(session: Session, refs: Sequence[UUID | None]) -> dict[UUID, SessionRow]:
    wanted = sorted({ref for ref in refs if ref is not None})
    if not wanted:
        return {}
    return {row.id: row for row in session.exec(select(SessionRow).where(col(SessionRow.id).in_(wanted)))}

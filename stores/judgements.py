"""What agents and users say of memories: that an answer cited them, that they are right, wrong or outdated."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID, uuid5

from sqlalchemy import update
from sqlmodel import Session, col, select

from schemas.tables import Episode, Fact, FactDecision
from stores.sql import insert_once


def cite(session: Session, tenant_id: UUID, counts: Mapping[UUID, int], now: datetime) -> None:
    """Adds uses to facts and episodes of the tenant; an id that is neither, or is another tenant's, counts nothing."""
    for memory_id, count in sorted(counts.items()):
        for table in (Fact, Episode):
            statement = (
                update(table)
                .where(col(table.id) == memory_id, col(table.tenant_id) == tenant_id)
                .values(access_count=col(table.access_count) + count, last_accessed_at=now)
            )
            if session.connection().execute(statement).rowcount:
                break


def note(
    session: Session,
    tenant_id: UUID,
    *,
    memory_id: UUID | None,
    event_id: UUID,
    user_ref: UUID,
    verdict: str,
    now: datetime,
) -> bool:
    """Keeps what somebody said of a fact beside the fact's own decisions. False when the tenant has no such fact.

    Repeat: one event is noted once. It changes no version by itself: a correction comes as evidence of its own.
    """
    if memory_id is None:
        return False
    slot_hash = session.exec(
        select(Fact.slot_hash).where(Fact.id == memory_id, Fact.tenant_id == tenant_id)
    ).one_or_none()
    if slot_hash is None:
        return False
    decision = FactDecision(
        id=uuid5(event_id, "feedback"),
        tenant_id=tenant_id,
        user_ref=user_ref,
        slot_hash=slot_hash,
        op="feedback",
        rule_id=f"feedback.{verdict}",
        fact_id=memory_id,
        inputs={"event_id": str(event_id)},
        decided_at=now,
    )
    return bool(insert_once(session, FactDecision, [decision]))

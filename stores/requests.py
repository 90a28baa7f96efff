"""Privacy requests opened from a conversation: operations to be answered by a due date, never memories."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID, uuid5

from sqlmodel import Session, select

from schemas.decisions import RequestKind
from schemas.tables import Operation
from stores.sql import insert_once

KIND = "privacy_request"
#: The month that data protection law gives, from the day on which it was asked.
DUE_DAYS = 30


def open_request(
    session: Session,
    *,
    tenant_id: UUID,
    user_ref: UUID,
    event_id: UUID,
    kind: RequestKind,
    at: datetime,
) -> None:
    """Opens one. Repeat: one request per turn and kind."""
    row = Operation(
        id=uuid5(event_id, f"{KIND}:{tenant_id}:{kind}"),
        tenant_id=tenant_id,
        kind=f"{KIND}.{kind}",
        state="open",
        detail={
            "user_ref": str(user_ref),
            "event_id": str(event_id),
            "due_at": (at + timedelta(days=DUE_DAYS)).isoformat(),
        },
        created_at=at,
    )
    insert_once(session, Operation, [row])


def open_requests(session: Session, tenant_id: UUID) -> list[Operation]:
    """The requests that nobody has answered."""
    found = session.exec(select(Operation).where(Operation.tenant_id == tenant_id, Operation.state == "open"))
    return [row for row in found if row.kind.startswith(f"{KIND}.")]

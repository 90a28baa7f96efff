"""Privacy requests opened from a conversation: operations that somebody has to answer, with a due date. Never memories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

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
    request_id: Callable[[str], UUID],
) -> None:
    """Opens one. Repeat: one request per turn and kind; `request_id` makes its id from a name."""
    row = Operation(
        id=request_id(f"{KIND}:{tenant_id}:{event_id}:{kind}"),
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

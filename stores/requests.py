"""Privacy requests opened from a conversation: operations to be answered by a due date, never memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from sqlmodel import Session, col, select

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
    """The requests that nobody has answered, first due first."""
    return listed(session, tenant_id, states=("open",))


def listed(session: Session, tenant_id: UUID, *, states: Sequence[str] | None = None) -> list[Operation]:
    """The privacy requests of a tenant in these states, or in any, first due first."""
    query = select(Operation).where(Operation.tenant_id == tenant_id, col(Operation.kind).startswith(f"{KIND}."))
    if states is not None:
        query = query.where(col(Operation.state).in_(states))
    return sorted(session.exec(query), key=lambda row: (str(row.detail.get("due_at")), row.id))


def find(session: Session, tenant_id: UUID, request_id: UUID) -> Operation | None:
    """One privacy request of this tenant, locked until the transaction ends."""
    query = select(Operation).where(Operation.id == request_id, Operation.tenant_id == tenant_id)
    row = session.exec(query.with_for_update().execution_options(populate_existing=True)).one_or_none()
    return row if row is not None and row.kind.startswith(f"{KIND}.") else None


def answer(session: Session, row: Operation, state: str, *, said: Mapping[str, str | None], now: datetime) -> None:
    """Ends an open request. `said` is who answered and with which note; it stays with the request."""
    row.state = state
    row.ended_at = now
    row.detail = {**row.detail, **{name: value for name, value in said.items() if value is not None}}
    session.add(row)
    session.flush()

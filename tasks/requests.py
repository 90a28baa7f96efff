"""Privacy requests that users made in conversations: listed with their due dates, and answered by a person.

Answering one does nothing to memories by itself: it says what was done, by whom and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlmodel import Session

from schemas.dossiers import RequestView
from schemas.envelopes import disclose
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Operation, User
from stores import clock, requests
from tasks.review import MAX_REASON_CHARS, Desk, Who

State = Literal["open", "done", "refused"]


def listed(kit: Desk, tenant_id: UUID, *, states: Sequence[State] = ("open",)) -> list[RequestView]:
    """The requests of a tenant in these states, first due first."""
    with kit.db.read() as session:
        now = clock.world_now(session, kit.clock())
        return [_view(session, row, now) for row in requests.listed(session, tenant_id, states=states)]


def answer(kit: Desk, tenant_id: UUID, request_id: UUID, state: State, who: Who, *, note: str | None) -> RequestView:
    """Ends a request as done or refused. A refusal needs a note. Raises: NotFound; Conflict when it was answered."""
    if state == "open":
        raise BadInput("state", "must be one of done, refused")
    if state == "refused" and not (note or "").strip():
        raise BadInput("note", "is required")
    if note is not None and len(note) > MAX_REASON_CHARS:
        raise BadInput("note", f"must have at most {MAX_REASON_CHARS} characters")

    def write(session: Session) -> RequestView:
        row = requests.find(session, tenant_id, request_id)
        if row is None:
            raise NotFound("request", request_id)
        if row.state != "open":
            raise Conflict(code="decided_already")
        now = clock.world_now(session, kit.clock())
        by = who.actor if who.reviewer is None else f"{who.reviewer} ({who.actor})"
        requests.answer(session, row, state, said={"answered_by": by, "note": note}, now=now)
        return _view(session, row, now)

    return kit.db.write(write)


def _view(session: Session, row: Operation, now: datetime) -> RequestView:
    user = session.get(User, UUID(row.detail["user_ref"]))
    due_at = datetime.fromisoformat(row.detail["due_at"])
    return RequestView(
        id=row.id,
        kind=row.kind.rpartition(".")[2],
        state=row.state,
        user_id=None if user is None else disclose(user.user_id),
        event_id=UUID(row.detail["event_id"]),
        asked_at=row.created_at,
        due_at=due_at,
        is_overdue=row.state == "open" and due_at <= now,
        answered_at=row.ended_at,
        answered_by=row.detail.get("answered_by"),
        note=row.detail.get("note"),
    )

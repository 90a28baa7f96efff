"""/v1/undos: takes back all of one session, source or event, or a summary; and gives it back. Right: review."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from afterturn.fields import Id, Name, Note
from api.auth import key_with
from api.problems import CONFLICTS, RESPONSES
from api.state import in_writer, kit_of
from schemas.dossiers import UndoneView, UndoView
from stores.tenancy import KeyInfo
from tasks import undo
from tasks.review import Who
from tasks.undo import Target, Undone

router = APIRouter(prefix="/v1/undos", tags=["reviews"])

Reviewer = Annotated[KeyInfo, Depends(key_with("review"))]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class Order(_Body):
    """What to take back. A session needs its user; a source may be narrowed to one."""

    kind: Literal["session", "source", "event", "summary"]
    name: Id = Field(description="The session's id, the source's name, or the id of an event or of a summary.")
    user_id: Id | None = None
    ahead: bool = Field(default=False, description="Also when nothing of a source or an event is here yet.")
    reason: Note
    reviewer: Name | None = None


class Withdrawal(_Body):
    """Why it is given back."""

    reason: Note | None = None
    reviewer: Name | None = None


class UndoPage(BaseModel):
    """The newest first."""

    items: tuple[UndoView, ...]


@router.get("", responses=RESPONSES, summary="What was taken back")
async def listed(request: Request, key: Reviewer, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> UndoPage:
    """Every undo and every withdrawal; nothing in it is ever changed."""
    kit = await kit_of(request.app)
    return UndoPage(items=tuple(await asyncio.to_thread(undo.listed, kit, key.tenant_id, limit=limit)))


@router.post("", responses=RESPONSES, summary="Take back a session, a source or an event")
async def take_back(request: Request, body: Order, key: Reviewer) -> UndoneView:
    """Its statements count no more, its turns come back nowhere, and what comes late of it neither."""
    kit, who = await kit_of(request.app), Who(actor=f"key:{key.key_id}", reviewer=body.reviewer)
    target = Target(kind=body.kind, name=body.name, user_id=body.user_id, is_ahead=body.ahead)
    return _view(await in_writer(request.app, lambda: undo.undo(kit, key.tenant_id, target, who, reason=body.reason)))


@router.post("/{undo_id}/withdraw", responses=CONFLICTS, summary="Give it back")
async def give_back(request: Request, undo_id: UUID, body: Withdrawal, key: Reviewer) -> UndoneView:
    """Every statement is what it was before, unless another undo covers it. 409 when it was withdrawn already."""
    kit, who = await kit_of(request.app), Who(actor=f"key:{key.key_id}", reviewer=body.reviewer)
    return _view(
        await in_writer(request.app, lambda: undo.withdraw(kit, key.tenant_id, undo_id, who, reason=body.reason or ""))
    )


def _view(done: Undone) -> UndoneView:
    return UndoneView(
        undo_id=done.undo_id,
        statements=done.statements,
        turns=done.turns,
        episodes=done.episodes,
        outcomes=done.outcomes,
    )

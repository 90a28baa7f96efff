"""Dead letters of the key's tenant: list, look, try again, drop. Content only on request, to who may read it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from api.auth import key_with
from api.problems import RESPONSES
from api.state import kit_of
from schemas.tables import DeadLetter
from stores import dead
from stores.kit import Kit
from stores.tenancy import KeyInfo
from tasks import letters

router = APIRouter(prefix="/v1/dead", tags=["dead letters"])

Admin = Annotated[KeyInfo, Depends(key_with("admin"))]
Kind = Literal["batch", "event", "window"]


class LetterView(BaseModel):
    """A dead letter. `names` is the event's id or the window's. `content` is given on request, to reviewers."""

    id: UUID
    kind: str
    names: str
    error_code: str
    attempts: int
    first_at: datetime
    last_at: datetime
    resolved_at: datetime | None = None
    content: dict[str, Any] | None = None


class LetterPage(BaseModel):
    """Open letters, oldest first."""

    items: tuple[LetterView, ...]


class RetryView(BaseModel):
    """How a retry ended. `code` says why the letter is still dead."""

    id: UUID
    is_alive: bool
    code: str | None = None


@router.get("", responses=RESPONSES, summary="Open dead letters")
async def list_letters(
    request: Request,
    key: Admin,
    kind: Kind | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> LetterPage:
    """What could not be processed and waits for a decision, oldest first. A batch that no key opens is nobody's."""
    return await asyncio.to_thread(_list, await kit_of(request.app), key, kind, limit)


@router.get("/{letter_id}", responses=RESPONSES, summary="One dead letter")
async def show_letter(request: Request, letter_id: UUID, key: Admin, *, content: bool = False) -> LetterView:
    """One letter. `content=true` needs the right `review` as well: it shows what a user said."""
    if content:
        key.require("review")
    return await asyncio.to_thread(_show, await kit_of(request.app), key, letter_id, content)


@router.post("/{letter_id}/retry", responses=RESPONSES, summary="Try a dead letter again")
async def retry_letter(request: Request, letter_id: UUID, key: Admin) -> RetryView:
    """A window is due again; an event is taken in again. What fails again stays dead, and says why."""
    kit = await kit_of(request.app)
    ended = await asyncio.to_thread(letters.retry, kit, letter_id, tenant_id=key.tenant_id)
    return RetryView(id=letter_id, is_alive=ended.is_alive, code=ended.code)


@router.delete("/{letter_id}", status_code=204, responses=RESPONSES, summary="Drop a dead letter")
async def drop_letter(request: Request, letter_id: UUID, key: Admin) -> Response:
    """Ends the matter: the content is gone, the ledger goes on saying that it was dead. Repeat: harmless."""
    await asyncio.to_thread(letters.drop, await kit_of(request.app), letter_id, tenant_id=key.tenant_id)
    return Response(status_code=204)


def letter_view(letter: DeadLetter, *, with_content: bool = False) -> LetterView:
    """The letter without its content, unless asked for."""
    return LetterView(
        id=letter.id,
        kind=letter.kind,
        names=letter.key.rpartition(":")[2],
        error_code=letter.error_code,
        attempts=letter.attempts,
        first_at=letter.first_at,
        last_at=letter.last_at,
        resolved_at=letter.resolved_at,
        content=letters.content(letter) if with_content else None,
    )


def _list(kit: Kit, key: KeyInfo, kind: str | None, limit: int) -> LetterPage:
    with kit.db.read() as session:
        found = dead.waiting(session, key.tenant_id, limit=limit, kind=kind)
    return LetterPage(items=tuple(letter_view(letter) for letter in found))


def _show(kit: Kit, key: KeyInfo, letter_id: UUID, content: bool) -> LetterView:
    with kit.db.read() as session:
        return letter_view(letters.find(session, letter_id, tenant_id=key.tenant_id), with_content=content)

"""/v1/requests: privacy requests that users made in conversations, with due dates; and their answers. Right: erase."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict

from afterturn.fields import Name, Note
from api.auth import key_with
from api.problems import CONFLICTS, RESPONSES
from api.state import in_writer, kit_of
from schemas.dossiers import RequestView
from stores.tenancy import KeyInfo
from tasks import requests
from tasks.requests import State
from tasks.review import Who

router = APIRouter(prefix="/v1/requests", tags=["privacy"])

Officer = Annotated[KeyInfo, Depends(key_with("erase"))]


class Answer(BaseModel):
    """How a request ended. A refusal needs a note."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    state: Literal["done", "refused"]
    note: Note | None = None
    reviewer: Name | None = None


class RequestPage(BaseModel):
    """First due first."""

    items: tuple[RequestView, ...]


@router.get("", responses=RESPONSES, summary="What users asked for")
async def listed(
    request: Request, key: Officer, state: Annotated[tuple[State, ...], Query()] = ("open",)
) -> RequestPage:
    """Requests to be erased, to be told what is stored, or that something is not kept."""
    kit = await kit_of(request.app)
    return RequestPage(items=tuple(await asyncio.to_thread(requests.listed, kit, key.tenant_id, states=state)))


@router.post("/{request_id}/answer", responses=CONFLICTS, summary="Answer a request")
async def answer(request: Request, request_id: UUID, body: Answer, key: Officer) -> RequestView:
    """Says what was done, by whom; memories change by their own calls. 409 when it was answered before."""
    kit, who = await kit_of(request.app), Who(actor=f"key:{key.key_id}", reviewer=body.reviewer)
    return await in_writer(
        request.app, lambda: requests.answer(kit, key.tenant_id, request_id, body.state, who, note=body.note)
    )

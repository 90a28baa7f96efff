"""GET /v1/operations/{id}."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel

from api.auth import key_with
from api.problems import RESPONSES
from api.state import kit_of
from schemas.errors import NotFound
from schemas.tables import Operation
from stores.kit import Kit
from stores.tenancy import KeyInfo

router = APIRouter(prefix="/v1", tags=["operations"])


class OperationView(BaseModel):
    """An operation: what was asked, how far it is. `detail` holds counts and codes, no content."""

    id: UUID
    kind: str
    state: str
    detail: dict[str, Any]
    created_at: datetime
    ended_at: datetime | None = None


@router.get("/operations/{operation_id}", responses=RESPONSES, summary="How far a long operation is")
async def operation(
    request: Request, operation_id: UUID, key: Annotated[KeyInfo, Depends(key_with("recall"))]
) -> OperationView:
    """One operation of the key's tenant."""
    return await asyncio.to_thread(_read, await kit_of(request.app), key, operation_id)


def _read(kit: Kit, key: KeyInfo, operation_id: UUID) -> OperationView:
    with kit.db.read() as session:
        row = session.get(Operation, operation_id)
        if row is None or row.tenant_id != key.tenant_id:
            raise NotFound("operation", operation_id)
        return OperationView(
            id=row.id,
            kind=row.kind,
            state=row.state,
            detail=row.detail,
            created_at=row.created_at,
            ended_at=row.ended_at,
        )

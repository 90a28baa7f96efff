"""GET /v1/why."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from afterturn.whys import WhyAnswer, WhyRequest
from api.auth import key_with
from api.problems import RESPONSES, wanted_language
from api.state import kit_of
from stores.tenancy import KeyInfo
from tasks import why as task

router = APIRouter(prefix="/v1", tags=["recall"])


@router.get("/why", responses=RESPONSES, summary="What two things have to do with each other")
async def why(
    request: Request, wanted: Annotated[WhyRequest, Query()], key: Annotated[KeyInfo, Depends(key_with("recall"))]
) -> WhyAnswer:
    """Chains of at most five edges from `from` (the user by default) to `to`, each edge with its evidence.

    Facts that hold, tickets and the organisation's knowledge count; what is pending, refused or superseded does not.
    """
    language = wanted_language(request.headers.get("accept-language", ""))
    kit = await kit_of(request.app)
    return await asyncio.to_thread(task.why, kit, key, wanted, language=language)

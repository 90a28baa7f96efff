"""POST /v1/recall."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from afterturn.wire import Pack, RecallRequest
from api.auth import key_with
from api.problems import RESPONSES
from api.state import guards_of, kit_of
from stores import tracing
from stores.tenancy import KeyInfo
from tasks import recall as task

router = APIRouter(prefix="/v1", tags=["recall"])


@router.post("/recall", responses=RESPONSES, response_model=Pack, summary="What matters for the next turn")
async def recall(
    request: Request, question: RecallRequest, key: Annotated[KeyInfo, Depends(key_with("recall"))]
) -> Response:
    """A pack of memories under `budget_tokens`, within `deadline_ms`; `missing` names what could not be asked."""
    attributes = {"gen_ai.operation.name": "search_memory", "gen_ai.memory.store.id": str(key.tenant_id)}
    origin = request.headers.get("traceparent")
    with tracing.span("search_memory", kind="server", origins=[origin], attributes=attributes) as span:
        pack = await task.recall(await kit_of(request.app), key, question, guards=await guards_of(request.app))
        span.note({"gen_ai.memory.record.count": len(pack.items), "afterturn.recall.missing": ",".join(pack.missing)})
    # Written once: FastAPI would make Python objects of it first, check those, and write them after that.
    return Response(pack.model_dump_json(), media_type="application/json")

"""GET /v1/spend: what models have cost this tenant."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from api.auth import key_with
from api.problems import RESPONSES
from api.state import kit_of
from stores import spend as store
from stores.kit import Kit
from stores.tenancy import KeyInfo

router = APIRouter(prefix="/v1", tags=["operations"])


class SpendRow(BaseModel):
    """A day (UTC), a stage and a model. `cost_usd` is null for a model without a price in the settings."""

    day: date
    stage: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    cost_usd: float | None


class Spend(BaseModel):
    """Rows of the asked days, newest first, and their sums."""

    rows: tuple[SpendRow, ...]
    calls: int
    tokens: int
    cost_usd: float


@router.get("/spend", responses=RESPONSES, summary="What models have cost, by day, stage and model")
async def spend(
    request: Request,
    key: Annotated[KeyInfo, Depends(key_with("admin"))],
    days: Annotated[int, Query(ge=1, le=366, description="Today (UTC) and the days before.")] = 30,
) -> Spend:
    """Every call that may have been billed counts, whatever became of its answer. Costs are estimates."""
    return await asyncio.to_thread(_read, await kit_of(request.app), key, days)


def _read(kit: Kit, key: KeyInfo, days: int) -> Spend:
    priced = kit.settings.llm.prices
    with kit.db.read() as session:
        found = store.spent(session, key.tenant_id, days=days)
    rows = tuple(
        SpendRow(
            day=row.day,
            stage=row.stage,
            model=row.model,
            calls=row.calls,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cached_tokens=row.cached_tokens,
            reasoning_tokens=row.reasoning_tokens,
            cost_usd=row.cost_usd if row.cost_usd or row.model in priced else None,
        )
        for row in found
    )
    return Spend(
        rows=rows,
        calls=sum(row.calls for row in rows),
        tokens=sum(row.input_tokens + row.output_tokens for row in rows),
        cost_usd=sum(row.cost_usd or 0.0 for row in rows),
    )

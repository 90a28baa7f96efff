"""Probes: /healthz (this process), /readyz (what it needs), /metrics (Prometheus). No key, and no text of anybody."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Literal

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import text

from api.observed import observe
from api.state import kit_of
from schemas.errors import ServiceError
from stores import counting, index_states
from stores.kit import Kit
from stores.metrics import READINGS
from stores.sql import head_revision, revision_of

logger = logging.getLogger(__name__)

router = APIRouter(tags=["probes"])

CHECK_SECONDS = 2.0
#: Tenants whose index is looked at: a folder that is gone is gone for all of them.
LOOKED_AT = 16
#: Without these nothing can be accepted. Without the others recall answers with less, and says so.
_NEEDED = frozenset({"database", "migrations"})

_scrape = threading.Lock()

State = Literal["ok", "down", "behind", "lost"]


class Health(BaseModel):
    """This process answers."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """What this process needs. `degraded`: it takes events and answers recalls with what it has."""

    status: Literal["ok", "degraded", "down"]
    checks: dict[str, State]


@router.get("/healthz", summary="Is this process alive?")
async def healthz() -> Health:
    """Yes, or no answer."""
    return Health()


@router.get("/readyz", responses={503: {"model": Readiness}}, summary="Can it do its work?")
async def readyz(request: Request, response: Response) -> Readiness:
    """503 only when events could not be accepted."""
    checks = await _checks(request.app)
    failed = {name for name, state in checks.items() if state != "ok"}
    if failed & _NEEDED:
        response.status_code = 503
        response.headers["Retry-After"] = "2"
        return Readiness(status="down", checks=checks)
    return Readiness(status="degraded" if failed else "ok", checks=checks)


@router.get("/metrics", response_class=Response, summary="Prometheus metrics")
async def metrics(request: Request) -> Response:
    """The counters of every process of this data folder, and what the stores say at this moment."""
    try:
        kit = await kit_of(request.app)
    except ServiceError as exc:
        # The counters are still worth showing.
        logger.warning("metrics without stores code=%s", exc.code)
        return Response(counting.exposition(), media_type=CONTENT_TYPE_LATEST)
    return Response(await asyncio.to_thread(_told, kit), media_type=CONTENT_TYPE_LATEST)


def _told(kit: Kit) -> bytes:
    # One at a time: a scrape must not see what another has just cleared.
    with _scrape:
        observe(kit)
        return counting.exposition() + generate_latest(READINGS)


# Load balancers ask without wanting the body. FastAPI adds no HEAD of its own, unlike Starlette.
for _path, _probe in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", metrics)):
    router.add_api_route(_path, _probe, methods=["HEAD"], include_in_schema=False)


async def _checks(app: FastAPI) -> dict[str, State]:
    try:
        kit = await kit_of(app)
    except ServiceError as exc:
        logger.warning("not ready code=%s", exc.code)
        return {"database": "down", "migrations": "down", "broker": "down", "index": "down"}
    checks: dict[str, Callable[[Kit], State]] = {
        "database": _database,
        "migrations": _migrations,
        "broker": _broker,
        "index": _index,
    }
    states = await asyncio.gather(*(_bounded(check, kit) for check in checks.values()))
    return dict(zip(checks, states, strict=True))


async def _bounded(check: Callable[[Kit], State], kit: Kit) -> State:
    try:
        return await asyncio.wait_for(asyncio.to_thread(check, kit), CHECK_SECONDS)
    except (TimeoutError, ServiceError, RedisError, OSError) as exc:
        logger.warning("check failed check=%s error=%s", check.__name__.strip("_"), type(exc).__name__)
        return "down"


def _database(kit: Kit) -> State:
    with kit.db.read() as session:
        session.connection().execute(text("SELECT 1")).scalar_one()
    return "ok"


def _migrations(kit: Kit) -> State:
    with kit.db.read() as session:
        return "ok" if revision_of(session.connection()) == head_revision() else "behind"


def _broker(kit: Kit) -> State:
    with Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
        kit.settings.redis_url, socket_timeout=1.0, socket_connect_timeout=1.0
    ) as client:
        client.ping()  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
    return "ok"


def _index(kit: Kit) -> State:
    live = kit.live()
    live.index.open()
    if _migrations(kit) != "ok":
        return "behind"
    with kit.db.read() as session:
        return "lost" if index_states.lost(session, live, limit=LOOKED_AT) else "ok"

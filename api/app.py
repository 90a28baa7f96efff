"""The HTTP API: `uvicorn api.app:create_app --factory`. One kit a process, opened at first need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from api import (
    dead,
    events,
    health,
    memories,
    operations,
    problems,
    recall,
    requests,
    reviews,
    spend,
    undos,
    users,
    why,
)
from api.limits import BodyLimit
from api.state import Held, close, warm
from stores import pools, tracing
from stores.kit import Kit
from stores.settings import load_settings

VERSION = "0.1.0"

_TAGS = [
    {"name": "events", "description": "What was said and done. Accepted means committed."},
    {"name": "dead letters", "description": "What could not be processed: look, try again, or drop. Right: admin."},
    {"name": "recall", "description": "What matters for the next turn, under a token budget."},
    {"name": "memories", "description": "What is remembered, where it comes from, how it changed."},
    {"name": "users", "description": "Which ids are the same person."},
    {"name": "reviews", "description": "Statements that wait for a person, and what was decided. Right: review."},
    {"name": "privacy", "description": "What users asked for in a conversation, with a due date. Right: erase."},
    {"name": "operations", "description": "Long work that was asked for."},
    {"name": "probes", "description": "For orchestrators and Prometheus. No key."},
]


def create_app(kit: Kit | None = None) -> FastAPI:
    """The application. Without a kit it opens this process's own, by the environment, at first need."""
    settings = kit.settings if kit is not None else load_settings()
    if kit is None:
        pools.act_as("api")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        tracing.start(settings, "api")
        warming = asyncio.create_task(warm(app))
        yield
        warming.cancel()
        await asyncio.to_thread(tracing.flush)
        await close(app)

    app = FastAPI(
        title="Afterturn",
        version=VERSION,
        summary="Memory work that happens after the turn.",
        description="Publish what was said, recall what matters. Every error is application/problem+json, "
        "in English or Chinese by Accept-Language.",
        openapi_tags=_TAGS,
        lifespan=lifespan,
        # Their pages load scripts from another host; the document itself is at /openapi.json.
        docs_url=None,
        redoc_url=None,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    app.state.held = Held(kit=kit)
    app.add_middleware(BodyLimit, max_bytes=settings.api.max_body_bytes)
    problems.install(app)
    for part in (
        events,
        dead,
        recall,
        why,
        memories,
        users,
        reviews,
        undos,
        requests,
        operations,
        spend,
        health,
    ):
        app.include_router(part.router)
    problems.describe(app)
    return app

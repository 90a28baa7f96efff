"""GET /v1/memories and /v1/memories/{id}: what is remembered, where it comes from, how it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from sqlmodel import Session

from api.auth import key_with
from api.cursors import read_cursor, write_cursor
from api.problems import RESPONSES, wanted_language
from api.state import kit_of
from api.views import MemoryDetail, MemoryPage, MemoryView, decision_view, memory_of, pending_view
from schemas.dossiers import Explanation
from schemas.errors import NotFound
from stores import catalogue
from stores.catalogue import Place, Status
from stores.kit import Kit
from stores.recall import alias_set, episode_record, fact_records, procedure_record
from stores.tenancy import KeyInfo, find_user
from tasks.explain import Reader, explain

router = APIRouter(prefix="/v1", tags=["memories"])

Rows = list[tuple[Place, MemoryView]]


class Listing(BaseModel):
    """Which memories, and which page of them. `status` is of facts; `pending` needs the right `review`."""

    user_id: str | None = Field(
        default=None, min_length=1, max_length=256, description="As the agent names them. Procedures need none."
    )
    kind: Literal["fact", "episode", "procedure"] = "fact"
    status: Status = "current"
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = Field(default=None, max_length=512, description="`next_cursor` of the page before.")

    @property
    def name(self) -> str:
        """What a cursor is bound to."""
        return f"{self.user_id}|{self.kind}|{self.status}"


@router.get("/memories", responses=RESPONSES, summary="What is remembered of a user")
async def memories(
    request: Request, wanted: Annotated[Listing, Query()], key: Annotated[KeyInfo, Depends(key_with("recall"))]
) -> MemoryPage:
    """One page, newest record first, each memory with its evidence. An unknown user has none."""
    if wanted.status == "pending":
        key.require("review")
    language = wanted_language(request.headers.get("accept-language", ""))
    return await asyncio.to_thread(_page, await kit_of(request.app), key, wanted, language)


@router.get("/memories/{memory_id}", responses=RESPONSES, summary="One memory with its history")
async def memory(
    request: Request, memory_id: UUID, key: Annotated[KeyInfo, Depends(key_with("recall"))]
) -> MemoryDetail:
    """A fact with all versions of its slot and every decision on it; an episode or a procedure version by itself."""
    language = wanted_language(request.headers.get("accept-language", ""))
    return await asyncio.to_thread(_detail, await kit_of(request.app), key, memory_id, language)


@router.get("/memories/{memory_id}/explain", responses=RESPONSES, summary="Why a memory is as it is")
async def explain_memory(
    request: Request, memory_id: UUID, key: Annotated[KeyInfo, Depends(key_with("recall"))]
) -> Explanation:
    """What was said and by whom, what was decided by which rule, what it replaced, what replaced it.

    With the right `review` also of statements that wait or were refused, and of drafts.
    """
    language = wanted_language(request.headers.get("accept-language", ""))
    reader = Reader(tenant_id=key.tenant_id, may_review="review" in key.rights, language=language)
    return await asyncio.to_thread(explain, await kit_of(request.app), memory_id, reader)


def _page(kit: Kit, key: KeyInfo, wanted: Listing, language: str) -> MemoryPage:
    after = read_cursor(key, wanted.name, wanted.cursor)
    now = kit.world_now()
    read = {"fact": _facts, "episode": _episodes, "procedure": _procedures}[wanted.kind]
    with kit.db.read() as session:
        user = None if wanted.user_id is None else find_user(session, key, wanted.user_id)
        users = () if user is None else alias_set(session, user)
        # One more than asked for: whether there is a next page.
        limit = wanted.limit + 1
        rows = read(session, _Page(key.tenant_id, users, wanted.status, now, after, limit, language))
        waiting = catalogue.undigested_turns(session, users)
    shown = rows[: wanted.limit]
    more = write_cursor(key, wanted.name, shown[-1][0]) if len(rows) > wanted.limit else None
    return MemoryPage(
        items=tuple(view for _, view in shown),
        next_cursor=more,
        is_known=None if wanted.user_id is None else user is not None,
        undigested_turns=waiting,
    )


@dataclass(frozen=True, slots=True)
class _Page:
    tenant_id: UUID
    users: Sequence[UUID]
    status: Status
    now: datetime
    after: Place | None
    limit: int
    language: str


def _facts(session: Session, page: _Page) -> Rows:
    if page.status == "pending":
        waiting = catalogue.pending(session, page.tenant_id, page.users, after=page.after, limit=page.limit)
        return [(Place(row.recorded_at, row.id), pending_view(row)) for row in waiting]
    found = catalogue.facts(
        session,
        page.tenant_id,
        page.users,
        status=page.status,
        now=page.now,
        after=page.after,
        limit=page.limit,
    )
    records = fact_records(session, page.tenant_id, found)
    return [
        (Place(row.recorded_at, row.id), memory_of(record, now=page.now, language=page.language, row=row))
        for row, record in zip(found, records, strict=True)
    ]


def _episodes(session: Session, page: _Page) -> Rows:
    found = catalogue.episodes(session, page.tenant_id, page.users, now=page.now, after=page.after, limit=page.limit)
    return [
        (
            Place(row.recorded_at, row.id),
            memory_of(episode_record(row), now=page.now, language=page.language, row=row),
        )
        for row in found
    ]


def _procedures(session: Session, page: _Page) -> Rows:
    found = catalogue.procedures(session, page.tenant_id, after=page.after, limit=page.limit)
    return [
        (
            Place(version.created_at, version.id),
            memory_of(procedure_record(version, owner), now=page.now, language=page.language, row=version),
        )
        for version, owner in found
    ]


def _detail(kit: Kit, key: KeyInfo, memory_id: UUID, language: str) -> MemoryDetail:
    now = kit.world_now()
    with kit.db.read() as session:
        fact = catalogue.fact(session, key.tenant_id, memory_id)
        if fact is not None:
            versions, decisions = catalogue.history(session, fact)
            records = fact_records(session, key.tenant_id, versions)
            views = {
                row.id: memory_of(record, now=now, language=language, row=row)
                for row, record in zip(versions, records, strict=True)
            }
            return MemoryDetail(
                memory=views[fact.id],
                history=tuple(views.values()),
                decisions=tuple(decision_view(row) for row in decisions),
            )
        episode = catalogue.episode(session, key.tenant_id, memory_id)
        if episode is not None:
            return MemoryDetail(memory=memory_of(episode_record(episode), now=now, language=language, row=episode))
        procedure = catalogue.procedure(session, key.tenant_id, memory_id)
        if procedure is not None:
            record = procedure_record(*procedure)
            return MemoryDetail(memory=memory_of(record, now=now, language=language, row=procedure[0]))
    raise NotFound("memory", memory_id)

"""/v1/reviews: what waits for a person in the key's tenant; approve the bytes shown, edit, reject. Audited."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from afterturn.fields import Id, Name, Note
from api.auth import key_with
from api.cursors import read_cursor, write_cursor
from api.problems import CONFLICTS, RESPONSES, wanted_language
from api.state import in_writer, kit_of
from schemas.dossiers import ReviewItem, ReviewPage, VerdictPage
from stores.tenancy import KeyInfo
from tasks import dossier, review
from tasks.review import MAX_BULK, Said, Who

router = APIRouter(prefix="/v1/reviews", tags=["reviews"])

Reviewer = Annotated[KeyInfo, Depends(key_with("review"))]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class Queue(_Body):
    """Which statements, and which page of them."""

    user_id: Id | None = None
    key: Id | None = Field(default=None, description="A key of the registry, such as payout.")
    source: Id | None = Field(default=None, description="The channel that it came through.")
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = Field(default=None, max_length=512, description="`next_cursor` of the page before.")

    @property
    def name(self) -> str:
        """What a cursor is bound to."""
        return f"reviews|{self.user_id}|{self.key}|{self.source}"


class Approval(_Body):
    """`content_hash` as the item showed it. `has_user_consent`: its user agreed that a special category is kept."""

    content_hash: Id
    reviewer: Name | None = Field(default=None, description="The person behind the key; kept with the verdict.")
    reason: Note | None = None
    has_user_consent: bool = False


class Edit(Approval):
    """Other words in the place of these: the value, and the key when it was the wrong one."""

    value: Note
    key: Id | None = None


class Rejection(_Body):
    """Why. The words stay held back."""

    reason: Note
    content_hash: Id | None = None
    reviewer: Name | None = None


class OneOfMany(_Body):
    """A verdict of a list."""

    id: UUID
    verdict: Literal["approve", "edit", "reject"]
    content_hash: Id | None = None
    value: Note | None = None
    key: Id | None = None
    reason: Note | None = None
    has_user_consent: bool = False


class Bulk(_Body):
    """Verdicts, taken one by one: one that is refused stops no other."""

    items: tuple[OneOfMany, ...] = Field(min_length=1, max_length=MAX_BULK)
    reviewer: Name | None = None


class Judged(BaseModel):
    """What became of a statement. `code` says why nothing changed; `evidence_id` is the edited one after an edit."""

    id: UUID
    evidence_id: UUID
    write_status: str
    code: str | None = None


class BulkJudged(BaseModel):
    """One answer a verdict, in their order."""

    items: tuple[Judged, ...]


@router.get("", responses=RESPONSES, summary="What waits for review")
async def queue(request: Request, wanted: Annotated[Queue, Query()], key: Reviewer) -> ReviewPage:
    """The oldest first, each with the words that it would meet, its evidence, and what it would do."""
    after = read_cursor(key, wanted.name, wanted.cursor)
    found, more = await asyncio.to_thread(
        dossier.page,
        await kit_of(request.app),
        key.tenant_id,
        user_id=wanted.user_id,
        key=wanted.key,
        source=wanted.source,
        after=after,
        limit=wanted.limit,
        language=_language(request),
    )
    return found.model_copy(update={"next_cursor": None if more is None else write_cursor(key, wanted.name, more)})


@router.get("/log", responses=RESPONSES, summary="What was decided, and by whom")
async def log(
    request: Request,
    key: Reviewer,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=512)] = None,
) -> VerdictPage:
    """Every verdict, the newest first. Nothing in it is ever changed."""
    after = read_cursor(key, "review-log", cursor)
    found, more = await asyncio.to_thread(
        dossier.log, await kit_of(request.app), key.tenant_id, after=after, limit=limit
    )
    return found.model_copy(update={"next_cursor": None if more is None else write_cursor(key, "review-log", more)})


@router.post("/bulk", responses=RESPONSES, summary="Decide on many")
async def bulk(request: Request, body: Bulk, key: Reviewer) -> BulkJudged:
    """Each in a transaction of its own. What was decided before, or changed since it was shown, is answered by code."""
    kit = await kit_of(request.app)
    verdicts = [
        Said(
            evidence_id=one.id,
            verdict=one.verdict,
            content_hash=one.content_hash,
            value=one.value,
            key=one.key,
            reason=one.reason,
            has_user_consent=one.has_user_consent,
        )
        for one in body.items
    ]
    who = _who(key, body.reviewer)
    ended = await in_writer(request.app, lambda: review.judge_all(kit, key.tenant_id, verdicts, who))
    return BulkJudged(
        items=tuple(
            Judged(id=said.evidence_id, evidence_id=one.evidence_id, write_status=one.write_status, code=one.code)
            for said, one in zip(verdicts, ended, strict=True)
        )
    )


@router.get("/{evidence_id}", responses=RESPONSES, summary="One statement")
async def show(request: Request, evidence_id: UUID, key: Reviewer) -> ReviewItem:
    """New and old side by side, whatever became of it, with every verdict on it."""
    kit = await kit_of(request.app)
    return await asyncio.to_thread(dossier.item, kit, key.tenant_id, evidence_id, language=_language(request))


@router.post("/{evidence_id}/approve", responses=CONFLICTS, summary="Approve these bytes")
async def approve(request: Request, evidence_id: UUID, body: Approval, key: Reviewer) -> Judged:
    """It counts at the place where it was said, as if nobody had held it. 409 when it is not as you saw it any more."""
    said = Said(
        evidence_id=evidence_id,
        verdict="approve",
        content_hash=body.content_hash,
        reason=body.reason,
        has_user_consent=body.has_user_consent,
    )
    return await _judge(request, key, said, body.reviewer)


@router.post("/{evidence_id}/edit", responses=CONFLICTS, summary="Approve other words in their place")
async def edit(request: Request, evidence_id: UUID, body: Edit, key: Reviewer) -> Judged:
    """The words as they were said stay held back; what you write counts at their place."""
    said = Said(
        evidence_id=evidence_id,
        verdict="edit",
        content_hash=body.content_hash,
        value=body.value,
        key=body.key,
        reason=body.reason,
        has_user_consent=body.has_user_consent,
    )
    return await _judge(request, key, said, body.reviewer)


@router.post("/{evidence_id}/reject", responses=CONFLICTS, summary="Reject a statement")
async def reject(request: Request, evidence_id: UUID, body: Rejection, key: Reviewer) -> Judged:
    """It never counts, and its words come back in no summary, moment or tail."""
    said = Said(evidence_id=evidence_id, verdict="reject", content_hash=body.content_hash, reason=body.reason)
    return await _judge(request, key, said, body.reviewer)


async def _judge(request: Request, key: KeyInfo, said: Said, reviewer: str | None) -> Judged:
    kit, who = await kit_of(request.app), _who(key, reviewer)
    ended = await in_writer(request.app, lambda: review.judge(kit, key.tenant_id, said, who))
    return Judged(id=said.evidence_id, evidence_id=ended.evidence_id, write_status=ended.write_status)


def _who(key: KeyInfo, reviewer: str | None) -> Who:
    return Who(actor=f"key:{key.key_id}", reviewer=reviewer)


def _language(request: Request) -> str:
    return wanted_language(request.headers.get("accept-language", ""))

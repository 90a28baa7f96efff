"""POST /v1/events: the same events and the same ingest as on the broker's path. 202 means committed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, cast
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Request

from afterturn.errors import BadEvent
from afterturn.events import parse_event
from afterturn.ids import uuid7
from afterturn.wire import EventResult, EventsAccepted
from api.auth import key_with
from api.fates import EventView, event_view
from api.problems import RESPONSES, Refusal, wanted_language
from api.reasons import code_reason
from api.state import in_writer, kit_of
from schemas.errors import BadInput, NotFound
from schemas.reasons import reason_text
from stores.fates import fate
from stores.kit import Kit
from stores.tenancy import KeyInfo
from tasks.ingest import BatchInfo, ingest_events
from tasks.receipts import Receipt

router = APIRouter(prefix="/v1", tags=["events"])

_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}, "minItems": 1}]},
            "example": {
                "kind": "turn",
                "user_id": "u1",
                "session_id": "s1",
                "role": "user",
                "content": "I moved to Lyon yesterday.",
                "at": "2026-07-25T09:00:00+02:00",
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request to publish; `deadline` is in monotonic seconds."""

    body: bytes
    idempotency_key: str | None
    language: str
    deadline: float


async def _arrival() -> float:
    return time.monotonic()


@router.post(
    "/events",
    status_code=202,
    responses=RESPONSES,
    openapi_extra={"requestBody": _BODY},
    summary="Publish events",
)
async def publish(
    request: Request,
    arrived_at: Annotated[float, Depends(_arrival)],
    key: Annotated[KeyInfo, Depends(key_with("publish"))],
    idempotency_key: Annotated[
        str | None,
        Header(max_length=256, description="Names events that bring no event_id, so that a repeat is a duplicate."),
    ] = None,
) -> EventsAccepted:
    """Takes one event or a list. Answers after the commit, one result an event, in order.

    A bad event of a list is `rejected` with its field and reason, and the rest is kept. A single bad event is a 422.
    An event without `event_id` is given one.
    """
    body = await request.body()
    kit = await kit_of(request.app)
    language = wanted_language(request.headers.get("accept-language", ""))
    deadline = arrived_at + kit.settings.api.busy_seconds
    asked = _Asked(body, idempotency_key, language, deadline)
    return await in_writer(request.app, partial(_publish, kit, key, asked))


@router.get("/events/{event_id}", responses=RESPONSES, summary="Where an event stands")
async def event(request: Request, event_id: UUID, key: Annotated[KeyInfo, Depends(key_with("publish"))]) -> EventView:
    """What became of one event of the key's tenant: its state and reason, its window, what was made of it."""
    language = wanted_language(request.headers.get("accept-language", ""))
    return await asyncio.to_thread(_state, await kit_of(request.app), key, event_id, language)


def _publish(kit: Kit, key: KeyInfo, asked: _Asked) -> EventsAccepted:
    decoded = _decode(asked.body)
    is_single = not isinstance(decoded, list)
    raw = [decoded] if is_single else cast("list[object]", decoded)
    if not raw:
        raise Refusal(422, "no_events")
    if len(raw) > kit.settings.ingest.max_batch_events:
        raise Refusal(413, "too_many_events")
    events = _named(raw, key, asked.idempotency_key)
    info = BatchInfo(producer=f"http:{key.key_id}", parks=False)
    # Who waited in line for a thread has that much less to wait for the database.
    left = max(0.0, asked.deadline - time.monotonic())
    receipts = ingest_events(kit, key, events, batch=info, give_up_seconds=left)
    results = [_result(one, receipt, asked.language) for one, receipt in zip(events, receipts, strict=True)]
    if is_single and results[0].code == "event_version":
        raise Refusal(400, "event_version", field=results[0].field)
    if is_single and results[0].status == "rejected" and results[0].field is not None:
        raise BadInput(results[0].field, results[0].reason or results[0].code or "", code=results[0].code)
    return EventsAccepted(results=tuple(results))


def _decode(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise Refusal(400, "malformed_json") from exc


def _named(raw: Sequence[object], key: KeyInfo, idempotency_key: str | None) -> list[object]:
    """The events, each with an id: its own, one that follows from the Idempotency-Key and its place, or a new one."""
    named: list[object] = []
    for place, one in enumerate(raw):
        fields = cast("dict[str, Any]", one) if isinstance(one, dict) else None
        if fields is None or fields.get("event_id") is not None:
            named.append(cast("object", one))
            continue
        event_id = uuid7() if idempotency_key is None else _derived_id(key, idempotency_key, place)
        named.append({**fields, "event_id": str(event_id)})
    return named


def _derived_id(key: KeyInfo, idempotency_key: str, place: int) -> UUID:
    """Equal for equal keys and places; the place stands last, so that ids of one request keep its order."""
    digest = hashlib.sha256(f"{key.tenant_id}|{idempotency_key}".encode()).digest()
    raw = bytearray(digest[:12] + place.to_bytes(4, "big"))
    # Version 8: an id of our own making. Source: RFC 9562, section 5.8.
    raw[6] = (raw[6] & 0x0F) | 0x80
    raw[8] = (raw[8] & 0x3F) | 0x80
    return UUID(bytes=bytes(raw))


def _result(raw: object, receipt: Receipt, language: str) -> EventResult:
    event_id = None if receipt.event_id is None else str(receipt.event_id)
    if receipt.state in {"stored", "duplicate"}:
        return EventResult(event_id=event_id, status="duplicate" if receipt.state == "duplicate" else "stored")
    field, reason = receipt.field, code_reason(receipt.code, receipt.field)
    try:
        parse_event(raw)
    except BadEvent as exc:
        field, reason = exc.field, exc.reason
    said = reason_text(reason, language)
    return EventResult(event_id=event_id, status="rejected", code=receipt.code, field=field, reason=said)


def _state(kit: Kit, key: KeyInfo, event_id: UUID, language: str) -> EventView:
    with kit.db.read() as session:
        found = fate(session, key.tenant_id, event_id)
    if found is None:
        raise NotFound("event", event_id)
    return event_view(found, language)

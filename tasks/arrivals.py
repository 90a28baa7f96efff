"""What arrived, judged and made into rows: values in, values out. Nothing here reads a store or a clock.

An event is kept, refused with the field that is wrong, or parked because only a newer version can read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, cast
from uuid import UUID

from afterturn.errors import BadEvent
from afterturn.events import (
    ApprovalEvent,
    Event,
    FeedbackEvent,
    RememberEvent,
    TurnEvent,
    canonical_bytes,
    parse_event,
)
from afterturn.limits import id_fault
from afterturn.masking import mask, mask_json
from memory.language import language_of
from memory.windows import estimate_tokens
from schemas.envelopes import enclose, enclose_json, keyed_hash

# A mapping, not a model: making models costs more than judging and inserting together.
Row = dict[str, Any]

REMEMBER, APPROVED, REFUSED, CORRECTION = "remember", "approved", "refused", "correction"
CLAMPED, CORRECTED, OBSERVED = "at_clamped", "at_corrected", "observed"


class Publishes(Protocol):
    """A key, as far as the contract asks."""

    @property
    def agent_id(self) -> str | None:
        """The agent it is fixed to."""
        ...

    @property
    def rights(self) -> frozenset[str]:
        """What it may do."""
        ...

    @property
    def hash_key(self) -> bytes:
        """Keys every hash of its tenant."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePolicy:
    """What is believed of an agent's clock. Seconds, >= 0.

    An `at` further ahead than `ahead_seconds` is clamped, a clock that is off by more than `offset_seconds` corrected.
    """

    ahead_seconds: float = 120.0
    offset_seconds: float = 2.0


class Kept(NamedTuple):
    """An event of this version that its key may publish.

    `turn` holds what the event alone says of its `turns` row; None for an event that is not digested, or not to be
    stored. `payload` is a tool's, enclosed. Both are masked: made before the transaction, which they would lengthen.
    """

    event: Event
    content_hash: str
    turn: Row | None = None
    payload: bytes | None = None

    @property
    def event_id(self) -> UUID:
        """The event's id."""
        return self.event.event_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An event that breaks the contract or oversteps its key. Without an id there is nothing to enter in the ledger."""

    event_id: UUID | None
    code: str
    field: str
    kind: str = "unknown"
    content_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An event as it came: of a newer version, or one that cannot be processed."""

    event_id: UUID | None
    version: int
    kind: str
    payload: bytes
    content_hash: str


Judged = Kept | Refusal | Unread


class Placed(NamedTuple):
    """When an event happened, after what its agent's clock got wrong; `original_at` is set when that changed it."""

    at: datetime
    published_at: datetime | None
    original_at: datetime | None = None
    flags: tuple[str, ...] = ()


def judge(raw: object, key: Publishes, *, parks: bool) -> Judged:
    """What becomes of one decoded event. `parks`: an event of a newer version is parked, else it is refused."""
    try:
        event = parse_event(raw)
    except BadEvent as exc:
        return _unread(raw, exc, key, parks=parks)
    content_hash = keyed_hash(key.hash_key, canonical_bytes(event).decode())
    overstepped = _overstep(event, key)
    if overstepped is not None:
        return Refusal(
            event_id=event.event_id,
            code="forbidden",
            field=overstepped,
            kind=event.kind,
            content_hash=content_hash,
        )
    turn, payload = _spoken(event, key.agent_id)
    return Kept(event=event, content_hash=content_hash, turn=turn, payload=payload)


def place(event: Event, received_at: datetime, clock_offset_ms: int | None, policy: TimePolicy) -> Placed:
    """When the event happened, by the world's clock at its receipt.

    An agent's clock that is off is corrected first, then what still lies too far ahead is clamped to the receipt.
    """
    at, published_at = event.at, event.published_at
    latest = received_at + timedelta(seconds=policy.ahead_seconds)
    if not clock_offset_ms and at <= latest:
        return Placed(at, published_at)
    flags = list[str]()
    offset = timedelta(milliseconds=clock_offset_ms or 0)
    if abs(offset).total_seconds() > policy.offset_seconds:
        at -= offset
        published_at = None if published_at is None else published_at - offset
        flags.append(CORRECTED)
    if at > latest:
        at = received_at
        flags.append(CLAMPED)
    return Placed(at=at, published_at=published_at, original_at=event.at if flags else None, flags=tuple(flags))


def as_dead(raw: object, key: Publishes) -> Unread:
    """An event that cannot be processed, as it came: for a dead letter. Its id may be missing."""
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", raw) if isinstance(raw, Mapping) else {}
    kind = fields.get("kind")
    is_named = isinstance(kind, str) and id_fault(kind) is None
    text = _text(cast("object", raw))
    return Unread(
        event_id=_uuid(fields.get("event_id")),
        version=0,
        kind=str(kind)[:32] if is_named else "unknown",
        payload=enclose(text),
        content_hash=keyed_hash(key.hash_key, text),
    )


def turn_row(
    turn: Row, placed: Placed, *, tenant_id: UUID, user_ref: UUID, session_ref: UUID, received_at: datetime
) -> Row:
    """The whole `turns` row."""
    return {
        **turn,
        "tenant_id": tenant_id,
        "user_ref": user_ref,
        "session_ref": session_ref,
        "at": placed.at,
        "published_at": placed.published_at,
        "received_at": received_at,
        "original_at": placed.original_at,
        "flags": [*turn["flags"], *placed.flags],
        "window_id": None,
    }


def observation_row(turn: Row, payload: bytes, keep_days: float) -> Row:
    """The `observations` row of a tool's turn."""
    return {
        **{name: turn[name] for name in ("tenant_id", "event_id", "user_ref", "session_ref", "at")},
        "content": payload,
        "expires_at": turn["received_at"] + timedelta(days=keep_days),
    }


def offset_minutes(at: datetime) -> int:
    """The zone offset that the time came with, in minutes."""
    offset = at.utcoffset()
    return 0 if offset is None else int(offset.total_seconds() // 60)


def _spoken(event: Event, key_agent: str | None) -> tuple[Row | None, bytes | None]:
    """What the event says of its turn, and a tool's payload, which stands in its observation alone."""
    said = None if event.no_store else _said(event)
    if said is None:
        return None, None
    role, text, flags = said
    content, secrets = mask(text)
    is_payload = role == "tool"
    own = event if isinstance(event, TurnEvent) else None
    tool = None if own is None else own.tool
    procedure = None if own is None else own.procedure
    row: Row = {
        "event_id": event.event_id,
        "producer": event.producer,
        "seq": event.seq,
        "utc_offset_minutes": offset_minutes(event.at),
        "tz": event.tz,
        "role": role,
        "name": None if own is None or own.name is None else enclose(mask(own.name)[0]),
        "content": enclose("" if is_payload else content),
        "tool": None if tool is None else enclose_json(mask_json(tool.model_dump(exclude_none=True, mode="json"))[0]),
        "tool_ok": None if tool is None else tool.ok,
        "procedure_name": None if procedure is None else procedure.name,
        "procedure_version": None if procedure is None else procedure.version,
        "actor_id": getattr(event, "actor_id", None),
        "agent_id": event.agent_id or key_agent,
        "thread_id": event.thread_id,
        "ticket_id": event.ticket_id,
        "reply_to": event.reply_to,
        "source": event.source,
        "traceparent": event.traceparent,
        "language": language_of(content),
        "token_count": estimate_tokens(content),
        "flags": [*flags, *([OBSERVED] if is_payload else []), *(f"secret:{kind}" for kind in secrets)],
    }
    return row, enclose(content) if is_payload else None


def _said(event: Event) -> tuple[str, str, tuple[str, ...]] | None:
    """(role, text, flags) of what is digested like a turn."""
    match event:
        case TurnEvent():
            return event.role, event.content, ()
        case RememberEvent():
            key = () if event.key is None else (f"key:{event.key}",)
            role = "user" if event.actor_id is None else "staff"
            return role, event.content, (REMEMBER, f"scope:{event.scope}", *key)
        case ApprovalEvent():
            text = event.what if not event.reason else f"{event.what}\n{event.reason}"
            return "staff", text, (APPROVED if event.approved else REFUSED,)
        case FeedbackEvent() if event.correction:
            return "user", event.correction, (REMEMBER, CORRECTION)
        case _:
            return None


def _overstep(event: Event, key: Publishes) -> str | None:
    """The field by which an event claims more than its key may, or None.

    Whoever speaks for the organisation needs the right to: staff turns, approvals, wishes for all of its users.
    """
    if key.agent_id is not None and event.agent_id not in (None, key.agent_id):
        return "agent_id"
    return None if "staff" in key.rights else _staff_field(event)


def _staff_field(event: Event) -> str | None:
    match event:
        case TurnEvent(role="staff"):
            return "role"
        case ApprovalEvent():
            return "actor_id"
        case RememberEvent() if event.actor_id is not None:
            return "actor_id"
        case RememberEvent(scope="organization"):
            return "scope"
        case _:
            return None


def _unread(raw: object, exc: BadEvent, key: Publishes, *, parks: bool) -> Refusal | Unread:
    letter = as_dead(raw, key)
    if exc.code == "event_version" and parks and letter.event_id is not None:
        return replace(letter, version=int(cast("Mapping[str, Any]", raw)["v"]))
    return Refusal(
        event_id=letter.event_id,
        code=exc.code,
        field=exc.field,
        kind=letter.kind,
        content_hash=letter.content_hash,
    )


def _text(raw: object) -> str:
    text = json.dumps(raw, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "replace").decode()


def _uuid(value: object) -> UUID | None:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)

"""What an agent may say: events, version 1. The contract between any producer and the service.

Within v1 only optional fields are added. Fields that this version does not know are carried along in `model_extra`,
so that a re-send has the same `canonical_bytes` before and after an upgrade; nothing reads or stores them.
No error quotes what was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self, cast
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from afterturn.errors import BadEvent
from afterturn.fields import (
    Content,
    Id,
    Name,
    Note,
    Outcome,
    Patch,
    Time,
    ToolArguments,
    TraceParent,
    Zone,
    fault,
    first_fault,
)
from afterturn.limits import LONE_SURROGATE, MAX_LIST_ITEMS, STATE_FIELDS, holds_lone_surrogate, is_blank
from afterturn.times import microseconds, offset_minutes

VERSION = 1
STAMPS = frozenset({"published_at", "producer", "seq"})
_NO_TEXT = frozenset({type(None), bool, int, datetime, UUID})
"""What the Publisher adds to an event on its way; no part of its content."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    def _blank(self, **blanks: object) -> None:
        """Drops content in place, before anyone else has seen this object."""
        for name, blank in blanks.items():
            object.__setattr__(self, name, blank)
        object.__setattr__(self, "__pydantic_extra__", {})


class ToolUse(_Part):
    """A call of a tool (with arguments) or what came of it (`ok`; the result is the turn's content)."""

    name: Name | None = None
    call_id: Id | None = None
    arguments: ToolArguments | None = None
    ok: bool | None = Field(default=None, strict=True)


class ProcedureRef(_Part):
    """A procedure by name; without a version, the one that is current."""

    name: Name
    version: int | None = Field(default=None, strict=True, ge=1, le=1_000_000)


class _Event(_Part):
    """What every event carries.

    `at` is when it happened, in the zone it was said in; `tz` is the user's IANA zone, in which relative dates resolve.
    `no_store`: the event is counted, its content is dropped while it is read and never kept.
    """

    v: Literal[1] = 1
    event_id: UUID
    user_id: Id
    session_id: Id
    at: Time
    published_at: Time | None = None
    producer: Id | None = None
    seq: int | None = Field(default=None, strict=True, ge=0, lt=1 << 63)
    agent_id: Id | None = None
    thread_id: Id | None = None
    ticket_id: Id | None = None
    tz: Zone | None = None
    reply_to: UUID | None = None
    source: Id | None = None
    no_store: bool = Field(default=False, strict=True)
    traceparent: TraceParent | None = None

    @model_validator(mode="after")
    def _judge(self) -> Self:
        if self.no_store:
            self._drop_content()
        self._check()
        return self

    def _drop_content(self) -> None:
        self._blank()

    def _check(self) -> None:
        """Rules over several fields."""

    def _require(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) in (None, ""):
                raise fault("is required", name)

    def _require_text(self, name: str) -> None:
        text: str = getattr(self, name)
        if not self.no_store and is_blank(text):
            raise fault("must not be empty", name)


class TurnEvent(_Event):
    """Something said in a conversation. A turn of the staff says who of them spoke (`actor_id`)."""

    kind: Literal["turn"] = "turn"
    role: Literal["user", "assistant", "tool", "staff", "system"]
    content: Content
    name: Name | None = None
    tool: ToolUse | None = None
    procedure: ProcedureRef | None = None
    actor_id: Id | None = None

    def _drop_content(self) -> None:
        tool = None if self.tool is None else ToolUse(name=self.tool.name, ok=self.tool.ok)
        self._blank(content="", name=None, tool=tool)

    def _check(self) -> None:
        if self.role == "staff":
            self._require("actor_id")
        # Models often call a tool without a word.
        if not (self.role == "assistant" and self.tool is not None and self.content == ""):
            self._require_text("content")


class ApprovalEvent(_Event):
    """Somebody approved or refused something. `about` is the event or memory that was judged."""

    kind: Literal["approval"] = "approval"
    what: Note
    approved: bool = Field(strict=True)
    actor_id: Id
    reason: Note | None = None
    about: Id | None = None

    def _drop_content(self) -> None:
        self._blank(what="", reason=None)

    def _check(self) -> None:
        self._require_text("what")


class SessionEndedEvent(_Event):
    """A conversation is over."""

    kind: Literal["session_ended"] = "session_ended"
    outcome: Outcome = "unknown"
    reason: Note | None = None

    def _drop_content(self) -> None:
        self._blank(reason=None)


class TicketClosedEvent(_Event):
    """A ticket is closed, which ends its working state. `ticket_id` is required."""

    kind: Literal["ticket_closed"] = "ticket_closed"
    outcome: Outcome = "unknown"
    reason: Note | None = None

    def _drop_content(self) -> None:
        self._blank(reason=None)

    def _check(self) -> None:
        self._require("ticket_id")


class ProcedureOutcomeEvent(_Event):
    """A procedure was used, and it worked or not. `evidence` are ids of the events that show it."""

    kind: Literal["procedure_outcome"] = "procedure_outcome"
    procedure: ProcedureRef
    succeeded: bool = Field(strict=True)
    evidence: tuple[UUID, ...] = Field(default=(), max_length=MAX_LIST_ITEMS)
    reason: Note | None = None

    def _drop_content(self) -> None:
        self._blank(reason=None)


class StateEvent(_Event):
    """A patch of the working state: fields replace, null removes, what is absent stays. Source: RFC 7396, one level."""

    kind: Literal["state"] = "state"
    scope: Literal["session", "thread", "ticket"] = "session"
    patch: Patch

    def _drop_content(self) -> None:
        self._blank(patch={})

    def _check(self) -> None:
        if not self.patch and not self.no_store:
            raise fault("must not be empty", "patch")
        if self.scope != "session":
            self._require(f"{self.scope}_id")


class RememberEvent(_Event):
    """A wish that something be remembered. It passes the same gate as everything else."""

    kind: Literal["remember"] = "remember"
    content: Content
    scope: Literal["thread", "ticket", "user", "organization"] = "user"
    key: Id | None = None
    actor_id: Id | None = None

    def _drop_content(self) -> None:
        self._blank(content="")

    def _check(self) -> None:
        self._require_text("content")
        if self.scope in ("thread", "ticket"):
            self._require(f"{self.scope}_id")


class FeedbackEvent(_Event):
    """A memory is right, wrong or outdated."""

    kind: Literal["feedback"] = "feedback"
    memory_id: Id
    verdict: Literal["right", "wrong", "outdated"]
    correction: Note | None = None
    actor_id: Id | None = None

    def _drop_content(self) -> None:
        self._blank(correction=None)


class AccessedEvent(_Event):
    """Memories that an answer cited. Being in a pack is no use; being cited is."""

    kind: Literal["accessed"] = "accessed"
    memory_ids: tuple[Id, ...] = Field(min_length=1, max_length=MAX_LIST_ITEMS)


Event = (
    TurnEvent
    | ApprovalEvent
    | SessionEndedEvent
    | TicketClosedEvent
    | ProcedureOutcomeEvent
    | StateEvent
    | RememberEvent
    | FeedbackEvent
    | AccessedEvent
)
_MODELS: dict[str, type[_Event]] = {
    "turn": TurnEvent,
    "approval": ApprovalEvent,
    "session_ended": SessionEndedEvent,
    "ticket_closed": TicketClosedEvent,
    "procedure_outcome": ProcedureOutcomeEvent,
    "state": StateEvent,
    "remember": RememberEvent,
    "feedback": FeedbackEvent,
    "accessed": AccessedEvent,
}
KINDS = tuple(_MODELS)
EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])
"""For JSON schemas of the contract. To decode, use `parse_event`: its errors are safe to show."""

_FIELD_NAMES = frozenset(name for model in (*_MODELS.values(), ToolUse, ProcedureRef) for name in model.model_fields)
_INNER_NAMES = frozenset((*ToolUse.model_fields, *ProcedureRef.model_fields, *STATE_FIELDS))


def parse_event(value: object) -> Event:
    """The event that a decoded JSON object holds. Unknown fields are no error.

    Raises: BadEvent with the field; code event_version for an event that only a newer version can read.
    """
    if not isinstance(value, Mapping):
        raise BadEvent("event", "must be an object")
    fields = cast("Mapping[str, object]", value)
    version = fields.get("v", VERSION)
    if type(version) is not int or version < 1:
        raise BadEvent("v", "must be a positive integer")
    if version > VERSION:
        raise BadEvent("v", f"must be at most {VERSION} here", "event_version")
    _refuse_surrogates(fields)
    kind = fields.get("kind")
    if kind is None:
        raise BadEvent("kind", "is required")
    model = _MODELS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise BadEvent("kind", f"must be one of {', '.join(KINDS)}", "unknown_kind")
    try:
        return cast("Event", model.model_validate(fields))
    except ValidationError as exc:
        raise first_fault(exc, _FIELD_NAMES) from None  # From None: pydantic's error holds the input.
    except RecursionError:
        raise BadEvent("event", "is nested too deeply") from None


def _refuse_surrogates(fields: Mapping[str, object]) -> None:
    """Judged here for every field at once, the unknown ones too: they are hashed, and parked, as UTF-8."""
    for name, value in fields.items():
        # Nearly every field, at a fifth of the price.
        if name.isascii() and (type(value) in _NO_TEXT or (isinstance(value, str) and value.isascii())):
            continue
        if not (holds_lone_surrogate(value) or holds_lone_surrogate(name)):
            continue
        if name not in _FIELD_NAMES:
            raise BadEvent("event", LONE_SURROGATE)
        inner: Mapping[object, object] = cast("Mapping[object, object]", value) if isinstance(value, Mapping) else {}
        places = [str(key) for key, item in inner.items() if key in _INNER_NAMES and holds_lone_surrogate(item)]
        raise BadEvent(".".join((name, *places[:1])), LONE_SURROGATE)


def event_json(event: Event) -> bytes:
    """The event as compact JSON in its canonical form: keys sorted, absent fields left out, times as RFC 3339."""
    return _compact(_fields(event, exclude=frozenset()))


def canonical_bytes(event: Event) -> bytes:
    """The content as sent, for a (keyed) hash: the same for every delivery of one event, by whichever way it came."""
    fields = _fields(event, exclude=STAMPS)
    fields["at"] = [microseconds(event.at), offset_minutes(event.at)]
    return _compact(fields)


def _fields(event: Event, *, exclude: frozenset[str]) -> dict[str, Any]:
    fields = event.model_dump(exclude={*exclude}, exclude_none=True, exclude_defaults=True)
    fields["event_id"] = str(event.event_id)  # The encoder asks Python for each id, which costs more than the text.
    fields["v"] = event.v
    fields["kind"] = event.kind
    if isinstance(event, StateEvent):
        fields["patch"] = event.patch  # Here null has a meaning: it removes.
    return fields


def _compact(fields: dict[str, Any]) -> bytes:
    return _ENCODER.encode(fields).encode()


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return (
            value.isoformat().replace("+00:00", "Z") if value.utcoffset() == UTC.utcoffset(None) else value.isoformat()
        )
    return str(value)


# json.dumps makes an encoder for every call with options of its own: 65 us an event, more than all else of the hash.
# An event that was parsed holds no circle.
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False, default=_text
)

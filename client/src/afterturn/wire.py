"""Shapes of the HTTP surface: what is asked, what comes back, how a refusal looks. Shared by client and service.

Readers ignore fields that they do not know, and within v1 only optional fields are added. `section`, `kind` and
`flags` of an answer are plain strings for that reason: a newer service may send one that this client cannot name.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from afterturn.fields import Id, Outcome, UtcTime, fault, first_fault
from afterturn.limits import MAX_QUERY_CHARS, is_blank

Scope = Literal["thread", "ticket", "user", "organization"]
Kind = Literal["fact", "episode", "procedure", "knowledge", "moment"]

SECTIONS = ("profile", "state", "episodes", "pitfalls", "procedure", "knowledge", "moments", "tail")
"""Sections of a pack, in the order in which the prompt shows them."""


def _said(value: str) -> str:
    if is_blank(value):
        raise fault("must not be empty")
    return value


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class RecallRequest(_Wire):
    """What an agent asks before its next turn.

    `as_of` is world time (what was true then), `known_at` system time (what was believed then), `between` filters by
    world time. `now` moves the clock of one question and is refused outside eval. Empty `kinds` and `scopes` mean all.
    """

    query: Annotated[str, Field(max_length=MAX_QUERY_CHARS), AfterValidator(_said)]
    user_id: Id
    session_id: Id | None = None
    thread_id: Id | None = None
    ticket_id: Id | None = None
    agent_id: Id | None = None
    scopes: tuple[Scope, ...] = ()
    kinds: tuple[Kind, ...] = ()
    tags: tuple[Id, ...] = Field(default=(), max_length=64)
    between: tuple[UtcTime, UtcTime] | None = None
    outcome: Outcome | None = None
    as_of: UtcTime | None = None
    known_at: UtcTime | None = None
    now: UtcTime | None = None
    budget_tokens: int = Field(default=800, ge=1, le=200_000)
    deadline_ms: int = Field(default=300, ge=1, le=60_000)


class EvidenceRef(_Wire):
    """Where an item comes from: the words as they were said, by whom, when."""

    event_id: str
    quote: str = ""
    at: UtcTime | None = None
    role: str = ""


class PackItem(_Wire):
    """One memory. `age_seconds` counts from `at` to the question's now; `score_parts` add up to `score`.

    `flags` hold what a reader must know: volatile (verify before acting), contested, past, undigested, flagged.
    """

    id: str
    kind: str
    section: str
    text: str
    evidence: tuple[EvidenceRef, ...] = ()
    at: UtcTime | None = None
    age_seconds: float = 0.0
    valid_from: UtcTime | None = None
    valid_until: UtcTime | None = None
    confidence: float = 1.0
    score: float = 0.0
    score_parts: dict[str, float] = Field(default_factory=dict[str, float])
    flags: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()


class ToConfirm(_Wire):
    """Something the user must confirm before it counts. The question never holds the value."""

    id: str
    question: str
    at: UtcTime | None = None


class Lag(_Wire):
    """What this pack cannot know yet: turns that no window has digested, and records without an index entry."""

    undigested_turns: int = 0
    oldest_seconds: float = 0.0
    unindexed: int = 0


class Pack(_Wire):
    """What matters for the next turn, under the asked budget. May be empty.

    `tokens` counts `prompt` with `token_counter` ("tiktoken:<encoding>" or "estimate"). `missing` names what could
    not be asked within the deadline ("index", "embedder", ...): the rest of the pack stands without it.
    """

    prompt: str = ""
    items: tuple[PackItem, ...] = ()
    to_confirm: tuple[ToConfirm, ...] = ()
    tokens: int = 0
    token_counter: str = "estimate"  # noqa: S105 - model tokens, no secret
    lag: Lag = Lag()
    missing: tuple[str, ...] = ()
    took_ms: float = 0.0


class EventResult(_Wire):
    """What became of one event of a request, in the order of the request. `field` names what was wrong."""

    event_id: str | None = None
    status: Literal["stored", "duplicate", "rejected"]
    code: str | None = None
    field: str | None = None
    reason: str | None = None


class EventsAccepted(_Wire):
    """The answer to POST /v1/events, sent after the commit."""

    results: tuple[EventResult, ...]


class Problem(_Wire):
    """An error as RFC 9457 has it, with a stable `code` and, for bad input, the `field`."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    code: str = "error"
    field: str | None = None
    request_id: str | None = None


_REQUEST_FIELDS = frozenset(RecallRequest.model_fields)


def parse_recall_request(value: object) -> RecallRequest:
    """The request that a decoded JSON object (or the arguments of a call) holds. Raises: BadEvent with the field."""
    try:
        return RecallRequest.model_validate(value)
    except ValidationError as exc:
        raise first_fault(exc, _REQUEST_FIELDS) from None

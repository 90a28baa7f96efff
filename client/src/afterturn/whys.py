"""Shapes of GET /v1/why: between which two things, and the chains that join them, each edge with its evidence.

Readers ignore fields that they do not know. Predicates, kinds and flags are plain strings: a newer service may send
ones that this client cannot name.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from afterturn.fields import Id, UtcTime, first_fault

MAX_NAME_CHARS = 200
Named = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME_CHARS)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True, populate_by_name=True)


class WhyRequest(_Shape):
    """Between what? `from` is the user unless it says otherwise; both are names as people say them.

    `as_of` is world time, `known_at` system time. With `ticket_id`, what is known in that ticket alone counts too.
    """

    user_id: Id
    start: Named = Field(default="user", validation_alias="from", serialization_alias="from")
    end: Named = Field(validation_alias="to", serialization_alias="to")
    ticket_id: Id | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    as_of: UtcTime | None = None
    known_at: UtcTime | None = None
    max_edges: int = Field(default=5, ge=1, le=5)


class WhyProof(_Shape):
    """Where an edge comes from: the words of a fact or turn; the source and version of knowledge; a ticket's state."""

    kind: str
    id: str
    text: str
    quote: str = ""
    at: UtcTime | None = None
    role: str = ""
    event_id: str | None = None
    source: str | None = None
    version: str | None = None


class WhyEdge(_Shape):
    """subject - predicate - object. `is_reversed`: the chain walks it from its object to its subject.

    `flags` hold what a reader must know: volatile (verify before acting), contested, negative (it is not so).
    """

    subject: str
    predicate: str
    object: str
    text: str
    is_reversed: bool = False
    flags: tuple[str, ...] = ()
    confidence: float = 1.0
    valid_from: UtcTime | None = None
    valid_until: UtcTime | None = None
    evidence: WhyProof


class WhyPath(_Shape):
    """One chain. `nodes` has one more than `edges`."""

    nodes: tuple[str, ...]
    edges: tuple[WhyEdge, ...]
    confidence: float = 1.0


class WhyEnd(_Shape):
    """One end as it was said, and what it was taken for; `reason` (unknown | ambiguous) when it was taken for nothing.

    `candidates` are what an ambiguous name may mean.
    """

    said: str
    means: str | None = None
    reason: Literal["unknown", "ambiguous"] | None = None
    candidates: tuple[str, ...] = ()


class WhyAnswer(_Shape):
    """The chains, the shortest and surest first; none when the two have nothing to do with each other as far as known.

    `undigested_turns` are turns of the user that no chain can know yet.
    """

    start: WhyEnd = Field(validation_alias="from", serialization_alias="from")
    end: WhyEnd = Field(validation_alias="to", serialization_alias="to")
    paths: tuple[WhyPath, ...] = ()
    undigested_turns: int = 0


_REQUEST_FIELDS = frozenset(WhyRequest.model_fields) | {"from", "to"}


def parse_why_request(value: object) -> WhyRequest:
    """The request that the arguments of a call hold. Raises: BadEvent with the field."""
    try:
        return WhyRequest.model_validate(value)
    except ValidationError as exc:
        raise first_fault(exc, _REQUEST_FIELDS) from None

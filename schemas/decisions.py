"""What the rules of `memory/` answer: frozen values, never rows. Tasks turn them into rows.

Times are aware UTC. Ids are given from outside. Reason codes and rule ids are stable: they are stored and shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from schemas.drafts import FactType, Outcome, Polarity, Sentiment

FlagAction = Literal["reject", "pending", "request"]
WriteVerdict = Literal["auto", "pending_review", "rejected", "dropped"]
Op = Literal["+", "-", "retract", "past", "forget"]
ChangeOp = Literal["add", "confirm", "refine", "supersede", "retract", "contest", "noop"]
EvidenceState = Literal["current", "past", "superseded", "retracted", "forgotten", "pending", "rejected"]
Trend = Literal["rising", "flat", "falling"]
RequestKind = Literal["erase", "access", "correct", "object", "no_store"]


@dataclass(frozen=True, slots=True)
class Flag:
    """A part of a text that a rule of the guard names: characters [start, end) of the text as it was given.

    `action` `request` opens a privacy request whose kind is `code`. Spans cover whole sentences, secrets excepted.
    """

    start: int
    end: int
    code: str
    action: FlagAction


@dataclass(frozen=True, slots=True)
class Dropped:
    """A draft that does not count. `ordinal` is its place in the answer's list of facts."""

    ordinal: int
    reason_code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A draft with its evidence: what was said, where it stands, whose word it is, and when it holds.

    `event_id` and [quote_start, quote_end) are the turn and the characters where the quote stands; `at` is when the
    speaker said or confirmed it. `scope_key` is the ticket of a ticket fact; None means: the user, or the thread (its
    session), and the caller knows which. `role` is user, staff or tool. `valid_from` of a retraction is its moment.
    """

    ordinal: int
    subject: str
    key: str
    type: FactType
    object: str | None
    op: Polarity
    value: str
    canonical: str
    quote: str
    event_id: UUID
    quote_start: int
    quote_end: int
    at: datetime
    role: str
    scope: str
    scope_key: str | None = None
    confirmed_by: UUID | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    precision: str = "unknown"
    tz: str | None = None
    source: str | None = None
    agent_id: str | None = None
    ticket_id: str | None = None
    language: str = "und"
    confidence: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the gate says of one statement. Only `auto` counts at once; `rejected` and `dropped` leave no evidence.

    `confirm_by` is who must speak before a pending one counts: `review`, or `user` for a special category.
    """

    write_status: WriteVerdict
    reason_codes: tuple[str, ...] = ()
    guard_flags: tuple[str, ...] = ()
    sensitivity: str = "normal"
    confirm_by: Literal["review", "user"] | None = None
    policy_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceView:
    """One evidence row of a slot, opened: all that the fold reads. Effective when `auto` or `approved`.

    Shape of the order: (at, event_id, quote_start, id). `forget` is a tombstone: it binds what stands before it.
    """

    id: UUID
    event_id: UUID
    quote_start: int
    at: datetime
    key: str
    type: str
    op: Op
    value: str
    canonical: str
    role: str
    write_status: str
    recorded_at: datetime
    quote: str = ""
    confidence: float = 0.6
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    precision: str = "unknown"
    tz: str | None = None
    source: str | None = None
    agent_id: str | None = None
    session_ref: UUID | None = None
    ticket_id: str | None = None
    language: str = "und"
    guard_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVersion:
    """One version of a slot. `valid_from` None: begin unknown. `valid_until` None: open.

    `evidence_ids` are in the fold's order; `replaces` is the row of the same value that this one stands in for, so that
    its read counts and extensions can move over. `said_at` is the latest statement of it.
    """

    id: UUID
    key: str
    type: str
    polarity: Literal["+", "-"]
    value: str
    canonical: str
    language: str
    valid_from: datetime | None
    valid_until: datetime | None
    precision: str
    tz: str | None
    recorded_at: datetime
    said_at: datetime
    confidence: float
    importance: float
    evidence_ids: tuple[UUID, ...]
    rule_id: str
    write_status: str = "auto"
    contested: bool = False
    recorded_by: str = "user"
    source: str | None = None
    agent_id: str | None = None
    session_ref: UUID | None = None
    ticket_id: str | None = None
    replaces: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a slot, with the rule that made it and what the rule saw: enough to replay and explain it."""

    op: ChangeOp
    rule_id: str
    evidence_id: UUID | None
    fact_id: UUID | None
    replaced_ids: tuple[UUID, ...] = ()
    inputs: Mapping[str, str | float | bool | None] = field(default_factory=dict[str, str | float | bool | None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """The slot's versions after all its evidence, as a difference to the rows that are there.

    `insert` are new rows; `supersede` only get `superseded_at = now`; `confirm` are rows that stay (same id, value and
    interval): write their `evidence_ids`, `confidence` and `said_at` only. `versions` is the whole state afterwards.
    """

    insert: tuple[FactVersion, ...]
    supersede: tuple[UUID, ...]
    confirm: tuple[FactVersion, ...]
    changes: tuple[Change, ...]
    versions: tuple[FactVersion, ...]


@dataclass(frozen=True, slots=True)
class HeldSpan:
    """Characters [start, end) of a turn that must not come back, and why: an evidence state or a guard code."""

    event_id: UUID
    start: int
    end: int
    reason: str
    evidence_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeView:
    """What happened in one window, held-back values left out. `importance` is computed, in [0, 1]."""

    summary: str
    outcome: Outcome
    outcome_turn_ids: tuple[UUID, ...]
    sentiment: Sentiment
    sentiment_trend: Trend
    tags: tuple[str, ...]
    entities: tuple[tuple[str, str], ...]
    procedure_name: str | None
    turn_ids: tuple[UUID, ...]
    language: str
    started_at: datetime
    ended_at: datetime
    importance: float
    confidence: float
    ticket_id: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureVerdict:
    """Whether a procedure worked in a window. `event_id` is the turn that decided: one outcome row per event."""

    name: str
    version: int | None
    succeeded: bool
    source: Literal["tool", "user", "model"]
    weight: float
    event_id: UUID
    turn_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Fresh:
    """Not due before `due_at`."""

    due_at: datetime


@dataclass(frozen=True, slots=True)
class Keep:
    """Due, but important enough: re-date to `extend_until` and count one extension."""

    extend_until: datetime


@dataclass(frozen=True, slots=True)
class Expire:
    """Due: soft-delete."""

    reason_code: str


@dataclass(frozen=True, slots=True)
class Exempt:
    """Never expires by age."""

    reason_code: str


Expiry = Fresh | Keep | Expire | Exempt

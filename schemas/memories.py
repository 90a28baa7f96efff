"""Tables: what is remembered. Evidence, facts, episodes, procedures, moments, working state, held-back spans."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Index, LargeBinary, String, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from schemas.columns import Json, UtcTime

_PENDING = "write_status = 'pending_review'"
_LIVE = "deleted_at IS NULL"
_LIVE_FACT = f"superseded_at IS NULL AND {_LIVE}"
_VOLATILE = f"volatility = 'volatile' AND {_LIVE_FACT}"


class WriteStatus(StrEnum):
    """What the gate, or a reviewer, said. Stored as text: compare with ==. Only auto and approved are ever recalled."""

    AUTO = "auto"
    PENDING = "pending_review"
    APPROVED = "approved"
    REJECTED = "rejected"


class Draft(SQLModel, table=True):
    """One fact draft of a window as it was answered, with what became of it, by which policy and from what.

    `inputs` hold what the decision read, no text of a user. `evidence_id` is the evidence that it became.
    """

    __tablename__ = "drafts"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("window_id", "ordinal"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    window_id: UUID
    ordinal: int
    content: bytes = Field(sa_type=LargeBinary)
    decision: str
    reason_codes: list[str] = Field(default_factory=list[str], sa_type=Json)
    policy_version: str | None = None
    inputs: dict[str, Any] | None = Field(default=None, sa_type=Json)
    evidence_id: UUID | None = Field(default=None, index=True)
    recorded_at: datetime = Field(sa_type=UtcTime)


class Evidence(SQLModel, table=True):
    """All that the fold of a slot reads. Outlives the turn it quotes; never changed except for its verdict.

    `quote_start` counts characters from the start of the turn's content. `op` is +, -, retract or past.
    """

    __tablename__ = "evidence"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("ix_evidence_slot", "tenant_id", "slot_hash"),
        Index("ix_evidence_user", "user_ref", "write_status"),
        Index("ix_evidence_session", "session_ref"),
        Index(
            "ix_evidence_pending",
            "tenant_id",
            "recorded_at",
            "id",
            postgresql_where=text(_PENDING),
            sqlite_where=text(_PENDING),
        ),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID
    user_as_said: bytes = Field(sa_type=LargeBinary)
    scope: str
    scope_key: str
    slot_hash: str
    subject: bytes = Field(sa_type=LargeBinary)
    key: str
    type: str
    object: bytes | None = Field(default=None, sa_type=LargeBinary)
    op: str
    value: bytes = Field(sa_type=LargeBinary)
    canonical: bytes = Field(sa_type=LargeBinary)
    value_hash: str
    quote: bytes = Field(sa_type=LargeBinary)
    quote_start: int
    at: datetime = Field(sa_type=UtcTime)
    event_id: UUID = Field(index=True)
    window_id: UUID | None = Field(default=None, index=True)
    session_ref: UUID | None = None
    valid_from: datetime | None = Field(default=None, sa_type=UtcTime)
    valid_until: datetime | None = Field(default=None, sa_type=UtcTime)
    precision: str = "instant"
    tz: str | None = None
    role: str
    source: str | None = None
    agent_id: str | None = None
    language: str = "und"
    confidence: float
    guard_flags: list[str] = Field(default_factory=list[str], sa_type=Json)
    write_status: str = Field(sa_type=String)
    reason_codes: list[str] = Field(default_factory=list[str], sa_type=Json)
    policy_version: str
    prompt_version: str
    recorded_at: datetime = Field(sa_type=UtcTime)


class Fact(SQLModel, table=True):
    """One version of a slot, on both time axes. A fold inserts versions and sets `superseded_at` on those it replaces.

    Of a row that stays it appends evidence, raises the confidence and moves `said_at`, the latest statement of it.
    `strength` is the effective importance as the decay job last computed it from importance, times and uses.
    Current = `superseded_at` is null, `deleted_at` is null, and valid now.
    """

    __tablename__ = "facts"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("ix_facts_slot", "tenant_id", "slot_hash"),
        Index("ix_facts_user", "tenant_id", "user_ref", "superseded_at"),
        Index("ix_facts_scope", "tenant_id", "scope", "scope_key", "superseded_at"),
        # Of what was superseded or deleted the date stays: it would be read over and over.
        Index("ix_facts_due", "expires_at", "id", postgresql_where=text(_LIVE_FACT), sqlite_where=text(_LIVE_FACT)),
        Index("ix_facts_volatile", "id", postgresql_where=text(_VOLATILE), sqlite_where=text(_VOLATILE)),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID
    scope: str
    scope_key: str
    slot_hash: str
    subject: bytes = Field(sa_type=LargeBinary)
    key: str
    type: str
    object: bytes | None = Field(default=None, sa_type=LargeBinary)
    polarity: str
    value: bytes = Field(sa_type=LargeBinary)
    canonical: bytes = Field(sa_type=LargeBinary)
    value_hash: str
    language: str = "und"
    valid_from: datetime | None = Field(default=None, sa_type=UtcTime)
    valid_until: datetime | None = Field(default=None, sa_type=UtcTime)
    precision: str = "instant"
    tz: str | None = None
    said_at: datetime = Field(sa_type=UtcTime)
    recorded_at: datetime = Field(sa_type=UtcTime)
    superseded_at: datetime | None = Field(default=None, sa_type=UtcTime)
    confidence: float
    importance: float
    strength: float
    volatility: str = "stable"
    sensitivity: str = "normal"
    write_status: str = Field(sa_type=String)
    contested: bool = False
    source: str | None = None
    recorded_by: str
    agent_id: str | None = None
    session_ref: UUID | None = None
    ticket_id: str | None = None
    evidence_ids: list[str] = Field(sa_type=Json)
    rule_id: str
    access_count: int = 0
    last_accessed_at: datetime | None = Field(default=None, sa_type=UtcTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    extensions: int = 0
    deleted_at: datetime | None = Field(default=None, sa_type=UtcTime)
    row_version: int = 1


class FactDecision(SQLModel, table=True):
    """Append-only: what one fold changed in a slot, by which rule, from which inputs."""

    __tablename__ = "fact_decisions"  # pyright: ignore[reportAssignmentType]

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    slot_hash: str = Field(index=True)
    op: str
    rule_id: str
    evidence_id: UUID | None = None
    fact_id: UUID | None = Field(default=None, index=True)
    replaced_ids: list[str] = Field(default_factory=list[str], sa_type=Json)
    inputs: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    decided_at: datetime = Field(sa_type=UtcTime)


class Episode(SQLModel, table=True):
    """What happened in one window of a session. `strength` is the effective importance as decay last computed it."""

    __tablename__ = "episodes"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("ix_episodes_due", "expires_at", "id", postgresql_where=text(_LIVE), sqlite_where=text(_LIVE)),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    session_ref: UUID | None = Field(default=None, index=True)
    window_id: UUID | None = Field(default=None, unique=True)
    ticket_id: str | None = None
    agent_id: str | None = None
    summary: bytes = Field(sa_type=LargeBinary)
    outcome: str
    outcome_turn_ids: list[str] = Field(default_factory=list[str], sa_type=Json)
    sentiment: str
    sentiment_trend: str = "flat"
    tags: list[str] = Field(default_factory=list[str], sa_type=Json)
    entities: bytes = Field(sa_type=LargeBinary)
    procedure_name: str | None = None
    turn_ids: list[str] = Field(sa_type=Json)
    language: str = "und"
    started_at: datetime = Field(sa_type=UtcTime)
    ended_at: datetime = Field(sa_type=UtcTime)
    recorded_at: datetime = Field(sa_type=UtcTime)
    importance: float
    strength: float
    confidence: float
    write_status: str = Field(default=WriteStatus.AUTO, sa_type=String)
    member_ids: list[str] = Field(default_factory=list[str], sa_type=Json)
    consolidated_into: UUID | None = Field(default=None, index=True)
    access_count: int = 0
    last_accessed_at: datetime | None = Field(default=None, sa_type=UtcTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    extensions: int = 0
    deleted_at: datetime | None = Field(default=None, sa_type=UtcTime)
    row_version: int = 1


class Moment(SQLModel, table=True):
    """One turn as the index holds it. Its text is made from the turn at hydration, never kept twice."""

    __tablename__ = "moments"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("tenant_id", "event_id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    session_ref: UUID = Field(index=True)
    event_id: UUID
    episode_id: UUID | None = Field(default=None, index=True)
    scope: str
    scope_key: str
    at: datetime = Field(sa_type=UtcTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcTime)
    row_version: int = 1


class Span(SQLModel, table=True):
    """A part of a turn that must not come back: characters [start, end) of its content, and why.

    Two statements may hold back the same words, each for itself: the id follows from place, reason and evidence.
    """

    __tablename__ = "spans"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_spans_event", "tenant_id", "event_id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    event_id: UUID
    start: int
    end: int
    reason: str
    evidence_id: UUID | None = Field(default=None, index=True)
    released_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Procedure(SQLModel, table=True):
    """How to do something. Versions hold the steps; outcomes are rows, rates are computed from them."""

    __tablename__ = "procedures"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("tenant_id", "scope", "scope_key", "name"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    scope: str
    scope_key: str
    name: str
    kind: str = "sop"
    created_at: datetime = Field(sa_type=UtcTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcTime)


class ProcedureVersion(SQLModel, table=True):
    """One immutable version. `ema`, `successes` and `failures` are a cache of its outcome rows."""

    __tablename__ = "procedure_versions"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("procedure_id", "version"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    procedure_id: UUID = Field(index=True)
    version: int
    trigger: bytes = Field(sa_type=LargeBinary)
    applies_when: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    steps: bytes = Field(sa_type=LargeBinary)
    language: str = "und"
    write_status: str = Field(default=WriteStatus.AUTO, sa_type=String)
    successes: float = 0.0
    failures: float = 0.0
    ema: float = 0.5
    created_at: datetime = Field(sa_type=UtcTime)
    row_version: int = 1


class ProcedureOutcome(SQLModel, table=True):
    """One use of a version and how it ended; one row per event, so that a redelivery counts once.

    `source` is who tells: tool, user, model or the agent's event. `event_source` is the channel it came through.
    """

    __tablename__ = "procedure_outcomes"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("tenant_id", "version_id", "event_id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    version_id: UUID = Field(index=True)
    user_ref: UUID | None = Field(default=None, index=True)
    event_id: UUID
    session_ref: UUID | None = None
    succeeded: bool
    source: str
    weight: float = 1.0
    at: datetime = Field(sa_type=UtcTime)
    event_source: str | None = None


class WorkingState(SQLModel, table=True):
    """The live, structured state of a session, thread or ticket: patches of its events, folded in order."""

    __tablename__ = "working_states"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("tenant_id", "scope", "scope_key"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    scope: str
    scope_key: str
    state: bytes = Field(sa_type=LargeBinary)
    updated_at: datetime = Field(sa_type=UtcTime)
    checkpointed_at: datetime | None = Field(default=None, sa_type=UtcTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcTime)
    row_version: int = 1


class StatePatch(SQLModel, table=True):
    """One `state` event: the log that a working state is refolded from."""

    __tablename__ = "state_patches"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_state_patches_order", "tenant_id", "scope", "scope_key", "at", "event_id"),)

    tenant_id: UUID = Field(primary_key=True)
    event_id: UUID = Field(primary_key=True)
    user_ref: UUID = Field(index=True)
    scope: str
    scope_key: str
    at: datetime = Field(sa_type=UtcTime)
    patch: bytes = Field(sa_type=LargeBinary)

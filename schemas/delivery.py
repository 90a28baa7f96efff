"""Tables: what arrived and what work it is. Turns, observations, sessions, windows, the ledger, dead letters."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Index, LargeBinary, String, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from schemas.columns import Json, UtcTime, Wide

# Of a table that grows for ever the sweeps read what is still to do: their indexes hold nothing else.
_OPEN = "state IN ('waiting', 'answered')"
_LEASED = "lease_until IS NOT NULL"
_DUE = "due_at IS NOT NULL"
_UNDIGESTED = "window_id IS NULL"
_IN_WINDOW = "window_id IS NOT NULL"
_IN_THREAD = "thread_id IS NOT NULL"
_IN_TICKET = "ticket_id IS NOT NULL"


def _partial(name: str, *columns: str, where: str) -> Index:
    return Index(name, *columns, postgresql_where=text(where), sqlite_where=text(where))


class EventState(StrEnum):
    """Where an accepted, refused or broken event stands. Stored as text: compare with ==."""

    STORED = "stored"
    DIGESTED = "digested"
    APPLIED = "applied"
    REJECTED = "rejected"
    DEAD = "dead"
    DEAD_WINDOW = "dead_window"
    ERASED = "erased"
    PURGED = "purged"


class WindowState(StrEnum):
    """A window is waiting, or its answer is stored, or it is over. A claim is a lease, not a state."""

    WAITING = "waiting"
    ANSWERED = "answered"
    APPLIED = "applied"
    DEAD = "dead"


class LedgerEntry(SQLModel, table=True):
    """One row per (tenant, event id), whatever became of it. Outlives the turn, so that a re-send changes nothing."""

    __tablename__ = "event_ledger"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (_partial("ix_event_ledger_window_id", "window_id", where=_IN_WINDOW),)

    tenant_id: UUID = Field(primary_key=True)
    event_id: UUID = Field(primary_key=True)
    kind: str
    state: str = Field(sa_type=String)
    reason: str | None = None
    content_hash: str
    producer: str | None = None
    session_ref: UUID | None = None
    window_id: UUID | None = None
    received_at: datetime = Field(sa_type=UtcTime)


class Reception(SQLModel, table=True):
    """How often events of one producer arrived on one day (UTC), by what happened to them."""

    __tablename__ = "receptions"  # pyright: ignore[reportAssignmentType]

    tenant_id: UUID = Field(primary_key=True)
    producer: str = Field(primary_key=True)
    day: date = Field(primary_key=True)
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    dead: int = 0


class Turn(SQLModel, table=True):
    """Something said. A turn belongs to exactly one window; one without is undigested."""

    __tablename__ = "turns"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("ix_turns_session_order", "session_ref", "at", "event_id"),
        _partial("ix_turns_thread_order", "tenant_id", "thread_id", "at", "event_id", where=_IN_THREAD),
        _partial("ix_turns_ticket", "user_ref", "ticket_id", "at", where=_IN_TICKET),
        _partial("ix_turns_undigested", "session_ref", "at", "event_id", where=_UNDIGESTED),
        _partial("ix_turns_window_id", "window_id", where=_IN_WINDOW),
    )

    tenant_id: UUID = Field(primary_key=True)
    event_id: UUID = Field(primary_key=True)
    user_ref: UUID
    session_ref: UUID
    producer: str | None = None
    seq: int | None = Field(default=None, sa_type=Wide)
    at: datetime = Field(sa_type=UtcTime)
    published_at: datetime | None = Field(default=None, sa_type=UtcTime)
    received_at: datetime = Field(sa_type=UtcTime)
    original_at: datetime | None = Field(default=None, sa_type=UtcTime)
    utc_offset_minutes: int = 0
    tz: str | None = None
    role: str
    name: bytes | None = Field(default=None, sa_type=LargeBinary)
    content: bytes = Field(sa_type=LargeBinary)
    tool: bytes | None = Field(default=None, sa_type=LargeBinary)
    tool_ok: bool | None = None
    procedure_name: str | None = None
    procedure_version: int | None = None
    actor_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    ticket_id: str | None = None
    reply_to: UUID | None = None
    source: str | None = None
    language: str = "und"
    token_count: int = 0
    flags: list[str] = Field(default_factory=list[str], sa_type=Json)
    window_id: UUID | None = None
    traceparent: str | None = None


class Observation(SQLModel, table=True):
    """A tool's payload: kept for the session, never indexed."""

    __tablename__ = "observations"  # pyright: ignore[reportAssignmentType]

    tenant_id: UUID = Field(primary_key=True)
    event_id: UUID = Field(primary_key=True)
    user_ref: UUID = Field(index=True)
    session_ref: UUID = Field(index=True)
    content: bytes = Field(sa_type=LargeBinary)
    at: datetime = Field(sa_type=UtcTime)
    expires_at: datetime = Field(sa_type=UtcTime, index=True)


class Session(SQLModel, table=True):
    """A conversation of one user. `due_at` is null when nothing waits to be digested."""

    __tablename__ = "sessions"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        UniqueConstraint("tenant_id", "user_ref", "session_hash"),
        _partial("ix_sessions_due", "tenant_id", "due_at", where=_DUE),
        _partial("ix_sessions_thread", "tenant_id", "thread_id", where=_IN_THREAD),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    session_hash: str
    session_id: bytes = Field(sa_type=LargeBinary)
    agent_id: str | None = None
    thread_id: str | None = None
    ticket_id: str | None = None
    turn_count: int = 0
    undigested_count: int = 0
    undigested_tokens: int = 0
    first_undigested_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_received_at: datetime = Field(sa_type=UtcTime)
    last_turn_at: datetime | None = Field(default=None, sa_type=UtcTime)
    due_at: datetime | None = Field(default=None, sa_type=UtcTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcTime)
    outcome: str | None = None
    created_at: datetime = Field(sa_type=UtcTime)


class Window(SQLModel, table=True):
    """Work on a session: the exact turns, who may work on them until when, and the stored answer.

    `crashes` counts the processes that died over it while it ran alone.
    """

    __tablename__ = "windows"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("ix_windows_user", "user_ref", "state"),
        _partial("ix_windows_open", "tenant_id", "next_try_at", where=_OPEN),
        _partial("ix_windows_leased", "lease_until", where=_LEASED),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID
    session_ref: UUID = Field(index=True)
    state: str = Field(default=WindowState.WAITING, sa_type=String)
    turn_ids: list[str] = Field(sa_type=Json)
    token_count: int = 0
    prompt_version: str
    generation: int
    epoch: int = 0
    attempts: int = 0
    crashes: int = 0
    lease_until: datetime | None = Field(default=None, sa_type=UtcTime)
    next_try_at: datetime = Field(sa_type=UtcTime)
    answer: bytes | None = Field(default=None, sa_type=LargeBinary)
    usage: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    error_code: str | None = None
    created_at: datetime = Field(sa_type=UtcTime)
    applied_at: datetime | None = Field(default=None, sa_type=UtcTime)


class DeadLetter(SQLModel, table=True):
    """What could not be processed, sealed as it came, with a code and never with its text in the open."""

    __tablename__ = "dead_letters"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("kind", "key"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID | None = Field(default=None, index=True)
    user_ref: UUID | None = Field(default=None, index=True)
    kind: str
    key: str
    payload: bytes | None = Field(default=None, sa_type=LargeBinary)
    error_code: str
    attempts: int = 1
    first_at: datetime = Field(sa_type=UtcTime)
    last_at: datetime = Field(sa_type=UtcTime)
    resolved_at: datetime | None = Field(default=None, sa_type=UtcTime)

"""Tables: work about the work. The index outbox, long operations, beat jobs, budgets, circuits, the moved clock."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from schemas.columns import Json, UtcTime, Wide

_LEASED = "lease_until IS NOT NULL"
_FRESH, _FAILED = "error_code IS NULL", "error_code IS NOT NULL"


class OutboxRow(SQLModel, table=True):
    """An index write that is owed. Written with the change itself; goes only if its version is still the same."""

    __tablename__ = "outbox"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        UniqueConstraint("kind", "record_id"),
        Index("ix_outbox_due", "next_try_at", "id"),
        Index("ix_outbox_leased", "lease_until", postgresql_where=text(_LEASED), sqlite_where=text(_LEASED)),
        # A row is in one of these.
        Index("ix_outbox_fresh", "tenant_id", "created_at", postgresql_where=text(_FRESH), sqlite_where=text(_FRESH)),
        Index("ix_outbox_failed", "created_at", postgresql_where=text(_FAILED), sqlite_where=text(_FAILED)),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    kind: str
    record_id: UUID
    row_version: int
    generation: int
    attempts: int = 0
    epoch: int = 0
    lease_until: datetime | None = Field(default=None, sa_type=UtcTime)
    next_try_at: datetime = Field(sa_type=UtcTime)
    error_code: str | None = None
    created_at: datetime = Field(sa_type=UtcTime)
    traceparent: str | None = None


class IndexState(SQLModel, table=True):
    """What SQL believes of a tenant's index: which one its records are in, and whether all of them are.

    `epoch` is the index's own identity, null while nobody has looked. `is_whole` is false from the moment on which that
    index was found gone until everything is in the new one. `walked_at` is when both sides were last compared, `drift`
    what differed then, and `walk` where a comparison that is under way stands. `incarnation` is the run of the index's
    server whose contents were last doubted, null where there is no server. `generation` is the one that `epoch` is of;
    `next_epoch` is the tenant's identity in the generation that is being built.
    """

    __tablename__ = "index_states"  # pyright: ignore[reportAssignmentType]

    tenant_id: UUID = Field(primary_key=True)
    epoch: UUID | None = None
    is_whole: bool = True
    walked_at: datetime | None = Field(default=None, sa_type=UtcTime)
    walk: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    drift: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    incarnation: str | None = None
    generation: int = 1
    next_epoch: UUID | None = None
    changed_at: datetime = Field(sa_type=UtcTime)


class IndexGeneration(SQLModel, table=True):
    """One index of the whole installation: all its vectors are of one embedder.

    `state` is live, next (being built beside the live one), retired (was live; its readers may still be at it) or
    dropped. `space` is the embedder's name; `model` and `dimensions` open it, a null model is the offline embedder.
    `place` finds the index where there is more than one; empty is the first one's place. `probe` is a fixed text's
    vector, by which an embedder that only has the right name is told. `walk` says how far the building is.
    """

    __tablename__ = "index_generations"  # pyright: ignore[reportAssignmentType]

    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    state: str
    space: str
    model: str | None = None
    dimensions: int | None = None
    place: str = ""
    probe: bytes | None = None
    walk: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    created_at: datetime = Field(sa_type=UtcTime)
    switched_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Operation(SQLModel, table=True):
    """Something long that was asked for and can be looked up: an import, an erasure, a batch of events."""

    __tablename__ = "operations"  # pyright: ignore[reportAssignmentType]

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(index=True)
    kind: str
    state: str
    detail: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    created_at: datetime = Field(sa_type=UtcTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Job(SQLModel, table=True):
    """A beat job. Each link of a chain carries the row's epoch; a stale link exits."""

    __tablename__ = "jobs"  # pyright: ignore[reportAssignmentType]

    name: str = Field(primary_key=True)
    epoch: int = 0
    lease_until: datetime | None = Field(default=None, sa_type=UtcTime)
    last_started_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_success_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_result: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)


class Reservation(SQLModel, table=True):
    """Tokens of a tenant's day that one attempt on a window set aside. `used` is null until the attempt has ended.

    An attempt that never ends is charged in full. `spent_before` is what the window had cost until then.
    """

    __tablename__ = "reservations"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_reservations_tenant_day", "tenant_id", "day"),)

    window_id: UUID = Field(primary_key=True)
    epoch: int = Field(primary_key=True)
    tenant_id: UUID
    day: date
    tokens: int = Field(sa_type=Wide)
    spent_before: int = Field(sa_type=Wide)
    used: int | None = Field(default=None, sa_type=Wide)
    created_at: datetime = Field(sa_type=UtcTime)


class Spending(SQLModel, table=True):
    """What a tenant's windows cost on one day (UTC), by stage and model: of all calls, applied or not."""

    __tablename__ = "spendings"  # pyright: ignore[reportAssignmentType]

    tenant_id: UUID = Field(primary_key=True)
    day: date = Field(primary_key=True)
    stage: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    calls: int = 0
    input_tokens: int = Field(default=0, sa_type=Wide)
    output_tokens: int = Field(default=0, sa_type=Wide)
    cached_tokens: int = Field(default=0, sa_type=Wide)
    reasoning_tokens: int = Field(default=0, sa_type=Wide)
    cost_usd: float = 0.0


class Circuit(SQLModel, table=True):
    """A service that every worker asks, and whether it may be asked now. Closed while `failures` is below the limit."""

    __tablename__ = "circuits"  # pyright: ignore[reportAssignmentType]

    name: str = Field(primary_key=True)
    failures: int = 0
    openings: int = 0
    opened_until: datetime | None = Field(default=None, sa_type=UtcTime)
    probe_until: datetime | None = Field(default=None, sa_type=UtcTime)
    error_code: str | None = None
    changed_at: datetime = Field(sa_type=UtcTime)


class ClockOffset(SQLModel, table=True):
    """How far eval and demo have moved the world's clock, in seconds. One row; leases and attempts ignore it."""

    __tablename__ = "clock_offset"  # pyright: ignore[reportAssignmentType]

    id: int = Field(default=1, primary_key=True)
    seconds: float = 0.0

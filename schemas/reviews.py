"""Tables: what people said of evidence, what they took back as a whole, and policies. Rows are only ever added."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import Index, LargeBinary
from sqlmodel import Field, SQLModel

from schemas.columns import UtcTime


class Verdict(StrEnum):
    """What was said of one statement. Stored as text.

    `confirm` is the user's own word in a chat, `refuse` their no; `undo` and `redo` belong to a row of `undos`.
    """

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    CONFIRM = "confirm"
    REFUSE = "refuse"
    UNDO = "undo"
    REDO = "redo"


class Review(SQLModel, table=True):
    """Append-only: one verdict on one piece of evidence, by whom, and what it made of it.

    It acts at the place of the statement, whenever it was said. `content_hash` is the keyed hash of what was shown.
    `replaced_by` is the evidence that an edit put in its place; `event_id` the turn in which a user confirmed.
    """

    __tablename__ = "reviews"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_reviews_tenant_time", "tenant_id", "decided_at", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    user_ref: UUID = Field(index=True)
    evidence_id: UUID = Field(index=True)
    verdict: str
    before: str
    after: str
    content_hash: str
    actor: str
    reviewer: str | None = None
    reason: bytes | None = Field(default=None, sa_type=LargeBinary)
    has_user_consent: bool = False
    replaced_by: UUID | None = None
    event_id: UUID | None = None
    undo_id: UUID | None = Field(default=None, index=True)
    decided_at: datetime = Field(sa_type=UtcTime)


class Undo(SQLModel, table=True):
    """Append-only: a session, source or event whose statements up to `until` count no more, also those that come late.

    `target` is the session's reference, the source's name or the event's id. A row with `withdraws` takes another back.
    """

    __tablename__ = "undos"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_undos_target", "tenant_id", "kind", "target"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    kind: str
    target: str
    until: datetime = Field(sa_type=UtcTime)
    user_ref: UUID | None = Field(default=None, index=True)
    withdraws: UUID | None = Field(default=None, unique=True)
    actor: str
    reviewer: str | None = None
    reason: bytes | None = Field(default=None, sa_type=LargeBinary)
    decided_at: datetime = Field(sa_type=UtcTime)


class Policy(SQLModel, table=True):
    """Append-only: the file under which a tenant's statements are judged from `set_at` on; none: the shipped rules."""

    __tablename__ = "policies"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("ix_policies_tenant", "tenant_id", "set_at", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    version: str
    content: bytes | None = Field(default=None, sa_type=LargeBinary)
    actor: str
    set_at: datetime = Field(sa_type=UtcTime)

"""Tables: who is there. Tenants, their keys, their users."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from schemas.columns import Json, UtcTime


class Tenant(SQLModel, table=True):
    """An organisation. `hash_key` (32 bytes) keys every hash of personal text inside it.

    `served_at` is when one of its windows was last claimed: the least recently served tenant is next.
    """

    __tablename__ = "tenants"  # pyright: ignore[reportAssignmentType]

    id: UUID = Field(primary_key=True)
    name: str = Field(unique=True)
    hash_key: bytes = Field(sa_type=LargeBinary)
    settings: dict[str, Any] = Field(default_factory=dict[str, Any], sa_type=Json)
    created_at: datetime = Field(sa_type=UtcTime)
    served_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Key(SQLModel, table=True):
    """An agent's credential. The secret itself is not kept: its bearer hash and the key that seals its batches are.

    After a rotation the secret before it, as `old_...`, is good until `old_until`. `last_used_at` is coarse.
    """

    __tablename__ = "keys"  # pyright: ignore[reportAssignmentType]

    id: str = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id", index=True)
    agent_id: str | None = None
    rights: list[str] = Field(default_factory=list[str], sa_type=Json)
    bearer_hash: str
    seal_key: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = Field(sa_type=UtcTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcTime)
    rotated_at: datetime | None = Field(default=None, sa_type=UtcTime)
    old_bearer_hash: str | None = None
    old_seal_key: bytes | None = Field(default=None, sa_type=LargeBinary)
    old_until: datetime | None = Field(default=None, sa_type=UtcTime)


class User(SQLModel, table=True):
    """A user as agents name one. The generation moves at erasure and stops what is in flight.

    `root_id` is the id of the alias set's root (its own id for a set of one): where the links of `joined_to` end.
    `compared_hash` tells which episodes were last compared with each other and no two of them found to say the same.
    """

    __tablename__ = "users"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("tenant_id", "user_hash"), Index("ix_users_tenant_id", "tenant_id", "id"))

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    user_hash: str
    user_id: bytes = Field(sa_type=LargeBinary)
    root_id: UUID = Field(index=True)
    generation: int = 0
    erased_at: datetime | None = Field(default=None, sa_type=UtcTime)
    joined_to: UUID | None = None
    joined_at: datetime | None = Field(default=None, sa_type=UtcTime)
    created_at: datetime = Field(sa_type=UtcTime)
    compared_hash: str | None = None

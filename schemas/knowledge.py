"""Tables: what an organisation says of itself. Documents in versions, and the triples that each version states."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from schemas.columns import UtcTime


class KnowledgeVersion(SQLModel, table=True):
    """One version of a document, immutable. In force from `valid_from` until the next version of its name begins."""

    __tablename__ = "knowledge_versions"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("tenant_id", "name", "version"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    name: str
    version: str
    valid_from: datetime = Field(sa_type=UtcTime)
    content_hash: str
    triple_count: int
    imported_by: str
    recorded_at: datetime = Field(sa_type=UtcTime)
    withdrawn_at: datetime | None = Field(default=None, sa_type=UtcTime)


class Triple(SQLModel, table=True):
    """One statement of a version. Its ends are found by keyed hashes of what they mean."""

    __tablename__ = "triples"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        UniqueConstraint("version_id", "ordinal"),
        Index("ix_triples_subject", "tenant_id", "subject_hash"),
        Index("ix_triples_object", "tenant_id", "object_hash"),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    version_id: UUID
    ordinal: int
    subject: bytes = Field(sa_type=LargeBinary)
    predicate: bytes = Field(sa_type=LargeBinary)
    object: bytes = Field(sa_type=LargeBinary)
    is_negative: bool = False
    subject_hash: str
    object_hash: str

"""An organisation's documents in versions and the triples that they state; what models cost by day, stage and model."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import UtcTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "knowledge_versions",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("valid_from", UtcTime(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("triple_count", sa.Integer(), nullable=False),
        sa.Column("imported_by", sa.String(), nullable=False),
        sa.Column("recorded_at", UtcTime(), nullable=False),
        sa.Column("withdrawn_at", UtcTime()),
        sa.UniqueConstraint("tenant_id", "name", "version"),
    )
    op.create_table(
        "triples",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("version_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("subject", sa.LargeBinary(), nullable=False),
        sa.Column("predicate", sa.LargeBinary(), nullable=False),
        sa.Column("object", sa.LargeBinary(), nullable=False),
        sa.Column("is_negative", sa.Boolean(), nullable=False),
        sa.Column("subject_hash", sa.String(), nullable=False),
        sa.Column("object_hash", sa.String(), nullable=False),
        sa.UniqueConstraint("version_id", "ordinal"),
    )
    op.create_index("ix_triples_subject", "triples", ["tenant_id", "subject_hash"])
    op.create_index("ix_triples_object", "triples", ["tenant_id", "object_hash"])
    op.create_table(
        "spendings",
        sa.Column("tenant_id", sa.Uuid(), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("stage", sa.String(), primary_key=True),
        sa.Column("model", sa.String(), primary_key=True),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("reasoning_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("spendings")
    op.drop_table("triples")
    op.drop_table("knowledge_versions")

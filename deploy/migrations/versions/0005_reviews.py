"""Verdicts of people on evidence, undos of whole sessions, sources and events; indexes of what waits for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import UtcTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

PENDING = "write_status = 'pending_review'"


def upgrade() -> None:
    op.create_table(
        "reviews",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_ref", sa.Uuid(), nullable=False),
        sa.Column("evidence_id", sa.Uuid(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=True),
        sa.Column("reason", sa.LargeBinary(), nullable=True),
        sa.Column("has_user_consent", sa.Boolean(), nullable=False),
        sa.Column("replaced_by", sa.Uuid(), nullable=True),
        sa.Column("event_id", sa.Uuid(), nullable=True),
        sa.Column("undo_id", sa.Uuid(), nullable=True),
        sa.Column("decided_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    for column in ("user_ref", "evidence_id", "undo_id"):
        op.create_index(f"ix_reviews_{column}", "reviews", [column])
    op.create_index("ix_reviews_tenant_time", "reviews", ["tenant_id", "decided_at", "id"])
    op.create_table(
        "undos",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("until", UtcTime(), nullable=False),
        sa.Column("user_ref", sa.Uuid(), nullable=True),
        sa.Column("withdraws", sa.Uuid(), nullable=True),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=True),
        sa.Column("reason", sa.LargeBinary(), nullable=True),
        sa.Column("decided_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("withdraws"),
    )
    op.create_index("ix_undos_target", "undos", ["tenant_id", "kind", "target"])
    op.create_index("ix_undos_user_ref", "undos", ["user_ref"])
    op.create_index(
        "ix_evidence_pending",
        "evidence",
        ["tenant_id", "recorded_at", "id"],
        postgresql_where=sa.text(PENDING),
        sqlite_where=sa.text(PENDING),
    )
    op.create_index("ix_evidence_session", "evidence", ["session_ref"])


def downgrade() -> None:
    op.drop_index("ix_evidence_session", "evidence")
    op.drop_index("ix_evidence_pending", "evidence")
    op.drop_table("undos")
    op.drop_table("reviews")

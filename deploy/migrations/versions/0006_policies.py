"""Policies of tenants, version by version; drafts that say which one judged them, from what, and what came of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import Json, UtcTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "policies",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("set_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_policies_tenant", "policies", ["tenant_id", "set_at", "id"])
    # Drafts that are here were judged by the shipped rules; nobody wrote down from what.
    op.add_column("drafts", sa.Column("policy_version", sa.String(), nullable=True))
    op.add_column("drafts", sa.Column("inputs", Json(), nullable=True))
    op.add_column("drafts", sa.Column("evidence_id", sa.Uuid(), nullable=True))
    op.create_index("ix_drafts_evidence_id", "drafts", ["evidence_id"])


def downgrade() -> None:
    op.drop_index("ix_drafts_evidence_id", "drafts")
    op.drop_column("drafts", "evidence_id")
    op.drop_column("drafts", "inputs")
    op.drop_column("drafts", "policy_version")
    op.drop_index("ix_policies_tenant", "policies")
    op.drop_table("policies")

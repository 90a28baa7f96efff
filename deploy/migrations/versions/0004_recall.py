"""Indexes by which recall finds a user's facts, open windows and waiting statements, whatever the tenant's size."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_facts_scope", "facts", ["tenant_id", "scope", "scope_key", "superseded_at"])
    op.drop_index("ix_evidence_user_ref", "evidence")
    op.create_index("ix_evidence_user", "evidence", ["user_ref", "write_status"])
    op.drop_index("ix_windows_user_ref", "windows")
    op.create_index("ix_windows_user", "windows", ["user_ref", "state"])


def downgrade() -> None:
    op.drop_index("ix_windows_user", "windows")
    op.create_index("ix_windows_user_ref", "windows", ["user_ref"])
    op.drop_index("ix_evidence_user", "evidence")
    op.create_index("ix_evidence_user_ref", "evidence", ["user_ref"])
    op.drop_index("ix_facts_scope", "facts")

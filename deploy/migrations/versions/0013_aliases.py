"""Whom a user was joined to, and when: the sets of aliases are made of these links, and parted by taking one back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import UtcTime

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("joined_to", sa.Uuid(), nullable=True))
    op.add_column("users", sa.Column("joined_at", UtcTime(), nullable=True))


def downgrade() -> None:
    op.drop_column("users", "joined_at")
    op.drop_column("users", "joined_to")

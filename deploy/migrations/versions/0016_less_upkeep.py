"""What upkeep need not read or embed again.

What is owed to the index stands in the order in which it came to be, tenant by tenant, and apart from it what failed: a
row is in one of the two indexes. Before, a scrape and a rebuild under way read all that is owed. And users keep which
of their episodes were last compared to no end.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# (name, columns, which rows)
INDEXES = (
    ("ix_outbox_fresh", ["tenant_id", "created_at"], "error_code IS NULL"),
    ("ix_outbox_failed", ["created_at"], "error_code IS NOT NULL"),
)


def upgrade() -> None:
    for name, columns, where in INDEXES:
        rows = sa.text(where)
        op.create_index(name, "outbox", columns, postgresql_where=rows, sqlite_where=rows)
    op.add_column("users", sa.Column("compared_hash", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("users", "compared_hash")
    for name, _, _ in reversed(INDEXES):
        op.drop_index(name, "outbox")

"""What is owed to the index in the order in which it came to be, tenant by tenant; and apart from it what failed.

A row is in one of the two, so that it costs one entry. Before, a scrape and a rebuild under way read all that is owed.
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


def downgrade() -> None:
    for name, _, _ in reversed(INDEXES):
        op.drop_index(name, "outbox")

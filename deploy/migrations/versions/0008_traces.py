"""Where a turn and an index write come from, as W3C trace context: so that a trace goes on through SQL."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("traceparent", sa.String(), nullable=True))
    op.add_column("outbox", sa.Column("traceparent", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("outbox", "traceparent")
    op.drop_column("turns", "traceparent")

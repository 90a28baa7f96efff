"""Which run of the index's server SQL knows of: one that was started again is compared with SQL at once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("index_states", sa.Column("incarnation", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("index_states", "incarnation")

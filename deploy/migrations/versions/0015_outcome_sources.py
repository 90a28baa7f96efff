"""Which channel an outcome came through, so that undoing the channel takes the outcome back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# What was read off a window was read off a turn; of what agents reported themselves the channel was not kept.
_FROM_TURNS = """
    UPDATE procedure_outcomes SET event_source = (
        SELECT turns.source FROM turns
        WHERE turns.tenant_id = procedure_outcomes.tenant_id AND turns.event_id = procedure_outcomes.event_id
    )
"""


def upgrade() -> None:
    op.add_column("procedure_outcomes", sa.Column("event_source", sa.String(), nullable=True))
    op.execute(_FROM_TURNS)


def downgrade() -> None:
    op.drop_column("procedure_outcomes", "event_source")

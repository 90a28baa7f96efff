"""Which index SQL believes its records to be in; indexes of the turns that wait and of those in a window, apart."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import Json, UtcTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

UNDIGESTED = "window_id IS NULL"
IN_WINDOW = "window_id IS NOT NULL"


def upgrade() -> None:
    op.drop_index("ix_turns_window_id", "turns")
    _partial_index("ix_turns_undigested", ["session_ref", "at", "event_id"], UNDIGESTED)
    _partial_index("ix_turns_window_id", ["window_id"], IN_WINDOW)
    op.create_table(
        "index_states",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("epoch", sa.Uuid(), nullable=True),
        sa.Column("is_whole", sa.Boolean(), nullable=False),
        sa.Column("walked_at", UtcTime(), nullable=True),
        sa.Column("walk", Json(), nullable=False),
        sa.Column("drift", Json(), nullable=False),
        sa.Column("changed_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id"),
    )
    # Of tenants that were here before nobody wrote down which index they are in: the next walk finds out.
    op.execute(
        "INSERT INTO index_states (tenant_id, epoch, is_whole, walked_at, walk, drift, changed_at) "
        "SELECT id, NULL, true, NULL, '{}', '{}', created_at FROM tenants"
    )


def downgrade() -> None:
    op.drop_table("index_states")
    op.drop_index("ix_turns_undigested", "turns")
    op.drop_index("ix_turns_window_id", "turns")
    op.create_index("ix_turns_window_id", "turns", ["window_id"])


def _partial_index(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "turns", columns, postgresql_where=sa.text(where), sqlite_where=sa.text(where))

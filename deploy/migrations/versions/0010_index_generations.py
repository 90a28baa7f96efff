"""Which index of the installation is live and which is being built beside it, each of one embedder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import Json, UtcTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "index_generations",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("model", sa.String()),
        sa.Column("dimensions", sa.Integer()),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("probe", sa.LargeBinary()),
        sa.Column("walk", Json(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("switched_at", UtcTime()),
    )
    op.add_column("index_states", sa.Column("generation", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("index_states", sa.Column("next_epoch", sa.Uuid()))


def downgrade() -> None:
    op.drop_column("index_states", "next_epoch")
    op.drop_column("index_states", "generation")
    op.drop_table("index_generations")

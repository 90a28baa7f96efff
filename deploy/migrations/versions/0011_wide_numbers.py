"""Whole numbers that the contract or a large day takes beyond 32 bits: an event's place, tokens set aside and spent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

WIDE = (
    ("turns", "seq", True),
    ("reservations", "tokens", False),
    ("reservations", "spent_before", False),
    ("reservations", "used", True),
    *(("spendings", f"{kind}_tokens", False) for kind in ("input", "output", "cached", "reasoning")),
)


def upgrade() -> None:
    _become(sa.Integer(), sa.BigInteger())


def downgrade() -> None:
    _become(sa.BigInteger(), sa.Integer())


def _become(before: sa.types.TypeEngine[int], after: sa.types.TypeEngine[int]) -> None:
    if op.get_bind().dialect.name == "sqlite":
        return  # its INTEGER has 64 bits
    for table, column, is_nullable in WIDE:
        op.alter_column(table, column, existing_type=before, type_=after, existing_nullable=is_nullable)

"""Keys that expire, are rotated, and say when they were last used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import UtcTime

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

KEYS = {
    "expires_at": UtcTime,
    "last_used_at": UtcTime,
    "rotated_at": UtcTime,
    "old_bearer_hash": sa.String,
    "old_seal_key": sa.LargeBinary,
    "old_until": UtcTime,
}


def upgrade() -> None:
    for name, kind in KEYS.items():
        op.add_column("keys", sa.Column(name, kind(), nullable=True))


def downgrade() -> None:
    for name in reversed(KEYS):
        op.drop_column("keys", name)

"""Indexes that cost an event only where they can answer something: rows without a thread, ticket or window are in none.

A user's turns are found by ticket, or through their sessions. A tenant's users are paged in the order of their ids.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# (name, table, columns before, columns after, which rows it holds after)
CHANGES = (
    ("ix_turns_thread_order", "turns", *[["tenant_id", "thread_id", "at", "event_id"]] * 2, "thread_id IS NOT NULL"),
    ("ix_event_ledger_window_id", "event_ledger", *[["window_id"]] * 2, "window_id IS NOT NULL"),
    ("ix_sessions_thread", "sessions", *[["tenant_id", "thread_id"]] * 2, "thread_id IS NOT NULL"),
    ("ix_users_tenant_id", "users", ["tenant_id"], ["tenant_id", "id"], None),
)


def upgrade() -> None:
    for name, table, _, columns, where in CHANGES:
        op.drop_index(name, table)
        _index(name, table, columns, where)
    op.drop_index("ix_turns_user_ref", "turns")
    _index("ix_turns_ticket", "turns", ["user_ref", "ticket_id", "at"], "ticket_id IS NOT NULL")


def downgrade() -> None:
    op.drop_index("ix_turns_ticket", "turns")
    _index("ix_turns_user_ref", "turns", ["user_ref"], None)
    for name, table, columns, _, _ in reversed(CHANGES):
        op.drop_index(name, table)
        _index(name, table, columns, None)


def _index(name: str, table: str, columns: list[str], where: str | None) -> None:
    rows = None if where is None else sa.text(where)
    op.create_index(name, table, columns, postgresql_where=rows, sqlite_where=rows)

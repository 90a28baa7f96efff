"""Indexes that cost an event only where they can answer something, and that hold what is still to do.

Rows without a thread, ticket or window are in none of these. A user's turns are found by ticket, or through their
sessions; a tenant's users in the order of their ids. What is due to expire is found without what has ended before.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

LIVE = "deleted_at IS NULL"
LIVE_FACT = f"superseded_at IS NULL AND {LIVE}"
# (table, name, columns, which rows), before and after
CHANGES = (
    (
        ("turns", "ix_turns_thread_order", ["tenant_id", "thread_id", "at", "event_id"], None),
        ("turns", "ix_turns_thread_order", ["tenant_id", "thread_id", "at", "event_id"], "thread_id IS NOT NULL"),
    ),
    (
        ("turns", "ix_turns_user_ref", ["user_ref"], None),
        ("turns", "ix_turns_ticket", ["user_ref", "ticket_id", "at"], "ticket_id IS NOT NULL"),
    ),
    (
        ("event_ledger", "ix_event_ledger_window_id", ["window_id"], None),
        ("event_ledger", "ix_event_ledger_window_id", ["window_id"], "window_id IS NOT NULL"),
    ),
    (
        ("sessions", "ix_sessions_thread", ["tenant_id", "thread_id"], None),
        ("sessions", "ix_sessions_thread", ["tenant_id", "thread_id"], "thread_id IS NOT NULL"),
    ),
    (("users", "ix_users_tenant_id", ["tenant_id"], None), ("users", "ix_users_tenant_id", ["tenant_id", "id"], None)),
    (
        ("facts", "ix_facts_expires", ["expires_at"], None),
        ("facts", "ix_facts_due", ["expires_at", "id"], LIVE_FACT),
    ),
    (
        ("episodes", "ix_episodes_expires", ["expires_at"], None),
        ("episodes", "ix_episodes_due", ["expires_at", "id"], LIVE),
    ),
)
VOLATILE = ("facts", "ix_facts_volatile", ["id"], f"volatility = 'volatile' AND {LIVE_FACT}")


def upgrade() -> None:
    for before, after in CHANGES:
        op.drop_index(before[1], before[0])
        _index(*after)
    _index(*VOLATILE)


def downgrade() -> None:
    op.drop_index(VOLATILE[1], VOLATILE[0])
    for before, after in reversed(CHANGES):
        op.drop_index(after[1], after[0])
        _index(*before)


def _index(table: str, name: str, columns: list[str], where: str | None) -> None:
    rows = None if where is None else sa.text(where)
    op.create_index(name, table, columns, postgresql_where=rows, sqlite_where=rows)

"""Windows that run alone, budgets, circuits; indexes of the sweeps that hold only what is still to do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import UtcTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OPEN = "state IN ('waiting', 'answered')"
LEASED = "lease_until IS NOT NULL"
DUE = "due_at IS NOT NULL"


def upgrade() -> None:
    # The default is for the rows that are there; the model always writes the column.
    op.add_column("windows", sa.Column("crashes", sa.Integer(), nullable=False, server_default="0"))
    op.drop_index("ix_windows_state_due", "windows")
    op.drop_index("ix_windows_tenant_due", "windows")
    op.drop_index("ix_windows_lease_until", "windows")
    op.drop_index("ix_sessions_due", "sessions")
    op.drop_index("ix_outbox_due", "outbox")
    _partial_index("ix_windows_open", "windows", ["tenant_id", "next_try_at"], OPEN)
    _partial_index("ix_windows_leased", "windows", ["lease_until"], LEASED)
    _partial_index("ix_sessions_due", "sessions", ["tenant_id", "due_at"], DUE)
    _partial_index("ix_outbox_leased", "outbox", ["lease_until"], LEASED)
    # With the order of the claim: after a rebuild all rows are due since the same moment.
    op.create_index("ix_outbox_due", "outbox", ["next_try_at", "id"])
    op.create_table(
        "reservations",
        sa.Column("window_id", sa.Uuid(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("spent_before", sa.Integer(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("window_id", "epoch"),
    )
    op.create_index("ix_reservations_tenant_day", "reservations", ["tenant_id", "day"])
    op.create_table(
        "circuits",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("openings", sa.Integer(), nullable=False),
        sa.Column("opened_until", UtcTime(), nullable=True),
        sa.Column("probe_until", UtcTime(), nullable=True),
        sa.Column("error_code", sa.String(), nullable=True),
        sa.Column("changed_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    op.drop_table("circuits")
    op.drop_table("reservations")
    for name, table in (
        ("ix_outbox_due", "outbox"),
        ("ix_outbox_leased", "outbox"),
        ("ix_sessions_due", "sessions"),
        ("ix_windows_leased", "windows"),
        ("ix_windows_open", "windows"),
    ):
        op.drop_index(name, table)
    op.create_index("ix_outbox_due", "outbox", ["next_try_at"])
    op.create_index("ix_sessions_due", "sessions", ["due_at"])
    op.create_index("ix_windows_lease_until", "windows", ["lease_until"])
    op.create_index("ix_windows_state_due", "windows", ["state", "next_try_at"])
    op.create_index("ix_windows_tenant_due", "windows", ["tenant_id", "state", "next_try_at"])
    op.drop_column("windows", "crashes")


def _partial_index(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, postgresql_where=sa.text(where), sqlite_where=sa.text(where))

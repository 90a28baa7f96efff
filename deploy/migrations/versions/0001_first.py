"""The first tables: who is there, what arrived, what it became, what is owed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from schemas.columns import Json, UtcTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "tenants",
    "keys",
    "users",
    "event_ledger",
    "receptions",
    "turns",
    "observations",
    "sessions",
    "windows",
    "dead_letters",
    "drafts",
    "evidence",
    "spans",
    "facts",
    "fact_decisions",
    "episodes",
    "moments",
    "procedures",
    "procedure_versions",
    "procedure_outcomes",
    "working_states",
    "state_patches",
    "outbox",
    "operations",
    "jobs",
    "clock_offset",
)


def upgrade() -> None:
    _tenancy()
    _arrivals()
    _work()
    _evidence()
    _facts()
    _episodes()
    _procedures()
    _states()
    _operations()


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _tenancy() -> None:
    op.create_table(
        "tenants",
        _uuid("id"),
        _text("name"),
        _bytes("hash_key"),
        _json("settings"),
        _time("created_at"),
        _time("served_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "keys",
        _text("id"),
        _uuid("tenant_id", sa.ForeignKey("tenants.id")),
        _text("agent_id", nullable=True),
        _json("rights"),
        _text("bearer_hash"),
        _bytes("seal_key"),
        _time("created_at"),
        _time("revoked_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_keys_tenant_id", "keys", ["tenant_id"])
    op.create_table(
        "users",
        _uuid("id"),
        _uuid("tenant_id", sa.ForeignKey("tenants.id")),
        _text("user_hash"),
        _bytes("user_id"),
        _uuid("root_id"),
        _int("generation"),
        _time("erased_at", nullable=True),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant_id", "user_hash"),
    )
    op.create_index("ix_users_root_id", "users", ["root_id"])
    op.create_index("ix_users_tenant_id", "users", ["tenant_id"])


def _arrivals() -> None:
    op.create_table(
        "event_ledger",
        _uuid("tenant_id"),
        _uuid("event_id"),
        _text("kind"),
        _text("state"),
        _text("reason", nullable=True),
        _text("content_hash"),
        _text("producer", nullable=True),
        _uuid("session_ref", nullable=True),
        _uuid("window_id", nullable=True),
        _time("received_at"),
        sa.PrimaryKeyConstraint("tenant_id", "event_id"),
    )
    op.create_index("ix_event_ledger_window_id", "event_ledger", ["window_id"])
    op.create_table(
        "receptions",
        _uuid("tenant_id"),
        _text("producer"),
        _day("day"),
        _int("stored"),
        _int("duplicate"),
        _int("rejected"),
        _int("dead"),
        sa.PrimaryKeyConstraint("tenant_id", "producer", "day"),
    )
    op.create_table(
        "turns",
        _uuid("tenant_id"),
        _uuid("event_id"),
        _uuid("user_ref"),
        _uuid("session_ref"),
        _text("producer", nullable=True),
        _int("seq", nullable=True),
        _time("at"),
        _time("published_at", nullable=True),
        _time("received_at"),
        _time("original_at", nullable=True),
        _int("utc_offset_minutes"),
        _text("tz", nullable=True),
        _text("role"),
        _bytes("name", nullable=True),
        _bytes("content"),
        _bytes("tool", nullable=True),
        _flag("tool_ok", nullable=True),
        _text("procedure_name", nullable=True),
        _int("procedure_version", nullable=True),
        _text("actor_id", nullable=True),
        _text("agent_id", nullable=True),
        _text("thread_id", nullable=True),
        _text("ticket_id", nullable=True),
        _uuid("reply_to", nullable=True),
        _text("source", nullable=True),
        _text("language"),
        _int("token_count"),
        _json("flags"),
        _uuid("window_id", nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "event_id"),
    )
    op.create_index("ix_turns_session_order", "turns", ["session_ref", "at", "event_id"])
    op.create_index("ix_turns_thread_order", "turns", ["tenant_id", "thread_id", "at", "event_id"])
    op.create_index("ix_turns_user_ref", "turns", ["user_ref"])
    op.create_index("ix_turns_window_id", "turns", ["window_id"])
    op.create_table(
        "observations",
        _uuid("tenant_id"),
        _uuid("event_id"),
        _uuid("user_ref"),
        _uuid("session_ref"),
        _bytes("content"),
        _time("at"),
        _time("expires_at"),
        sa.PrimaryKeyConstraint("tenant_id", "event_id"),
    )
    op.create_index("ix_observations_expires_at", "observations", ["expires_at"])
    op.create_index("ix_observations_session_ref", "observations", ["session_ref"])
    op.create_index("ix_observations_user_ref", "observations", ["user_ref"])


def _work() -> None:
    op.create_table(
        "sessions",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _text("session_hash"),
        _bytes("session_id"),
        _text("agent_id", nullable=True),
        _text("thread_id", nullable=True),
        _text("ticket_id", nullable=True),
        _int("turn_count"),
        _int("undigested_count"),
        _int("undigested_tokens"),
        _time("first_undigested_at", nullable=True),
        _time("last_received_at"),
        _time("last_turn_at", nullable=True),
        _time("due_at", nullable=True),
        _time("ended_at", nullable=True),
        _text("outcome", nullable=True),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant_id", "user_ref", "session_hash"),
    )
    op.create_index("ix_sessions_due", "sessions", ["due_at"])
    op.create_index("ix_sessions_thread", "sessions", ["tenant_id", "thread_id"])
    op.create_index("ix_sessions_user_ref", "sessions", ["user_ref"])
    op.create_table(
        "windows",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _uuid("session_ref"),
        _text("state"),
        _json("turn_ids"),
        _int("token_count"),
        _text("prompt_version"),
        _int("generation"),
        _int("epoch"),
        _int("attempts"),
        _time("lease_until", nullable=True),
        _time("next_try_at"),
        _bytes("answer", nullable=True),
        _json("usage"),
        _text("error_code", nullable=True),
        _time("created_at"),
        _time("applied_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_windows_lease_until", "windows", ["lease_until"])
    op.create_index("ix_windows_session_ref", "windows", ["session_ref"])
    op.create_index("ix_windows_state_due", "windows", ["state", "next_try_at"])
    op.create_index("ix_windows_tenant_due", "windows", ["tenant_id", "state", "next_try_at"])
    op.create_index("ix_windows_user_ref", "windows", ["user_ref"])
    op.create_table(
        "dead_letters",
        _uuid("id"),
        _uuid("tenant_id", nullable=True),
        _uuid("user_ref", nullable=True),
        _text("kind"),
        _text("key"),
        _bytes("payload", nullable=True),
        _text("error_code"),
        _int("attempts"),
        _time("first_at"),
        _time("last_at"),
        _time("resolved_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "key"),
    )
    op.create_index("ix_dead_letters_tenant_id", "dead_letters", ["tenant_id"])
    op.create_index("ix_dead_letters_user_ref", "dead_letters", ["user_ref"])


def _evidence() -> None:
    op.create_table(
        "drafts",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _uuid("window_id"),
        _int("ordinal"),
        _bytes("content"),
        _text("decision"),
        _json("reason_codes"),
        _time("recorded_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("window_id", "ordinal"),
    )
    op.create_index("ix_drafts_user_ref", "drafts", ["user_ref"])
    op.create_table(
        "evidence",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _bytes("user_as_said"),
        _text("scope"),
        _text("scope_key"),
        _text("slot_hash"),
        _bytes("subject"),
        _text("key"),
        _text("type"),
        _bytes("object", nullable=True),
        _text("op"),
        _bytes("value"),
        _bytes("canonical"),
        _text("value_hash"),
        _bytes("quote"),
        _int("quote_start"),
        _time("at"),
        _uuid("event_id"),
        _uuid("window_id", nullable=True),
        _uuid("session_ref", nullable=True),
        _time("valid_from", nullable=True),
        _time("valid_until", nullable=True),
        _text("precision"),
        _text("tz", nullable=True),
        _text("role"),
        _text("source", nullable=True),
        _text("agent_id", nullable=True),
        _text("language"),
        _float("confidence"),
        _json("guard_flags"),
        _text("write_status"),
        _json("reason_codes"),
        _text("policy_version"),
        _text("prompt_version"),
        _time("recorded_at"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_evidence_event_id", "evidence", ["event_id"])
    op.create_index("ix_evidence_slot", "evidence", ["tenant_id", "slot_hash"])
    op.create_index("ix_evidence_user_ref", "evidence", ["user_ref"])
    op.create_index("ix_evidence_window_id", "evidence", ["window_id"])
    op.create_table(
        "spans",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _uuid("event_id"),
        _int("start"),
        _int("end"),
        _text("reason"),
        _uuid("evidence_id", nullable=True),
        _time("released_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_spans_event", "spans", ["tenant_id", "event_id"])
    op.create_index("ix_spans_evidence_id", "spans", ["evidence_id"])
    op.create_index("ix_spans_user_ref", "spans", ["user_ref"])


def _facts() -> None:
    op.create_table(
        "facts",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _text("scope"),
        _text("scope_key"),
        _text("slot_hash"),
        _bytes("subject"),
        _text("key"),
        _text("type"),
        _bytes("object", nullable=True),
        _text("polarity"),
        _bytes("value"),
        _bytes("canonical"),
        _text("value_hash"),
        _text("language"),
        _time("valid_from", nullable=True),
        _time("valid_until", nullable=True),
        _text("precision"),
        _text("tz", nullable=True),
        _time("said_at"),
        _time("recorded_at"),
        _time("superseded_at", nullable=True),
        _float("confidence"),
        _float("importance"),
        _float("strength"),
        _text("volatility"),
        _text("sensitivity"),
        _text("write_status"),
        _flag("contested"),
        _text("source", nullable=True),
        _text("recorded_by"),
        _text("agent_id", nullable=True),
        _uuid("session_ref", nullable=True),
        _text("ticket_id", nullable=True),
        _json("evidence_ids"),
        _text("rule_id"),
        _int("access_count"),
        _time("last_accessed_at", nullable=True),
        _time("expires_at", nullable=True),
        _int("extensions"),
        _time("deleted_at", nullable=True),
        _int("row_version"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_facts_expires", "facts", ["expires_at"])
    op.create_index("ix_facts_slot", "facts", ["tenant_id", "slot_hash"])
    op.create_index("ix_facts_user", "facts", ["tenant_id", "user_ref", "superseded_at"])
    op.create_table(
        "fact_decisions",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _text("slot_hash"),
        _text("op"),
        _text("rule_id"),
        _uuid("evidence_id", nullable=True),
        _uuid("fact_id", nullable=True),
        _json("replaced_ids"),
        _json("inputs"),
        _time("decided_at"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_fact_decisions_fact_id", "fact_decisions", ["fact_id"])
    op.create_index("ix_fact_decisions_slot_hash", "fact_decisions", ["slot_hash"])
    op.create_index("ix_fact_decisions_user_ref", "fact_decisions", ["user_ref"])


def _episodes() -> None:
    op.create_table(
        "episodes",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _uuid("session_ref", nullable=True),
        _uuid("window_id", nullable=True),
        _text("ticket_id", nullable=True),
        _text("agent_id", nullable=True),
        _bytes("summary"),
        _text("outcome"),
        _json("outcome_turn_ids"),
        _text("sentiment"),
        _text("sentiment_trend"),
        _json("tags"),
        _bytes("entities"),
        _text("procedure_name", nullable=True),
        _json("turn_ids"),
        _text("language"),
        _time("started_at"),
        _time("ended_at"),
        _time("recorded_at"),
        _float("importance"),
        _float("strength"),
        _float("confidence"),
        _text("write_status"),
        _json("member_ids"),
        _uuid("consolidated_into", nullable=True),
        _int("access_count"),
        _time("last_accessed_at", nullable=True),
        _time("expires_at", nullable=True),
        _int("extensions"),
        _time("deleted_at", nullable=True),
        _int("row_version"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("window_id"),
    )
    op.create_index("ix_episodes_consolidated_into", "episodes", ["consolidated_into"])
    op.create_index("ix_episodes_expires", "episodes", ["expires_at"])
    op.create_index("ix_episodes_session_ref", "episodes", ["session_ref"])
    op.create_index("ix_episodes_user_ref", "episodes", ["user_ref"])
    op.create_table(
        "moments",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _uuid("session_ref"),
        _uuid("event_id"),
        _uuid("episode_id", nullable=True),
        _text("scope"),
        _text("scope_key"),
        _time("at"),
        _time("deleted_at", nullable=True),
        _int("row_version"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant_id", "event_id"),
    )
    op.create_index("ix_moments_episode_id", "moments", ["episode_id"])
    op.create_index("ix_moments_session_ref", "moments", ["session_ref"])
    op.create_index("ix_moments_user_ref", "moments", ["user_ref"])


def _procedures() -> None:
    op.create_table(
        "procedures",
        _uuid("id"),
        _uuid("tenant_id"),
        _text("scope"),
        _text("scope_key"),
        _text("name"),
        _text("kind"),
        _time("created_at"),
        _time("deleted_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant_id", "scope", "scope_key", "name"),
    )
    op.create_table(
        "procedure_versions",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("procedure_id"),
        _int("version"),
        _bytes("trigger"),
        _json("applies_when"),
        _bytes("steps"),
        _text("language"),
        _text("write_status"),
        _float("successes"),
        _float("failures"),
        _float("ema"),
        _time("created_at"),
        _int("row_version"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("procedure_id", "version"),
    )
    op.create_index("ix_procedure_versions_procedure_id", "procedure_versions", ["procedure_id"])
    op.create_table(
        "procedure_outcomes",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("version_id"),
        _uuid("user_ref", nullable=True),
        _uuid("event_id"),
        _uuid("session_ref", nullable=True),
        _flag("succeeded"),
        _text("source"),
        _float("weight"),
        _time("at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant_id", "version_id", "event_id"),
    )
    op.create_index("ix_procedure_outcomes_user_ref", "procedure_outcomes", ["user_ref"])
    op.create_index("ix_procedure_outcomes_version_id", "procedure_outcomes", ["version_id"])


def _states() -> None:
    op.create_table(
        "working_states",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _text("scope"),
        _text("scope_key"),
        _bytes("state"),
        _time("updated_at"),
        _time("checkpointed_at", nullable=True),
        _time("ended_at", nullable=True),
        _int("row_version"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant_id", "scope", "scope_key"),
    )
    op.create_index("ix_working_states_user_ref", "working_states", ["user_ref"])
    op.create_table(
        "state_patches",
        _uuid("tenant_id"),
        _uuid("event_id"),
        _uuid("user_ref"),
        _text("scope"),
        _text("scope_key"),
        _time("at"),
        _bytes("patch"),
        sa.PrimaryKeyConstraint("tenant_id", "event_id"),
    )
    op.create_index("ix_state_patches_order", "state_patches", ["tenant_id", "scope", "scope_key", "at", "event_id"])
    op.create_index("ix_state_patches_user_ref", "state_patches", ["user_ref"])


def _operations() -> None:
    op.create_table(
        "outbox",
        _uuid("id"),
        _uuid("tenant_id"),
        _uuid("user_ref"),
        _text("kind"),
        _uuid("record_id"),
        _int("row_version"),
        _int("generation"),
        _int("attempts"),
        _int("epoch"),
        _time("lease_until", nullable=True),
        _time("next_try_at"),
        _text("error_code", nullable=True),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "record_id"),
    )
    op.create_index("ix_outbox_due", "outbox", ["next_try_at"])
    op.create_index("ix_outbox_user_ref", "outbox", ["user_ref"])
    op.create_table(
        "operations",
        _uuid("id"),
        _uuid("tenant_id"),
        _text("kind"),
        _text("state"),
        _json("detail"),
        _time("created_at"),
        _time("ended_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_operations_tenant_id", "operations", ["tenant_id"])
    op.create_table(
        "jobs",
        _text("name"),
        _int("epoch"),
        _time("lease_until", nullable=True),
        _time("last_started_at", nullable=True),
        _time("last_success_at", nullable=True),
        _json("last_result"),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "clock_offset",
        _int("id"),
        _float("seconds"),
        sa.PrimaryKeyConstraint("id"),
    )


def _uuid(name: str, *rules: sa.ForeignKey, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.Uuid(), *rules, nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.String(), nullable=nullable)


def _bytes(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.LargeBinary(), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, Json(), nullable=nullable)


def _time(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, UtcTime(), nullable=nullable)


def _day(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.Date(), nullable=nullable)


def _int(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.Integer(), nullable=nullable)


def _float(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.Float(), nullable=nullable)


def _flag(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.Boolean(), nullable=nullable)

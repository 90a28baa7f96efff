"""What workers ask all the time reads indexes, never a growing table to its end. PostgreSQL, 50,000 rows each."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, cast

import pytest
from sqlalchemy import Connection, event, text
from sqlmodel import Session

from afterturn.ids import uuid7
from memory.windows import WindowPolicy
from schemas_ready import bring_up
from stores import cutting, outbox, suspects, waits, windows
from stores.sql import Database

ROWS = 50_000
GROWING = ("windows", "sessions", "outbox", "turns", "event_ledger")

_FILL = (
    """INSERT INTO tenants (id, name, hash_key, settings, created_at)
       SELECT md5('t' || n)::uuid, 't' || n, '\\x00', '{}', now() FROM generate_series(1, 20) n""",
    """INSERT INTO users (id, tenant_id, user_hash, user_id, root_id, generation, created_at)
       SELECT md5('u' || n)::uuid, md5('t' || (n % 20 + 1))::uuid, 'h' || n, '\\x00', md5('u' || n)::uuid, 0, now()
       FROM generate_series(1, 5000) n""",
    # One session in fifty has something to be cut, and half of those are due.
    """INSERT INTO sessions (id, tenant_id, user_ref, session_hash, session_id,
           turn_count, undigested_count, undigested_tokens, first_undigested_at, last_received_at, due_at, created_at)
       SELECT md5('s' || n)::uuid, md5('t' || (n % 20 + 1))::uuid, md5('u' || (n % 5000 + 1))::uuid, 'h' || n,
           '\\x00', 1, 0, 0, CASE WHEN n % 50 = 0 THEN now() END, now(),
           CASE WHEN n % 100 = 0 THEN now() - interval '1 min' WHEN n % 50 = 0 THEN now() + interval '1 h' END, now()
       FROM generate_series(1, :rows) n""",
    """INSERT INTO turns (tenant_id, event_id, user_ref, session_ref, at, received_at, utc_offset_minutes, role,
           content, language, token_count, flags, window_id)
       SELECT md5('t' || (n % 20 + 1))::uuid, md5('e' || n)::uuid, md5('u' || (n % 5000 + 1))::uuid,
           md5('s' || n)::uuid, now(), now(), 0, 'user', '\\x00', 'en', 5, '[]',
           CASE WHEN n % 50 > 0 THEN md5('w' || n)::uuid END
       FROM generate_series(1, :rows) n""",
    """INSERT INTO event_ledger (tenant_id, event_id, kind, state, content_hash, received_at, window_id)
       SELECT md5('t' || (n % 20 + 1))::uuid, md5('e' || n)::uuid, 'turn', 'stored', 'h', now(), md5('w' || n)::uuid
       FROM generate_series(1, :rows) n""",
    # One window in twenty is open; some of those are claimed, some lost, some put off.
    """INSERT INTO windows (id, tenant_id, user_ref, session_ref, state, turn_ids, token_count, prompt_version,
           generation, epoch, attempts, crashes, lease_until, next_try_at, usage, created_at)
       SELECT md5('w' || n)::uuid, md5('t' || (n % 20 + 1))::uuid, md5('u' || (n % 5000 + 1))::uuid,
           md5('s' || n)::uuid, CASE WHEN n % 20 > 0 THEN 'applied' WHEN n % 40 = 0 THEN 'answered' ELSE 'waiting' END,
           '[]', 10, 'p', 0, 1, 1, 0,
           CASE WHEN n % 2000 = 0 THEN now() + interval '2 min' WHEN n % 1000 = 0 THEN now() - interval '1 min' END,
           CASE WHEN n % 60 = 0 THEN now() + interval '1 h' ELSE now() - interval '1 min' END, '{}', now()
       FROM generate_series(1, :rows) n""",
    # All of the outbox is owed: the index was away for a while.
    """INSERT INTO outbox (id, tenant_id, user_ref, kind, record_id, row_version, generation, attempts, epoch,
           lease_until, next_try_at, created_at)
       SELECT md5('o' || n)::uuid, md5('t' || (n % 20 + 1))::uuid, md5('u' || (n % 5000 + 1))::uuid, 'fact',
           md5('r' || n)::uuid, 1, 0, 0, 0, CASE WHEN n % 5000 = 0 THEN now() + interval '1 min' END,
           now() - interval '1 min', now()
       FROM generate_series(1, :rows) n""",
    "ANALYZE",
)


@pytest.fixture(scope="module")
def db(postgres_cluster: str) -> Generator[Database]:
    from services import postgres_database

    with postgres_database(postgres_cluster) as url:
        bring_up(url)
        database = Database(url)
        database.write(_fill)
        yield database
        database.dispose()


def _fill(session: Session) -> None:
    for statement in _FILL:
        session.connection().execute(text(statement), {"rows": ROWS})


def _cut(session: Session) -> object:
    tenants = cutting.due_tenants(session, after=None, limit=10)
    assert len(tenants) > 0
    return cutting.cut_due(
        session, policy=WindowPolicy(), limit=10, new_id=uuid7, prompt_version="p", tenant_ids=tenants
    )


def _claim(session: Session) -> object:
    found = windows.claim(session, lease_seconds=60)
    assert found is not None
    return found


ASKED: dict[str, Callable[[Session], object]] = {
    "cut_due": _cut,
    "cut_due of everybody": lambda session: cutting.cut_due(
        session, policy=WindowPolicy(), limit=10, new_id=uuid7, prompt_version="p"
    ),
    "claim": _claim,
    "claim of what is answered": lambda session: windows.claim(session, lease_seconds=60, answered_only=True),
    "bury_lost": lambda session: windows.bury_lost(session, max_crashes=1),
    "backlog": windows.backlog,
    "suspects": suspects.waiting,
    "waits": waits.over_budget,
    "outbox.claim": lambda session: outbox.claim(session, limit=64, lease_seconds=60),
    "outbox.due": lambda session: outbox.due(session, limit=2),
}


@pytest.mark.parametrize("name", ASKED)
def test_it_reads_no_growing_table_from_end_to_end(db: Database, name: str):
    asked: list[tuple[str, Any]] = []

    def note(_c: Connection, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    def ask_and_explain(session: Session) -> list[str]:
        connection = session.connection()
        event.listen(db.engine, "before_cursor_execute", note)
        try:
            ASKED[name](session)
        finally:
            event.remove(db.engine, "before_cursor_execute", note)
        plans = [_plan(connection, statement, given) for statement, given in asked if _has_plan(statement)]
        session.rollback()  # the next case finds the rows as they were
        return plans

    plans = db.write(ask_and_explain)

    assert plans
    scanned = [plan for plan in plans if re.search(rf"Seq Scan on ({'|'.join(GROWING)})\b", plan)]
    assert not scanned, "\n\n".join(scanned)


def _has_plan(statement: str) -> bool:
    return any(f" {table}" in statement for table in GROWING)


def _plan(connection: Connection, statement: str, parameters: Any) -> str:
    # Of many rows one will do.
    given = cast("list[Any]", parameters)[0] if isinstance(parameters, list) else parameters
    rows = connection.exec_driver_sql(f"EXPLAIN {statement}", given).all()
    return "\n".join([statement, *(str(row[0]) for row in rows)])

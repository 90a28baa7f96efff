"""Fills every table that beat, sweep and claims read, by SQL, as a service of any size would have left them.

The same rows on SQLite and PostgreSQL: one session in fifty has turns to cut, one window in twenty is open, what was
superseded or deleted stays. Ids of events grow with time, the others are spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, text

from schemas.tables import metadata

TENANTS = 20
_SPREAD = "({n} * 2654435761 + {salt}) % 4294967296"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows of each. Of every session the turns, and of every user the sessions, are these divided."""

    turns: int
    sessions: int
    users: int
    windows: int
    outbox: int
    memories: int

    @classmethod
    def of(cls, turns: int) -> Sizes:
        """What so many turns leave behind: ten turns a session and a window."""
        tenth = turns // 10
        return cls(turns, tenth, max(1, turns // 200), tenth, turns // 50, tenth)

    @classmethod
    def each(cls, rows: int) -> Sizes:
        """So many of each, and a tenth of users: enough for the planner, and quick."""
        return cls(rows, rows, max(1, rows // 10), rows, rows, rows)


class _Sql:
    """What both databases say in their own words."""

    def __init__(self, connection: Connection) -> None:
        self.is_sqlite = connection.dialect.name == "sqlite"

    def id(self, kind: str, number: str) -> str:
        spread = number if kind == "event" else _SPREAD.format(n=f"({number})", salt=sum(map(ord, kind)) * 7919)
        if self.is_sqlite:
            return f"printf('%08x%08x%016x', {spread}, {ord(kind[0])}, {number})"
        high = f"lpad(to_hex({spread}), 8, '0') || lpad(to_hex({ord(kind[0])}), 8, '0')"
        return f"({high} || lpad(to_hex(({number})::bigint), 16, '0'))::uuid"

    def at(self, seconds: int) -> str:
        if self.is_sqlite:
            return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', '{seconds:+d} seconds')"
        return f"now() + interval '{seconds} seconds'"

    def series(self, count: int) -> str:
        if self.is_sqlite:
            return f"(WITH RECURSIVE s(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM s LIMIT {count}) SELECT n FROM s)"  # noqa: S608
        return f"generate_series(1::bigint, {count}) AS s(n)"

    @property
    def blob(self) -> str:
        return "x'00'" if self.is_sqlite else "'\\x00'::bytea"


def fill(connection: Connection, sizes: Sizes) -> None:
    """Fills empty tables, their indexes afterwards, and tells the planner of what is there."""
    sql = _Sql(connection)
    indexes = [index for table in metadata.sorted_tables for index in table.indexes]
    for index in indexes:
        index.drop(connection)
    for table, count, columns in _tables(sql, sizes):
        names = ", ".join(columns)
        values = ", ".join(columns.values())
        connection.execute(
            text(f"INSERT INTO {table} ({names}) SELECT {values} FROM {sql.series(count)}")  # noqa: S608 - names of ours
        )
    for index in indexes:
        index.create(connection)
    if not sql.is_sqlite:  # where nothing of ours says it to SQLite either
        connection.execute(text("ANALYZE"))


def _tables(sql: _Sql, sizes: Sizes) -> Iterator[tuple[str, int, dict[str, str]]]:
    """(table, rows, SQL of each column by the row's number n)."""
    people = f"(n % {sizes.users} + 1)"
    tenant = sql.id("tenant", f"({people} % {TENANTS} + 1)")
    owned = {"tenant_id": tenant, "user_ref": sql.id("user", people)}
    now = sql.at(0)
    yield (
        "tenants",
        TENANTS,
        {"id": sql.id("tenant", "n"), "name": "'t' || n", "hash_key": sql.blob, "settings": "'{}'", "created_at": now},
    )
    yield (
        "users",
        sizes.users,
        {
            "id": sql.id("user", "n"),
            "tenant_id": sql.id("tenant", f"(n % {TENANTS} + 1)"),
            "user_hash": "'h' || n",
            "user_id": sql.blob,
            "root_id": sql.id("user", "n"),
            "generation": "0",
            "created_at": now,
        },
    )
    yield from _said(sql, sizes, owned)
    yield from _work(sql, sizes, owned)
    yield from _memories(sql, sizes, owned)


def _said(sql: _Sql, sizes: Sizes, owned: dict[str, str]) -> Iterator[tuple[str, int, dict[str, str]]]:
    waits = "n % 50 = 0"
    yield (
        "sessions",
        sizes.sessions,
        {
            **owned,
            "id": sql.id("session", "n"),
            "session_hash": "'h' || n",
            "session_id": sql.blob,
            "turn_count": "10",
            "undigested_count": f"CASE WHEN {waits} THEN 10 ELSE 0 END",
            "undigested_tokens": f"CASE WHEN {waits} THEN 300 ELSE 0 END",
            "first_undigested_at": f"CASE WHEN {waits} THEN {sql.at(-60)} END",
            "last_received_at": sql.at(0),
            "last_turn_at": sql.at(-100_000),
            # Half of them are due.
            "due_at": f"CASE WHEN n % 100 = 0 THEN {sql.at(-60)} WHEN {waits} THEN {sql.at(3600)} END",
            "created_at": sql.at(0),
        },
    )
    session = f"(n % {sizes.sessions} + 1)"
    window = sql.id("window", f"(n % {sizes.windows} + 1)")
    said = {**owned, "event_id": sql.id("event", "n"), "received_at": sql.at(0)}
    in_window = f"CASE WHEN {session} % 50 > 0 THEN {window} END"
    yield (
        "turns",
        sizes.turns,
        {
            **said,
            "session_ref": sql.id("session", session),
            "at": sql.at(-100_000),
            "utc_offset_minutes": "0",
            "role": "'user'",
            "content": sql.blob,
            "language": "'en'",
            "token_count": "30",
            "flags": "'[]'",
            "thread_id": "CASE WHEN n % 40 = 0 THEN 't' || (n % 1000) END",
            "ticket_id": "CASE WHEN n % 40 = 1 THEN 'k' || (n % 1000) END",
            "window_id": in_window,
        },
    )
    del said["user_ref"]
    yield (
        "event_ledger",
        sizes.turns,
        {
            **said,
            "kind": "'turn'",
            "state": "'stored'",
            "content_hash": "'h' || n",
            "window_id": in_window,
        },
    )


def _work(sql: _Sql, sizes: Sizes, owned: dict[str, str]) -> Iterator[tuple[str, int, dict[str, str]]]:
    yield (
        "windows",
        sizes.windows,
        {
            **owned,
            "id": sql.id("window", "n"),
            "session_ref": sql.id("session", f"(n % {sizes.sessions} + 1)"),
            "state": "CASE WHEN n % 20 > 0 THEN 'applied' WHEN n % 40 = 0 THEN 'answered' ELSE 'waiting' END",
            "turn_ids": "'[]'",
            "token_count": "300",
            "prompt_version": "'p'",
            "generation": "0",
            "epoch": "1",
            "attempts": "1",
            "crashes": "0",
            # Some are claimed, some lost, some put off.
            "lease_until": f"CASE WHEN n % 2000 = 0 THEN {sql.at(120)} WHEN n % 1000 = 0 THEN {sql.at(-60)} END",
            "next_try_at": f"CASE WHEN n % 60 = 0 THEN {sql.at(3600)} ELSE {sql.at(-60)} END",
            "usage": "'{}'",
            "created_at": sql.at(0),
        },
    )
    # The index was away for a while.
    yield (
        "outbox",
        sizes.outbox,
        {
            **owned,
            "id": sql.id("outbox", "n"),
            "kind": "'fact'",
            "record_id": sql.id("fact", "n"),
            **dict.fromkeys(("row_version", "generation", "attempts", "epoch"), "0"),
            "lease_until": f"CASE WHEN n % 5000 = 0 THEN {sql.at(60)} END",
            "next_try_at": sql.at(-60),
            "created_at": sql.at(-60),
        },
    )


# A third was superseded or deleted, and its time came after that: it stays, and must not be read for ever.
_IS_PAST = "n % 3 = 0"


def _memories(sql: _Sql, sizes: Sizes, owned: dict[str, str]) -> Iterator[tuple[str, int, dict[str, str]]]:
    session = sql.id("session", f"(n % {sizes.sessions} + 1)")
    scored: dict[str, str] = dict.fromkeys(("importance", "strength", "confidence"), "0.5")
    scored |= {"access_count": "0", "extensions": "0", "row_version": "1"}
    expires = (
        f"CASE WHEN {_IS_PAST} THEN {sql.at(-86_400)} WHEN n % 5000 = 1 THEN {sql.at(-60)} ELSE {sql.at(864_000)} END"
    )
    slot = {"slot_hash": "'s' || n", "value_hash": "'v' || n", "subject": sql.blob, "key": "'city'", "type": "'text'"}
    stated = {**owned, **slot, "scope": "'user'", "scope_key": "'u'", "language": "'en'", "precision": "'instant'"}
    stated |= {"value": sql.blob, "canonical": sql.blob, "recorded_at": sql.at(0), "write_status": "'auto'"}
    yield (
        "facts",
        sizes.memories,
        {
            **stated,
            **scored,
            "id": sql.id("fact", "n"),
            "polarity": "'+'",
            "said_at": sql.at(0),
            "volatility": "CASE WHEN n % 500 = 0 THEN 'volatile' ELSE 'stable' END",
            "sensitivity": "'none'",
            "contested": "false",
            "recorded_by": "'user'",
            "evidence_ids": "'[]'",
            "rule_id": "'r'",
            "expires_at": expires,
            "superseded_at": f"CASE WHEN n % 6 = 0 THEN {sql.at(-90_000)} END",
            "deleted_at": f"CASE WHEN n % 6 = 3 THEN {sql.at(-90_000)} END",
        },
    )
    yield (
        "evidence",
        sizes.memories,
        {
            **stated,
            "id": sql.id("evidence", "n"),
            "user_as_said": sql.blob,
            "op": "'+'",
            "quote": sql.blob,
            "quote_start": "0",
            "at": sql.at(0),
            "event_id": sql.id("event", "n"),
            "session_ref": session,
            "role": "'user'",
            "confidence": "0.5",
            "guard_flags": "'[]'",
            "reason_codes": "'[]'",
            "policy_version": "'p'",
            "prompt_version": "'p'",
        },
    )
    yield from _told(sql, sizes, owned, {**scored, "expires_at": expires}, session)


def _told(
    sql: _Sql, sizes: Sizes, owned: dict[str, str], scored: dict[str, str], session: str
) -> Iterator[tuple[str, int, dict[str, str]]]:
    yield (
        "episodes",
        sizes.memories,
        {
            **owned,
            **scored,
            "id": sql.id("episode", "n"),
            "session_ref": session,
            # One in ten stands for several, of no one window.
            "window_id": f"CASE WHEN n % 10 > 0 THEN {sql.id('window', 'n')} END",
            "summary": sql.blob,
            "outcome": "'success'",
            "sentiment": "'neutral'",
            "sentiment_trend": "'flat'",
            "entities": sql.blob,
            "language": "'en'",
            "write_status": "'auto'",
            **dict.fromkeys(("outcome_turn_ids", "tags", "turn_ids", "member_ids"), "'[]'"),
            **dict.fromkeys(("started_at", "ended_at", "recorded_at"), sql.at(0)),
            "deleted_at": f"CASE WHEN {_IS_PAST} THEN {sql.at(-90_000)} END",
        },
    )
    yield (
        "moments",
        sizes.memories,
        {
            **owned,
            "id": sql.id("moment", "n"),
            "session_ref": session,
            "event_id": sql.id("event", "n"),
            "episode_id": sql.id("episode", "n"),
            "scope": "'user'",
            "scope_key": "'u'",
            "at": sql.at(0),
            "row_version": "1",
        },
    )

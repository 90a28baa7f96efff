"""How a session with PostgreSQL is set up, so that whoever dies, freezes or loses its network keeps no locks for long.

What must not go on is a statement that nobody waits for any more, a wait for a lock, and a transaction that does
nothing. How long a statement may take depends on who asks: an audit or a migration takes its minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection

if TYPE_CHECKING:
    import psycopg

    from stores.pools import Terms

#: The execution option that bounds the waits of one transaction, in milliseconds.
WAIT_MS = "afterturn_wait_ms"
#: SQLSTATEs of what passes by itself: serialization, deadlock, lock not available.
RETRY = frozenset({"40001", "40P01", "55P03"})
#: How those begin that need somebody: connection lost or refused, resources exhausted, server stopping, idle too long,
#: a statement that took too long. A commit may or may not have reached it.
BUSY = ("08", "53", "57P", "25P03", "57014")
#: Of those, which say that it could not be asked at all: no connection, or on its way down or up.
AWAY = ("08", "57P")
#: How soon the server sees that the client of a running or waiting statement has gone.
CLIENT_CHECK_SECONDS = 2
_KEEPALIVE = {"idle": 30, "interval": 10, "count": 3}
_UNANSWERED_MS = 60_000

# What the operator set for this user, this database or in the URL wins; a server that lacks a setting is left alone.
_SET = """
SELECT set_config(given.name, given.value, false)
FROM (VALUES {rows}) AS given (name, value) JOIN pg_settings ON pg_settings.name = given.name
WHERE pg_settings.source NOT IN ('client', 'user', 'database', 'database user')
"""


def connect_args(url: URL, terms: Terms) -> dict[str, Any]:
    """What the driver is told beside the URL: a server that has vanished is noticed within a minute, not in hours."""
    told: dict[str, Any] = {f"keepalives_{name}": value for name, value in _KEEPALIVE.items()}
    told |= {
        "tcp_user_timeout": _UNANSWERED_MS,
        "connect_timeout": terms.connect_seconds,
        "application_name": terms.name,
    }
    return {name: value for name, value in told.items() if name not in url.query}


def prepare(terms: Terms, is_read_only: bool, connection: psycopg.Connection[Any], _record: object) -> None:
    """Sets up a new session: one round trip. Waits for locks are bounded as those of SQLite are.

    No use case waits for anything but SQL inside a transaction: one that idles belongs to a frozen process.
    """
    wanted = {
        "client_connection_check_interval": f"{CLIENT_CHECK_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{round(terms.idle_seconds * 1000)}ms",
        "lock_timeout": f"{round(terms.lock_seconds * 1000)}ms",
        "statement_timeout": f"{round(terms.statement_seconds * 1000)}ms",
        "tcp_user_timeout": f"{_UNANSWERED_MS}ms",
        **{f"tcp_keepalives_{name}": str(value) for name, value in _KEEPALIVE.items()},
    }
    rows = ", ".join(["(%s, %s)"] * len(wanted))
    given = [word for pair in wanted.items() for word in pair]
    connection.execute(_SET.format(rows=rows).encode(), given)
    if is_read_only:
        connection.execute("SET default_transaction_read_only = on")
    connection.commit()


def begin(lock_timeout_ms: int, connection: Connection) -> None:
    """A transaction that may wait less than others says so in its options."""
    wait_ms = connection.get_execution_options().get(WAIT_MS)
    if wait_ms is not None:
        bound_waits(connection, min(lock_timeout_ms, int(wait_ms)))


def bound_waits(connection: Connection, wait_ms: int) -> None:
    """Bounds the waits for locks of this transaction; 0 lifts the bound."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait_ms}")

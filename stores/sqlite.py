"""How SQLite is used: a log beside the file, one writer at a time, and its turn for everybody who wants to write."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, cast

from sqlalchemy import Connection

from stores import failures
from stores.postgres import WAIT_MS

if TYPE_CHECKING:
    from stores.pools import Terms

#: The execution option of a transaction that writes.
WRITES = "afterturn_writes"
_PATIENCE_SECONDS = 0.1
_SHORT_PAUSE_SECONDS = 0.001


def prepare(terms: Terms, connection: sqlite3.Connection, _record: object) -> None:
    """Sets up a new connection."""
    # The driver would begin lazily and deferred, and then fail where it upgrades a read to a write.
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout = {_milliseconds(terms)}",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "foreign_keys = ON",
        # The default of 2 MB reads the indexes of a few thousand turns again and again, at twice the price of a turn.
        "cache_size = -16384",
        # Pages that many commits touch reach the file once: 40 MB of log instead of 4.
        "wal_autocheckpoint = 10000",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def begin(terms: Terms, connection: Connection) -> None:
    """A transaction that writes takes its turn here; one that may wait less than others says so in its options."""
    busy_timeout_ms = _milliseconds(terms)
    options = connection.get_execution_options()
    wait_ms = min(busy_timeout_ms, int(options.get(WAIT_MS, busy_timeout_ms)))
    # The connection goes back to the pool with its time-out: what it has now is remembered beside it.
    if connection.info.get(WAIT_MS, busy_timeout_ms) != wait_ms:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {wait_ms}")
        connection.info[WAIT_MS] = wait_ms
    writes = bool(options.get(WRITES, True))
    # Likewise. Of a few hundred microseconds that a read takes this was a tenth.
    if connection.info.get(WRITES) is not writes:
        connection.exec_driver_sql(f"PRAGMA query_only = {0 if writes else 1}")
        connection.info[WRITES] = writes
    if not writes:
        connection.exec_driver_sql("BEGIN")
        return
    raw = cast("sqlite3.Connection", connection.connection.dbapi_connection)
    raw.execute("PRAGMA busy_timeout = 0").close()
    try:
        _wait_for_turn(raw, wait_ms / 1000, terms.turn_seconds)
        if not raw.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # Fails as SQLAlchemy's callers expect it.
    finally:
        raw.execute(f"PRAGMA busy_timeout = {wait_ms}").close()


def _wait_for_turn(connection: sqlite3.Connection, seconds: float, pause_seconds: float) -> None:
    """Begins once the one write lock is free, or gives up.

    SQLite's own pauses grow to 0.1 s, in which those who have just come take the lock again and again. Here whoever has
    waited that long asks as often as anybody.
    """
    started = time.monotonic()
    while (waited := time.monotonic() - started) < seconds:
        try:
            connection.execute("BEGIN IMMEDIATE").close()
        except sqlite3.DatabaseError as exc:
            if not failures.is_lock_held(exc):
                return
            time.sleep(pause_seconds if waited < _PATIENCE_SECONDS else _SHORT_PAUSE_SECONDS)
        else:
            return


def _milliseconds(terms: Terms) -> int:
    return round(terms.lock_seconds * 1000)

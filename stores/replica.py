"""Recall's way to read: a replica while it answers and is not far behind, else the primary. No write goes this way.

The replica is probed aside, so that no question waits to learn that it is away; one that freezes under a question costs
that question its deadline, and the threads that hang in it are freed.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from weakref import WeakSet

import psycopg
from sqlalchemy import event, text
from sqlmodel import Session

from schemas.errors import StoreBusy
from stores import metrics, pools
from stores.settings import Settings
from stores.sql import Database

T = TypeVar("T")

logger = logging.getLogger(__name__)

PROBE_SECONDS = 1.0
#: A probe that has not ended after so long hangs: the replica is frozen, or the way to it.
TRUST_SECONDS = 3.0
WATCH_SECONDS = 60.0

# Behind is what the primary has told and is not applied yet. Without a receiver nobody tells, and silence says nothing.
# One that has just begun stands at the start of its file, before what was applied.
# A server that is no standby (a logical replica, a proxy) does not know how far it is behind.
_BEHIND = text("""
SELECT CASE
    WHEN NOT pg_is_in_recovery() THEN 0
    WHEN EXISTS (SELECT 1 FROM pg_stat_wal_receiver) AND pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn() THEN 0
    ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 'infinity')
END::float
""")

Reason = Literal["unknown", "away", "behind"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How the replica stood when it was last probed. `behind_seconds` is None when it did not answer."""

    behind_seconds: float | None
    at: float


def replica_of(settings: Settings) -> Database | None:
    """The replica that the settings name, opened to be read."""
    if settings.database_replica_url is None:
        return None
    url = settings.database_replica_url.get_secret_value()
    return Database(url, pools.terms(settings, "recall"), is_read_only=True)


def behind_seconds(replica: Database) -> float:
    """How far it is behind its primary; infinite for a standby that was never told anything. Raises: StoreBusy."""
    with replica.read() as session:
        return float(session.connection().execute(_BEHIND).scalar_one())


class Replica:
    """The replica of a primary, or none. Safe between threads; a forked child probes anew."""

    def __init__(
        self,
        database: Database | None = None,
        *,
        lag_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._lag_seconds = lag_seconds
        self._clock = clock
        self._begin_process()

    def run(self, primary: Database, fn: Callable[[Session], T]) -> T:
        """What `fn` answers in one snapshot that cannot write. It runs again when the replica went away under it.

        Raises: StoreBusy when the primary does not answer either.
        """
        reason = None
        if self._database is not None:
            self._asked_at = self._clock()
            self._watch_aside(self._database)
            reason = self._reason()
            if reason is None:
                try:
                    with self._under_way, self._database.read() as session:
                        return fn(session)
                except StoreBusy as exc:
                    logger.warning("replica failed, reading the primary error=%s", type(exc.__cause__).__name__)
                    self._standing, reason = Standing(None, self._clock()), "away"
            metrics.RECALL_PRIMARY.labels(reason).inc()
        with primary.read() as session:
            return fn(session)

    def close(self) -> None:
        """Closes this process's connections. Repeat: harmless."""
        if self._database is not None:
            self._asked_at = float("-inf")
            self._database.dispose()

    def _reason(self) -> Reason | None:
        """Why it is not read now, or None."""
        standing = self._standing
        if standing is None:
            return "unknown"
        if standing.behind_seconds is None or self._clock() - standing.at > TRUST_SECONDS:
            return "away"
        return "behind" if standing.behind_seconds > self._lag_seconds else None

    def _begin_process(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._standing: Standing | None = None
        self._watcher: threading.Thread | None = None
        self._asked_at = float("-inf")
        self._under_way = _Count()
        self._open: WeakSet[Any] = WeakSet()

    def _watch_aside(self, database: Database) -> None:
        if self._pid != os.getpid():
            self._begin_process()
        with self._lock:
            if self._watcher is not None and self._watcher.is_alive():
                return
            if self._watcher is None:
                event.listen(database.engine, "connect", self._note_open)
            self._standing = None
            self._watcher = threading.Thread(target=self._watch, args=(database,), name="replica", daemon=True)
            self._watcher.start()

    def _note_open(self, connection: Any, _record: Any) -> None:
        with self._lock:
            self._open.add(connection)

    def _watch(self, database: Database) -> None:
        """Probes as long as somebody asks, or waits in it for an answer."""
        while self._under_way.number or self._clock() - self._asked_at < WATCH_SECONDS:
            self._probe(database)
            time.sleep(PROBE_SECONDS)

    def _probe(self, database: Database) -> None:
        hangs = threading.Timer(TRUST_SECONDS, self._cut_off)
        hangs.daemon = True
        hangs.start()
        try:
            found: float | None = behind_seconds(database)
        except StoreBusy as exc:
            found = None
            logger.warning("replica away error=%s", type(exc.__cause__).__name__)
            self._cut_off()
        finally:
            hangs.cancel()
        self._standing = Standing(found, self._clock())

    def _cut_off(self) -> None:
        """Ends every connection from this side: whoever waits in one is told at once."""
        with self._lock:
            there = list(self._open)
        for connection in there:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as copied:
                copied.shutdown(socket.SHUT_RDWR)


class _Count:
    """How many are inside."""

    def __init__(self) -> None:
        self.number = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.number += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.number -= 1

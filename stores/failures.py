"""What a database's error means: try the transaction again, come back later, or a bug."""

from __future__ import annotations

import sqlite3

from sqlalchemy import exc as sa_exc

from schemas.errors import StoreBusy
from stores import postgres

Failure = sa_exc.DBAPIError | sa_exc.TimeoutError

# Primary result codes. BUSY and LOCKED pass by themselves; FULL, IOERR and CANTOPEN need somebody, but nothing is lost.
_SQLITE_RETRY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_SQLITE_BUSY = _SQLITE_RETRY | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}


def is_retryable(exc: Failure) -> bool:
    """The same transaction may pass when it is tried again at once."""
    origin = exc.orig if isinstance(exc, sa_exc.DBAPIError) else None
    if isinstance(origin, sqlite3.Error):
        return _sqlite_code(origin) in _SQLITE_RETRY
    return getattr(origin, "sqlstate", None) in postgres.RETRY


def is_lock_held(exc: sqlite3.Error) -> bool:
    """Somebody else is writing."""
    return _sqlite_code(exc) == sqlite3.SQLITE_BUSY


def raise_busy(exc: Failure, what: str) -> None:
    """Raises: StoreBusy for an error that passes, by itself or when somebody mends the server."""
    if _is_busy(exc):
        msg = f"database: {what} ({reason(exc)})"
        raise StoreBusy(msg) from exc


def reason(exc: Failure) -> str:
    """The database's code, which quotes nothing."""
    origin = exc.orig if isinstance(exc, sa_exc.DBAPIError) else None
    code = getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None)
    return str(code or type(origin or exc).__name__)


def _is_busy(exc: Failure) -> bool:
    if isinstance(exc, sa_exc.TimeoutError) or exc.connection_invalidated or is_retryable(exc):
        return True
    if isinstance(exc.orig, sqlite3.Error):
        return _sqlite_code(exc.orig) in _SQLITE_BUSY
    # A server that was never reached has sent no code.
    state: str | None = getattr(exc.orig, "sqlstate", None)
    return isinstance(exc, sa_exc.OperationalError) and (state is None or state.startswith(postgres.BUSY))


def _sqlite_code(origin: sqlite3.Error) -> int:
    # Made by sqlite3 itself, without SQLite, an error carries no code.
    return int(getattr(origin, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF

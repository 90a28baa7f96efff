"""What a database's error means: try the transaction again, come back later, or a bug."""

from __future__ import annotations

import sqlite3

from sqlalchemy import exc as sa_exc
from sqlalchemy import make_url

from schemas.errors import StoreBusy
from stores import postgres
from stores.addresses import database_address

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


def raise_busy(exc: Failure, what: str, url: str) -> None:
    """Raises: StoreBusy for an error that passes, by itself or when somebody mends the server."""
    if _is_busy(exc):
        raise StoreBusy(_away(exc, database_address(make_url(url))) or f"database: {what} ({reason(exc)})") from exc


def reason(exc: Failure) -> str:
    """The database's code, which quotes nothing."""
    origin = exc.orig if isinstance(exc, sa_exc.DBAPIError) else None
    code = getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None)
    return str(code or type(origin or exc).__name__)


def _away(exc: Failure, where: str) -> str | None:
    """What is said of a database that could not be reached at all."""
    if not isinstance(exc, sa_exc.DBAPIError):
        return None
    if isinstance(exc.orig, sqlite3.Error):
        is_shut = _sqlite_code(exc.orig) == sqlite3.SQLITE_CANTOPEN
        return f"the database {where} cannot be opened" if is_shut else None
    state: str | None = getattr(exc.orig, "sqlstate", None)
    if state is not None and not state.startswith(postgres.AWAY):
        return None
    # A refused log-in comes without a code. The words are the server's own; in another language it "does not answer".
    told = str(exc.orig)
    if "authentication failed" in told or "no password supplied" in told or "pg_hba.conf" in told:
        return f"the database at {where} does not let this user in"
    if "FATAL" in told and '" does not exist' in told:
        return f"the server at {where} has no database of that name"
    return f"the database at {where} does not answer"


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

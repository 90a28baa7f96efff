"""The files of the embedded index: where they are, what tables they hold, how a transaction on one runs."""

from __future__ import annotations

import fcntl
import os
import random
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID, uuid4

from schemas.errors import BadSettings, Permanent, StoreBusy

T = TypeVar("T")

LAYOUT = "1"
BUSY_TIMEOUT_MS = 15_000
MAX_ATTEMPTS = 6
# Open files of one thread; a connection is three file descriptors and up to 4 MB of pages.
MAX_CONNECTIONS = 16

DROPPED = "index_dropped"
_LOCK = "making.lock"
_SIDE = ("-wal", "-shm", "-journal")
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PASSING = _BUSY | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT}

# `part` is who may see a row: a user, a ticket, the organisation. AUTOINCREMENT: numbers of
# parts and rows never come back, so that what a cache knows of a number can not be meant by another one.
# FTS5 keeps the postings and no more (content=''), each term with its part's number before it: a question then reads
# its own parts' postings, however many other users there are. Its own bm25() reads every user's (measured at 100 000
# rows of 500 users: 18 ms CPU a search). `words` is the way to the postings. The terms stay in `doc`, because a
# contentless table wants the old text to delete a row (`contentless_delete` came with SQLite 3.43). The ascii tokenizer
# takes every other character for a letter, also one that is younger than SQLite's Unicode tables.
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS doc (
  rid INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, part INTEGER NOT NULL, user BLOB NOT NULL,
  row_version INTEGER NOT NULL, has_vector INTEGER NOT NULL,
  kind TEXT NOT NULL, agent TEXT, outcome TEXT, tags TEXT NOT NULL,
  created INTEGER NOT NULL, valid_from INTEGER NOT NULL, valid_until INTEGER NOT NULL, expires INTEGER NOT NULL,
  own_length INTEGER NOT NULL, context_length INTEGER NOT NULL,
  own TEXT NOT NULL, exact TEXT NOT NULL, context TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS doc_part ON doc (
  part, rid, id, kind, agent, outcome, tags, row_version, created, valid_from, valid_until, expires,
  own_length, context_length);
CREATE INDEX IF NOT EXISTS doc_user ON doc (user);
CREATE TABLE IF NOT EXISTS seg (
  part INTEGER NOT NULL, seg INTEGER NOT NULL, rids BLOB NOT NULL, scales BLOB NOT NULL, codes BLOB NOT NULL,
  PRIMARY KEY (part, seg));
CREATE VIRTUAL TABLE IF NOT EXISTS fts USING fts5 (
  own, exact, context, content='', columnsize=0, tokenize="ascii tokenchars '-_./:@+'");
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5vocab (fts, instance);
"""


class _Held(NamedTuple):
    """A thread's connection, and the file it was opened on."""

    connection: sqlite3.Connection
    file: tuple[int, int] | None


class Files:
    """One SQLite file a tenant under a folder; a few connections a thread, opened anew after a fork."""

    def __init__(self, folder: Path, *, space: str, may_make: Callable[[], bool] = lambda: True) -> None:
        self.folder = folder
        self._may_make = may_make
        self._meta = {"layout": LAYOUT, "space": space}
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: set[tuple[int, sqlite3.Connection]] = set()

    def path(self, tenant_id: UUID) -> Path:
        """Where a tenant's rows are, whether or not the file is there yet."""
        return self.folder / f"{tenant_id}.db"

    def epoch(self, tenant_id: UUID) -> UUID | None:
        """The identity of the tenant's file, made with it and with each emptying; None where there is none.

        Raises: StoreBusy, Permanent.
        """
        return self.read(tenant_id, epoch_of, empty=None)

    def tenants(self) -> list[UUID]:
        """Every tenant with a file."""
        return sorted(UUID(found.stem) for found in self.folder.glob("*.db"))

    def write(self, tenant_id: UUID, fn: Callable[[sqlite3.Connection], T]) -> T:
        """What `fn` returns after its transaction (BEGIN IMMEDIATE) is committed; it may run more than once.

        Raises: StoreBusy, Permanent.
        """
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                with _translated(tenant_id):
                    return _in_transaction(self._connection(tenant_id), "BEGIN IMMEDIATE", fn)
            except StoreBusy as exc:
                if attempt == MAX_ATTEMPTS or exc.code != "store_locked":
                    raise
                time.sleep(random.uniform(0.0, 0.01 * 2**attempt))  # noqa: S311  jitter, not a secret
        raise AssertionError

    def read(self, tenant_id: UUID, fn: Callable[[sqlite3.Connection], T], *, empty: T) -> T:
        """What `fn` finds in one snapshot; `empty` when the tenant has no file. Raises: StoreBusy, Permanent."""
        if not self.path(tenant_id).is_file():
            return empty
        with _translated(tenant_id):
            return _in_transaction(self._connection(tenant_id), "BEGIN", fn)

    def checkpoint(self, tenant_id: UUID) -> None:
        """Moves the journal into the file and empties it, as far as other readers allow."""
        with _translated(tenant_id):
            self._connection(tenant_id).execute("PRAGMA wal_checkpoint(TRUNCATE)").close()

    def empty(self, tenant_id: UUID, clear: Callable[[sqlite3.Connection], None]) -> None:
        """Runs `clear` and gives the file to this build's layout and vector space, whatever it held."""

        def restart(connection: sqlite3.Connection) -> None:
            clear(connection)
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", _fresh(self._meta).items())

        with _translated(tenant_id), closing(self._connect(self.path(tenant_id), check=False)) as connection:
            _in_transaction(connection, "BEGIN IMMEDIATE", restart)

    def drop(self) -> None:
        """Deletes every file with its journal, and the folder when nothing else is in it. Raises: StoreBusy."""
        self.close()
        if not self.folder.is_dir():
            return
        try:
            with _alone(self.folder):
                for tenant_id in self.tenants():
                    for suffix in ("", *_SIDE):
                        path = self.path(tenant_id)
                        path.with_name(path.name + suffix).unlink(missing_ok=True)
            (self.folder / _LOCK).unlink(missing_ok=True)
            if not any(self.folder.iterdir()):
                self.folder.rmdir()
        except OSError as exc:
            msg = f"index folder: {type(exc).__name__}"
            raise StoreBusy(msg) from exc

    def close(self) -> None:
        """Closes every connection this process opened."""
        with self._lock:
            opened, self._opened = self._opened, set()
            self._local = threading.local()
        for pid, connection in opened:
            if pid == os.getpid():
                connection.close()

    def _connection(self, tenant_id: UUID) -> sqlite3.Connection:
        held: OrderedDict[UUID, _Held] | None = getattr(self._local, "held", None)
        if held is None or self._local.pid != os.getpid():
            # After a fork the parent's connections stay listed in `_opened`: unused, and never collected from here.
            held = self._local.held = OrderedDict[UUID, _Held]()
            self._local.pid = os.getpid()
        path = self.path(tenant_id)
        if tenant_id in held:
            if held[tenant_id].file == _file(path):
                held.move_to_end(tenant_id)
                return held[tenant_id].connection
            # The file was moved or deleted under us: what is written through the old connection nobody would ever read.
            self._forget(held.pop(tenant_id).connection)
        connection = self._connect(path)
        with self._lock:
            self._opened.add((os.getpid(), connection))
        held[tenant_id] = _Held(connection, _file(path))
        if len(held) > MAX_CONNECTIONS:
            self._forget(held.popitem(last=False)[1].connection)
        return connection

    def _forget(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._opened.discard((os.getpid(), connection))
        connection.close()

    def _connect(self, path: Path, *, check: bool = True) -> sqlite3.Connection:
        if path.is_file():
            return self._open(path, check=check)
        if not self._may_make():
            msg = f"index {path.parent.name}: this generation is dropped"
            raise StoreBusy(msg, code=DROPPED)
        make_folder(path.parent)
        with _alone(path.parent):
            if not path.is_file():
                # A journal that outlived its file would be played into the new one.
                for suffix in _SIDE:
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
            return self._open(path, check=check)

    def _open(self, path: Path, *, check: bool) -> sqlite3.Connection:
        # check_same_thread off: only so that close() may close what other threads opened.
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON", "cache_size = -4096"):
                connection.execute(f"PRAGMA {pragma}").close()
            self._prepare(connection, path, check=check)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection, path: Path, *, check: bool) -> None:
        """Makes the tables, or checks that the file is of this layout and of this vector space."""
        if "epoch" not in _meta(connection):
            _in_transaction(connection, "BEGIN IMMEDIATE", lambda inside: _create(inside, _fresh(self._meta)))
        found = _meta(connection)
        if check and found.get("layout") != LAYOUT:
            msg = f"index {path.name}: layout {found.get('layout')}, this build needs {LAYOUT}; rebuild the index"
            raise BadSettings(msg, code="index_layout")
        if check and found.get("space") != self._meta["space"]:
            msg = (
                f"index {path.name} holds vectors of {found.get('space')}, the embedder set now makes "
                f"{self._meta['space']}; set the old embedder again or rebuild the index"
            )
            raise BadSettings(msg, code="index_embedder")


def epoch_of(connection: sqlite3.Connection) -> UUID:
    """The identity of the file behind a connection."""
    return UUID(connection.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()[0])


def _fresh(meta: dict[str, str]) -> dict[str, str]:
    return {**meta, "epoch": str(uuid4())}


def _file(path: Path) -> tuple[int, int] | None:
    """Which file stands there now. An open file's number is never given to another one."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One process at a time makes files in the folder."""
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _meta(connection: sqlite3.Connection) -> dict[str, str]:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None:
        return {}
    return dict(connection.execute("SELECT key, value FROM meta"))


def _create(connection: sqlite3.Connection, meta: dict[str, str]) -> None:
    for statement in filter(str.strip, _TABLES.split(";\n")):
        connection.execute(statement)
    connection.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", meta.items())


def _in_transaction(connection: sqlite3.Connection, begin: str, fn: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute(begin)
    try:
        result = fn(connection)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return result


@contextmanager
def _translated(tenant_id: UUID) -> Generator[None, None, None]:
    try:
        yield
    except sqlite3.DatabaseError as exc:
        code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        name = getattr(exc, "sqlite_errorname", type(exc).__name__)
        msg = f"index of tenant {tenant_id}: {name}"
        if code in _PASSING:
            raise StoreBusy(msg, code="store_locked" if code in _BUSY else None) from exc
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise Permanent(f"{msg}; rebuild the index", code="index_damaged") from exc
        raise


def make_folder(folder: Path) -> None:
    """Makes the index's folder. Repeat: harmless. Raises: StoreBusy when it cannot be: a disk that is not mounted."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        msg = f"index folder: {type(exc).__name__}"
        raise StoreBusy(msg) from exc

"""SQL is the truth: one write transaction at a time, reads that never write, the database's own clock.

The same code runs on SQLite and PostgreSQL. Nothing here knows a table.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from sqlalchemy import Connection, Engine, Pool, Table, create_engine, event, make_url, text
from sqlalchemy import exc as sa_exc
from sqlalchemy.dialects import postgresql as pg_dialect
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlmodel import Session, SQLModel

from schemas.errors import BadSettings
from stores import failures, postgres, sqlite
from stores.pools import KEPT, OPERATOR, Terms

if TYPE_CHECKING:
    from alembic.config import Config

T = TypeVar("T")

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
GIVE_UP_SECONDS = 40.0

_MIGRATIONS = Path(__file__).resolve().parent.parent / "deploy" / "migrations"
_FOLLOW_UPS = "after_commit"
_WRITES = sqlite.WRITES
_WAIT_MS = postgres.WAIT_MS
_FORM = "AFTERTURN_DATABASE_URL: must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"


class HasDatabaseUrl(Protocol):
    """Settings, as far as this module needs them."""

    @property
    def database_url(self) -> str:
        """An SQLAlchemy URL."""
        ...


class Database:
    """The way to one database. Cheap to make: it connects at first use, anew in every process after a fork.

    With `is_read_only` the server is told so, too: nothing that goes through it can write.
    """

    def __init__(
        self,
        url: str,
        terms: Terms = OPERATOR,
        *,
        give_up_seconds: float = GIVE_UP_SECONDS,
        is_read_only: bool = False,
    ) -> None:
        self.url = _checked(url)
        self._terms = terms
        self._is_read_only = is_read_only
        self._give_up_seconds = give_up_seconds
        self.is_sqlite = make_url(self.url).get_backend_name() == "sqlite"
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._pid = os.getpid()
        self._inherited: list[Pool] = []

    @property
    def engine(self) -> Engine:
        """This process's engine. After a fork the parent's connections are left alone, never closed and never used."""
        if self._engine is not None and self._pid == os.getpid():
            return self._engine
        if self._pid != os.getpid():
            # A lock that another thread of the parent held at the fork would never be released here.
            self._lock = threading.Lock()
        with self._lock:
            if self._engine is not None and self._pid != os.getpid():
                # Kept, so that collecting it does not close the parent's sockets and files from this side.
                self._inherited.append(self._engine.pool)
                self._engine.dispose(close=False)
            if self._engine is None:
                self._engine = _engine(self.url, self._terms, is_read_only=self._is_read_only)
            self._pid = os.getpid()
        return self._engine

    def write(self, fn: Callable[[Session], T], *, give_up_seconds: float | None = None) -> T:
        """What `fn` returns, once its one transaction is committed; then its follow-ups run, in order.

        `fn` runs again from the start when the database was busy or chose it as a deadlock's victim, so everything it
        does outside the session must be harmless to repeat. Objects it returns stay readable. `give_up_seconds` bounds
        the waits for locks. An exception of `fn` rolls back and passes through. One of a follow-up passes through too,
        though the write stands. Raises: StoreBusy when the database stays busy, is full or is away.
        """
        if self._is_read_only:
            msg = "this database is opened to be read"
            raise RuntimeError(msg)
        started = time.monotonic()
        limit = self._give_up_seconds if give_up_seconds is None else give_up_seconds
        attempt = 0
        while True:
            attempt += 1
            options: dict[str, Any] = {_WRITES: True}
            if give_up_seconds is not None:
                options[_WAIT_MS] = max(1, int((started + limit - time.monotonic()) * 1000))
            try:
                with Session(self.engine.execution_options(**options), expire_on_commit=False) as session:
                    result = fn(session)
                    session.commit()
                    follow_ups = _follow_ups(session)
                break
            except (sa_exc.DBAPIError, sa_exc.TimeoutError) as exc:
                spent = time.monotonic() - started
                if not failures.is_retryable(exc) or attempt >= MAX_ATTEMPTS or spent >= limit:
                    failures.raise_busy(exc, f"write gave up after {attempt} attempts, {spent:.1f} s", self.url)
                    raise
                logger.info("write repeated attempt=%d reason=%s", attempt, failures.reason(exc))
                time.sleep(random.uniform(0.0, min(1.0, 0.01 * 2**attempt)))  # noqa: S311  jitter, not a secret
        for follow_up in follow_ups:
            follow_up()
        return result

    @contextmanager
    def read(self) -> Generator[Session, None, None]:
        """A session over one snapshot that cannot write. Raises: StoreBusy; the database's error on a write."""
        options: dict[str, Any] = {_WRITES: False}
        if not self.is_sqlite:
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        try:
            with Session(self.engine.execution_options(**options), expire_on_commit=False, autoflush=False) as session:
                yield session
        except (sa_exc.DBAPIError, sa_exc.TimeoutError) as exc:
            failures.raise_busy(exc, "read failed", self.url)
            raise

    def now(self, session: Session) -> datetime:
        """The database's clock, aware UTC: leases, attempts and due times use it, whatever the world's clock says."""
        return database_now(session)

    def dispose(self) -> None:
        """Closes this process's connections; the next use opens new ones. Repeat: harmless."""
        if self._engine is not None:
            self._engine.dispose(close=self._pid == os.getpid())


def database_now(session: Session) -> datetime:
    """The database's clock, aware UTC, to the millisecond at least."""
    if session.get_bind().dialect.name == "sqlite":
        stamp = session.connection().execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).scalar_one()
        return datetime.fromisoformat(cast("str", stamp)).replace(tzinfo=UTC)
    # now() is the transaction's start, which a wait for a lock leaves behind.
    stamp = session.connection().execute(text("SELECT clock_timestamp()")).scalar_one()
    return cast("datetime", stamp).astimezone(UTC)


def after_commit(session: Session, follow_up: Callable[[], object]) -> None:
    """Runs `follow_up` once the session's transaction is committed; never when it is rolled back or repeated."""
    session.info.setdefault(_FOLLOW_UPS, []).append(follow_up)


def insert_once(
    session: Session,
    table: type[SQLModel],
    rows: Sequence[SQLModel] | Sequence[Mapping[str, Any]],
    *,
    key: Sequence[str] = (),
) -> list[tuple[Any, ...]]:
    """Inserts the rows that break no unique key; the primary keys of those inserted, each as a tuple, in no order.

    Mappings all have the same keys; columns left out take their default. Rows go in the order of `key`, the
    unique key that may collide (the primary key by default), so that two writers of the same rows wait for each other
    instead of locking each other out.
    """
    if not rows:
        return []
    target = _table(table)
    keys = list(target.primary_key.columns)
    statement = _insert(session, target).on_conflict_do_nothing().returning(*keys)
    order = key or [column.name for column in keys]
    found = session.connection().execute(statement, _sorted(rows, target, order))
    return [tuple(row) for row in found.all()]


def upsert(
    session: Session,
    table: type[SQLModel],
    rows: Sequence[SQLModel] | Sequence[Mapping[str, Any]],
    *,
    key: Sequence[str],
    update: Sequence[str] = (),
    add: Sequence[str] = (),
) -> None:
    """Inserts rows; where one with the same `key` (a unique key) stands, sets `update` and adds to `add` columns.

    Raises: ValueError when two of the rows share a key: the caller folds them first.
    """
    if not rows:
        return
    target = _table(table)
    ordered = _sorted(rows, target, key)
    if len({tuple(row[name] for name in key) for row in ordered}) != len(ordered):
        msg = f"two rows of {target.name} share the key ({', '.join(key)})"
        raise ValueError(msg)
    statement = _insert(session, target)
    changes: dict[str, Any] = {name: statement.excluded[name] for name in update}
    changes |= {name: target.c[name] + statement.excluded[name] for name in add}
    session.connection().execute(statement.on_conflict_do_update(index_elements=list(key), set_=changes), ordered)


def upgrade(settings: HasDatabaseUrl | str, revision: str = "head") -> tuple[str | None, str | None]:
    """Brings the database to the newest revision, or to a given one; answers the revisions before and after.

    None stands for an empty database. Repeat: harmless, also from several processes at once.
    """
    from alembic import command  # noqa: PLC0415 - 0.3 s that recall and most workers never need
    from alembic.migration import MigrationContext  # noqa: PLC0415

    with _migrating(settings, "migration failed") as (config, connection):
        before = MigrationContext.configure(connection).get_current_revision()
        command.upgrade(config, revision)
        return before, MigrationContext.configure(connection).get_current_revision()


def current_revision(settings: HasDatabaseUrl | str) -> str | None:
    """The revision the database is at; None for an empty one."""
    from alembic.migration import MigrationContext  # noqa: PLC0415

    with _migrating(settings, "its revision cannot be read") as (_, connection):
        return MigrationContext.configure(connection).get_current_revision()


def head_revision() -> str:
    """The newest revision this build knows."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:
        msg = f"no migration stands in {_MIGRATIONS}"
        raise BadSettings(msg)
    return head


@contextmanager
def _migrating(settings: HasDatabaseUrl | str, failed: str) -> Generator[tuple[Config, Connection], None, None]:
    url = settings if isinstance(settings, str) else settings.database_url
    database = Database(url, replace(OPERATOR, name="afterturn-migrate"))
    config = _config()
    try:
        with database.engine.execution_options(**{_WRITES: True}).begin() as connection:
            if not database.is_sqlite:
                # Two services starting at once: the second waits and then finds nothing to do.
                postgres.bound_waits(connection, 0)
                connection.execute(text("SELECT pg_advisory_xact_lock(4119200417)"))
            config.attributes["connection"] = connection
            yield config, connection
    except (sa_exc.DBAPIError, sa_exc.TimeoutError) as exc:
        failures.raise_busy(exc, failed, database.url)
        raise
    finally:
        database.dispose()


def _config() -> Config:
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config


def _checked(url: str) -> str:
    """The URL with its driver named. Raises: BadSettings."""
    try:
        parsed = make_url(url)
    except (sa_exc.ArgumentError, ValueError):
        # Without its cause: it may quote the URL, and that a password.
        raise BadSettings(_FORM) from None
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return url
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    raise BadSettings(_FORM)


def _engine(url: str, terms: Terms, *, is_read_only: bool) -> Engine:
    # hide_parameters: an error's text goes to logs, and parameters hold what users said.
    parsed = make_url(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    if is_sqlite:
        Path(str(parsed.database)).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = min(KEPT, terms.most)
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=kept,
        max_overflow=terms.most - kept,
        pool_timeout=10.0,
        # Connections that a restart of the server cost are found before work is begun on them.
        pool_pre_ping=not is_sqlite,
        connect_args={} if is_sqlite else postgres.connect_args(parsed, terms),
    )
    if is_sqlite:
        event.listen(engine, "connect", partial(sqlite.prepare, terms))
        event.listen(engine, "begin", partial(sqlite.begin, terms))
    else:
        event.listen(engine, "connect", partial(postgres.prepare, terms, is_read_only))
        event.listen(engine, "begin", partial(postgres.begin, round(terms.lock_seconds * 1000)))
    return engine


def _follow_ups(session: Session) -> list[Callable[[], object]]:
    return cast("list[Callable[[], object]]", session.info.get(_FOLLOW_UPS, []))


def _table(model: type[SQLModel]) -> Table:
    return cast("Table", cast("Any", model).__table__)


def _insert(session: Session, target: Table) -> sqlite_dialect.Insert | pg_dialect.Insert:
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    return sqlite_dialect.insert(target) if is_sqlite else pg_dialect.insert(target)


def _sorted(
    rows: Sequence[SQLModel] | Sequence[Mapping[str, Any]], target: Table, key: Sequence[str]
) -> list[dict[str, Any]]:
    names = [column.name for column in target.columns]
    mappings = [
        {name: getattr(row, name) for name in names} if isinstance(row, SQLModel) else dict(row) for row in rows
    ]
    return sorted(mappings, key=lambda row: tuple(row[name] for name in key))

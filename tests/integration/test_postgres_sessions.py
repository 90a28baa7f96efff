"""A process that dies, freezes or waits in PostgreSQL keeps its locks for seconds, not until somebody looks."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import text
from sqlmodel import Session, select, update

from index_fixtures import environment
from schemas.errors import StoreBusy
from schemas.tables import Tenant
from stores.pools import Terms
from stores.postgres import CLIENT_CHECK_SECONDS
from stores.sql import Database, upgrade

# Locks the row and then runs for long, as a statement over a large table does.
_HOLDER = """
import sys
from sqlalchemy import text
from stores.sql import Database

def hold(session):
    session.connection().execute(text("UPDATE tenants SET name = 'held'"))
    print("held", flush=True)
    session.connection().execute(text("SELECT pg_sleep(600)"))

Database(sys.argv[1]).write(hold)
"""


@pytest.fixture
def url(postgres_url: str) -> Generator[str]:
    upgrade(postgres_url)
    database = Database(postgres_url)
    tenant = Tenant(id=uuid4(), name="acme", hash_key=b"k" * 32, created_at=datetime.now(UTC))
    database.write(lambda session: session.add(tenant))
    database.dispose()
    yield postgres_url


def _rename(name: str) -> Callable[[Session], None]:
    return lambda session: session.exec(update(Tenant).values(name=name)) and None


def _name(database: Database) -> str:
    with database.read() as session:
        return session.exec(select(Tenant.name)).one()


def _with(url: str, option: str) -> str:
    return f"{url}&options=-c%20{option}"


def test_the_locks_of_a_killed_process_go_before_its_statement_would_end(url: str) -> None:
    database = Database(url)
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER, url], env=environment(), stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()

    started = time.monotonic()
    database.write(_rename("free"))

    assert time.monotonic() - started < 5 * CLIENT_CHECK_SECONDS
    assert _name(database) == "free"
    database.dispose()


def test_the_locks_of_a_frozen_process_go_and_it_finds_its_transaction_undone(url: str) -> None:
    frozen, other = Database(_with(url, "idle_in_transaction_session_timeout=100")), Database(url)

    def freeze(session: Session) -> None:
        _rename("frozen")(session)
        other.write(_rename("free"))  # waits for the row, and gets it
        session.connection().execute(text("SELECT 1"))

    with pytest.raises(StoreBusy):
        frozen.write(freeze)

    assert _name(other) == "free"
    frozen.write(_rename("thawed"))
    assert _name(other) == "thawed"
    frozen.dispose()
    other.dispose()


def test_a_wait_for_a_lock_is_bounded_as_on_sqlite(url: str) -> None:
    database = Database(url, Terms(lock_seconds=0.05), give_up_seconds=0.3)
    plain = url.replace("postgresql+psycopg://", "postgresql://", 1)

    with psycopg.connect(plain) as holder:
        holder.execute("SELECT id FROM tenants FOR UPDATE")
        with pytest.raises(StoreBusy, match="55P03"):
            database.write(_rename("late"))
        holder.rollback()
    database.write(_rename("later"))

    assert _name(database) == "later"
    database.dispose()


def test_what_the_operator_set_is_not_overruled(url: str) -> None:
    database = Database(_with(url, "lock_timeout=7s"))

    with database.read() as session:
        told = {
            name: session.connection().execute(text(f"SHOW {name}")).scalar_one()
            for name in ("lock_timeout", "client_connection_check_interval", "idle_in_transaction_session_timeout")
        }

    assert told == {
        "lock_timeout": "7s",
        "client_connection_check_interval": "2s",
        "idle_in_transaction_session_timeout": "1min",
    }
    database.dispose()

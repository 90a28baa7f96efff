"""Transactions, reads, inserts that happen once, and the migrations: on both databases."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import exc as sa_exc
from sqlmodel import Session, col, select, update

from index_fixtures import environment
from schemas.errors import BadSettings, StoreBusy
from schemas.tables import ClockOffset, Job, Key, Reception, Tenant, metadata
from services import wait_until
from store_fixtures import STORES, empty_url, migrated
from stores.pools import Terms
from stores.sql import Database, after_commit, current_revision, head_revision, insert_once, upgrade, upsert

DAY = date(2026, 11, 30)


@pytest.fixture(params=STORES)
def db(request: pytest.FixtureRequest) -> Generator[Database]:
    yield from migrated(request)


@pytest.fixture(params=STORES)
def database_url(request: pytest.FixtureRequest) -> str:
    return empty_url(request)


def _tenant(name: str) -> Tenant:
    return Tenant(id=uuid4(), name=name, hash_key=b"k" * 32, created_at=datetime.now(UTC))


def _names(db: Database) -> list[str]:
    with db.read() as session:
        return sorted(session.exec(select(Tenant.name)))


def _add(name: str) -> Callable[[Session], None]:
    return lambda session: session.add(_tenant(name))


# Transactions


def test_what_fn_returns_stays_readable_after_the_commit(db: Database) -> None:
    def create(session: Session) -> Tenant:
        tenant = _tenant("shop")
        session.add(tenant)
        return tenant

    assert db.write(create).name == "shop"
    assert _names(db) == ["shop"]


def test_an_exception_rolls_everything_back_and_passes_through(db: Database) -> None:
    ran: list[str] = []

    def fail(session: Session) -> None:
        session.add(_tenant("shop"))
        session.flush()
        after_commit(session, lambda: ran.append("hint"))
        raise KeyError("bug")

    with pytest.raises(KeyError):
        db.write(fail)

    assert _names(db) == []
    assert ran == []


def test_follow_ups_run_in_order_once_the_write_is_visible(db: Database) -> None:
    ran: list[object] = []

    def create(session: Session) -> None:
        session.add(_tenant("shop"))
        after_commit(session, lambda: ran.append(_names(db)))
        after_commit(session, lambda: ran.append("second"))

    db.write(create)

    assert ran == [["shop"], "second"]


def test_a_reader_cannot_write(db: Database) -> None:
    with pytest.raises(sa_exc.DBAPIError, match=r"readonly|read-only"), db.read() as session:
        insert_once(session, Tenant, [_tenant("shop")])

    db.write(_add("after"))
    assert _names(db) == ["after"]


def test_a_reader_sees_one_snapshot(db: Database) -> None:
    db.write(_add("first"))
    with db.read() as session:
        before = session.exec(select(Tenant.name)).all()
        db.write(_add("second"))
        again = session.exec(select(Tenant.name)).all()

    assert before == again == ["first"]
    assert _names(db) == ["first", "second"]


def test_many_writers_that_read_first_lose_no_update(db: Database) -> None:
    db.write(lambda session: session.add(Job(name="decay")))

    def count_up(_: int) -> None:
        def one(session: Session) -> None:
            job = session.exec(select(Job).where(Job.name == "decay").with_for_update()).one()
            job.epoch += 1

        db.write(one)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_up, range(120)))

    with db.read() as session:
        assert session.get_one(Job, "decay").epoch == 120


def test_a_deadlock_s_victim_runs_again(db: Database) -> None:
    names = ["a", "b"]
    db.write(lambda session: [session.add(Job(name=name)) for name in names])
    both_hold_one = threading.Barrier(2, timeout=20)
    attempts: list[str] = []

    def crossed(order: list[str]) -> None:
        def lock_both(session: Session) -> None:
            attempts.append(order[0])
            for number, name in enumerate(order):
                session.exec(select(Job).where(Job.name == name).with_for_update()).one().epoch += 1
                session.flush()
                if number == 0 and not db.is_sqlite and len(attempts) <= 2:
                    both_hold_one.wait()

        db.write(lock_both)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(crossed, [names, names[::-1]]))

    with db.read() as session:
        assert [session.get_one(Job, name).epoch for name in names] == [2, 2]
    assert len(attempts) == (2 if db.is_sqlite else 3)


def test_the_database_s_clock_is_aware_utc_and_now(db: Database) -> None:
    with db.read() as session:
        now = db.now(session)

    assert now.tzinfo is UTC
    assert abs(now - datetime.now(UTC)) < timedelta(seconds=5)


def test_times_come_back_aware_and_in_utc(db: Database) -> None:
    said = datetime(2026, 1, 2, 1, 30, tzinfo=timezone(timedelta(hours=8)))
    tenant = _tenant("shop")
    tenant.created_at = said
    db.write(lambda session: session.add(tenant))

    with db.read() as session:
        found = session.exec(select(Tenant)).one()

    assert found.created_at == said
    assert found.created_at.utcoffset() == timedelta(0)
    assert found.settings == {}


def test_an_error_s_text_holds_no_parameter(db: Database) -> None:
    key = Key(id="k", tenant_id=uuid4(), bearer_hash="geheim-4711", seal_key=b"", created_at=datetime.now(UTC))

    with pytest.raises(sa_exc.IntegrityError) as caught:
        db.write(lambda session: session.add(key))

    assert "geheim-4711" not in str(caught.value)


def test_foreign_keys_hold(db: Database) -> None:
    orphan = Key(id="k", tenant_id=uuid4(), bearer_hash="", seal_key=b"", created_at=datetime.now(UTC))

    with pytest.raises(sa_exc.IntegrityError):
        db.write(lambda session: session.add(orphan))


# Inserting once


def test_only_the_keys_that_were_new_come_back(db: Database) -> None:
    first, second, third = (_tenant(name) for name in ("a", "b", "c"))
    taken = _tenant("a")

    assert set(db.write(lambda s: insert_once(s, Tenant, [first, second]))) == {(first.id,), (second.id,)}
    assert db.write(lambda s: insert_once(s, Tenant, [taken, third, first])) == [(third.id,)]
    assert db.write(lambda s: insert_once(s, Tenant, [])) == []
    assert _names(db) == ["a", "b", "c"]


def test_a_mapping_may_leave_defaults_out(db: Database) -> None:
    row = {"id": uuid4(), "name": "shop", "hash_key": b"k", "created_at": datetime.now(UTC)}

    assert db.write(lambda s: insert_once(s, Tenant, [row])) == [(row["id"],)]

    with db.read() as session:
        assert session.exec(select(Tenant)).one().settings == {}


def test_a_thousand_rows_go_in_at_once(db: Database) -> None:
    rows = [_tenant(f"t{n}") for n in range(1000)]

    assert len(db.write(lambda s: insert_once(s, Tenant, rows))) == 1000
    assert db.write(lambda s: insert_once(s, Tenant, rows)) == []


def test_writers_of_the_same_rows_in_opposite_orders_insert_each_once(db: Database) -> None:
    rows = [_tenant(f"t{n}") for n in range(60)]
    found: list[tuple[UUID, ...]] = []

    def insert(turn: int) -> None:
        some = rows[turn : turn + 40]
        found.extend(db.write(lambda s: insert_once(s, Tenant, some if turn % 2 else some[::-1])))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(insert, range(20)))

    assert sorted(found) == sorted((row.id,) for row in rows[:59])


def test_an_upsert_sets_and_adds(db: Database) -> None:
    tenant = uuid4()

    def receive(stored: int, producer: str = "p") -> None:
        row = Reception(tenant_id=tenant, producer=producer, day=DAY, stored=stored, duplicate=1)
        db.write(
            lambda s: upsert(s, Reception, [row], key=["tenant_id", "producer", "day"], add=["stored", "duplicate"])
        )

    receive(3)
    receive(4)
    db.write(lambda s: upsert(s, ClockOffset, [{"id": 1, "seconds": 1.5}], key=["id"], update=["seconds"]))
    db.write(lambda s: upsert(s, ClockOffset, [{"id": 1, "seconds": 2.5}], key=["id"], update=["seconds"]))

    with db.read() as session:
        row = session.exec(select(Reception)).one()
        assert (row.stored, row.duplicate, row.rejected) == (7, 2, 0)
        assert session.exec(select(col(ClockOffset.seconds))).one() == 2.5


def test_an_upsert_of_two_rows_with_one_key_is_refused(db: Database) -> None:
    rows = [{"id": 1, "seconds": 1.0}, {"id": 1, "seconds": 2.0}]

    with pytest.raises(ValueError, match="share the key"):
        db.write(lambda s: upsert(s, ClockOffset, rows, key=["id"], update=["seconds"]))


# Busy


def test_a_database_that_stays_locked_is_busy(home: Path) -> None:
    url = f"sqlite:///{home / 'a.db'}"
    upgrade(url)
    database = Database(url, Terms(lock_seconds=0.05), give_up_seconds=0.3)

    with closing(sqlite3.connect(home / "a.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="SQLITE_BUSY"):
            database.write(_add("late"))
        assert _names(database) == []
        holder.execute("ROLLBACK")
    database.write(_add("later"))

    assert _names(database) == ["later"]
    database.dispose()


def test_one_call_may_give_up_sooner_than_the_others(db: Database) -> None:
    held, release = threading.Event(), threading.Event()
    tenant = _tenant("held")
    db.write(lambda session: session.add(tenant))

    def hold(session: Session) -> None:
        session.exec(select(Tenant).with_for_update()).all()
        held.set()
        assert release.wait(30)

    def rename(name: str) -> Callable[[Session], None]:
        return lambda session: session.exec(update(Tenant).values(name=name)) and None

    with ThreadPoolExecutor(1) as other:
        holding = other.submit(db.write, hold)
        assert held.wait(30)
        started = time.monotonic()
        with pytest.raises(StoreBusy):
            db.write(rename("late"), give_up_seconds=0.2)
        with pytest.raises(StoreBusy):
            db.write(rename("later"), give_up_seconds=0.0)
        spent = time.monotonic() - started
        release.set()
        holding.result()
    db.write(rename("free"))

    assert spent < 5
    assert _names(db) == ["free"]


def test_a_short_wait_of_one_call_is_not_the_next_ones(home: Path) -> None:
    url = f"sqlite:///{home / 'a.db'}"
    upgrade(url)
    database = Database(url, Terms(lock_seconds=20))
    with closing(sqlite3.connect(home / "a.db", isolation_level=None, check_same_thread=False)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            database.write(_add("late"), give_up_seconds=0.05)
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(database.write, _add("patient"))
            with pytest.raises(StoreBusy):
                database.write(_add("late"), give_up_seconds=0.5)
            assert not waiting.done()
            holder.execute("ROLLBACK")
            waiting.result()

    assert _names(database) == ["patient"]
    database.dispose()


def test_who_writes_a_little_goes_before_those_who_write_all_the_time(home: Path) -> None:
    """With SQLite's own waiting, 45, 68 and 355 other writes passed three small ones of twenty."""
    url = f"sqlite:///{home / 'a.db'}"
    upgrade(url)
    busy = [Database(url, Terms(turn_seconds=0.005)) for _ in range(2)]
    small = Database(url)
    is_over = threading.Event()
    done = [0, 0]

    def write_much(number: int) -> None:
        def write(session: Session) -> None:
            session.add(_tenant(f"much {number} {done[number]}"))
            session.flush()
            time.sleep(0.01)  # What the transaction does besides.

        while not is_over.is_set():
            busy[number].write(write)
            done[number] += 1

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write_much, number) for number in range(2)]
        wait_until(lambda: all(done))
        passed_by: list[int] = []
        for number in range(20):
            before = sum(done)
            small.write(_add(f"little {number}"))
            passed_by.append(sum(done) - before)
        is_over.set()
        for one in writing:
            one.result()

    assert sorted(passed_by)[-3] <= 10, passed_by  # A thread may get no turn for a while.
    assert len(_names(small)) == sum(done) + 20
    for database in (*busy, small):
        database.dispose()


def test_a_postgresql_that_is_away_is_busy(home: Path) -> None:
    database = Database(f"postgresql://nobody@/nothing?host={home}")

    with pytest.raises(StoreBusy):
        database.write(_add("lost"))
    with pytest.raises(StoreBusy):
        _names(database)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "no url at all"])
def test_a_url_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(BadSettings, match="AFTERTURN_DATABASE_URL"):
        Database(url)


def test_a_forked_child_opens_its_own_connections(db: Database) -> None:
    script = (
        "import os, sys\n"
        "from stores.sql import Database\n"
        "from test_sql_child import add, names\n"
        "db = Database(sys.argv[1])\n"
        "add(db, 'parent')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    add(db, 'child')\n"
        "    os._exit(0 if names(db) == ['child', 'parent'] else 3)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "add(db, 'after')\n"
        "assert names(db) == ['after', 'child', 'parent']\n"
    ).replace("from test_sql_child import add, names\n", _CHILD)

    ended = subprocess.run(
        [sys.executable, "-c", script, db.url], check=False, env=environment(), capture_output=True, text=True
    )

    assert ended.returncode == 0, ended.stderr


_CHILD = (
    "from datetime import UTC, datetime\n"
    "from uuid import uuid4\n"
    "from sqlmodel import select\n"
    "from schemas.tables import Tenant\n"
    "def add(db, name):\n"
    "    db.write(lambda s: s.add(Tenant(id=uuid4(), name=name, hash_key=b'k', created_at=datetime.now(UTC))))\n"
    "def names(db):\n"
    "    with db.read() as s:\n"
    "        return sorted(s.exec(select(Tenant.name)))\n"
)


# Migrations


def test_the_migrated_database_is_what_the_models_say(database_url: str) -> None:
    assert current_revision(database_url) is None
    upgrade(database_url)
    upgrade(database_url)
    assert current_revision(database_url) == head_revision()

    database = Database(database_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences: list[object] = list(compare_metadata(context, metadata))
    database.dispose()

    assert differences == []


def test_processes_that_start_together_migrate_once(database_url: str) -> None:
    script = "import sys; from stores.sql import upgrade; upgrade(sys.argv[1])"
    starting = [
        subprocess.Popen([sys.executable, "-c", script, database_url], env=environment(), stderr=subprocess.PIPE)
        for _ in range(2)
    ]

    errors = [process.communicate()[1].decode() for process in starting]

    assert [process.returncode for process in starting] == [0, 0], errors
    assert current_revision(database_url) == head_revision()

"""Each role has its own connections to PostgreSQL: so many, under its name, with bounds that end in a second try."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlmodel import Session

from delivery_fixtures import BATCH, World, new_world, turn
from schemas.errors import StoreBusy, Transient
from services import postgres_database
from stores.pools import Terms, terms
from stores.setting_areas import Role
from stores.settings import load_settings
from stores.sql import Database
from tasks.ingest import ingest_events
from tasks.intake import open_intake


@pytest.fixture(scope="module")
def url(postgres_cluster: str) -> Generator[str]:
    with postgres_database(postgres_cluster) as made:
        yield made


def _told(session: Session, name: str) -> str:
    return str(session.connection().execute(text(f"SHOW {name}")).scalar_one())


@pytest.mark.parametrize(
    ("role", "bounds"),
    [("ingest", ["30s", "15s", "1min"]), ("recall", ["5s", "5s", "15s"]), ("upkeep", ["5min", "7s", "1min"])],
)
def test_a_session_has_its_role_s_name_and_bounds(url: str, tmp_path: Path, role: Role, bounds: list[str]):
    settings = load_settings(home=tmp_path, database_url=url, postgres={"lock_seconds": {"upkeep": 7}})
    database = Database(url, terms(settings, role))

    with database.read() as session:
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "application_name")
        found = [_told(session, name) for name in names]
    database.dispose()

    assert found == [*bounds, f"afterturn-{role}"]


def test_what_is_migrated_or_asked_by_an_operator_takes_as_long_as_it_takes(url: str, tmp_path: Path):
    database = Database(url, terms(load_settings(home=tmp_path), "cli"))

    with database.read() as session:
        assert _told(session, "statement_timeout") == "0"
    database.dispose()


def test_a_process_opens_no_more_connections_than_its_role_may(url: str):
    database = Database(url, Terms(most=2))
    with database.read() as first, database.read() as second:
        first.connection()
        second.connection()
        status = database.engine.pool.status()
    database.dispose()

    assert "Pool size: 2" in status
    assert "Overflow: 0" in status


@pytest.mark.parametrize("role", ["app", "llm", "index"])
def test_every_thread_of_a_worker_finds_a_connection(tmp_path: Path, role: Role):
    settings = load_settings(home=tmp_path, workers={"slots": 200, "index_slots": 60})

    assert terms(settings, role).most > (60 if role == "index" else 200)
    few = settings.model_copy(update={"postgres": settings.postgres.model_copy(update={"connections": {role: 3}})})
    assert terms(few, role).most == 3


def test_a_connection_that_the_server_dropped_is_found_before_work_begins_on_it(url: str):
    database = Database(url, Terms(name="afterturn-dropped"))
    with database.read() as session:
        assert _told(session, "application_name") == "afterturn-dropped"
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://", 1), autocommit=True) as operator:
        ended = operator.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'afterturn-dropped'"
        ).fetchall()
    assert ended == [(True,)]

    with database.read() as session:
        assert _told(session, "application_name") == "afterturn-dropped"
    database.dispose()


def test_a_statement_that_takes_too_long_ends_as_something_to_try_again(url: str):
    database = Database(url, Terms(statement_seconds=0.1))

    with pytest.raises(StoreBusy, match="57014"):
        database.write(lambda session: session.connection().execute(text("SELECT pg_sleep(30)")))
    with pytest.raises(StoreBusy, match="57014"), database.read() as session:
        session.connection().execute(text("SELECT pg_sleep(30)"))

    assert database.write(lambda session: session.connection().execute(text("SELECT 1")).scalar_one()) == 1
    database.dispose()


@pytest.fixture
def world(home: Path, postgres_url: str) -> Generator[World]:
    made = new_world(home, postgres_url)
    yield made
    made.db.dispose()


def test_events_whose_statement_was_ended_are_kept_at_the_next_try(world: World):
    settings = world.kit.settings.model_copy(
        update={"postgres": world.kit.settings.postgres.model_copy(update={"statement_seconds": {"cli": 0.2}})}
    )
    hurried, said = open_intake(settings), turn()
    ingest_events(world.kit, world.key, [turn()], batch=BATCH)
    plain = world.kit.settings.database_url.replace("postgresql+psycopg://", "postgresql://", 1)

    with psycopg.connect(plain) as other:
        other.execute("SELECT id FROM users FOR UPDATE")
        with pytest.raises(Transient):
            ingest_events(hurried, world.key, [said], batch=BATCH)
    (receipt,) = ingest_events(hurried, world.key, [said], batch=BATCH)

    assert receipt.state == "stored"
    hurried.db.dispose()


def test_batches_about_the_same_users_do_not_wait_for_each_other(world: World):
    ingest_events(world.kit, world.key, [turn()], batch=BATCH)
    plain = world.kit.settings.database_url.replace("postgresql+psycopg://", "postgresql://", 1)

    with psycopg.connect(plain) as other:
        other.execute("SELECT id FROM users FOR SHARE")  # as another ingest process holds them
        (receipt,) = ingest_events(world.kit, world.key, [turn()], batch=BATCH, give_up_seconds=0.5)

    assert receipt.state == "stored"

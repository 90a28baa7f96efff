"""Recall reads a replica while it answers and keeps up; nothing is ever written there. A real one, by pg_basebackup."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from afterturn.ids import uuid7
from afterturn.wire import RecallRequest
from services import Standby, postgres, postgres_folder, postgres_standby, wait_until
from stores import metrics
from stores.kit import Kit, open_kit
from stores.pools import Terms
from stores.replica import TRUST_SECONDS, Replica, replica_of
from stores.settings import as_environment, load_settings
from stores.sql import Database, upgrade
from stores.tenancy import KeyInfo, create_key, create_tenant, key_of_bearer
from tasks.ingest import BatchInfo, ingest_events
from tasks.known import known
from workers.checks import run_checks
from workers.findings import Check
from workers.speech import speak


@pytest.fixture(scope="module")
def primary_url() -> Generator[str]:
    programs = postgres_folder()
    if programs is None or not (programs / "pg_basebackup").is_file():
        pytest.skip("no PostgreSQL with pg_basebackup")
    with postgres(programs) as url:
        upgrade(url)
        yield url


@pytest.fixture(scope="module")
def cluster(primary_url: str) -> Generator[Standby]:
    programs = postgres_folder()
    assert programs is not None
    with postgres_standby(programs, primary_url) as running:
        yield running


@pytest.fixture
def standby(cluster: Standby) -> Generator[Standby]:
    yield cluster
    cluster.thaw()
    if cluster.server is None:
        cluster.start()
    _tell(cluster, "SELECT pg_wal_replay_resume()")


@pytest.fixture
def primary(primary_url: str) -> Generator[Database]:
    database = Database(primary_url)
    yield database
    database.dispose()


@pytest.fixture
def replica(standby: Standby) -> Generator[Replica]:
    made = Replica(Database(standby.url, Terms(connect_seconds=2), is_read_only=True), lag_seconds=0.5)
    yield made
    made.close()


def _tell(standby: Standby, statement: str) -> None:
    database = Database(standby.url)
    with database.read() as session:
        session.connection().execute(text(statement))
    database.dispose()


def _is_standby(session: Session) -> bool:
    return bool(session.connection().execute(text("SELECT pg_is_in_recovery()")).scalar_one())


def _await_replica(replica: Replica, primary: Database) -> None:
    wait_until(lambda: replica.run(primary, _is_standby), what="a read from the replica")


def _counted(reason: str) -> float:
    (family,) = metrics.RECALL_PRIMARY.collect()
    return sum(s.value for s in family.samples if s.name.endswith("_total") and s.labels["reason"] == reason)


def test_reads_go_to_the_replica_once_it_was_seen_to_keep_up(replica: Replica, primary: Database):
    assert not replica.run(primary, _is_standby)

    _await_replica(replica, primary)


def test_nothing_is_written_there(standby: Standby, primary_url: str):
    # The primary opened in its place: only our own way of opening keeps it from writing there.
    for url in (standby.url, primary_url):
        opened = Database(url, is_read_only=True)
        with pytest.raises(RuntimeError, match="opened to be read"):
            opened.write(lambda session: session.connection().execute(text("SELECT 1")))
        with pytest.raises(DBAPIError, match="read-only"), opened.engine.begin() as connection:
            connection.execute(text("CREATE TABLE mine (id int)"))
        opened.dispose()


def test_a_replica_that_is_gone_is_passed_by_and_read_again_when_it_is_back(
    standby: Standby, replica: Replica, primary: Database
):
    _await_replica(replica, primary)
    before = _counted("away")

    standby.kill()

    assert not replica.run(primary, _is_standby)
    assert not replica.run(primary, _is_standby)
    assert _counted("away") == before + 2
    standby.start()
    _await_replica(replica, primary)


def test_a_replica_that_falls_behind_is_not_read(standby: Standby, replica: Replica, primary: Database):
    _await_replica(replica, primary)
    before = _counted("behind")

    _tell(standby, "SELECT pg_wal_replay_pause()")
    primary.write(lambda session: create_tenant(session, "late"))
    wait_until(lambda: not replica.run(primary, _is_standby), what="a read from the primary")

    assert _counted("behind") > before
    _tell(standby, "SELECT pg_wal_replay_resume()")
    _await_replica(replica, primary)


def test_a_replica_that_freezes_holds_nobody_for_long(standby: Standby, replica: Replica, primary: Database):
    _await_replica(replica, primary)
    answers: list[bool] = []
    asking = [threading.Thread(target=lambda: answers.append(replica.run(primary, _is_standby))) for _ in range(8)]

    standby.freeze()
    started = time.monotonic()
    for one in asking:
        one.start()
    for one in asking:
        one.join(timeout=30)

    assert answers == [False] * 8
    assert time.monotonic() - started < 3 * TRUST_SECONDS
    started = time.monotonic()
    assert not replica.run(primary, _is_standby)
    assert time.monotonic() - started < TRUST_SECONDS / 3
    standby.thaw()
    _await_replica(replica, primary)


@pytest.fixture
def kit(home: Path, broker_url: str, primary_url: str, standby: Standby) -> Generator[Kit]:
    settings = load_settings(
        home=home, broker_url=broker_url, database_url=primary_url, database_replica_url=SecretStr(standby.url)
    )
    opened = open_kit(settings)
    yield opened
    opened.close()


def _key(kit: Kit) -> KeyInfo:
    def make(session: Session) -> KeyInfo:
        tenant = create_tenant(session, f"acme {uuid7()}")
        return key_of_bearer(session, create_key(session, tenant, ("publish", "recall"))[1])

    return kit.db.write(make)


@pytest.mark.parametrize("is_cached", [True, False])
def test_an_agent_reads_its_own_words_through_the_cache_though_the_replica_lacks_them(
    kit: Kit, standby: Standby, is_cached: bool
):
    key = _key(kit)
    lenient = replace(kit, replica=Replica(replica_of(kit.settings), lag_seconds=3600))
    _await_replica(lenient.replica, kit.db)
    _tell(standby, "SELECT pg_wal_replay_pause()")
    said = {
        **{"kind": "turn", "event_id": uuid7(), "user_id": "u1", "session_id": "s1", "role": "user"},
        **{"content": "I moved to Lyon.", "at": datetime.now(UTC)},
    }
    ingest_events(kit, key, [said], batch=BatchInfo(producer="test"))

    # A question about the past goes around the cache.
    query = "Where do I live?" if is_cached else "Where did I live before?"
    request = RecallRequest(query=query, user_id="u1", session_id="s1", deadline_ms=20_000)
    found = [known(lenient, key, request) for _ in range(2)]

    heard = [None if one is None else [turn.turn.content for turn in one.live.tail] for one in found]
    assert heard == [["I moved to Lyon."] if is_cached else []] * 2
    lenient.replica.close()


def test_doctor_says_how_the_replica_stands(kit: Kit, standby: Standby, monkeypatch: pytest.MonkeyPatch):
    for name, value in as_environment(kit.settings).items():
        monkeypatch.setenv(name, value)
    speak("en")

    def look() -> Check:
        return next(check for check in run_checks() if check.name == "replica")

    wait_until(lambda: look().state == "ok", what="the replica to hear of its primary")
    assert re.fullmatch(r"[0-4]\.\d s behind", look().found)  # the bound beyond which it is not read is 5 s
    standby.kill()
    assert look().state == "warn"
    assert "reads the primary" in look().found

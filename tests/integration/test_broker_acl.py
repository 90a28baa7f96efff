"""The shipped ACL file on a real server: what an agent may do there and what not, and that everything of ours works."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
import redis
from redis.exceptions import AuthenticationError, NoPermissionError
from sqlmodel import Session, col, select

from afterturn import Publisher
from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.envelope import wrap
from afterturn.errors import BadSeal
from afterturn.ids import uuid7, uuid7_text
from afterturn.receipts import EPOCH_KEY, list_name, open_receipt
from afterturn.sealing import Sealer
from delivery_processes import worker
from schemas.envelopes import disclose
from schemas.tables import DeadLetter, Tenant, Turn
from services import free_port, scratch, wait_until
from stores import dead, tenancy
from stores.settings import load_settings
from stores.sql import Database, upgrade
from tasks.app import PREFIX
from workers import broker

ROOT = Path(__file__).parents[2]
make = runpy.run_path(str(ROOT / "deploy" / "make_secrets.py"))["make"]


class Place(NamedTuple):
    """A server with the shipped configuration, and the URLs of its users."""

    folder: Path
    port: int

    def url(self, user: str) -> str:
        names = {"afterturn": "broker-password", "agent": "agent-password", "probe": "probe-password"}
        password = (self.folder / names[user]).read_text().strip()
        return f"redis://{user}:{password}@127.0.0.1:{self.port}/0"

    def client(self, user: str) -> Any:
        return redis.Redis.from_url(self.url(user))  # pyright: ignore[reportUnknownMemberType]


@pytest.fixture(scope="module", params=["valkey", "redis"])
def place(request: pytest.FixtureRequest) -> Generator[Place]:
    binary = broker.find_binary() if request.param == "valkey" else shutil.which("redis-server")
    if binary is None:
        pytest.skip("no redis-server on PATH: the ACL file was tried on Valkey alone")
    with scratch() as folder:
        port = free_port()
        make(folder, {"postgres": "127.0.0.1:5432", "broker": f"127.0.0.1:{port}"})
        (folder / "data").mkdir()
        given = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder / "data"]
        words = [binary, ROOT / "deploy" / "broker" / "valkey.conf", *given, "--aclfile", folder / "users.acl"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        found = Place(folder, port)
        try:
            wait_until(lambda: _answers(found, server), what="the broker")
            yield found
        finally:
            server.kill()
            server.wait(10)


def test_the_shipped_configuration_keeps_what_it_accepts(place: Place) -> None:
    facts = broker.refuse_evicting(place.url("afterturn"))

    assert (facts.policy, facts.is_append_only, facts.fsync) == ("noeviction", True, "everysec")


FORBIDDEN = (
    ("LRANGE", f"{PREFIX}ingest", 0, -1),
    ("LPOP", f"{PREFIX}ingest"),
    ("RPOP", f"{PREFIX}ingest"),
    ("BRPOP", f"{PREFIX}ingest", 1),
    ("LREM", f"{PREFIX}ingest", 0, "x"),
    ("DEL", f"{PREFIX}ingest"),
    ("LPUSH", f"{PREFIX}llm", "x"),
    ("LPUSH", f"{PREFIX}pulse", "x"),
    ("LPUSH", f"{PREFIX}receipts:0", "x"),
    ("LRANGE", f"{PREFIX}receipts:0", 0, -1),
    ("SET", EPOCH_KEY, "x"),
    ("GET", f"{PREFIX}hot:x"),
    ("HGETALL", f"{PREFIX}unacked.ingest"),
    ("KEYS", "*"),
    ("SCAN", 0),
    ("FLUSHALL",),
    ("CONFIG", "GET", "*"),
    ("INFO",),
    ("PUBLISH", "celery.pidbox", "x"),
    ("EVAL", "return 1", 0),
    ("ACL", "LIST"),
    ("CLIENT", "LIST"),
)


def test_an_agent_may_put_in_and_fetch_its_receipts_and_nothing_else(place: Place) -> None:
    with place.client("agent") as agent:
        for command in FORBIDDEN:
            with pytest.raises(NoPermissionError):
                agent.execute_command(*command)

        assert agent.ping()
        assert agent.time()
        assert agent.llen(f"{PREFIX}ingest") == 0
        assert agent.execute_command("LPOP", f"{PREFIX}receipts:0", 10) is None


def test_a_probe_may_only_ping_and_a_stranger_nothing(place: Place) -> None:
    nobody: Any = redis.Redis(port=place.port)

    with place.client("probe") as probe, nobody as stranger:
        assert probe.ping()
        with pytest.raises(NoPermissionError):
            probe.get("x")
        with pytest.raises(AuthenticationError):
            stranger.ping()


def test_our_own_user_may_not_empty_the_server_nor_change_it(place: Place) -> None:
    with place.client("afterturn") as ours:
        for command in (("FLUSHALL",), ("CONFIG", "SET", "maxmemory", "1"), ("SHUTDOWN",), ("KEYS", "*"), ("GET", "x")):
            with pytest.raises(NoPermissionError):
                ours.execute_command(*command)


@pytest.fixture(scope="module")
def database(place: Place) -> Generator[Database]:
    """What a worker writes into that takes from the broker as the service."""
    with scratch() as home:
        settings = load_settings(home=home)
        upgrade(settings.database_url)
        opened = Database(settings.database_url)
        with worker(home, "ingest", broker_url=place.url("afterturn")):
            yield opened
        opened.dispose()


def test_a_publisher_as_agent_hears_from_a_worker_as_service(place: Place, database: Database) -> None:
    heard: list[str] = []

    def hear(event_id: str, code: str, field: str | None) -> None:
        heard.append(code)

    with Publisher(database.write(lambda s: _key(s, "garage")), place.url("agent"), on_reject=hear) as publisher:
        publisher.turn("u1", "s1", "user", "I live in Lyon.")
        assert publisher.flush(20, receipts=True)
        first = publisher.stats()
        publisher.turn("u1", "s1", "user", "And I like it.")
        assert publisher.flush(20, receipts=True)
        last = publisher.stats()

    assert (first.stored, first.hears_receipts, last.stored) == (1, True, 2)
    # An agent may read the broker's epoch and not set it: the workers do, and nothing is sent twice for that.
    assert (last.resent, last.duplicates, heard) == (0, 0, [])


def test_one_tenant_s_key_neither_speaks_nor_hears_for_another_through_the_broker(
    place: Place, database: Database
) -> None:
    ours, theirs = (database.write(lambda s, n=name: _key(s, n)) for name in ("shop", "mall"))
    our_seal, their_seal = (seal_key(parse_credential(one).secret) for one in (ours, theirs))
    producer = uuid7()
    batches = [
        _batch(theirs, their_seal, producer, "I live in Lyon."),
        _batch(theirs, our_seal, producer, "I live in Oslo."),
        _batch(ours, our_seal, uuid7(), "I live in Turin."),
    ]

    with place.client("agent") as agent, place.client("afterturn") as service:
        for batch in batches:
            agent.lpush(f"{PREFIX}ingest", wrap(batch, uuid7_text(), uuid7_text()))
        wait_until(lambda: _said(database).keys() >= {"shop", "mall"}, what="the turns")
        wait_until(lambda: len(_letters(database)) == 1, what="the forged batch's letter")
        wait_until(lambda: service.llen(list_name(their_seal, producer)) == 1, what="their receipt")

        # Who knows the producer and not the secret looks in another list, and reads nothing of the right one.
        assert agent.lpop(list_name(our_seal, producer), 10) is None
        (receipt,) = agent.lpop(list_name(their_seal, producer), 10)

    said = _said(database)
    assert (said["shop"], said["mall"]) == (["I live in Turin."], ["I live in Lyon."])
    assert [letter.error_code for letter in _letters(database)] == ["forged"]
    assert open_receipt(receipt, their_seal, producer).runs == (("stored", 1),)
    with pytest.raises(BadSeal):
        open_receipt(receipt, our_seal, producer)


def _batch(credential: str, seal: bytes, producer: UUID, text: str) -> str:
    event = {
        **{"kind": "turn", "event_id": uuid7_text(), "user_id": "u1", "session_id": "s1", "role": "user"},
        **{"content": text, "at": datetime.now(UTC)},
    }
    batch = encode_batch([event], sent_at=datetime.now(UTC))
    return Sealer(parse_credential(credential).key_id, seal, producer).seal(uuid7(), batch)


def _said(database: Database) -> dict[str, list[str]]:
    """What stands of each tenant among the turns."""
    said: dict[str, list[str]] = {}
    with database.read() as session:
        for name, content in session.exec(
            select(Tenant.name, Turn.content).join(Turn, col(Turn.tenant_id) == col(Tenant.id))
        ):
            said.setdefault(name, []).append(disclose(content))
    return said


def _letters(database: Database) -> list[DeadLetter]:
    with database.read() as session:
        return dead.waiting(session)


def _key(session: Session, name: str) -> str:
    return tenancy.create_key(session, tenancy.create_tenant(session, name), ["publish"])[1]


def _answers(place: Place, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None, (place.folder / "log").read_text()
    try:
        with place.client("probe") as probe:
            return bool(probe.ping())
    except redis.ConnectionError:
        return False

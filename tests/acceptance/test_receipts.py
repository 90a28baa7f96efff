"""Receipts end to end: a real publisher, a real broker, a real ingest worker, and everything lost between them."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlmodel import Session, col, select

from afterturn import Publisher, generate_credential
from afterturn.credentials import seal_key
from afterturn.envelope import wrap
from afterturn.ids import uuid7, uuid7_text
from afterturn.sealing import Sealer
from client_fixtures import Broker, blob_of
from delivery_fixtures import World, new_world
from delivery_processes import environment, worker
from schemas.tables import DeadLetter, Turn
from services import wait_until
from stores import dead, ledger, tenancy
from stores.ledger import Tally
from stores.settings import redis_url

QUEUE = "afterturn:v1:ingest"
SECONDS = 60.0


@pytest.fixture
def agents_world(home: Path, broker_url: str) -> Generator[World]:
    """A tenant on the embedded stores."""
    made = new_world(home, broker_url=broker_url)
    yield made
    made.db.dispose()


@pytest.fixture
def client(broker_url: str) -> Generator[Redis]:
    """The broker's books."""
    made: Redis = Redis.from_url(redis_url(broker_url))  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
    yield made
    made.close()


def turn_ids(world: World) -> list[str]:
    with world.db.read() as session:
        return [str(event_id) for event_id in session.exec(select(Turn.event_id).order_by(col(Turn.event_id)))]


def books(client: Any) -> Any:
    """The broker's commands, untyped as they come."""
    return client


def counted(world: World) -> Tally:
    with world.db.read() as session:
        return ledger.receptions(session)


def letters(world: World) -> list[DeadLetter]:
    with world.db.read() as session:
        return dead.waiting(session)


def publisher_of(world: World, **options: Any) -> Publisher:
    return Publisher(world.credential, world.kit.settings.broker_url, **options)


def test_every_event_is_receipted_and_a_reject_reaches_its_agent(home: Path, agents_world: World, client: Redis):
    told: list[tuple[str, str, str | None]] = []

    def note(event_id: str, code: str, field: str | None) -> None:
        told.append((event_id, code, field))

    with worker(home, "ingest"), publisher_of(agents_world, on_reject=note) as publisher:
        said = [publisher.turn("u1", "s1", "user", f"turn {number}") for number in range(250)]
        publisher.turn("u1", "s1", "user", "turn 0, told otherwise", event_id=said[0])
        staff = publisher.turn("u1", "s1", "staff", "I may not say this", actor="boss")
        assert publisher.flush(SECONDS, receipts=True)
        stats = publisher.stats()

    assert turn_ids(agents_world) == said
    assert sorted(told) == sorted([(said[0], "id_conflict", "event_id"), (staff, "forbidden", "role")])
    assert (stats.published, stats.sent, stats.receipted, stats.unreceipted) == (252, 252, 252, 0)
    assert (stats.stored, stats.rejected, stats.resent, stats.forged) == (250, 2, 0, 0)
    lists: list[bytes] = books(client).keys("afterturn:v1:receipts:*")
    assert all(0 < books(client).ttl(key) <= 3600 for key in lists)


def test_a_replayed_batch_is_only_duplicates_and_a_forged_or_foreign_one_is_nothing(
    home: Path, agents_world: World, client: Redis
):
    with publisher_of(agents_world) as publisher:
        said = [publisher.turn("u1", "s1", "user", f"turn {number}") for number in range(10)]
        assert publisher.flush(SECONDS)
        (message,) = books(client).lrange(QUEUE, 0, -1)
        blob = blob_of(message.decode())
        forged = blob[:80] + ("A" if blob[80] != "A" else "B") + blob[81:]
        stranger = generate_credential()
        foreign = Sealer(stranger.key_id, seal_key(stranger.secret), uuid7()).seal(uuid7(), b"x")
        for one in (blob, blob, forged, foreign):
            books(client).lpush(QUEUE, wrap(one, uuid7_text(), uuid7_text()))

        with worker(home, "ingest"):
            assert publisher.flush(SECONDS, receipts=True)
            wait_until(lambda: counted(agents_world).duplicate == 20, seconds=SECONDS, what="the replays")
            wait_until(lambda: len(letters(agents_world)) == 2, seconds=SECONDS, what="the letters")

    assert turn_ids(agents_world) == said
    assert counted(agents_world) == Tally(stored=10, duplicate=20)
    assert sorted(letter.error_code for letter in letters(agents_world)) == ["forged", "unknown_key"]
    assert publisher.stats().stored + publisher.stats().duplicates == 10


@pytest.mark.parametrize("kind", ["valkey", "redis"])
@pytest.mark.parametrize("durability", ["memory", "spool"])
@pytest.mark.timeout(240)
def test_a_broker_without_persistence_killed_and_flushed_ten_times_loses_nothing(
    kind: str, durability: str, home: Path
):
    """The shipped settings, a real worker, and a broker that forgets everything ten times."""
    binary = shutil.which("redis-server") if kind == "redis" else None
    if kind == "redis" and binary is None:
        pytest.skip("no redis-server")
    forgetful = Broker(remembers=False, binary=binary)
    forgetful.start()
    world = new_world(home, broker_url=forgetful.url)
    chance = random.Random(11)
    over = threading.Event()
    said: list[str] = []

    def talk(publisher: Publisher) -> None:
        while not over.wait(0.002):
            number = len(said)
            said.append(publisher.turn(f"u{number % 5}", f"s{number % 11}", "user", f"turn {number}"))

    try:
        with (
            publisher_of(world, durability=durability, spool=home / "spool") as publisher,
            worker(home, "ingest", broker_url=forgetful.url),
        ):
            talker = threading.Thread(target=talk, args=(publisher,))
            talker.start()
            for turn in range(10):
                goal = len(said) + chance.randrange(50, 500)
                wait_until(lambda goal=goal: len(said) >= goal, seconds=SECONDS, what="more to lose")
                if turn % 2:
                    books(forgetful.client).flushall()
                else:
                    forgetful.kill()
                    forgetful.start()
            over.set()
            talker.join()
            assert publisher.flush(120, receipts=True)
            stats = publisher.stats()
    finally:
        over.set()
        forgetful.close()

    assert turn_ids(world) == said
    assert counted(world).stored == len(said)
    assert (stats.accepted, stats.refused, stats.receipted) == (len(said), 0, len(said))
    assert stats.resent > 0
    world.db.dispose()


AGENT = """
import os, signal
from afterturn import Publisher
pub = Publisher(durability="spool")
print(pub.turn("u1", "s1", "user", "my last words"), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_agent_killed_right_after_its_call_is_heard_after_its_restart(home: Path, agents_world: World):
    settings = {
        "AFTERTURN_KEY": agents_world.credential,
        "AFTERTURN_BROKER_URL": agents_world.kit.settings.broker_url,
    }
    killed = subprocess.run(
        [sys.executable, "-c", AGENT],
        env={**environment(home, {}), **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    with worker(home, "ingest"), publisher_of(agents_world, durability="spool", spool=home / "spool") as heir:
        wait_until(lambda: turn_ids(agents_world) == killed.stdout.split(), seconds=SECONDS, what="the last words")
        wait_until(lambda: heir.stats().stored == 1, seconds=SECONDS, what="its receipt")
    assert not list((home / "spool").rglob("*.seg"))


def test_a_batch_of_a_key_that_may_not_publish_is_rejected_with_its_events(home: Path, agents_world: World):
    told: list[tuple[str, str, str | None]] = []

    def mute(session: Session) -> str:
        tenant = tenancy.find_tenant(session, "acme")
        assert tenant is not None
        return tenancy.create_key(session, tenant, ("recall",))[1]

    def note(event_id: str, code: str, field: str | None) -> None:
        told.append((event_id, code, field))

    credential = agents_world.db.write(mute)
    url = agents_world.kit.settings.broker_url
    with worker(home, "ingest"), Publisher(credential, url, on_reject=note) as publisher:
        said = [publisher.turn("u1", "s1", "user", f"turn {number}") for number in range(3)]
        assert publisher.flush(SECONDS, receipts=True)

    assert turn_ids(agents_world) == []
    assert told == [(event_id, "forbidden", None) for event_id in said]
    assert publisher.stats().rejected == 3

"""A batch stays here until its receipt, and goes again when there is evidence that it was lost, and only then."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from redis.exceptions import OutOfMemoryError

from afterturn import Credential, Publisher, generate_credential
from afterturn.credentials import seal_key
from afterturn.ids import uuid7
from afterturn.link import Link
from afterturn.outgoing import Message
from afterturn.pending import ResendPolicy
from afterturn.receipts import BatchReceipt, State, list_name, seal_receipt
from afterturn.sealing import Opened
from client_fixtures import Broker, blob_of, broker, credential, events_in, wait_until
from receipt_fixtures import QUEUE, Intake

__all__ = ["broker", "credential"]

Durability = Literal["memory", "spool"]


@pytest.fixture(params=["memory", "spool"])
def publisher(
    request: pytest.FixtureRequest, broker: Broker, credential: Credential, tmp_path: Path
) -> Iterator[Publisher]:
    with Publisher(credential.text(), broker.url, request.param, spool=tmp_path) as made:
        yield made


def say(publisher: Publisher, count: int, first: int = 0) -> list[str]:
    return [publisher.turn("u1", "s1", "user", f"turn {number}") for number in range(first, first + count)]


def books(broker: Broker) -> Any:
    """The broker, with a client that is not typed."""
    return broker.client


def test_receipts_are_waited_for_counted_and_free_what_they_cover(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    say(publisher, 250)
    assert publisher.flush(20)
    assert not publisher.flush(0.2, receipts=True)
    waiting = publisher.stats()

    with Intake(broker, credential):
        assert publisher.flush(20, receipts=True)

    stats = publisher.stats()
    assert (waiting.sent, waiting.receipted, waiting.unreceipted) == (250, 0, 250)
    assert (stats.sent, stats.receipted, stats.unreceipted, stats.stored) == (250, 250, 0, 250)
    assert (stats.resent, stats.forged, stats.broker) == (0, 0, "up")


def test_memory_is_bounded_until_the_receipt(broker: Broker, credential: Credential) -> None:
    with Publisher(credential.text(), broker.url, max_events=100) as publisher:
        say(publisher, 100)
        assert publisher.flush(20)
        say(publisher, 20, first=100)
        assert (publisher.stats().refused, publisher.stats().accepted) == (20, 100)

        with Intake(broker, credential) as intake:
            assert publisher.flush(20, receipts=True)
            say(publisher, 50, first=120)
            assert publisher.flush(20, receipts=True)

    assert len(intake.events) == 150
    assert publisher.stats().published == 170


def test_a_flushed_broker_gets_everything_again(publisher: Publisher, broker: Broker, credential: Credential) -> None:
    said = say(publisher, 250)
    assert publisher.flush(20)
    wait_until(lambda: bool(books(broker).exists("afterturn:v1:epoch")))

    books(broker).flushall()

    with Intake(broker, credential) as intake:
        assert publisher.flush(20, receipts=True)
    assert list(intake.events) == said
    assert publisher.stats().resent == 250


def test_a_broker_that_kept_its_memory_gets_only_the_last_seconds_again(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    say(publisher, 100)
    assert publisher.flush(20)
    later = time.monotonic() + 2.3
    wait_until(lambda: time.monotonic() > later)
    say(publisher, 50, first=100)
    assert publisher.flush(20)

    broker.kill()
    broker.start()
    say(publisher, 1, first=150)
    assert publisher.flush(20)

    wait_until(lambda: publisher.stats().resent >= 50)
    assert publisher.stats().resent == 50
    assert {event["content"] for event in events_in(broker, credential)} == {f"turn {n}" for n in range(151)}


def test_a_lost_receipt_costs_a_resend_and_no_event(broker: Broker, credential: Credential, tmp_path: Path) -> None:
    """Nobody answers the first time: silence beyond the patience is taken for a loss."""
    asked: set[object] = set()

    def second_time(opened: Opened, states: list[State]) -> list[State] | None:
        is_first = opened.message_id not in asked
        asked.add(opened.message_id)
        return None if is_first else states

    with (
        Publisher(credential.text(), broker.url) as publisher,
        Intake(broker, credential, second_time) as intake,
    ):
        pending = publisher._sender._pending  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess] - a minute is too long for a test
        pending._policy = ResendPolicy(silence_seconds=0.5)  # pyright: ignore[reportPrivateUsage]
        said = say(publisher, 20)
        assert publisher.flush(30, receipts=True)

    stats = publisher.stats()
    assert list(intake.events) == said
    assert (stats.resent, stats.duplicates, stats.stored) == (20, 20, 0)
    assert len(set(intake.blobs)) * 2 == len(intake.blobs)


def server(kind: str) -> str | None:
    import shutil

    found = shutil.which("redis-server") if kind == "redis" else None
    if kind == "redis" and found is None:
        pytest.skip("no redis-server")
    return found


@pytest.mark.parametrize("kind", ["valkey", "redis"])
@pytest.mark.parametrize("durability", ["memory", "spool"])
def test_a_broker_without_persistence_killed_and_flushed_ten_times_loses_nothing(
    kind: str, durability: Durability, credential: Credential, tmp_path: Path
) -> None:
    forgetful = Broker(remembers=False, binary=server(kind))
    forgetful.start()
    chance = random.Random(7)
    over = threading.Event()
    said: list[str] = []

    def talk(publisher: Publisher) -> None:
        while not over.wait(0.001):
            said.extend(say(publisher, 1, first=len(said)))

    try:
        with (
            Publisher(credential.text(), forgetful.url, durability, spool=tmp_path) as publisher,
            Intake(forgetful, credential) as intake,
        ):
            talker = threading.Thread(target=talk, args=(publisher,))
            talker.start()
            for turn in range(10):
                goal = len(said) + chance.randrange(20, 400)
                wait_until(lambda goal=goal: len(said) >= goal)
                if turn % 2:
                    books(forgetful).flushall()
                else:
                    forgetful.kill()
                    forgetful.start()
            over.set()
            talker.join()
            assert publisher.flush(60, receipts=True)
            stats = publisher.stats()
    finally:
        over.set()
        forgetful.close()

    assert intake.events.keys() == set(said)
    assert (stats.accepted, stats.refused, stats.receipted) == (len(said), 0, len(said))
    assert stats.resent > 0


def test_a_stranger_can_neither_forge_nor_replay_a_receipt(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    """Even one who can write to the broker: with another key, with noise, with a receipt of another producer."""
    say(publisher, 10)
    assert publisher.flush(20)
    key, stranger = seal_key(credential.secret), seal_key(generate_credential().secret)
    producer = publisher._producer  # pyright: ignore[reportPrivateUsage] - what a stranger reads in the clear part
    blob = blob_of(broker.messages()[0])
    from afterturn.sealing import open_sealed

    opened = open_sealed(blob, lambda _: key)
    told = BatchReceipt(opened.message_id, (("stored", 10),))
    other = generate_credential().secret[:16]
    from uuid import UUID

    forged = [
        seal_receipt(told, stranger, producer),
        seal_receipt(told, key, UUID(bytes=other)),
        b"noise",
        blob.encode(),
    ]
    books(broker).rpush(list_name(key, producer), *forged)
    books(broker).rpush(list_name(stranger, producer), seal_receipt(told, stranger, producer))

    wait_until(lambda: publisher.stats().forged == 4)
    assert publisher.stats().receipted == 0

    genuine = seal_receipt(told, key, producer)
    books(broker).rpush(list_name(key, producer), genuine, genuine)
    assert publisher.flush(20, receipts=True)
    assert publisher.stats().stored == 10


def test_a_batch_that_ended_as_one_tells_every_event(broker: Broker, credential: Credential) -> None:
    told: list[tuple[str, str, str | None]] = []

    def note(event_id: str, code: str, field: str | None) -> None:
        told.append((event_id, code, field))
        raise ValueError("the agent's own bug")

    with Publisher(credential.text(), broker.url, on_reject=note) as publisher:
        said = say(publisher, 3)
        assert publisher.flush(20)
        from afterturn.receipts import Fault
        from afterturn.sealing import open_sealed

        key = seal_key(credential.secret)
        opened = open_sealed(blob_of(broker.messages()[0]), lambda _: key)
        dead = BatchReceipt(opened.message_id, (("dead", 0),), (Fault(None, "dead", "lost_workers"),))
        books(broker).rpush(list_name(key, opened.producer), seal_receipt(dead, key, opened.producer))
        assert publisher.flush(20, receipts=True)

    assert told == [(event_id, "lost_workers", None) for event_id in said]
    assert publisher.stats().dead == 3


def test_where_receipts_may_not_be_fetched_the_brokers_word_has_to_do(
    broker: Broker, credential: Credential, tmp_path: Path
) -> None:
    books(broker).execute_command(
        *("ACL", "SETUSER", "agent", "on", ">pw", "resetkeys", f"~{QUEUE}", "-@all"),
        *("+lpush", "+hello", "+auth", "+ping", "+select", "+client|setinfo"),
    )
    url = f"redis://agent:pw@127.0.0.1:{broker.port}/0"
    with Publisher(credential.text(), url, "spool", spool=tmp_path) as publisher:
        say(publisher, 30)
        assert publisher.flush(20, receipts=True)
        stats = publisher.stats()

    assert (stats.sent, stats.receipted, stats.failures, stats.hears_receipts) == (30, 30, 0, False)
    assert not list(tmp_path.rglob("*.seg"))


def test_the_rights_that_receipts_need(broker: Broker, credential: Credential) -> None:
    books(broker).execute_command(
        *("ACL", "SETUSER", "agent", "on", ">pw", "resetkeys", "-@all"),
        *(f"~{QUEUE}", "~afterturn:v1:receipts:*", "~afterturn:v1:epoch"),
        *("+lpush", "+lpop", "+llen", "+get", "+set", "+time"),
        *("+hello", "+auth", "+ping", "+select", "+client|setinfo"),
    )
    url = f"redis://agent:pw@127.0.0.1:{broker.port}/0"
    with Publisher(credential.text(), url) as publisher, Intake(broker, credential):
        say(publisher, 30)
        assert publisher.flush(20, receipts=True)
        stats = publisher.stats()

    assert (stats.stored, stats.failures, stats.hears_receipts) == (30, 0, True)


@pytest.fixture
def link(broker: Broker) -> Iterator[Link]:
    made = Link(broker.url)
    yield made
    made.close()


def test_a_full_broker_that_refuses_a_message_still_gives_the_receipts_it_had(link: Link, broker: Broker) -> None:
    books(broker).rpush("afterturn:v1:receipts:test", b"a receipt")
    books(broker).config_set("maxmemory", 1)

    refusal, heard = link.push_and_hear(Message(uuid7(), "blob", 1, 0, 0), "afterturn:v1:receipts:test")

    assert isinstance(refusal, OutOfMemoryError)
    assert (heard.receipts, heard.queue_length) == ([b"a receipt"], 0)
    with pytest.raises(OutOfMemoryError):
        link.push(Message(uuid7(), "blob", 1, 0, 0))


def test_a_connection_that_was_closed_while_idle_is_renewed_without_a_word(link: Link, broker: Broker) -> None:
    link.push(Message(uuid7(), "blob", 1, 0, 0))

    books(broker).client_kill_filter(_type="normal", skipme=True)
    link._used_at = 0.0  # pyright: ignore[reportPrivateUsage] - as after a second
    refusal, heard = link.push_and_hear(Message(uuid7(), "blob", 1, 0, 0), "afterturn:v1:receipts:test")

    assert (refusal, heard.receipts, heard.queue_length) == (None, [], 2)


def test_a_full_broker_keeps_its_connection_and_gets_everything_once(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    say(publisher, 10)
    assert publisher.flush(20)
    books(broker).config_set("maxmemory", 1)
    say(publisher, 10, first=10)
    assert not publisher.flush(1)
    assert (publisher.stats().broker, publisher.stats().last_error) == ("down", "OutOfMemoryError")

    books(broker).config_set("maxmemory", 0)
    assert publisher.flush(20)

    assert publisher.stats().resent == 0
    assert [event["content"] for event in events_in(broker, credential)] == [f"turn {n}" for n in range(20)]

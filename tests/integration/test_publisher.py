"""The Publisher against a real broker that works, dies, freezes and fills up. No call ever raises or waits for it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from afterturn import BadCredential, BadEvent, BadSetting, Credential, Publisher
from afterturn.buffer import Buffer
from afterturn.events import StateEvent, TurnEvent, parse_event
from afterturn.link import redis_url
from afterturn.sender import LINGER_SECONDS, Sender
from client_fixtures import Broker, blob_of, broker, credential, events_in, free_port, wait_until

__all__ = ["broker", "credential"]


@pytest.fixture
def publisher(broker: Broker, credential: Credential) -> Iterator[Publisher]:
    with Publisher(credential.text(), broker.url) as made:
        yield made


def say(publisher: Publisher, count: int, first: int = 0) -> list[str]:
    return [publisher.turn("u1", "s1", "user", f"turn {number}") for number in range(first, first + count)]


def said(broker: Broker, credential: Credential) -> list[object]:
    return [event["content"] for event in events_in(broker, credential)]


def test_what_was_said_arrives_whole_and_in_order(publisher: Publisher, broker: Broker, credential: Credential) -> None:
    at = datetime(2026, 11, 30, 9, 30, tzinfo=timezone(timedelta(hours=8)))

    ids = [
        publisher.turn("u1", "s1", "user", "你好", at=at, tz="Asia/Shanghai", source="chat", name="李明"),
        publisher.turn("u1", "s1", "staff", "ok", actor="boss", ticket="T-1"),
        publisher.state("u1", "s1", {"intent": None, "open_items": ["call"]}),
    ]
    assert publisher.flush(10)

    events = [parse_event(event) for event in events_in(broker, credential)]
    assert [str(event.event_id) for event in events] == ids == sorted(ids)
    assert [event.seq for event in events] == [0, 1, 2]
    assert len({event.producer for event in events}) == 1
    first, second, third = events
    assert isinstance(first, TurnEvent)
    assert (first.content, first.name, first.tz, first.at, first.at.utcoffset()) == (
        *("你好", "李明", "Asia/Shanghai", at),
        timedelta(hours=8),
    )
    assert isinstance(second, TurnEvent)
    assert (second.role, second.actor_id, second.ticket_id) == ("staff", "boss", "T-1")
    assert isinstance(third, StateEvent)
    assert third.patch == {"intent": None, "open_items": ["call"]}


def test_every_word_of_the_publisher_says_something_the_service_reads(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    first = publisher.turn("u", "s", "tool", "{}", tool={"name": "crm", "call_id": "c", "arguments": {"a": 1}}, ok=True)
    publisher.turn("u", "s", "assistant", "", tool="crm", procedure=("exchange", 2))
    publisher.remember("u", "s", "发票抬头写公司名", scope="organization", key="constraint")
    publisher.outcome("u", "s", "exchange", True, evidence=[first], reason="the tool said so")
    publisher.approval("u", "s", "refund of 300", False, actor="boss", reason="over the limit", about=first)
    publisher.ticket_closed("T-1", user="u", session="s", outcome="success")
    publisher.feedback("u", "s", "m1", "wrong", correction="He lives in Lyon.")
    publisher.accessed("u", "s", ["m1", "m2"])
    publisher.end("s", user="u", outcome="success", reason="solved")
    assert publisher.flush(10)

    events = [parse_event(event) for event in events_in(broker, credential)]

    assert [event.kind for event in events] == [
        *("turn", "turn", "remember", "procedure_outcome", "approval", "ticket_closed", "feedback", "accessed"),
        "session_ended",
    ]


def test_a_message_is_coalesced_sealed_and_holds_no_readable_text(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    say(publisher, 1)
    assert publisher.flush(10)
    for number in range(150):
        publisher.turn("user-one", "s1", "user", f"Zq9-{number}")
    assert publisher.flush(10)

    messages = broker.messages()
    assert len(messages) < 30
    assert not any("Zq9-" in message or "user-one" in message for message in messages)
    assert json.loads(messages[0])["headers"]["argsrepr"] == "<batch>"
    assert len(said(broker, credential)) == 151


def test_a_flush_hurries_what_is_there_and_nothing_after_it(publisher: Publisher) -> None:
    say(publisher, 1)
    assert publisher.flush(30)
    assert publisher.flush(30)

    begin = time.monotonic()
    say(publisher, 1)
    wait_until(lambda: publisher.stats().sent == 2)

    assert time.monotonic() - begin >= LINGER_SECONDS * 0.9


def test_secrets_are_masked_before_they_leave(publisher: Publisher, broker: Broker, credential: Credential) -> None:
    publisher.turn("u", "s", "user", "密码是abc123", tool={"name": "t", "arguments": {"password": "hunter2"}})
    publisher.state("u", "s", {"known_facts": {"card": "4111 1111 1111 1111"}})
    assert publisher.flush(10)

    turn, state = events_in(broker, credential)
    assert turn["content"] == "密码是[secret:password]"
    assert turn["tool"] == {"name": "t", "arguments": {"password": "[secret:password]"}}
    assert state["patch"] == {"known_facts": {"card": "[secret:card]"}}
    assert publisher.stats().masked == 3


def test_no_store_content_never_leaves_the_process(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    publisher.turn("u", "s", "user", "Zq9", name="Zq9", no_store=True, tool={"name": "t", "arguments": {"a": "Zq9"}})
    publisher.state("u", "s", {"intent": "Zq9"}, no_store=True)
    publisher.approval("u", "s", "Zq9", True, actor="boss", reason="Zq9", no_store=True)
    assert publisher.flush(10)

    events = events_in(broker, credential)
    assert "Zq9" not in repr(events)
    assert all(parse_event(event).no_store for event in events)


def test_what_the_caller_changes_later_is_not_what_was_said(
    publisher: Publisher, broker: Broker, credential: Credential
) -> None:
    patch: dict[str, object] = {"open_items": ["a"]}
    publisher.state("u", "s", patch)
    patch["open_items"] = "changed"
    assert publisher.flush(10)

    assert events_in(broker, credential)[0]["patch"] == {"open_items": ["a"]}


def quickly(call: Callable[[], object]) -> float:
    """The longest of 300 calls in seconds of this thread's own work and waiting, the scheduler's share left out."""
    longest: list[float] = []
    for _ in range(300):
        begin = time.monotonic()
        call()
        longest.append(time.monotonic() - begin)
    return sorted(longest)[-3]


@pytest.mark.parametrize("fault", ["refused", "frozen", "full"])
def test_a_broken_broker_neither_raises_nor_blocks_and_gets_everything_later(
    fault: str, broker: Broker, credential: Credential
) -> None:
    with Publisher(credential.text(), broker.url) as publisher:
        say(publisher, 5)
        assert publisher.flush(10)
        harm = {"refused": broker.kill, "frozen": broker.freeze, "full": lambda: limit(broker, 1)}
        mend = {"refused": broker.start, "frozen": broker.thaw, "full": lambda: limit(broker, 0)}

        harm[fault]()
        numbers = iter(range(5, 10_000))
        slowest = quickly(lambda: publisher.turn("u1", "s1", "user", f"turn {next(numbers)}"))
        assert not publisher.flush(1.2)
        broken = publisher.stats()
        mend[fault]()
        assert publisher.flush(20)

        assert slowest < 0.25  # A publish that waited for the socket would take its 0.5 s time-out.
        assert (broken.waiting, broken.refused) == (300, 0)
        assert broken.failures >= 1
        assert broken.last_error is not None
        assert list(dict.fromkeys(said(broker, credential))) == [f"turn {number}" for number in range(305)]
        assert publisher.stats().last_error is None


def limit(broker: Broker, bytes_allowed: int) -> None:
    broker.client.config_set("maxmemory", bytes_allowed)  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments


def test_a_broker_that_comes_late_gets_what_was_said_before_it_was_there(credential: Credential) -> None:
    late = Broker()
    try:
        with Publisher(credential.text(), late.url) as publisher:
            say(publisher, 250)
            assert not publisher.flush(0.3)
            late.start()
            assert publisher.flush(20)
        assert said(late, credential) == [f"turn {number}" for number in range(250)]
    finally:
        late.close()


def test_a_message_sent_again_is_the_same_message(broker: Broker, credential: Credential) -> None:
    """A frozen broker takes what it was sent in its sleep, and then the repetition: ingest must know it again."""
    with Publisher(credential.text(), broker.url) as publisher:
        say(publisher, 1)
        assert publisher.flush(10)
        broker.freeze()
        say(publisher, 1, first=1)
        wait_until(lambda: publisher.stats().failures >= 1)
        broker.thaw()
        assert publisher.flush(20)

    messages = broker.messages()
    assert len({blob_of(message) for message in messages}) == len(set(said(broker, credential))) == 2
    tags = [json.loads(message)["properties"]["delivery_tag"] for message in messages]
    assert len(set(tags)) == len(tags)


def test_beyond_its_bound_the_newest_is_refused_and_counted(broker: Broker, credential: Credential) -> None:
    broker.kill()
    with Publisher(credential.text(), broker.url, max_events=10) as publisher:
        ids = say(publisher, 15)
        stats = publisher.stats()
        broker.start()
        assert publisher.flush(20)

    assert len(set(ids)) == 15
    assert (stats.accepted, stats.refused, stats.waiting) == (10, 5, 10)
    assert said(broker, credential) == [f"turn {number}" for number in range(10)]


def test_the_bound_in_bytes_holds_too(broker: Broker, credential: Credential) -> None:
    broker.kill()
    with Publisher(credential.text(), broker.url, max_bytes=1_000_000) as publisher:
        for _ in range(20):
            publisher.turn("u", "s", "user", "x" * 200_000)

        assert publisher.stats().refused == 16


def test_one_event_that_cannot_be_encoded_does_not_take_the_others_with_it(
    broker: Broker, credential: Credential
) -> None:
    """The calls let no such event pass; if one does all the same, it alone is counted as failed."""
    buffer = Buffer(max_events=10, max_bytes=10_000)
    sender = Sender(buffer, credential, broker.url, uuid4())
    for number, content in enumerate(["first", "\ud800", "last"]):
        assert buffer.add(("turn", f"e{number}", "u", "s", 0, None, 0, number, "user", content, None), 100)

    sender.thread.start()
    assert buffer.wait_until_empty(10)
    sender.stop()
    sender.thread.join(10)

    assert (sender.sent, sender.failed) == (2, 1)
    assert said(broker, credential) == ["first", "last"]


def test_threads_share_a_publisher(publisher: Publisher, broker: Broker, credential: Credential) -> None:
    threads = [threading.Thread(target=say, args=(publisher, 500, number * 500)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert publisher.flush(20)

    events = events_in(broker, credential)
    assert [event["seq"] for event in events] == list(range(2000))
    assert [event["event_id"] for event in events] == sorted(str(event["event_id"]) for event in events)
    assert {event["content"] for event in events} == {f"turn {number}" for number in range(2000)}


def test_after_close_events_are_refused_and_nothing_raises(broker: Broker, credential: Credential) -> None:
    publisher = Publisher(credential.text(), broker.url)
    say(publisher, 1)

    assert publisher.close()
    assert publisher.close()
    assert say(publisher, 1)

    assert publisher.stats().refused == 1
    assert said(broker, credential) == ["turn 0"]


def test_closing_on_a_dead_broker_does_not_hang(credential: Credential) -> None:
    publisher = Publisher(credential.text(), f"redis://127.0.0.1:{free_port()}/0")
    say(publisher, 1)

    begin = time.monotonic()
    assert not publisher.close(30)

    assert time.monotonic() - begin < 15
    assert publisher.stats().waiting == 1


def test_the_clock_offset_travels_with_the_batch(publisher: Publisher, broker: Broker, credential: Credential) -> None:
    from afterturn.batches import decode_batch
    from afterturn.credentials import seal_key
    from afterturn.sealing import open_sealed

    say(publisher, 1)
    assert publisher.flush(10)

    blob = blob_of(broker.messages()[0])
    batch = decode_batch(open_sealed(blob, {credential.key_id: seal_key(credential.secret)}.get).payload)
    assert batch.clock_offset_ms is not None
    assert abs(batch.clock_offset_ms) < 1000
    assert abs(batch.sent_at - datetime.now(UTC)) < timedelta(minutes=1)


def deep(levels: int) -> object:
    return [deep(levels - 1)] if levels else "x"


def test_a_broker_that_lets_agents_only_push_is_enough(broker: Broker, credential: Credential) -> None:
    """The rights that agents get in production. Without TIME there is no clock offset, and everything else works."""
    broker.client.execute_command(  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
        *("ACL", "SETUSER", "agent", "on", ">pw", "resetkeys", "~afterturn:v1:ingest", "-@all"),
        *("+lpush", "+hello", "+auth", "+ping", "+select", "+client|setinfo"),
    )
    with Publisher(credential.text(), f"redis://agent:pw@127.0.0.1:{broker.port}/0") as publisher:
        say(publisher, 3)
        assert publisher.flush(10)
        stats = publisher.stats()

    assert (stats.sent, stats.failures) == (3, 0)
    assert said(broker, credential) == ["turn 0", "turn 1", "turn 2"]


@pytest.mark.parametrize(
    ("url", "spelling"),
    [
        ("redis://:p@h:1/2", "redis://:p@h:1/2"),
        ("rediss://h/0", "rediss://h/0"),
        ("redis+socket:///a/b.sock", "unix:///a/b.sock?db=0"),
        ("redis+socket://u:p@/a/b.sock?virtual_host=/1", "unix://u:p@/a/b.sock?db=1"),
    ],
)
def test_celerys_spelling_of_a_broker_is_understood(url: str, spelling: str) -> None:
    assert redis_url(url) == spelling


def test_a_unix_socket_is_a_way_to_the_broker(broker: Broker, credential: Credential) -> None:
    with Publisher(credential.text(), broker.socket_url) as publisher:
        say(publisher, 2)
        assert publisher.flush(10)

    assert said(broker, credential) == ["turn 0", "turn 1"]


# Any: most of these are wrong for the type checker too.
WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda p: p.turn("", "s", "user", "x"), "user"),
    (lambda p: p.turn("u", "s\n", "user", "x"), "session"),
    (lambda p: p.turn("u", "s", "boss", "x"), "role"),
    (lambda p: p.turn("u", "s", "user", " "), "content"),
    (lambda p: p.turn("u", "s", "user", "x" * 1_000_000), "content"),
    (lambda p: p.turn("u", "s", "user", None), "content"),
    (lambda p: p.turn("u", "s", "staff", "x"), "actor"),
    (lambda p: p.turn("u", "s", "user", "x", at=datetime(2026, 11, 30)), "at"),  # noqa: DTZ001 - the fault
    (lambda p: p.turn("u", "s", "user", "x", at="2026-11-30T10:00:00Z"), "at"),
    (lambda p: p.turn("u", "s", "user", "x", tz="Mars/Phobos"), "tz"),
    (lambda p: p.turn("u", "s", "user", "x", reply_to="x"), "reply_to"),
    (lambda p: p.turn("u", "s", "user", "x", event_id="x"), "event_id"),
    (lambda p: p.turn("u", "s", "user", "x", ticket=""), "ticket"),
    (lambda p: p.turn("u", "s", "user", "x", traceparent="x"), "traceparent"),
    (lambda p: p.turn("u", "s", "user", "x", no_store=1), "no_store"),
    (lambda p: p.turn("u", "s", "tool", "x", ok="true"), "ok"),
    (lambda p: p.turn("u", "s", "tool", "x", tool={"nam": "x"}), "tool"),
    (lambda p: p.turn("u", "s", "tool", "x", tool={"name": "x", "arguments": {"a": object()}}), "tool.arguments"),
    (lambda p: p.turn("u", "s", "user", "x", procedure=("p", 0)), "procedure"),
    (lambda p: p.state("u", "s", {"own": deep(500)}), "patch"),
    (lambda p: p.state("u", "s", {}), "patch"),
    (lambda p: p.state("u", "s", {"open_items": "x"}), "patch.open_items"),
    (lambda p: p.state("u", "s", {"a": float("nan")}), "patch"),
    (lambda p: p.state("u", "s", {"a": 1}, scope="ticket"), "ticket"),
    (lambda p: p.remember("u", "s", ""), "content"),
    (lambda p: p.outcome("u", "s", "p", "yes"), "succeeded"),
    (lambda p: p.outcome("u", "s", "p", True, evidence=["x"]), "evidence.0"),
    (lambda p: p.approval("u", "s", "", True, actor="b"), "what"),
    (lambda p: p.approval("u", "s", "x", True, actor=""), "actor"),
    (lambda p: p.end("s", user="u", outcome="great"), "outcome"),
    (lambda p: p.ticket_closed("", user="u", session="s"), "ticket"),
    (lambda p: p.feedback("u", "s", "m", "meh"), "verdict"),
    (lambda p: p.accessed("u", "s", []), "memory_ids"),
    (lambda p: p.accessed("u", "s", "m1"), "memory_ids"),
]


@pytest.mark.parametrize(("call", "field"), WRONG)
def test_a_wrong_argument_raises_at_once_and_names_itself(
    call: Callable[[Any], object], field: str, credential: Credential
) -> None:
    with Publisher(credential.text(), f"redis://127.0.0.1:{free_port()}/0") as publisher:
        with pytest.raises(BadEvent) as caught:
            call(publisher)

        assert caught.value.field == field
        assert isinstance(caught.value, ValueError)
        assert publisher.stats().accepted == 0


def test_an_unknown_keyword_is_a_type_error(credential: Credential) -> None:
    with Publisher(credential.text(), f"redis://127.0.0.1:{free_port()}/0") as publisher:
        with pytest.raises(TypeError, match="mood"):
            publisher.turn("u", "s", "user", "x", mood="glad")  # pyright: ignore[reportCallIssue] - the fault
        assert publisher.stats().accepted == 0


def test_a_publisher_that_cannot_work_is_not_made(credential: Credential, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AFTERTURN_KEY", raising=False)
    monkeypatch.delenv("AFTERTURN_BROKER_URL", raising=False)

    with pytest.raises(BadCredential):
        Publisher()
    with pytest.raises(BadSetting, match="AFTERTURN_BROKER_URL"):
        Publisher(credential.text())
    with pytest.raises(BadSetting, match="url"):
        Publisher(credential.text(), "amqp://me:hunter2@host")
    for wrong in (5, b"redis://x"):
        with pytest.raises(BadCredential, match="key: must be a string"):
            Publisher(wrong, "redis://x")  # pyright: ignore[reportArgumentType] - the fault
        with pytest.raises(BadSetting, match="url: must be a string"):
            Publisher(credential.text(), wrong)  # pyright: ignore[reportArgumentType] - the fault
    for name in ("max_events", "max_bytes", "exit_seconds", "spool_bytes"):
        for number in (-1, "5", None, True, float("nan")):
            options: dict[str, Any] = {name: number}
            with pytest.raises(BadSetting, match=f"{name}: must be a number of at least"):
                Publisher(credential.text(), "redis://x", **options)
    with pytest.raises(BadSetting, match="durability"):
        Publisher(credential.text(), "redis://x", "disk")  # pyright: ignore[reportArgumentType] - not in this version

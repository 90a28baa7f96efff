"""The consumer's side of the broker: a broker that dies before an acknowledgement must not leave a worker deaf."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue
from kombu.transport import TRANSPORT_ALIASES
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import OutOfMemoryError

from workers import broker, transport

QUEUE = Queue("ears", routing_key="ears")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in transport.ALIASES:
        monkeypatch.setitem(TRANSPORT_ALIASES, name, TRANSPORT_ALIASES[name])
    transport.install()


def _send(connection: Connection, word: str) -> None:
    with connection.Producer() as producer:
        producer.publish(word, routing_key="ears", declare=[QUEUE], serializer="json")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("end", ["ack", "reject", "requeue"])
def test_a_slot_is_free_again_although_the_broker_died_before_the_acknowledgement(
    home: Path, broker_url: str, end: str
):
    heard: list[str] = []
    held: list[Any] = []

    def on_message(body: str, message: Any) -> None:
        heard.append(body)
        held.append(message)

    with Connection(broker_url) as connection:
        _send(connection, "first")
        with Consumer(connection, queues=[QUEUE], callbacks=[on_message], prefetch_count=1) as consumer:
            connection.drain_events(timeout=5)
            broker.stop(home)
            with pytest.raises(Unreachable):
                getattr(held[0], end)()
            again = broker.start(home)
            with Connection(broker_url) as other:
                _send(other, "second")

            _drain_until(connection, consumer, lambda: "second" in heard)

    assert heard[0] == "first"
    assert "second" in heard
    broker.stop(home)
    assert again.process is not None
    again.process.wait(timeout=10)


@pytest.mark.usefixtures("installed")
def test_a_message_that_a_full_broker_cannot_book_is_worked_on_all_the_same(broker_url: str):
    heard: list[str] = []

    def on_message(body: str, message: Any) -> None:
        heard.append(body)
        message.ack()

    with Connection(broker_url) as connection:
        _send(connection, "only copy")
        with Consumer(connection, queues=[QUEUE], callbacks=[on_message], prefetch_count=1):
            books: Any = broker.connect(broker_url)
            with books:
                books.config_set("maxmemory", "1mb")
                connection.drain_events(timeout=5)
                books.config_set("maxmemory", "0")

                assert heard == ["only copy"]
                assert books.llen("ears") == 0
            _send(connection, "next")
            connection.drain_events(timeout=5)

    assert heard == ["only copy", "next"]


@pytest.mark.usefixtures("installed")
def test_a_full_broker_is_an_error_that_a_worker_connects_again_after(broker_url: str):
    with Connection(broker_url) as connection:
        assert OutOfMemoryError in connection.connection_errors


@pytest.mark.usefixtures("installed")
def test_a_task_that_ends_after_its_connection_was_closed_frees_its_slot(broker_url: str):
    held: list[Any] = []
    with Connection(broker_url) as connection:
        _send(connection, "long")
        with Consumer(connection, queues=[QUEUE], callbacks=[lambda _, message: held.append(message)]):
            connection.drain_events(timeout=5)
        channel: Any = connection.default_channel
        transport_of = channel.connection
        transport_of.client = None

        with pytest.raises(Unreachable):
            held[0].ack()

        transport_of.client = connection
        assert channel.qos.can_consume()


def _drain_until(connection: Connection, consumer: Consumer, is_done: Callable[[], bool]) -> None:
    for _ in range(20):
        if is_done():
            return
        try:
            connection.drain_events(timeout=0.5)
        except TimeoutError:
            continue
        except (Unreachable, OSError) as exc:
            if isinstance(exc, socket.timeout):
                continue
            consumer.consume()

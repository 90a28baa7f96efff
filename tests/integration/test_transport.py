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

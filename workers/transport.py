"""Kombu's Redis transport with repairs: what goes wrong between a worker and its broker must cost neither of them.

Measured with kombu 5.7.0 under chaos, a test each:
- Kombu counts a delivered message until the broker has heard its acknowledgement. When the broker dies while a task
  runs, Celery logs "Couldn't ack" and goes on, and the slot is never free again. A worker whose slots are all taken has
  no BRPOP under way, so nothing tells it that its connection is gone: it is deaf for good. Here the slot is freed; the
  message stays in the broker's book of what is unacknowledged, and comes again after the visibility time-out.
- A message is taken from the queue first and booked as unacknowledged second. A broker that is full, or dies in
  between, refuses the second: the message was lost and the worker ended. Here it is worked on all the same.
- A full broker, and a connection that is closed while tasks still run, ended the worker. Here it connects again.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from kombu import transport
from kombu.transport import TRANSPORT_ALIASES, redis, virtual
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import OutOfMemoryError

logger = logging.getLogger(__name__)

ALIASES = ("redis", "rediss")
FULL_PAUSE_SECONDS = 1.0

if TYPE_CHECKING:  # kombu ships no types for these

    class _QoS:
        channel: Any
        _delivered: dict[str, Any]

        def append(self, message: Any, delivery_tag: str) -> None: ...
        def ack(self, delivery_tag: str) -> None: ...
        def reject(self, delivery_tag: str, requeue: bool = False) -> None: ...
        def restore_unacked(self, client: Any = None) -> None: ...
        def _quick_ack(self, delivery_tag: str) -> None: ...

    class _Channel:
        def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None: ...

    class _Transport:
        connection_errors: tuple[type[Exception], ...] = ()
else:
    _QoS, _Channel, _Transport = redis.QoS, redis.Channel, redis.Transport

_resolved: dict[str, Any] = vars(transport)["_transport_cache"]
_append_unbooked: Any = virtual.QoS.append  # pyright: ignore[reportUnknownMemberType] - untyped


class PatientQoS(_QoS):
    """Counts what is delivered; never loses a message, nor a slot, to a broker that does not answer."""

    def append(self, message: Any, delivery_tag: str) -> None:
        """Counts a message, and books it in the broker if that can be."""
        try:
            super().append(message, delivery_tag)
        except (Unreachable, OutOfMemoryError, OSError) as exc:
            # It is in no queue any more: this process has the only copy, and works on it.
            logger.warning("message taken without a booking error=%s", type(exc).__qualname__)
            _append_unbooked(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        """Raises: what the broker or the network did; the slot is free either way."""
        try:
            self._require_connection()
            super().ack(delivery_tag)
        except Exception:
            self._quick_ack(delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """As ack."""
        try:
            self._require_connection()
            super().reject(delivery_tag, requeue=requeue)
        except Exception:
            self._quick_ack(delivery_tag)
            raise

    def restore_unacked(self, client: Any = None) -> None:
        """Gives back what is unacknowledged; without a connection the visibility time-out does."""
        try:
            self._require_connection()
            super().restore_unacked(client)
        except (Unreachable, OutOfMemoryError, OSError) as exc:
            logger.warning("messages not given back count=%d error=%s", len(self._delivered), type(exc).__qualname__)
            self._delivered.clear()

    def _require_connection(self) -> None:
        # A task may end after its connection was closed; kombu then looks for the address in None.
        if self.channel.connection is None or self.channel.connection.client is None:
            raise Unreachable("the connection was closed")


class Channel(_Channel):
    """A channel that uses it."""

    QoS = PatientQoS

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        try:
            super()._queue_bind(exchange, routing_key, pattern, queue)
        except OutOfMemoryError:
            time.sleep(FULL_PAUSE_SECONDS)  # the consumer starts again at once, and would spin
            raise


class Transport(_Transport):
    """The transport that `redis://` and `redis+socket://` mean in this process after `install`."""

    Channel = Channel
    # A broker that is full is one that is away: it takes no more, and comes back.
    connection_errors = (*_Transport.connection_errors, OutOfMemoryError)


def install() -> None:
    """Makes every Redis connection of this process from now on one of ours. Repeat: harmless."""
    for name in ALIASES:
        TRANSPORT_ALIASES[name] = f"{__name__}:Transport"
        # What kombu has resolved once it does not look up again.
        _resolved.pop(name, None)

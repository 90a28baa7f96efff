"""Kombu's Redis transport with one repair: an acknowledgement that the broker does not hear still frees its slot.

Kombu counts a delivered message until its acknowledgement has reached the broker. When the broker dies while a task
runs, Celery logs "Couldn't ack" and goes on, and the slot is never free again. A worker whose slots are all taken has
no BRPOP under way, so nothing ever tells it that its connection is gone: it is deaf for good (measured: kombu 5.7.0,
prefork with one child, a SIGKILL of the broker during one task). The message itself stays in the broker's book of what
is unacknowledged and comes again after the visibility time-out, which everything here is made for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kombu.transport import TRANSPORT_ALIASES, redis

ALIASES = ("redis", "rediss")

if TYPE_CHECKING:  # kombu ships no types for these
    _Channel = Any
    _Transport = Any

    class _QoS:
        def ack(self, delivery_tag: str) -> None: ...
        def reject(self, delivery_tag: str, requeue: bool = False) -> None: ...
        def _quick_ack(self, delivery_tag: str) -> None: ...
else:
    _QoS, _Channel, _Transport = redis.QoS, redis.Channel, redis.Transport


class FreeingQoS(_QoS):
    """Frees the slot first, then tells the broker."""

    def ack(self, delivery_tag: str) -> None:
        """Raises: what the broker or the network did; the slot is free either way."""
        try:
            super().ack(delivery_tag)
        except Exception:
            self._quick_ack(delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """As ack."""
        try:
            super().reject(delivery_tag, requeue=requeue)
        except Exception:
            self._quick_ack(delivery_tag)
            raise


class Channel(_Channel):
    """A channel that uses it."""

    QoS = FreeingQoS


class Transport(_Transport):
    """The transport that `redis://` and `redis+socket://` mean in this process after `install`."""

    Channel = Channel


def install() -> None:
    """Makes every Redis connection of this process from now on one of ours. Repeat: harmless."""
    for name in ALIASES:
        TRANSPORT_ALIASES[name] = f"{__name__}:Transport"

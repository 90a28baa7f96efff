"""The way to the broker: kombu's Redis channel with short time-outs. Loaded by the sender's thread alone."""

from __future__ import annotations

import time
from typing import Protocol, cast

from kombu import Connection

from afterturn.envelope import KEY_PREFIX, QUEUE, wrap
from afterturn.ids import uuid7_text
from afterturn.outgoing import Message

SOCKET_SECONDS = 0.5
CLOCK_SECONDS = 60.0


class _Client(Protocol):
    """The part of redis-py's client that is used; the prefix is added by kombu's subclass of it."""

    def lpush(self, name: str, value: str) -> int: ...
    def time(self) -> tuple[int, int]: ...


class _Channel(Protocol):
    client: _Client


class Link:
    """One connection, of one thread. Every failure comes out as it is: the sender closes the link and waits."""

    def __init__(self, url: str) -> None:
        # Kombu's own default is no time-out at all: a frozen broker would hold a publish for ever.
        self._connection = Connection(
            url,
            transport_options={
                "global_keyprefix": KEY_PREFIX,
                "socket_timeout": SOCKET_SECONDS,
                "socket_connect_timeout": SOCKET_SECONDS,
                "socket_keepalive": True,
                "max_connections": 2,
            },
        )
        channel = cast("_Channel", self._connection.channel())
        self._client = channel.client
        self._clock_offset_ms: int | None = None
        self._clock_read_at = 0.0

    def push(self, message: Message) -> None:
        """Puts the message in the queue. Raises: whatever the broker or the network did."""
        self._client.lpush(QUEUE, wrap(message.blob, str(message.message_id), uuid7_text()))

    def clock_offset_ms(self) -> int | None:
        """How far this machine's clock is ahead of the broker's, read once a minute; None where that is not allowed."""
        now = time.monotonic()
        if self._clock_read_at and now - self._clock_read_at < CLOCK_SECONDS:
            return self._clock_offset_ms
        self._clock_read_at = now
        before = time.time_ns()
        try:
            seconds, micros = self._client.time()
        except self._connection.channel_errors:  # NOPERM: an ACL without +time costs the correction, not the events.
            self._clock_offset_ms = None
        else:
            middle = (before + time.time_ns()) // 2
            self._clock_offset_ms = round((middle - (seconds * 1_000_000 + micros) * 1000) / 1_000_000)
        return self._clock_offset_ms

    def close(self) -> None:
        """Lets the connection go. Repeat: harmless."""
        self._connection.release()

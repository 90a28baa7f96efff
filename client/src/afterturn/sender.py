"""The daemon thread: takes what is buffered, makes messages of it, and gets them into the broker, in order.

Everything heavy is imported here, under a lock that a fork waits for. Whatever the broker does ends in a pause and
another try; the agent's threads never see it.
"""

from __future__ import annotations

import contextlib
import logging
import random
import threading
from collections import deque
from typing import TYPE_CHECKING
from uuid import UUID

from afterturn.credentials import Credential

if TYPE_CHECKING:
    from afterturn.buffer import Buffer, Row
    from afterturn.link import Link
    from afterturn.outgoing import Message, Packer

MAX_EVENTS = 100
LINGER_SECONDS = 0.1
MAX_MESSAGE_BYTES = 512 * 1024
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
HURRIED_PAUSE_SECONDS = 0.1

log = logging.getLogger("afterturn")
import_lock = threading.Lock()
"""Held while the thread imports: a child forked in between would inherit a module lock that nobody releases."""


class Sender:
    """Sends one process's buffer. After `stop` it tries what is there once more and ends."""

    def __init__(self, buffer: Buffer, credential: Credential, url: str, producer: UUID) -> None:
        self._buffer = buffer
        self._credential = credential
        self._url = url
        self._producer = producer
        self._link: Link | None = None
        self._packer: Packer | None = None
        self._wake = threading.Event()
        self._stopping = False
        self.sent = 0
        self.failed = 0
        self.messages = 0
        self.failures = 0
        self.last_error: str | None = None
        self.thread = threading.Thread(target=self._run, name="afterturn-sender", daemon=True)

    @property
    def masked(self) -> int:
        """How many secrets were masked so far."""
        return self._packer.masked if self._packer else 0

    def hasten(self, seconds: float) -> None:
        """For so long: no coalescing, and only short pauses after a failure. Ends a pause at once."""
        self._buffer.hasten(seconds)
        self._wake.set()

    def stop(self) -> None:
        """Asks the thread to send what is here and to end, at the latest with the first failure."""
        self._stopping = True
        self._buffer.close()
        self._wake.set()

    def _run(self) -> None:
        while not (self._stopping and not self._buffer.held):
            self._buffer.wait(1, None)
            self._buffer.wait(MAX_EVENTS, LINGER_SECONDS)
            rows, size = self._buffer.take(MAX_EVENTS, MAX_MESSAGE_BYTES)
            if not rows:
                continue
            if not self._deliver(rows):
                return
            self._buffer.settle(len(rows), size)
        self._drop_link()

    def _deliver(self, rows: list[Row]) -> bool:
        """Whether the rows have left; False when the end came first."""
        messages: deque[Message] | None = None
        pause = FIRST_PAUSE_SECONDS
        while messages is None or messages:
            try:
                link = self._connected()
                if messages is None:  # Only now: the message carries the broker's time. Sent again, it stays the same.
                    messages = self._pack(rows, link.clock_offset_ms())
                while messages:
                    link.push(messages[0])
                    self._count(messages.popleft())
            except Exception as exc:
                self._note(exc)
                if self._stopping:
                    return False
                # Jitter keeps a fleet of agents from knocking all at once when the broker is back.
                seconds = HURRIED_PAUSE_SECONDS if self._buffer.hurries() else pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
                self._wake.wait(seconds)
                self._wake.clear()
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        return True

    def _connected(self) -> Link:
        if self._link is None:
            with import_lock:
                from afterturn.link import Link  # noqa: PLC0415 - redis: 200 ms that the agent is spared

                self._link = Link(self._url)  # Still under the lock: redis-py looks its own version up.
        return self._link

    def _pack(self, rows: list[Row], clock_offset_ms: int | None) -> deque[Message]:
        """One message; when an event cannot be encoded, one message for each of the others."""
        if self._packer is None:
            with import_lock:
                from afterturn.outgoing import Packer  # noqa: PLC0415 - pydantic_core, cryptography, zstandard
            self._packer = Packer(self._credential, self._producer)
        try:
            return deque([self._packer.pack(rows, clock_offset_ms)])
        except ValueError:
            if len(rows) == 1:
                self.failed += 1
                log.error("event could not be encoded and was left out: event_id=%s", rows[0][1])
                return deque()
        return deque(message for row in rows for message in self._pack([row], clock_offset_ms))

    def _count(self, message: Message) -> None:
        if self.last_error is not None:
            log.info("broker answers again: failures=%d", self.failures)
            self.last_error = None
        self.sent += message.event_count
        self.messages += 1

    def _note(self, exc: Exception) -> None:
        self.failures += 1
        if self.last_error is None:
            # The class alone: a message of redis-py may hold the URL.
            log.warning("broker does not take events, they wait here: error=%s", type(exc).__name__)
        self.last_error = type(exc).__name__
        self._drop_link()

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(Exception):  # It is broken; that is why it goes.
                link.close()

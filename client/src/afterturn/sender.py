"""The daemon thread: takes what is buffered, makes messages of it, gets them into the broker, and hears what became.

Everything heavy is imported and computed here, while a fork waits for it. Whatever the broker does ends in a pause and
another try; the agent's threads never see it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from afterturn.breaker import Breaker, BrokerState
from afterturn.credentials import Credential, seal_key
from afterturn.forks import fork_gate
from afterturn.pending import Pending, ResendPolicy

if TYPE_CHECKING:
    from afterturn.answers import Answers
    from afterturn.buffer import Buffer, Row
    from afterturn.link import Heard, Link
    from afterturn.outgoing import Message, Packer, Parcel
    from afterturn.receipts import OnReject

    Taken = tuple[list[Row], int]

MAX_EVENTS = 500
LINGER_SECONDS = 0.1
MAX_MESSAGE_BYTES = 512 * 1024
HEAR_SECONDS = 0.25
HURRIED_HEAR_SECONDS = 0.02
RARELY_HEAR_SECONDS = 2.0
FULL_ANSWER = 256
RESENT_AT_ONCE = 16
ORPHANS_SECONDS = 30.0
ORPHANS_ON_THE_WAY = 50
KEPT_PER_MESSAGE_BYTES = 512

log = logging.getLogger("afterturn")


class Orphans(Protocol):
    """Events that dead processes left behind."""

    def next_parcel(self, max_events: int, max_bytes: int) -> Parcel | None:
        """The next of them for one message, or None for now."""
        ...


class Sender:
    """Sends one process's buffer. After `stop` it tries what is there once more and ends."""

    def __init__(
        self,
        buffer: Buffer,
        credential: Credential,
        url: str,
        producer: UUID,
        *,
        on_reject: OnReject | None = None,
        orphans: Orphans | None = None,
        policy: ResendPolicy | None = None,
    ) -> None:
        self._buffer = buffer
        self._credential = credential
        self._url = url
        self._producer = producer
        self._on_reject = on_reject
        self._orphans = orphans
        self._pending = Pending(policy)
        self._breaker = Breaker()
        self._taken: Taken | None = None
        self._orphan: Parcel | None = None
        self._orphans_out = 0
        self._was_full = False
        self._outgoing: deque[Message] = deque()
        self._link: Link | None = None
        self._packer: Packer | None = None
        self._answers: Answers | None = None
        self._epoch: str | None = None
        self._heard_at = 0.0
        self._connected_at = 0.0
        self._hear_at = 0.0
        self._hear_pause = HEAR_SECONDS
        self._hurry_receipts_until = 0.0
        self._hears = True
        self._wake = threading.Event()
        self._stopping = False
        self.sent = 0
        self.failed = 0
        self.messages = 0
        self.resent = 0
        self.adopted = 0
        self.failures = 0
        self.last_error: str | None = None
        self.thread = threading.Thread(target=self._run, name="afterturn-sender", daemon=True)

    @property
    def masked(self) -> int:
        """How many secrets were masked so far."""
        return self._packer.masked if self._packer else 0

    @property
    def answers(self) -> Answers | None:
        """What the workers said so far; None before the first connection."""
        return self._answers

    @property
    def broker(self) -> BrokerState:
        """How the broker was the last time that it was asked for something."""
        return self._breaker.state

    @property
    def hears_receipts(self) -> bool:
        """False where this key may not fetch them: then a message is settled once the broker has it."""
        return self._hears

    def hasten(self, seconds: float, *, receipts: bool = False) -> None:
        """For so long: no coalescing, and only short pauses after a failure. Ends a pause at once."""
        if receipts:
            self._hurry_receipts_until = time.monotonic() + seconds
        self._buffer.hasten(seconds)
        self._buffer.ring()
        self._wake.set()

    def relax(self) -> None:
        """Nobody waits for receipts any more."""
        self._hurry_receipts_until = 0.0

    def stop(self, receipt_seconds: float = 0.0) -> None:
        """Asks the thread to send what is here and to end, at the latest with the first failure.

        receipt_seconds: how much longer it listens for receipts.
        """
        self._hurry_receipts_until = time.monotonic() + receipt_seconds if receipt_seconds else 0.0
        self._stopping = True
        self._buffer.close()
        self._wake.set()

    def _run(self) -> None:
        while not self._is_done():
            self._rest()
            try:
                self._work()
            except Exception as exc:
                self._note(exc)
                if self._stopping:
                    break
        self._drop_link()

    def _is_done(self) -> bool:
        if not self._stopping or self._outgoing or self._taken or self._buffer.ready():
            return False
        return not (self._pending and self._hurries_receipts())

    def _rest(self) -> None:
        """Waits until there is something to do: events, receipts that may have come, a broker to try again."""
        if self._stopping:
            if not (self._outgoing or self._taken or self._buffer.ready()):
                self._pause(HURRIED_HEAR_SECONDS)  # Only receipts are waited for.
        elif pause := self._closed_for():
            self._pause(pause)
        elif not (self._outgoing or self._taken or self._pending.has_lost or self._finds_orphans()):
            self._buffer.wait(1, self._idle_seconds(time.monotonic()))
            if self._buffer.ready() and not self._was_full:
                self._buffer.wait(MAX_EVENTS, LINGER_SECONDS)

    def _pause(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _closed_for(self) -> float:
        """How long the broker is left alone yet."""
        hurried = self._buffer.hurries() or self._hurries_receipts()
        return self._breaker.pause_seconds(time.monotonic(), hurried=hurried)

    def _hurries_receipts(self) -> bool:
        return time.monotonic() < self._hurry_receipts_until

    def _idle_seconds(self, now: float) -> float | None:
        """How long nothing happens if nobody says anything; None for ever."""
        waits: list[float] = []
        if self._pending and self._hears:
            waits.append(HURRIED_HEAR_SECONDS if self._hurries_receipts() else max(0.0, self._hear_at - now))
        if self._orphans is not None:
            waits.append(ORPHANS_SECONDS)
        return min(waits, default=None)

    def _finds_orphans(self) -> bool:
        if self._orphan is None and self._orphans is not None and self._orphans_out < ORPHANS_ON_THE_WAY:
            try:
                with fork_gate:
                    self._orphan = self._orphans.next_parcel(MAX_EVENTS, MAX_MESSAGE_BYTES)
            except Exception as exc:  # What the dead left must not stop the living.
                log.error("spool of a dead process cannot be read: error=%s", type(exc).__name__)
        return self._orphan is not None

    def _work(self) -> None:
        if not (self._outgoing or self._taken or self._pending or self._orphan or self._buffer.ready()):
            return
        if self._closed_for() and not self._stopping:
            return
        link = self._connected()
        if self._pending and self._hears and (time.monotonic() >= self._hear_at or self._hurries_receipts()):
            self._hear(link)
        for _ in range(RESENT_AT_ONCE):
            if (message := self._pending.next_lost()) is None:
                break
            link.push(message)
            self._pending.sent_again(self._answered())
            self.resent += message.event_count
        if not self._outgoing:
            self._pack_next(link.clock_offset_ms())
        while self._outgoing:
            self._push_next(link)
        self._worked()

    def _push_next(self, link: Link) -> None:
        """Hands the oldest message over, and hears receipts on the way when it is about time for them."""
        message = self._outgoing[0]
        refusal = heard = None
        if self._answers is not None and self._pending and self._hears_soon():
            refusal, heard = link.push_and_hear(message, self._answers.list_name)
        else:
            link.push(message)
        if refusal is None:
            self._handed(self._outgoing.popleft())
        if heard is not None:
            self._take_in(link, heard)
        if refusal is not None:
            raise refusal

    def _hears_soon(self) -> bool:
        return self._hears and time.monotonic() >= self._hear_at - LINGER_SECONDS

    def _connected(self) -> Link:
        if self._link is not None:
            return self._link
        with fork_gate:
            from afterturn.answers import Answers  # noqa: PLC0415 - cryptography
            from afterturn.link import Link  # noqa: PLC0415 - redis: 200 ms that the agent is spared

            link = Link(self._url, self._connects)  # Inside too: redis-py looks its own version up.
            if self._answers is None:
                self._answers = Answers(seal_key(self._credential.secret), self._producer, self._on_reject)
        self._link = link
        self._see(link.epoch())
        self._answered()
        return link

    def _connects(self) -> None:
        self._connected_at = time.monotonic()

    def _answered(self) -> float:
        """The broker has just said something: now. Over a new connection it may be one that died in between."""
        if self._connected_at > self._heard_at:
            self._pending.lose_tail(self._heard_at, self._connected_at)
            self._hear_at = 0.0  # Its epoch says whether more is lost.
        self._heard_at = time.monotonic()
        return self._heard_at

    def _see(self, epoch: str | None) -> None:
        """Learns the broker's epoch; another one than before means that everything in it is gone."""
        if epoch is None:
            return
        if self._epoch is not None and epoch != self._epoch and self._pending:
            log.warning("broker lost what it held, sending it again: messages=%d", len(self._pending))
            self._pending.lose_all()
        self._epoch = epoch

    def _hear(self, link: Link) -> None:
        if self._answers is not None:
            self._take_in(link, link.hear(self._answers.list_name))

    def _take_in(self, link: Link, heard: Heard) -> None:
        if self._answers is None:
            return
        now = self._answered()
        if heard.receipts is None:
            log.warning("this key may not fetch receipts: the broker's word has to do")
            self._hears = False
            for message in self._pending.settle_all():
                self._settle(message)
            return
        self._see(link.epoch() if heard.epoch == "" else heard.epoch)
        for message in self._answers.read(heard.receipts, self._pending, now):
            self._settle(message)
        self._hear_pause = HEAR_SECONDS if heard.receipts else min(2 * self._hear_pause, RARELY_HEAR_SECONDS)
        # A full answer has more behind it.
        self._hear_at = now if len(heard.receipts) >= FULL_ANSWER else now + self._hear_pause
        self._pending.lose_silent(now, heard.queue_length)

    def _pack_next(self, clock_offset_ms: int | None) -> None:
        """Makes messages of the oldest events here, and of some that a dead process left behind.

        Never the buffer's lock inside the gate: a signal's handler may fork while its own thread holds that lock.
        """
        with fork_gate:
            from afterturn.outgoing import Packer, Parcel  # noqa: PLC0415 - pydantic_core, cryptography, zstandard

            if self._packer is None:
                self._packer = Packer(self._credential, self._producer)
        if self._taken is None:
            self._taken = self._buffer.take(MAX_EVENTS, MAX_MESSAGE_BYTES)
        rows, size = self._taken
        # What the bytes of one message did not hold begins the next one at once.
        self._was_full = len(rows) < MAX_EVENTS and self._buffer.ready() > 0
        if rows:
            messages = self._pack(self._packer, Parcel(rows, self._buffer.source), clock_offset_ms)
            self._buffer.shrink(size - sum(_kept_bytes(message) for message in messages))
            self._outgoing += messages
        self._taken = None
        if self._orphan is not None:
            self._outgoing += self._pack(self._packer, self._orphan, clock_offset_ms)
            self._orphan = None

    def _pack(self, packer: Packer, parcel: Parcel, clock_offset_ms: int | None) -> list[Message]:
        """One message; when an event cannot be encoded, one message for each of the others."""
        try:
            with fork_gate:
                return [packer.pack(parcel, clock_offset_ms)]
        except ValueError:
            if len(parcel.rows) == 1:
                self._fail(parcel)
                return []
        alone = [replace(parcel, rows=[row]) for row in parcel.rows]
        return [message for one in alone for message in self._pack(packer, one, clock_offset_ms)]

    def _fail(self, parcel: Parcel) -> None:
        row = parcel.rows[0]
        log.error("event could not be encoded and was left out: event_id=%s", row[1])
        self.failed += 1
        if parcel.source is not None:
            parcel.source.settle(row[7], row[7])
        if parcel.producer is None:
            self._buffer.hand_over(1)
            self._buffer.release(1, 0, self._pending.done_until(self._buffer.handed))

    def _handed(self, message: Message) -> None:
        now = self._answered()
        self.messages += 1
        if message.is_adopted:
            self.adopted += message.event_count
            self._orphans_out += 1
        else:
            self.sent += message.event_count
        if self._hears:
            if not self._pending:
                self._hear_pause = HEAR_SECONDS
                self._hear_at = now + HEAR_SECONDS
            self._pending.add(message, now)
        if not message.is_adopted:
            self._buffer.hand_over(message.event_count)
        if not self._hears:
            self._settle(message)

    def _settle(self, message: Message) -> None:
        """The message's events are known to be kept, or nobody will ever say."""
        message.settle()
        if message.is_adopted:
            self._orphans_out -= 1
        else:
            done = self._pending.done_until(self._buffer.handed)
            self._buffer.release(message.event_count, _kept_bytes(message), done)

    def _worked(self) -> None:
        self._breaker.worked()
        if self.last_error is not None:
            log.info("broker answers again: failures=%d", self.failures)
            self.last_error = None

    def _note(self, exc: Exception) -> None:
        self.failures += 1
        self._breaker.failed(time.monotonic())
        if self.last_error is None:
            # The class alone: a message of redis-py may hold the URL.
            log.warning("broker does not take events, they wait here: error=%s", type(exc).__name__)
        self.last_error = type(exc).__name__
        if type(exc).__name__ != "OutOfMemoryError":  # A broker that is only full has broken no connection.
            self._drop_link()

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(Exception):  # It is broken; that is why it goes.
                link.close()


def _kept_bytes(message: Message) -> int:
    """What a message takes in memory until its receipt."""
    return len(message.blob) + KEPT_PER_MESSAGE_BYTES

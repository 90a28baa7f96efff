"""The way to the broker and back: redis-py with short time-outs. Loaded by the sender's thread alone.

Not through kombu: its lazily computed properties hold locks of their classes, and a child that was forked meanwhile
waits for such a lock for ever (measured: one fork in a hundred). The element and its key are kombu's all the same.
"""

from __future__ import annotations

import contextlib
import email.parser
import encodings.idna
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qs, urlencode, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, OutOfMemoryError
from redis.retry import Retry

from afterturn.envelope import KEY_PREFIX, QUEUE, wrap
from afterturn.forks import fork_gate
from afterturn.ids import uuid7_text
from afterturn.outgoing import Message
from afterturn.receipts import EPOCH_KEY
from afterturn.sender import FULL_ANSWER

LOADED_EARLY = (email.parser, encodings.idna)
"""Loaded by the first connection otherwise: outside the gate, where a fork does not wait."""
SOCKET_SECONDS = 0.5
IDLE_SECONDS = 1.0
CLOCK_SECONDS = 60.0

Command = tuple[str | int, ...]

_KEY = f"{KEY_PREFIX}{QUEUE}"


@dataclass(frozen=True, slots=True)
class Heard:
    """What the broker said. None: this key may not ask. An epoch of "" means that it has none."""

    receipts: list[bytes] | None
    epoch: str | None
    queue_length: int | None


class Link:
    """One connection, of one thread. Every failure comes out as it is: the sender closes the link and waits.

    Commands go over the connection itself: what redis-py's client does around each costs twice as much as the command.
    Its pool renews a connection that was closed while it was idle, without a word; `on_connect` is told of every one.
    """

    def __init__(self, url: str, on_connect: Callable[[], None] = lambda: None) -> None:
        def connected(connection: redis.Connection) -> None:
            connection.on_connect()
            on_connect()

        self._client = redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
            redis_url(url),
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=SOCKET_SECONDS,
            # Pauses are the sender's: redis-py's own take three seconds to say that a connection was refused.
            retry=Retry(NoBackoff(), 0),
            max_connections=1,
            redis_connect_func=connected,
        )
        # A handshake fetches ciphers, under locks that a forked child must not inherit. It has the time-outs above; a
        # name that is not resolved has none, and a fork then waits as long as it waits for anything.
        self._connecting = fork_gate if url.startswith("rediss:") else contextlib.nullcontext()
        self._connection: redis.Connection | None = None
        self._used_at = 0.0
        self._clock_offset_ms: int | None = None
        self._clock_read_at = 0.0

    def push(self, message: Message) -> None:
        """Puts the message in the queue. Raises: whatever the broker or the network did."""
        (refusal,) = self._ask(_pushing(message))
        if isinstance(refusal, Exception):
            raise refusal

    def push_and_hear(self, message: Message, receipts_key: str) -> tuple[Exception | None, Heard]:
        """`push` and `hear` in one round trip. A refusal is answered, not raised: receipts have come all the same."""
        refusal, *answers = self._ask(_pushing(message), *_hearing(receipts_key))
        return refusal if isinstance(refusal, Exception) else None, _heard(answers)

    def epoch(self) -> str | None:
        """The broker's epoch, given to it now if it has none. As in `Heard`."""
        _, epoch = self._ask(("SET", EPOCH_KEY, secrets.token_hex(16), "NX"), ("GET", EPOCH_KEY))
        return _text(epoch)

    def hear(self, receipts_key: str) -> Heard:
        """Takes the receipts that have come, and looks at the broker, in one round trip."""
        return _heard(self._ask(*_hearing(receipts_key)))

    def _ask(self, *commands: Command) -> list[object]:
        """The answers to commands sent as one, refusals among them. Raises: when the broker cannot be asked."""
        connection = self._connected()
        connection.send_packed_command(connection.pack_commands(commands))  # pyright: ignore[reportUnknownMemberType] - untyped
        answers = [_answer(connection) for _ in commands]
        self._used_at = time.monotonic()
        for answer in answers:
            # NOPERM and the like say something about this key; anything else is the broker's trouble.
            if isinstance(answer, Exception) and not _is_refusal(answer):
                raise answer
        return answers

    def _connected(self) -> redis.Connection:
        pool = self._client.connection_pool
        if self._connection is not None and time.monotonic() - self._used_at > IDLE_SECONDS:
            pool.release(self._connection)
            self._connection = None
        if self._connection is None:
            with self._connecting:
                self._connection = pool.get_connection()  # pyright: ignore[reportUnknownMemberType] - untyped arguments
        return self._connection

    def clock_offset_ms(self) -> int | None:
        """How far this machine's clock is ahead of the broker's, read once a minute; None where that is not allowed."""
        now = time.monotonic()
        if self._clock_read_at and now - self._clock_read_at < CLOCK_SECONDS:
            return self._clock_offset_ms
        before = time.time_ns()
        (told,) = self._ask(("TIME",))
        if isinstance(told, Exception):  # NOPERM: an ACL without +time costs the correction, not the events.
            self._clock_offset_ms = None
        else:
            seconds, micros = cast("list[bytes]", told)
            broker_ns = (int(seconds) * 1_000_000 + int(micros)) * 1000
            self._clock_offset_ms = round(((before + time.time_ns()) // 2 - broker_ns) / 1_000_000)
        self._clock_read_at = now
        return self._clock_offset_ms

    def close(self) -> None:
        """Lets the connection go. Repeat: harmless."""
        self._client.close()


def _pushing(message: Message) -> Command:
    return "LPUSH", _KEY, wrap(message.blob, str(message.message_id), uuid7_text(), int(time.time()))


def _hearing(receipts_key: str) -> tuple[Command, ...]:
    return ("LPOP", receipts_key, FULL_ANSWER), ("GET", EPOCH_KEY), ("LLEN", _KEY)


def _heard(answers: Sequence[object]) -> Heard:
    receipts, epoch, length = answers
    return Heard(
        None if isinstance(receipts, Exception) else cast("list[bytes]", receipts or []),
        _text(epoch),
        length if isinstance(length, int) else None,
    )


def _answer(connection: redis.Connection) -> object:
    try:
        return cast("object", connection.read_response())  # pyright: ignore[reportUnknownMemberType] - untyped
    except redis.ResponseError as exc:
        return exc


def _is_refusal(answer: Exception) -> bool:
    """Whether an answer refuses this one command: not allowed, not known, or no memory left for it."""
    return isinstance(answer, NoPermissionError | OutOfMemoryError) or "wrong number of arguments" in str(answer)


def _text(answer: object) -> str | None:
    if isinstance(answer, bytes):
        return answer.decode("ascii", "replace")
    return "" if answer is None else None


def redis_url(url: str) -> str:
    """The broker's URL as redis-py spells it: Celery's redis+socket:///path?virtual_host=0 is its unix:///path?db=0."""
    scheme, _, rest = url.partition("://")
    if scheme != "redis+socket":
        return url
    parts = urlsplit(f"unix://{rest}")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    query["db"] = query.pop("virtual_host", "0").lstrip("/") or "0"
    return f"unix://{parts.netloc}{parts.path}?{urlencode(query)}"

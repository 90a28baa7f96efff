"""The hot tier: small values in Redis, read through, never the only copy. Losing it costs time and nothing else.

A value is good only under the *stamp* that it was read under. A stamp is made of marks, one random word each for a
user, a thread or a ticket. Whoever writes drops the marks of what it changed, after its commit. A reader takes the
stamp first, then SQL's snapshot: a value that was read before a write, and put here after it, stands under a stamp
that nobody takes any more. What a lost drop costs is bounded by the values' time to live.
Values are sealed, and open under their key and stamp only: the broker's files hold no readable text.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast
from uuid import UUID, uuid5

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

T = TypeVar("T")

logger = logging.getLogger(__name__)

PREFIX = "afterturn:v1:hot:"
TIMEOUT_SECONDS = 0.1
# After a failure Redis is left alone this long, twice as long after each further one: a dead one costs its time-out
# once, not at every read.
REST_SECONDS = 1.0
MAX_REST_SECONDS = 30.0
MAX_BYTES = 65_536
# Longer than any value lives: a mark that ends takes nothing with it that is still good.
MARK_SECONDS = 3_600
MAX_OWED = 10_000

TALK, PROFILE = "talk", "profile"
_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKey:
    """Whose value it is, and of which generation: an erasure moves the generation and so empties the cache."""

    tenant_id: UUID
    user_ref: UUID
    generation: int
    name: str

    def text(self) -> str:
        """The key in Redis."""
        return f"{PREFIX}{self.tenant_id.hex}:{self.user_ref.hex}:{self.generation}:{self.name}"


def mark(tenant_id: UUID, ref: UUID, what: str) -> HotKey:
    """The mark of what is cached of a user or topic: `TALK` (tail, states, lag) or `PROFILE` (facts)."""
    return HotKey(tenant_id=tenant_id, user_ref=ref, generation=0, name=f"mark:{what}")


def topic(tenant_id: UUID, scope: str, name: str) -> UUID:
    """What stands for a thread or a ticket where a user would stand."""
    return uuid5(tenant_id, f"{scope}:{name}")


def marks_of(
    tenant_id: UUID,
    users: Iterable[UUID],
    *,
    threads: Iterable[str | None] = (),
    tickets: Iterable[str | None] = (),
    what: Sequence[str] = (TALK, PROFILE),
) -> list[HotKey]:
    """The marks of users and of the threads and tickets among these, each once."""
    refs = dict.fromkeys(users)
    refs |= dict.fromkeys(topic(tenant_id, "thread", name) for name in threads if name is not None)
    refs |= dict.fromkeys(topic(tenant_id, "ticket", name) for name in tickets if name is not None)
    return [mark(tenant_id, ref, one) for ref in refs for one in what]


def seal_key(hash_key: bytes) -> bytes:
    """The key (32 bytes) under which a tenant's values are sealed."""
    return HKDF(SHA256(), 32, salt=None, info=b"afterturn/hot/v1").derive(hash_key)


@dataclass(slots=True)
class HotStats:
    """Counts since this process began. `failures` are calls that Redis did not answer; they are misses too."""

    hits: int = 0
    misses: int = 0
    failures: int = 0
    too_large: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """What the cache held: the values that are still good, and the stamp under which each can be put anew.

    `is_away`: Redis should have answered and did not; then nothing can be put.
    """

    values: Mapping[HotKey, bytes] = field(default_factory=dict[HotKey, bytes])
    stamps: Mapping[HotKey, str] = field(default_factory=dict[HotKey, str])
    is_away: bool = False


class HotCache:
    """Bytes by `HotKey`, each with a time to live. No call raises for Redis' sake or waits longer than 100 ms.

    `url` is redis-py's spelling; None turns the cache off: every look is a miss.
    """

    def __init__(
        self,
        url: str | None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stats = HotStats()
        self._url = url
        self._timeout = timeout_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._client: Redis | None = None
        self._pid = os.getpid()
        self._rests_until = float("-inf")
        self._rest = REST_SECONDS
        self._owed: set[str] = set()

    @property
    def is_on(self) -> bool:
        """Whether there is a Redis to ask."""
        return self._url is not None

    def look(self, wanted: Mapping[HotKey, Sequence[HotKey]], *, secret: bytes) -> Look:
        """The values that are still good under the present stamp of their marks.

        Call it before the snapshot that is to fill what it misses.
        """
        marks = list(dict.fromkeys(one.text() for marks in wanted.values() for one in marks))
        found = self._call(lambda client: client.mget([*marks, *(key.text() for key in wanted)]))
        words = None if found is None else cast("list[bytes | None]", found[: len(marks)])
        if words is not None and None in words:
            words = self._call(lambda client: _set_marks(client, marks))
        if found is None or words is None:
            self.stats.misses += len(wanted)
            return Look(is_away=self.is_on)
        by_mark = {name: (word or b"").decode("ascii", "replace") for name, word in zip(marks, words, strict=True)}
        stamps = {key: ".".join(by_mark[one.text()] for one in marks) for key, marks in wanted.items()}
        sealed = zip(wanted, cast("list[bytes | None]", found[len(marks) :]), strict=True)
        opened = {key: _opened(raw, key, stamps[key], secret) for key, raw in sealed}
        values = {key: value for key, value in opened.items() if value is not None}
        self.stats.hits += len(values)
        self.stats.misses += len(wanted) - len(values)
        return Look(values, stamps)

    def put(self, look: Look, key: HotKey, value: bytes, *, ttl_seconds: float, secret: bytes) -> None:
        """Caches a value that was read after `look`; one above 64 KB is counted and left out.

        Raises: ValueError for a TTL that is not in (0, MARK_SECONDS].
        """
        if not 0 < ttl_seconds <= MARK_SECONDS:
            msg = "a hot value needs a time to live, no longer than its marks'"
            raise ValueError(msg)
        stamp = look.stamps.get(key)
        if stamp is None:
            return
        if len(value) > MAX_BYTES:
            self.stats.too_large += 1
            return
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + AESGCM(secret).encrypt(nonce, value, _bound(key, stamp))
        self._call(lambda client: client.set(key.text(), sealed, px=max(1, round(ttl_seconds * 1000))))

    def drop(self, marks: Sequence[HotKey]) -> None:
        """Makes everything old that stands under these marks: for after a commit. Repeat: harmless.

        A drop that Redis does not take is tried once more at once, since readers may still reach it; then it is kept
        and goes out with the next one. Until then values live out their time.
        """
        if not self.is_on or not marks:
            return
        names = {key.text() for key in marks} | self._owed
        rested = self._clock() >= self._rests_until
        dropped = self._call(lambda client: client.delete(*names))
        if dropped is None and rested:
            self._rests_until = self._clock()
            dropped = self._call(lambda client: client.delete(*names))
        if dropped is not None:
            self._owed -= names
        elif len(names) <= MAX_OWED:
            self._owed = names

    def close(self) -> None:
        """Closes this process's connections. Repeat: harmless."""
        client, self._client = self._client, None
        if client is not None and self._pid == os.getpid():
            client.close()

    def _call(self, command: Callable[[Redis], T]) -> T | None:
        """What Redis answers; None on any failure."""
        if self._url is None or self._clock() < self._rests_until:
            return None
        try:
            answer = command(self._connected(self._url))
        except (RedisError, OSError) as exc:
            self.stats.failures += 1
            self._rests_until = self._clock() + self._rest
            logger.warning("hot cache unreachable error=%s rest_seconds=%s", type(exc).__name__, self._rest)
            self._rest = min(2 * self._rest, MAX_REST_SECONDS)
            return None
        self._rest = REST_SECONDS
        return answer

    def _connected(self, url: str) -> Redis:
        with self._lock:
            if self._client is None or self._pid != os.getpid():
                self._client = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
                    url,
                    socket_timeout=self._timeout,
                    socket_connect_timeout=self._timeout,
                    retry=Retry(NoBackoff(), 0),
                    protocol=2,
                )
                self._pid = os.getpid()
            return self._client


def _set_marks(client: Redis, names: Sequence[str]) -> list[bytes | None]:
    """The marks' words, made where there was none; of two readers that make one both get the first."""
    with client.pipeline(transaction=False) as pipe:  # pyright: ignore[reportUnknownMemberType]  untyped arguments
        for name in names:
            pipe.set(name, secrets.token_hex(8), nx=True, ex=MARK_SECONDS)
        pipe.mget(names)
        return cast("list[bytes | None]", pipe.execute()[-1])


def _bound(key: HotKey, stamp: str) -> bytes:
    return f"{key.text()}|{stamp}".encode()


def _opened(raw: bytes | None, key: HotKey, stamp: str, secret: bytes) -> bytes | None:
    if raw is None:
        return None
    try:
        return AESGCM(secret).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _bound(key, stamp))
    except (InvalidTag, ValueError):
        return None

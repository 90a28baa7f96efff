"""The hot tier: small values in Redis, read through, never the only copy. Losing it costs time and nothing else."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

T = TypeVar("T")

logger = logging.getLogger(__name__)

PREFIX = "afterturn:v1:hot:"
TIMEOUT_SECONDS = 0.1
# After a failure Redis is left alone this long: a dead one costs its time-out once, not at every read.
REST_SECONDS = 1.0
MAX_BYTES = 65_536


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


@dataclass(slots=True)
class HotStats:
    """Counts since this process began. `failures` are calls that Redis did not answer; they are misses too."""

    hits: int = 0
    misses: int = 0
    failures: int = 0
    too_large: int = 0


class HotCache:
    """JSON values by `HotKey`, each with a time to live. No call raises for Redis' sake or waits longer than 100 ms.

    `url` is redis-py's spelling; None turns the cache off: every read is a miss.
    """

    def __init__(self, url: str | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.stats = HotStats()
        self._url = url
        self._clock = clock
        self._lock = threading.Lock()
        self._client: Redis | None = None
        self._pid = os.getpid()
        self._rests_until = float("-inf")

    def read(self, key: HotKey, load: Callable[[], T], *, ttl_seconds: float) -> T:
        """The cached value, else what `load` gives, which is then cached. `T` is what JSON gives back unchanged."""
        raw = self._call(lambda client: client.get(key.text()))
        if raw is not None:
            self.stats.hits += 1
            return cast("T", json.loads(cast("bytes", raw)))
        self.stats.misses += 1
        value = load()
        self.put(key, value, ttl_seconds=ttl_seconds)
        return value

    def put(self, key: HotKey, value: Any, *, ttl_seconds: float) -> None:
        """Caches a value; one above 64 KB of JSON is counted and left out. Raises: ValueError for a TTL <= 0."""
        if ttl_seconds <= 0:
            msg = "a hot value needs a time to live"
            raise ValueError(msg)
        raw = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        if len(raw) > MAX_BYTES:
            self.stats.too_large += 1
            return
        self._call(lambda client: client.set(key.text(), raw, px=max(1, round(ttl_seconds * 1000))))

    def drop(self, *keys: HotKey) -> None:
        """Forgets values that a write has made old. Repeat: harmless. A drop that fails leaves them to their TTL."""
        if keys:
            self._call(lambda client: client.delete(*(key.text() for key in keys)))

    def close(self) -> None:
        """Closes this process's connections. Repeat: harmless."""
        client, self._client = self._client, None
        if client is not None and self._pid == os.getpid():
            client.close()

    def _call(self, command: Callable[[Redis], Any]) -> Any:
        """What Redis answers; None on any failure."""
        if self._url is None or self._clock() < self._rests_until:
            return None
        try:
            return command(self._connected(self._url))
        except (RedisError, OSError) as exc:
            self.stats.failures += 1
            self._rests_until = self._clock() + REST_SECONDS
            logger.warning("hot cache unreachable error=%s rest_seconds=%s", type(exc).__name__, REST_SECONDS)
            return None

    def _connected(self, url: str) -> Redis:
        with self._lock:
            if self._client is None or self._pid != os.getpid():
                self._client = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
                    url,
                    socket_timeout=TIMEOUT_SECONDS,
                    socket_connect_timeout=TIMEOUT_SECONDS,
                    retry=Retry(NoBackoff(), 0),
                    protocol=2,
                )
                self._pid = os.getpid()
            return self._client

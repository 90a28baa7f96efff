"""Where receipts wait for the publisher that fetches them: one short list in the broker for each producer."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from afterturn.receipts import CAP, EPOCH_KEY, TTL_SECONDS

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 1.0
# After a failure the broker is left alone this long: the commit is done, and a receipt is worth no waiting.
REST_SECONDS = 1.0


class ReceiptBox:
    """Puts receipts into the broker, for one process and thread. No call raises for its sake; a lost one costs a
    re-send.

    `url` is redis-py's spelling. It connects at first use.
    """

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
            url,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            max_connections=1,
        )
        self._clock = clock
        self._rests_until = float("-inf")
        self.lost = 0

    def put(self, list_name: str, receipt: bytes) -> bool:
        """Adds a receipt in one round trip, and gives the broker an epoch if it has none. Whether it is there."""
        if self._clock() < self._rests_until:
            self.lost += 1
            return False
        try:
            with self._client.pipeline(transaction=False) as line:  # pyright: ignore[reportUnknownMemberType] - an untyped argument
                line.rpush(list_name, receipt)
                line.ltrim(list_name, -CAP, -1)
                line.expire(list_name, TTL_SECONDS)
                line.set(EPOCH_KEY, secrets.token_hex(16), nx=True)
                line.execute()
        except (RedisError, OSError) as exc:
            self.lost += 1
            self._rests_until = self._clock() + REST_SECONDS
            logger.warning("receipt lost error=%s", type(exc).__qualname__)
            return False
        return True

    def close(self) -> None:
        """Lets the connection go. Repeat: harmless."""
        self._client.close()

"""The hot cache on a real server: read through, bounded in time, harmless when the server is gone."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Generator
from typing import cast
from uuid import UUID, uuid4

import pytest
from redis import Redis

from services import scratch, wait_until
from stores.hot import MAX_BYTES, PREFIX, REST_SECONDS, HotCache, HotKey
from stores.settings import redis_url
from workers.broker import connect


@pytest.fixture
def cache(broker_url: str) -> Generator[HotCache]:
    opened = HotCache(redis_url(broker_url))
    yield opened
    opened.close()


@pytest.fixture
def server(broker_url: str) -> Generator[Redis]:
    client = connect(broker_url)
    yield client
    client.close()


def _key(name: str = "profile", *, generation: int = 0, user: UUID | None = None) -> HotKey:
    return HotKey(tenant_id=UUID(int=1), user_ref=user or UUID(int=2), generation=generation, name=name)


def _once(value: object) -> Callable[[], object]:
    """A loader that may be asked once."""
    left = [value]
    return left.pop


def test_a_value_is_loaded_once_and_then_read_from_redis(cache: HotCache) -> None:
    load = _once({"城市": "里昂", "n": [1, 2.5, None, True]})

    first = cache.read(_key(), load, ttl_seconds=60)
    second = cache.read(_key(), load, ttl_seconds=60)

    assert first == second == {"城市": "里昂", "n": [1, 2.5, None, True]}
    assert (cache.stats.hits, cache.stats.misses, cache.stats.failures) == (1, 1, 0)


def test_another_generation_user_or_name_is_another_value(cache: HotCache) -> None:
    cache.put(_key(), "old", ttl_seconds=60)

    for key in (_key(generation=1), _key(user=uuid4()), _key("tail")):
        assert cache.read(key, _once("new"), ttl_seconds=60) == "new"
    assert cache.read(_key(), _once("unasked"), ttl_seconds=60) == "old"


def test_a_dropped_value_is_loaded_again(cache: HotCache) -> None:
    cache.put(_key(), 1, ttl_seconds=60)
    cache.put(_key("tail"), 2, ttl_seconds=60)

    cache.drop(_key(), _key("tail"), _key("never there"))
    cache.drop()

    assert cache.read(_key(), _once(3), ttl_seconds=60) == 3


def test_a_value_ends_with_its_time(cache: HotCache) -> None:
    cache.put(_key(), 1, ttl_seconds=0.05)

    assert wait_until(lambda: cache.read(_key(), lambda: 2, ttl_seconds=0.001) == 2)


def test_no_key_is_left_without_a_time_to_live(cache: HotCache, server: Redis) -> None:
    for number in range(20):
        cache.read(_key(f"n{number}"), lambda: [number], ttl_seconds=30 + number)  # noqa: B023
        cache.put(_key(f"n{number}"), "again", ttl_seconds=600)

    keys = cast("list[bytes]", server.keys())  # pyright: ignore[reportUnknownMemberType]  untyped keyword arguments

    assert len(keys) == 20
    assert all(key.decode().startswith(PREFIX) for key in keys)
    assert all(0 < server.ttl(key) <= 600 for key in keys)


@pytest.mark.parametrize("ttl", [0, -1])
def test_a_value_without_a_time_to_live_is_refused(cache: HotCache, ttl: float) -> None:
    with pytest.raises(ValueError, match="time to live"):
        cache.put(_key(), 1, ttl_seconds=ttl)


def test_a_large_value_is_counted_and_left_out(cache: HotCache, server: Redis) -> None:
    assert cache.read(_key(), _once("长" * MAX_BYTES), ttl_seconds=60) == "长" * MAX_BYTES

    assert cache.stats.too_large == 1
    assert server.keys() == []  # pyright: ignore[reportUnknownMemberType]  untyped keyword arguments


def test_without_a_server_every_read_loads_and_none_raises() -> None:
    now = [0.0]
    with scratch() as folder:
        cache = HotCache(f"unix://{folder}/none.sock?db=0", clock=lambda: now[0])
        for _ in range(5):
            assert cache.read(_key(), lambda: 7, ttl_seconds=60) == 7
        cache.drop(_key())
        assert cache.stats.failures == 1
        assert cache.stats.misses == 5

        now[0] += REST_SECONDS
        cache.drop(_key())
        assert cache.stats.failures == 2


def test_a_server_that_never_answers_costs_its_time_out_once() -> None:
    with scratch() as folder, socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "silent.sock"))
        silent.listen(8)
        cache = HotCache(f"unix://{folder}/silent.sock?db=0")

        started = time.monotonic()
        values = [cache.read(_key(), lambda: 7, ttl_seconds=60) for _ in range(20)]
        spent = time.monotonic() - started
        cache.close()

    assert values == [7] * 20
    assert cache.stats.failures >= 1
    assert spent < 0.1 * cache.stats.failures + 0.5


def test_it_recovers_by_itself_after_the_server_was_frozen(cache: HotCache, server: Redis) -> None:
    told = server.info("server")  # pyright: ignore[reportUnknownMemberType]  untyped keyword arguments
    pid = int(told["process_id"])
    cache.put(_key(), "before", ttl_seconds=600)

    os.kill(pid, signal.SIGSTOP)
    try:
        assert cache.read(_key(), lambda: "loaded", ttl_seconds=600) == "loaded"
    finally:
        os.kill(pid, signal.SIGCONT)

    wait_until(lambda: cache.read(_key(), lambda: "loaded", ttl_seconds=600) and cache.stats.hits, what="a hit")


def test_switched_off_it_loads_every_time() -> None:
    cache = HotCache(None)

    assert [cache.read(_key(), lambda: n, ttl_seconds=60) for n in (1, 2)] == [1, 2]  # noqa: B023
    assert cache.stats.failures == 0

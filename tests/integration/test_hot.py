"""The hot cache on a real server: good under its marks only, sealed, bounded in time, harmless without a server."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from redis import Redis

from services import freeze, scratch, wait_until
from stores.hot import (
    MARK_SECONDS,
    MAX_BYTES,
    PREFIX,
    PROFILE,
    REST_SECONDS,
    TALK,
    HotCache,
    HotKey,
    marks_of,
    seal_key,
)
from stores.settings import redis_url
from workers.broker import connect

TENANT, USER = UUID(int=1), UUID(int=2)
SECRET = seal_key(b"a tenant's own 32 byte hash key..")


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


def key_of(name: str = "profile", *, generation: int = 0, user: UUID = USER) -> HotKey:
    return HotKey(tenant_id=TENANT, user_ref=user, generation=generation, name=name)


def asked(*keys: HotKey, what: str = PROFILE) -> Mapping[HotKey, Sequence[HotKey]]:
    return {key: marks_of(TENANT, [USER], what=[what]) for key in keys or (key_of(),)}


def read(cache: HotCache, load: Callable[[], bytes], key: HotKey | None = None, *, ttl: float = 60) -> bytes:
    """The read through, as recall does it."""
    wanted = key or key_of()
    look = cache.look(asked(wanted), secret=SECRET)
    if wanted in look.values:
        return look.values[wanted]
    value = load()
    cache.put(look, wanted, value, ttl_seconds=ttl, secret=SECRET)
    return value


def once(value: bytes) -> Callable[[], bytes]:
    """A loader that may be asked once."""
    left = [value]
    return left.pop


def test_a_value_is_loaded_once_and_then_read_from_redis(cache: HotCache) -> None:
    load = once("里昂".encode())

    assert read(cache, load) == read(cache, load) == "里昂".encode()
    assert (cache.stats.hits, cache.stats.misses, cache.stats.failures) == (1, 1, 0)


def test_another_generation_user_or_name_is_another_value(cache: HotCache) -> None:
    read(cache, once(b"old"))

    for key in (key_of(generation=1), key_of(user=uuid4()), key_of("tail")):
        assert read(cache, once(b"new"), key) == b"new"
    assert read(cache, once(b"unasked")) == b"old"


def test_a_dropped_mark_ends_what_stands_under_it_and_nothing_else(cache: HotCache) -> None:
    profile, talk = key_of("profile"), key_of("talk")
    wanted = {**asked(profile), **asked(talk, what=TALK)}
    look = cache.look(wanted, secret=SECRET)
    for key in wanted:
        cache.put(look, key, b"v", ttl_seconds=60, secret=SECRET)

    cache.drop(marks_of(TENANT, [USER], what=[TALK]))
    cache.drop([])

    assert set(cache.look(wanted, secret=SECRET).values) == {profile}


def test_a_value_read_before_a_write_and_put_after_it_is_never_shown(cache: HotCache) -> None:
    look = cache.look(asked(), secret=SECRET)
    read_before_the_write = b"old"

    cache.drop(marks_of(TENANT, [USER]))
    cache.put(look, key_of(), read_before_the_write, ttl_seconds=60, secret=SECRET)

    assert cache.look(asked(), secret=SECRET).values == {}
    assert read(cache, once(b"new")) == b"new"


def test_two_readers_that_find_no_mark_agree_on_one(cache: HotCache) -> None:
    one, other = (cache.look(asked(), secret=SECRET) for _ in range(2))

    assert one.stamps == other.stamps


def test_a_mark_that_is_dropped_while_it_is_made_gives_no_stamp(broker_url: str, server: Redis) -> None:
    class Dropping(HotCache):
        """A writer comes right after the mark was set, as no test can time it from outside."""

        def _call(self, command: Callable[[Redis], Any]) -> Any:
            return super()._call(lambda client: command(cast("Redis", _Dropped(client))))

    class _Dropped:
        def __init__(self, client: Redis) -> None:
            self._client = client

        def __getattr__(self, name: str) -> Any:
            return getattr(self._client, name)

        def pipeline(self, **given: Any) -> Any:
            made: Any = self._client.pipeline(**given)  # pyright: ignore[reportUnknownMemberType]
            plain = made.mget

            def mget(names: Sequence[str]) -> Any:
                made.delete(*names)
                return plain(names)

            made.mget = mget
            return made

    cache = Dropping(redis_url(broker_url))
    look = cache.look(asked(), secret=SECRET)
    cache.put(look, key_of(), b"old", ttl_seconds=60, secret=SECRET)
    cache.close()

    assert (look.stamps, look.is_away) == ({}, False)
    assert keys_in(server) == []


def test_nothing_readable_lies_in_the_broker(cache: HotCache, server: Redis) -> None:
    read(cache, once(b"I live in Lyon"))

    raw = [server.get(key) or b"" for key in keys_in(server)]

    assert raw
    assert not any(b"Lyon" in cast("bytes", value) for value in raw)
    foreign = cache.look(asked(), secret=seal_key(b"another tenant's"))
    assert foreign.values == {}


def test_a_value_ends_with_its_time(cache: HotCache) -> None:
    read(cache, once(b"1"), ttl=0.05)

    assert wait_until(lambda: read(cache, lambda: b"2", ttl=0.001) == b"2")


def test_no_key_is_left_without_a_time_to_live(cache: HotCache, server: Redis) -> None:
    for number in range(20):
        read(cache, once(b"v"), key_of(f"n{number}"), ttl=30 + number)

    keys = keys_in(server)

    assert len(keys) == 21
    assert all(key.decode().startswith(PREFIX) for key in keys)
    assert all(0 < server.ttl(key) <= MARK_SECONDS for key in keys)


@pytest.mark.parametrize("ttl", [0, -1, MARK_SECONDS + 1])
def test_a_value_without_a_fitting_time_to_live_is_refused(cache: HotCache, ttl: float) -> None:
    look = cache.look(asked(), secret=SECRET)
    with pytest.raises(ValueError, match="time to live"):
        cache.put(look, key_of(), b"1", ttl_seconds=ttl, secret=SECRET)


def test_a_large_value_is_counted_and_left_out(cache: HotCache) -> None:
    large = b"x" * (MAX_BYTES + 1)
    assert read(cache, once(large)) == large

    assert cache.stats.too_large == 1
    assert cache.look(asked(), secret=SECRET).values == {}


def test_without_a_server_every_read_loads_and_none_raises() -> None:
    now = [0.0]
    with scratch() as folder:
        cache = HotCache(f"unix://{folder}/none.sock?db=0", clock=lambda: now[0])
        for _ in range(5):
            assert read(cache, lambda: b"7") == b"7"
        assert cache.look(asked(), secret=SECRET).is_away
        assert cache.stats.failures == 1

        now[0] += REST_SECONDS
        cache.drop(marks_of(TENANT, [USER]))
        assert cache.stats.failures == 3


def test_a_drop_that_was_lost_goes_out_with_the_next(broker_url: str) -> None:
    now = [0.0]
    reader, writer = HotCache(redis_url(broker_url)), HotCache(redis_url(broker_url), clock=lambda: now[0])
    read(reader, once(b"old"))
    writer._rests_until = 1.0  # pyright: ignore[reportPrivateUsage]  as after a failure

    writer.drop(marks_of(TENANT, [USER]))
    assert read(reader, once(b"unasked")) == b"old"
    now[0] = 2.0
    writer.drop(marks_of(TENANT, [uuid4()]))

    assert read(reader, once(b"new")) == b"new"
    reader.close()
    writer.close()


def test_a_server_that_never_answers_costs_its_time_out_once() -> None:
    with scratch() as folder, socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "silent.sock"))
        silent.listen(8)
        cache = HotCache(f"unix://{folder}/silent.sock?db=0")

        started = time.monotonic()
        values = [read(cache, lambda: b"7") for _ in range(20)]
        spent = time.monotonic() - started
        cache.close()

    assert values == [b"7"] * 20
    assert cache.stats.failures >= 1
    assert spent < 0.1 * cache.stats.failures + 0.5


def test_it_recovers_by_itself_after_the_server_was_frozen(cache: HotCache, server: Redis) -> None:
    told = server.info("server")  # pyright: ignore[reportUnknownMemberType]  untyped keyword arguments
    pid = int(told["process_id"])
    read(cache, once(b"before"))

    freeze(pid)
    try:
        assert read(cache, lambda: b"loaded") == b"loaded"
    finally:
        os.kill(pid, signal.SIGCONT)

    wait_until(lambda: read(cache, lambda: b"loaded") and cache.stats.hits, what="a hit")


def test_switched_off_it_loads_every_time_and_nothing_is_missing() -> None:
    cache = HotCache(None)

    assert [read(cache, once(value)) for value in (b"1", b"2")] == [b"1", b"2"]
    assert not cache.look(asked(), secret=SECRET).is_away
    cache.drop(marks_of(TENANT, [USER]))
    assert cache.stats.failures == 0


def keys_in(server: Redis) -> list[bytes]:
    return cast("list[bytes]", server.keys())  # pyright: ignore[reportUnknownMemberType]  untyped arguments

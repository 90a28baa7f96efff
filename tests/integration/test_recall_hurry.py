"""One caller in a hurry takes nothing from others: its short deadline is no failure of the embedder or the index."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Sequence

import pytest

from afterturn.wire import RecallRequest
from recall_fixtures import House, house
from schemas.indexing import Vector
from services import wait_until
from stores.breaker import Breaker
from tasks.recall import Guards, recall


@pytest.fixture
def home() -> Generator[House]:
    with house() as made:
        yield made


def question(deadline_ms: int) -> RecallRequest:
    return RecallRequest(query="Where does the user live?", user_id="u1", deadline_ms=deadline_ms)


def test_recalls_with_short_deadlines_leave_the_meaning_search_on(home: House) -> None:
    home.turn(home.user(), "I moved to Lyon.")
    home.catch_up()
    guards = Guards(embedder=Breaker(fair_seconds=30))  # the machine of a test may be slow; a hurry is 5 ms

    async def asked() -> list[tuple[str, ...]]:
        hurried = [await recall(home.kit, home.key, question(5), guards=guards) for _ in range(8)]
        calm = [await recall(home.kit, home.key, question(20_000), guards=guards) for _ in range(3)]
        assert any(pack.missing for pack in hurried)
        return [pack.missing for pack in calm]

    try:
        assert asyncio.run(asked()) == [(), (), ()]
    finally:
        guards.close()


class Stuck:
    """An embedder that takes every question and answers none, until it is released."""

    name, dimensions = "stuck", 512

    def __init__(self) -> None:
        self.released = threading.Event()

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.released.wait()
        return []

    def close(self) -> None:
        self.released.set()


def test_an_embedder_that_hangs_is_left_alone_whatever_the_deadlines(home: House) -> None:
    stuck = Stuck()
    kit, guards = home.kit.with_live(embedder=stuck), Guards(embedder=Breaker(fair_seconds=0.05, rest_seconds=60))

    async def ask_once() -> bool:
        await recall(kit, home.key, question(20), guards=guards)
        return guards.embedder.is_open

    try:
        with asyncio.Runner() as runner:
            wait_until(lambda: runner.run(ask_once()))
            stuck.close()
    finally:
        stuck.close()
        guards.close()

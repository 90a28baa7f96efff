"""why() and awhy() against the real API: over a socket, with its keys, its refusals and what it knows."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
import uvicorn

import afterturn
from afterturn import BadEvent, NotReachable, Refused, WhyAnswer
from afterturn.ids import uuid7
from api.app import create_app
from client_fixtures import free_port
from recall_fixtures import House, another_key, house
from services import wait_until

Ask = Callable[..., WhyAnswer]


@pytest.fixture(scope="module")
def running() -> Generator[tuple[House, str]]:
    """An API on a free port, and the installation behind it."""
    with house() as home, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        api = uvicorn.Server(uvicorn.Config(create_app(home.kit), log_level="critical", lifespan="on"))
        thread = threading.Thread(target=api.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: api.started, seconds=20)
            yield home, f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            api.should_exit = True
            thread.join()


@pytest.fixture
def home(running: tuple[House, str]) -> House:
    """A tenant of its own for every test, whose user lives in Lyon."""
    kit = running[0].kit
    key, bearer = another_key(kit, str(uuid7()), ("publish", "recall"))
    made = House(kit=kit, key=key, bearer=bearer)
    made.fact(made.user("u1"), "city", "Lyon")
    return made


def _ask(to: str, **options: Any) -> WhyAnswer:
    patient: dict[str, Any] = {"deadline_ms": 20_000, **options}
    return afterturn.why(to, **patient)


def _ask_async(to: str, **options: Any) -> WhyAnswer:
    patient: dict[str, Any] = {"deadline_ms": 20_000, **options}
    return asyncio.run(afterturn.awhy(to, **patient))


@pytest.fixture(params=[_ask, _ask_async], ids=["why", "awhy"])
def ask(request: pytest.FixtureRequest) -> Ask:
    return request.param


def test_a_chain_comes_back_with_its_evidence(ask: Ask, home: House, running: tuple[House, str]) -> None:
    answer = ask("Lyon", user="u1", url=running[1], key=home.bearer)

    (path,) = answer.paths
    assert path.nodes[-1] == "Lyon"
    assert [edge.predicate for edge in path.edges] != []
    assert path.edges[-1].evidence.quote != ""
    assert answer.end.said == "Lyon"


def test_what_is_not_known_has_no_chain(ask: Ask, home: House, running: tuple[House, str]) -> None:
    answer = ask("Turin", start="Lyon", user="u1", ticket="K7", max_edges=2, url=running[1], key=home.bearer)

    assert (answer.paths, answer.start.said, answer.end.reason) == ((), "Lyon", "unknown")


def test_a_refusal_and_a_wrong_argument_are_named(ask: Ask, home: House, running: tuple[House, str]) -> None:
    _, bearer = another_key(running[0].kit, str(uuid7()), ("publish",))

    with pytest.raises(Refused) as refused:
        ask("Lyon", user="u1", url=running[1], key=bearer)
    assert (refused.value.status, refused.value.code) == (403, "forbidden")
    with pytest.raises(BadEvent) as wrong:
        ask("Lyon", user="u1", max_edges=9, url=running[1], key=home.bearer)
    assert wrong.value.field == "max_edges"
    with pytest.raises(BadEvent):
        ask(" ", user="u1", url=running[1], key=home.bearer)
    for name, value in (
        ("session", 5),
        ("ticket", ""),
        ("start", 5),
        ("as_of", "soon"),
        ("deadline_ms", "x"),
    ):
        with pytest.raises(BadEvent) as wrong:
            ask("Lyon", url=running[1], key=home.bearer, **{"user": "u1", name: value})
        assert wrong.value.field == name
    with pytest.raises(TypeError, match="form"):
        ask("Lyon", user="u1", form="x", url=running[1], key=home.bearer)


def test_a_service_that_is_not_there_says_so(ask: Ask, home: House) -> None:
    with pytest.raises(NotReachable):
        ask("Lyon", user="u1", url=f"http://127.0.0.1:{free_port()}", key=home.bearer)

"""recall() and arecall() against a real HTTP server that answers, refuses, dawdles or is not there."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import afterturn
from afterturn import BadCredential, BadEvent, BadSetting, Credential, NotReachable, Pack, Refused
from client_fixtures import credential, free_port

__all__ = ["credential"]

PACK = {"prompt": "Notes", "items": [{"id": "m1", "kind": "fact", "section": "profile", "text": "lives in Lyon"}]}
Ask = Callable[..., Pack]


class Service(ThreadingHTTPServer):
    """Answers every request with what stands in `answer`, and notes what it was asked and over how many connections."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, json.dumps(PACK).encode())
        self.delay = threading.Event()
        self.delay.set()
        self.asked: list[tuple[str, str, dict[str, object]]] = []
        self.connections = 0
        self.cuts = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service  # pyright: ignore[reportIncompatibleVariableOverride] - always made by Service

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append((self.path, self.headers["authorization"], json.loads(body)))
        self.server.delay.wait(20)
        if self.server.cuts:
            self.server.cuts -= 1
            self.close_connection = True
            return
        status, headers, answer = self.server.answer
        self.send_response(status)
        for name, value in {"content-length": str(len(answer)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.delay.set()
        made.shutdown()
        thread.join()
        made.server_close()


# The machine that runs the tests may be slow: patience is the default here, and a deadline is asked for by name.
def _ask(query: str, **options: Any) -> Pack:
    patient: dict[str, Any] = {"deadline_ms": 10_000, **options}
    return afterturn.recall(query, **patient)


async def _ask_later(query: str, **options: Any) -> Pack:
    patient: dict[str, Any] = {"deadline_ms": 10_000, **options}
    return await afterturn.arecall(query, **patient)


def _ask_async(query: str, **options: Any) -> Pack:
    return asyncio.run(_ask_later(query, **options))


@pytest.fixture(params=["recall", "arecall"])
def ask(request: pytest.FixtureRequest) -> Ask:
    return _ask if request.param == "recall" else _ask_async


def test_a_pack_comes_back_and_the_question_went_out_whole(ask: Ask, service: Service, credential: Credential) -> None:
    pack = ask(
        *("where?",),
        user="u1",
        session="s1",
        scopes=["user"],
        budget_tokens=200,
        url=service.url,
        key=credential.text(),
    )

    assert pack.items[0].text == "lives in Lyon"
    path, authorization, body = service.asked[0]
    assert (path, authorization) == ("/v1/recall", credential.bearer())
    assert body == {
        **{"query": "where?", "user_id": "u1", "session_id": "s1"},
        **{"scopes": ["user"], "budget_tokens": 200, "deadline_ms": 10_000},
    }


def test_a_refusal_carries_status_code_and_field(ask: Ask, service: Service, credential: Credential) -> None:
    problem = {
        "title": "Bad request",
        "status": 400,
        "code": "bad_input",
        "field": "as_of",
        "detail": "is in the future",
    }
    service.answer = (400, {"retry-after": "3"}, json.dumps(problem).encode())

    with pytest.raises(Refused) as caught:
        ask("q", user="u", url=service.url, key=credential.text())

    error = caught.value
    assert (error.status, error.code, error.field, error.retry_after_seconds) == (400, "bad_input", "as_of", 3.0)
    assert "is in the future" in str(error)


@pytest.mark.parametrize("status", [302, 404, 500, 502])
def test_an_answer_without_a_problem_is_refused_by_its_status(
    status: int, ask: Ask, service: Service, credential: Credential
) -> None:
    service.answer = (status, {"location": "http://127.0.0.1:1/"}, b"<html>")

    with pytest.raises(Refused) as caught:
        ask("q", user="u", url=service.url, key=credential.text())

    assert (caught.value.status, caught.value.code) == (status, "no_problem_json")


def test_an_answer_that_is_no_pack_is_not_taken_for_one(ask: Ask, service: Service, credential: Credential) -> None:
    service.answer = (200, {}, b'{"items": 3}')

    with pytest.raises(NotReachable) as caught:
        ask("q", user="u", url=service.url, key=credential.text())

    assert caught.value.code == "bad_answer"


def test_a_service_that_dawdles_costs_no_more_than_the_deadline(
    ask: Ask, service: Service, credential: Credential
) -> None:
    service.delay.clear()
    begin = time.monotonic()

    with pytest.raises(NotReachable) as caught:
        ask("q", user="u", deadline_ms=100, url=service.url, key=credential.text())

    assert caught.value.code == "deadline"
    assert time.monotonic() - begin < 5


def test_a_service_that_is_not_there_says_so(ask: Ask, credential: Credential) -> None:
    with pytest.raises(NotReachable) as caught:
        ask("q", user="u", url=f"http://127.0.0.1:{free_port()}", key=credential.text())

    assert caught.value.code == "unreachable"


def test_wrong_arguments_raise_before_anything_is_sent(ask: Ask, service: Service, credential: Credential) -> None:
    with pytest.raises(BadEvent, match="user"):
        ask("q", user="", url=service.url, key=credential.text())
    with pytest.raises(BadEvent, match="budget_tokens"):
        ask("q", user="u", budget_tokens=0, url=service.url, key=credential.text())
    with pytest.raises(TypeError, match="mood"):
        ask("q", user="u", mood=1, url=service.url, key=credential.text())
    for nowhere in ("ftp://x", "http://", "http://127.0.0.1:99999", "http://127.0.0.1:0"):
        with pytest.raises(BadSetting, match="url: must"):
            ask("q", user="u", url=nowhere, key=credential.text())
    with pytest.raises(BadCredential):
        ask("q", user="u", url=service.url, key="nonsense")

    assert service.asked == []


def test_a_connection_that_is_cut_costs_one_more_try(ask: Ask, service: Service, credential: Credential) -> None:
    service.cuts = 1
    assert ask("q", user="u", url=service.url, key=credential.text())

    service.cuts = 2
    with pytest.raises(NotReachable) as caught:
        ask("q", user="u", url=service.url, key=credential.text())

    assert caught.value.code == "unreachable"


def test_connections_are_pooled(service: Service, credential: Credential) -> None:
    for _ in range(5):
        _ask("q", user="u", url=service.url, key=credential.text())

    assert service.connections == 1


def test_connections_are_pooled_per_event_loop_and_closed_with_it(service: Service, credential: Credential) -> None:
    async def conversation() -> None:
        for _ in range(5):
            await _ask_later("q", user="u", url=service.url, key=credential.text())

    asyncio.run(conversation())
    asyncio.run(conversation())

    assert service.connections == 2


def test_a_forked_child_asks_over_a_connection_of_its_own(service: Service, credential: Credential) -> None:
    _ask("q", user="u", url=service.url, key=credential.text())

    child = os.fork()
    if child == 0:
        try:
            _ask("q", user="u", url=service.url, key=credential.text())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    _ask("q", user="u", url=service.url, key=credential.text())

    assert service.connections == 2


def test_many_questions_at_once(service: Service, credential: Credential) -> None:
    async def crowd() -> list[Pack]:
        key = credential.text()
        questions = (_ask_later("q", user=f"u{number}", url=service.url, key=key) for number in range(20))
        return await asyncio.gather(*questions)

    packs = asyncio.run(crowd())

    assert len(packs) == len(service.asked) == 20

"""Asking before the next turn: one HTTP request with a deadline, over pooled connections.

httpx and the wire's models load with the first question, whose deadline counts from after that, or with `warm()`.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import AsyncGenerator, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast
from urllib.parse import urlsplit

from afterturn.credentials import find_credential
from afterturn.errors import BadSetting, NotReachable, Refused
from afterturn.tracing import traceparent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from anyio.lowlevel import RunVar

    from afterturn.wire import Pack

DEFAULT_URL = "http://127.0.0.1:8710"
GRACE_SECONDS = 0.25
"""How much longer than the asked deadline the client waits: the service keeps it, the network adds to it."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024

_Clients = dict[str, "tuple[AsyncGenerator[httpx.AsyncClient], httpx.AsyncClient]"]
"""The generator beside its client keeps it alive: collected, it would close the client."""


class RecallOptions(TypedDict, total=False):
    """What narrows a question. Times are aware; see `wire.RecallRequest`."""

    session: str | None
    thread: str | None
    ticket: str | None
    agent: str | None
    scopes: Iterable[Literal["thread", "ticket", "user", "organization"]]
    kinds: Iterable[Literal["fact", "episode", "procedure", "knowledge", "moment"]]
    tags: Iterable[str]
    between: tuple[datetime, datetime] | None
    outcome: Literal["success", "failure", "unknown"] | None
    as_of: datetime | None
    known_at: datetime | None
    now: datetime | None
    budget_tokens: int
    deadline_ms: int


def recall(
    query: str, *, user: str, url: str | None = None, key: str | None = None, **options: Unpack[RecallOptions]
) -> Pack:
    """The memories that matter for `query`, as a pack of at most budget_tokens (800), within deadline_ms (300).

    url: default `AFTERTURN_URL`, else the local service. key: default `AFTERTURN_KEY`.
    Raises: BadEvent (a wrong argument, by name), NotReachable, Refused.
    """
    question = _Question(query, user, url, key, options)
    return question.read(*_ask(question))


async def arecall(
    query: str, *, user: str, url: str | None = None, key: str | None = None, **options: Unpack[RecallOptions]
) -> Pack:
    """As `recall`, for asyncio and trio; connections are pooled per event loop."""
    question = _Question(query, user, url, key, options)
    return question.read(*await _ask_async(question))


def warm(url: str | None = None) -> None:
    """Loads now what the first `recall` of this process would load: about 0.35 s. Asks nothing. Repeat: costs nothing.

    url: as for `recall`. Raises: BadSetting.
    """
    from afterturn.wire import parse_recall_request  # noqa: PLC0415

    parse_recall_request({"query": "?", "user_id": "?"})
    _pool.client(_base_url(url))


class _Question:
    """A request that is ready to go, and the reading of its answer."""

    def __init__(self, query: str, user: str, url: str | None, key: str | None, options: RecallOptions) -> None:
        from afterturn.wire import parse_recall_request  # noqa: PLC0415 - pydantic: 130 ms

        fields = dict(options)
        for name in ("session", "thread", "ticket", "agent"):
            if name in fields:
                fields[f"{name}_id"] = fields.pop(name)
        for name in ("scopes", "kinds", "tags"):
            if name in fields:
                fields[name] = tuple(cast("Iterable[str]", fields[name]))
        unknown = fields.keys() - _FIELDS
        if unknown:
            msg = f"unexpected keyword argument {min(unknown)!r}"
            raise TypeError(msg)
        request = parse_recall_request({"query": query, "user_id": user, **fields})
        self.base = _base_url(url)
        self.headers = {
            "Authorization": find_credential(key).bearer(),
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        if (trace := traceparent()) is not None:
            self.headers["traceparent"] = trace
        self.body = request.model_dump_json(exclude_none=True, exclude_defaults=True).encode()
        self.seconds = request.deadline_ms / 1000 + GRACE_SECONDS

    def read(self, status: int, headers: Mapping[str, str], body: bytes) -> Pack:
        """The pack in an answer. Raises: Refused, NotReachable."""
        from afterturn.wire import Pack, Problem  # noqa: PLC0415 - loaded already

        if status == 200:
            try:
                return Pack.model_validate_json(body)
            except ValueError:
                msg = "the service answered something that is no pack"
                raise NotReachable(msg, "bad_answer") from None
        try:
            problem = Problem.model_validate_json(body)
        except ValueError:
            raise Refused(status, "no_problem_json", retry_after_seconds=_retry_after(headers)) from None
        reason = (problem.detail or problem.title).removeprefix(f"{problem.field}: ")  # `Refused` names the field
        raise Refused(status, problem.code, problem.field, reason, _retry_after(headers))


_FIELDS = frozenset(
    {
        "session_id",
        "thread_id",
        "ticket_id",
        "agent_id",
        "scopes",
        "kinds",
        "tags",
        "between",
        "outcome",
        "as_of",
        "known_at",
        "now",
        "budget_tokens",
        "deadline_ms",
    }
)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None


def _base_url(url: str | None) -> str:
    text = (url if url is not None else os.environ.get("AFTERTURN_URL", "")) or DEFAULT_URL
    if not text.startswith(("http://", "https://")):
        msg = "url: must begin with http:// or https://"
        raise BadSetting(msg)
    return text.rstrip("/")


class _Settings(TypedDict):
    base_url: str
    verify: bool
    trust_env: bool


def _settings(base: str) -> _Settings:
    """Without TLS nothing is verified, and the certificates (50 ms) need no reading; no redirect is ever followed.

    A service on this machine is asked directly, whatever proxy the environment names.
    """
    parts = urlsplit(base)
    host = parts.hostname or ""
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    return {"base_url": base, "verify": parts.scheme == "https", "trust_env": not is_local}


class _Pool:
    """The sync clients of this process, one for each service."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, httpx.Client] = {}

    def client(self, base: str) -> httpx.Client:
        import httpx  # noqa: PLC0415 - 100 ms that the agent's import is spared

        with self._lock:
            client = self._clients.get(base)
            if client is None:
                client = self._clients[base] = httpx.Client(**_settings(base))
            return client

    def close(self) -> None:
        with self._lock:
            while self._clients:
                self._clients.popitem()[1].close()


_pool = _Pool()


def _restart() -> None:
    """A forked child shares no connection with its parent: two would read one answer."""
    global _pool, _async_clients  # noqa: PLW0603 - process-wide by nature
    _pool = _Pool()
    _async_clients = None


def _close() -> None:
    _pool.close()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart)


def _ask(question: _Question) -> tuple[int, Mapping[str, str], bytes]:
    import httpx  # noqa: PLC0415 - see above

    client = _pool.client(question.base)
    deadline = time.monotonic() + question.seconds
    try:
        try:
            return _ask_once(client, question, deadline)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            # A pooled connection that the service was just closing. Asking changes nothing, so ask again, once.
            return _ask_once(client, question, deadline)
    except httpx.TimeoutException:
        raise _late(question) from None
    except httpx.TransportError as exc:
        raise _unreachable(exc) from None


def _ask_once(client: httpx.Client, question: _Question, deadline: float) -> tuple[int, Mapping[str, str], bytes]:
    left = max(0.001, deadline - time.monotonic())
    with client.stream("POST", "/v1/recall", content=question.body, headers=question.headers, timeout=left) as response:
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if time.monotonic() > deadline:
                raise _late(question)
            if len(body) > MAX_ANSWER_BYTES:
                msg = "the answer is larger than any pack"
                raise NotReachable(msg, "bad_answer")
        return response.status_code, response.headers, bytes(body)


_async_clients: RunVar[_Clients] | None = None


async def _ask_async(question: _Question) -> tuple[int, Mapping[str, str], bytes]:
    import anyio  # noqa: PLC0415 - comes with httpx
    import httpx  # noqa: PLC0415 - see above

    client = await _async_client(question.base)
    try:
        with anyio.fail_after(question.seconds):
            try:
                response = await _ask_once_async(client, question)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):  # As in _ask.
                response = await _ask_once_async(client, question)
            return response.status_code, response.headers, response.content
    except (TimeoutError, httpx.TimeoutException):
        raise _late(question) from None
    except httpx.TransportError as exc:
        raise _unreachable(exc) from None


async def _ask_once_async(client: httpx.AsyncClient, question: _Question) -> httpx.Response:
    return await client.post("/v1/recall", content=question.body, headers=question.headers, timeout=question.seconds)


async def _async_client(base: str) -> httpx.AsyncClient:
    """This event loop's client. A connection belongs to the loop that made it."""
    global _async_clients  # noqa: PLW0603 - process-wide by nature
    from anyio.lowlevel import RunVar  # noqa: PLC0415 - comes with httpx

    if _async_clients is None:
        _async_clients = RunVar("afterturn_clients")
    clients = _async_clients.get(None)
    if clients is None:
        clients = _Clients()
        _async_clients.set(clients)
    if base not in clients:
        owner = _owned(base, clients)
        clients[base] = (owner, await anext(owner))
    return clients[base][1]


async def _owned(base: str, clients: _Clients) -> AsyncGenerator[httpx.AsyncClient]:
    """A client that closes with its loop: loops close the async generators that were begun in them."""
    import httpx  # noqa: PLC0415 - see above

    async with httpx.AsyncClient(**_settings(base)) as client:
        try:
            yield client
        finally:
            clients.pop(base, None)


def _late(question: _Question) -> NotReachable:
    return NotReachable(f"no answer within {question.seconds:.2f} s", "deadline")


def _unreachable(exc: Exception) -> NotReachable:
    return NotReachable(f"the service could not be reached ({type(exc).__name__})")

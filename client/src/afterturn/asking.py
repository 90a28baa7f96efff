"""One HTTP request to the service with a deadline, over pooled connections: what recall() and why() have in common.

httpx loads with the first request, whose deadline counts from after that, or with `warm()`.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, cast
from urllib.parse import urlsplit

from afterturn.credentials import find_credential
from afterturn.errors import BadEvent, BadSetting, NotReachable, Refused
from afterturn.tracing import traceparent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from anyio.lowlevel import RunVar
    from pydantic import BaseModel

    Answer = TypeVar("Answer", bound=BaseModel)

DEFAULT_URL = "http://127.0.0.1:8710"
GRACE_SECONDS = 0.25
"""How much longer than the asked deadline the client waits: the service keeps it, the network adds to it."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024

_Clients = dict[str, "tuple[AsyncGenerator[httpx.AsyncClient], httpx.AsyncClient]"]
"""The generator beside its client keeps it alive: collected, it would close the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request that is ready to go."""

    base: str
    method: Literal["GET", "POST"]
    path: str
    headers: Mapping[str, str]
    seconds: float
    body: bytes | None = None
    params: Mapping[str, str] | None = None


def question(
    method: Literal["GET", "POST"],
    path: str,
    *,
    url: str | None,
    key: str | None,
    deadline_ms: int,
    body: bytes | None = None,
    params: Mapping[str, str] | None = None,
) -> Question:
    """A question to the service at `url`, else at `AFTERTURN_URL`, by `key`, else by `AFTERTURN_KEY`.

    Raises: BadSetting, BadCredential.
    """
    headers = {"Authorization": find_credential(key).bearer(), "Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if (trace := traceparent()) is not None:
        headers["traceparent"] = trace
    return Question(
        base=base_url(url),
        method=method,
        path=path,
        headers=headers,
        seconds=deadline_ms / 1000 + GRACE_SECONDS,
        body=body,
        params=params,
    )


def named(options: Mapping[str, object], allowed: frozenset[str]) -> dict[str, object]:
    """Keyword arguments as fields of the wire: an agent says `session`, the wire `session_id`. Raises: TypeError."""
    fields = dict(options)
    for name in ("session", "thread", "ticket", "agent"):
        if name in fields:
            fields[f"{name}_id"] = fields.pop(name)
    unknown = fields.keys() - allowed
    if unknown:
        msg = f"unexpected keyword argument {min(unknown)!r}"
        raise TypeError(msg)
    return fields


def as_called(fault: BadEvent) -> BadEvent:
    """A fault of a field of the wire, by the name that the caller gave it."""
    field = {"from": "start"}.get(fault.field, fault.field.removesuffix("_id"))
    return BadEvent(field, fault.reason, fault.code)


def read(shape: type[Answer], status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """What an answer holds. Raises: Refused, NotReachable."""
    from afterturn.wire import Problem  # noqa: PLC0415 - loaded already

    if status == 200:
        try:
            return shape.model_validate_json(body)
        except ValueError:
            msg = f"the service answered something that is no {shape.__name__}"
            raise NotReachable(msg, "bad_answer") from None
    try:
        problem = Problem.model_validate_json(body)
    except ValueError:
        raise Refused(status, "no_problem_json", retry_after_seconds=_retry_after(headers)) from None
    reason = (problem.detail or problem.title).removeprefix(f"{problem.field}: ")  # `Refused` names the field
    raise Refused(status, problem.code, problem.field, reason, _retry_after(headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None


def base_url(url: str | None) -> str:
    """Where the service is: `url`, else AFTERTURN_URL, else where one on this machine listens. Raises: BadSetting."""
    if not isinstance(cast("object", url), str | None):
        msg = "url: must be a string"
        raise BadSetting(msg)
    text = (url if url is not None else os.environ.get("AFTERTURN_URL", "")) or _local_url()
    if not text.startswith(("http://", "https://")):
        msg = "url: must begin with http:// or https://"
        raise BadSetting(msg)
    try:
        is_whole = bool(urlsplit(text).hostname) and urlsplit(text).port != 0
    except ValueError:
        is_whole = False
    if not is_whole:
        msg = "url: must be http://HOST or http://HOST:PORT with a port from 1 to 65535"
        raise BadSetting(msg)
    return text.rstrip("/")


def _local_url() -> str:
    host, port = os.environ.get("AFTERTURN_API_HOST", ""), os.environ.get("AFTERTURN_API_PORT", "")
    if not host and not port:
        return DEFAULT_URL
    parts = urlsplit(DEFAULT_URL)
    host = {"": parts.hostname or "", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where to knock
    return f"http://{f'[{host}]' if ':' in host else host}:{port or parts.port}"


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


pool = _Pool()


def _restart() -> None:
    """A forked child shares no connection with its parent: two would read one answer."""
    global pool, _async_clients  # noqa: PLW0603 - process-wide by nature
    pool = _Pool()
    _async_clients = None


def _close() -> None:
    pool.close()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart)


def ask(question: Question) -> tuple[int, Mapping[str, str], bytes]:
    """(status, headers, body) of the answer. Raises: NotReachable."""
    import httpx  # noqa: PLC0415 - see above

    client = pool.client(question.base)
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


def _ask_once(client: httpx.Client, question: Question, deadline: float) -> tuple[int, Mapping[str, str], bytes]:
    left = max(0.001, deadline - time.monotonic())
    with client.stream(
        question.method,
        question.path,
        content=question.body,
        params=question.params,
        headers=question.headers,
        timeout=left,
    ) as response:
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if time.monotonic() > deadline:
                raise _late(question)
            if len(body) > MAX_ANSWER_BYTES:
                msg = "the answer is larger than any that is asked for"
                raise NotReachable(msg, "bad_answer")
        return response.status_code, response.headers, bytes(body)


_async_clients: RunVar[_Clients] | None = None


async def ask_async(question: Question) -> tuple[int, Mapping[str, str], bytes]:
    """As `ask`, for asyncio and trio."""
    import anyio  # noqa: PLC0415 - comes with httpx
    import httpx  # noqa: PLC0415 - see above

    client = await _async_client(question.base)
    try:
        with anyio.fail_after(question.seconds):
            try:
                response = await _ask_once_async(client, question)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):  # As in ask.
                response = await _ask_once_async(client, question)
            return response.status_code, response.headers, response.content
    except (TimeoutError, httpx.TimeoutException):
        raise _late(question) from None
    except httpx.TransportError as exc:
        raise _unreachable(exc) from None


async def _ask_once_async(client: httpx.AsyncClient, question: Question) -> httpx.Response:
    return await client.request(
        question.method,
        question.path,
        content=question.body,
        params=question.params,
        headers=question.headers,
        timeout=question.seconds,
    )


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


def _late(question: Question) -> NotReachable:
    return NotReachable(f"no answer within {question.seconds:.2f} s", "deadline")


def _unreachable(exc: Exception) -> NotReachable:
    return NotReachable(f"the service could not be reached ({type(exc).__name__})")

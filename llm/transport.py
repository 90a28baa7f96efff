"""One HTTP call through the openai client, with every outcome as a value.

Failures come back as values and not as exceptions, because the SDK's exceptions quote the server, which may quote the
prompt: raised from one, an error of ours would carry that text in its chain into a log.
"""

from __future__ import annotations

import math
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Protocol

import httpx2
import openai

from llm.completion import QUOTA_CODES, as_object, read_json
from schemas.errors import BadAnswer, BadSettings, ModelBusy

FILTERED = frozenset({"content_filter", "content_policy_violation"})
# 400 after the fact: the mode was understood, but this once the model did not keep to it.
FAILED_GENERATION = frozenset({"json_validate_failed"})
# A completion of 4096 tokens is about 20 KB, 256 vectors of 3072 numbers about 20 MB.
MAX_BODY_BYTES = 64_000_000
_MAX_RETRY_AFTER_SECONDS = 3600.0
_NEVER_SENT = ("ConnectTimeout", "PoolTimeout", "ConnectError", "UnsupportedProtocol", "LocalProtocolError")


class Streamed(Protocol):
    """What a `with_streaming_response` call gives."""

    @property
    def request_id(self) -> str | None:
        """The server's id of the request."""
        ...

    def iter_bytes(self) -> Iterator[bytes]:
        """The body, decompressed."""
        ...


@dataclass(frozen=True, slots=True)
class Body:
    """A 2xx body, undecoded."""

    text: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a usable body. `status` is 0 when no answer came, and `kind` says why: timeout, unreachable or
    bad_response. `said` is for matching and never leaves this floor.

    `reached`: the request may have been read, so that it may be billed.
    """

    status: int
    code: str = ""
    said: str = ""
    kind: str = "http"
    reached: bool = True
    retry_after_seconds: float | None = None
    request_id: str | None = None


def new_client(base_url: str, api_key: str | None) -> openai.OpenAI:
    """A client that never retries by itself. Raises: BadSettings for a key that no header can carry."""
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise BadSettings("the model's api_key holds characters that no HTTP header can carry", code="api_key")
    # A local server needs no key, but the client insists on one.
    http = openai.DefaultHttpxClient(verify=_certificates())
    return openai.OpenAI(base_url=base_url, api_key=api_key or "none", max_retries=0, http_client=http)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """One for all clients of the process: reading the authorities takes longer than all else of a client (25 ms)."""
    return httpx2.create_ssl_context()


def send(call: Callable[[], AbstractContextManager[Streamed]], *, deadline: float) -> Body | Failure:
    """The outcome of one streamed call, read until `deadline` (monotonic seconds). Raises nothing of the SDK's.

    Streamed, because some endpoints keep a queued request alive with blank lines for minutes, and a read time-out only
    measures the silence between two of them.
    """
    try:
        with call() as response:
            return _read(response, deadline)
    except openai.APIStatusError as error:
        return _refusal(error)
    except openai.APITimeoutError as error:
        return Failure(0, kind="timeout", reached=not _never_sent(error))
    except httpx2.TimeoutException:
        return Failure(0, kind="timeout")
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        return Failure(0, kind="unreachable", reached=not _never_sent(error))
    except UnicodeError:
        # The SDK decodes the body of an error by the charset that its header claims.
        return Failure(0, kind="bad_response")


def error_for(failure: Failure) -> ModelBusy | BadAnswer:  # noqa: PLR0911
    """The error that a failure means, when nothing about the request can be changed."""
    status, wait = failure.status, failure.retry_after_seconds
    if status == 0:
        return ModelBusy(f"the model's endpoint {_NO_ANSWER[failure.kind]}", code=failure.kind)
    if failure.code in QUOTA_CODES or status == 402:
        return BadAnswer("the model's account has no credit left", code="quota")
    if is_too_long(failure):
        return BadAnswer("the window is too long for the model", code="too_long")
    if status == 429:
        return ModelBusy("the model's endpoint limits our rate", code="rate_limited", retry_after_seconds=wait)
    if status >= 500 or status in (408, 409, 425):
        return ModelBusy(f"the model's endpoint answered {status}", code="server_error", retry_after_seconds=wait)
    if failure.code in FAILED_GENERATION:
        return ModelBusy("the endpoint refused what the model had written", code="bad_response")
    if failure.code in FILTERED:
        return BadAnswer("the endpoint's content filter stopped the request", code="content_filter")
    code = {401: "unauthorized", 403: "forbidden", 404: "not_found"}.get(status, "bad_request")
    return BadAnswer(f"the model's endpoint answered {status}", code=code)


def is_too_long(failure: Failure) -> bool:
    """Whether the server says that the prompt does not fit its context."""
    if failure.status == 413 or failure.code == "context_length_exceeded":
        return True
    phrases = ("context length", "context window", "context size", "maximum context", "prompt is too long")
    return failure.status in (400, 422, 500) and any(phrase in failure.said for phrase in phrases)


_NO_ANSWER = {
    "timeout": "did not answer in time",
    "unreachable": "cannot be reached",
    "bad_response": "answered something unreadable",
}


def _read(response: Streamed, deadline: float) -> Body | Failure:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return Failure(0, kind="bad_response", request_id=response.request_id)
        if time.monotonic() > deadline:
            return Failure(0, kind="timeout", request_id=response.request_id)
    return Body(body.decode("utf-8", "replace"), response.request_id)


def _refusal(error: openai.APIStatusError) -> Failure:
    body = error.response.content.decode("utf-8", "replace")
    top = read_json(body)
    told = as_object(as_object(top).get("error")) or as_object(top)
    codes = [str(told.get(field) or "").lower() for field in ("code", "type")]
    code = next((code for code in codes if code in QUOTA_CODES), codes[0])
    return Failure(
        error.status_code,
        code=code,
        said=f"{told.get('param') or ''} {body}"[:20_000].lower(),
        retry_after_seconds=_retry_after(error.response.headers.get),
        request_id=error.request_id,
    )


def _retry_after(header: Callable[[str], str | None]) -> float | None:
    """Seconds of `retry-after-ms` or `Retry-After` (a number or an HTTP date), bounded to an hour."""
    milliseconds, value = header("retry-after-ms"), header("retry-after")
    seconds = _number(milliseconds)
    if seconds is not None:
        seconds /= 1000
    elif value is not None:
        seconds = _number(value)
        if seconds is None:
            seconds = _until(value)
    return None if seconds is None else min(max(seconds, 0.0), _MAX_RETRY_AFTER_SECONDS)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(value: str) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()


def _never_sent(error: BaseException) -> bool:
    return type(error.__cause__).__name__ in _NEVER_SENT

"""What Weaviate and its client raise, as our errors: later again, or never.

The server gives most failures one status and says the rest in prose, so the prose is searched for known words. None of
it goes further: it may quote a row.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager

import grpc
import httpx
from weaviate.exceptions import (
    AuthenticationFailedError,
    InsufficientPermissionsError,
    UnexpectedStatusCodeError,
    WeaviateBaseError,
    WeaviateClosedClientError,
    WeaviateConnectionError,
    WeaviateRetryError,
    WeaviateStartUpError,
    WeaviateTimeoutError,
    WeaviateUnsupportedFeatureError,
)

from schemas.errors import BadInput, BadSettings, Permanent, ServiceError, StoreBusy

NO_TENANT = "index_no_tenant"
GONE = "index_gone"
DOWN = "index_down"
LATE = "index_deadline"
READ_ONLY = "index_read_only"
CLOSED = "index_closed"
FORBIDDEN = "index_forbidden"
REFUSED = "index_refused"

_DIMENSIONS = ("vector lengths don't match", "vector dimensions", "vector length", "different dimensions")
_FORBIDDEN = ("unauthenticated", "permission_denied", "permissiondenied", "forbidden", "unauthorized", "api key")
# In the order of asking; what tells less comes later.
_PASSING = (
    (NO_TENANT, ("tenant not found", "tenants not found")),
    (
        GONE,
        ("could not find class", "class not found", "not present in schema", "not found in schema", "does not exist"),
    ),
    ("index_tenant_cold", ("tenant not active", "tenant is not active")),
    (READ_ONLY, ("read-only", "read only", "readonly")),
    ("index_over_quota", ("resource_exhausted", "resource exhausted", "usage_limit_exceeded", "too many requests")),
    ("index_replicas", ("consistency level", "not enough replicas")),
    ("index_memory", ("not enough memory", "memory pressure")),
    (LATE, ("deadline", "timed out", "timeout")),
    (DOWN, ("unavailable", "connection", "shutdown", "shutting down", "not ready", "leader", "canceled", "eof")),
)
_BUSY_STATUS = {429: "index_over_quota", 502: DOWN, 503: DOWN, 504: LATE}
_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((WeaviateTimeoutError, TimeoutError), LATE),
    ((WeaviateClosedClientError,), CLOSED),
    ((AuthenticationFailedError,), FORBIDDEN),
)
_AWAY = (WeaviateConnectionError, WeaviateStartUpError, WeaviateRetryError, httpx.TransportError)


@contextmanager
def translated(doing: str) -> Generator[None]:
    """Around one call: what it raises is ours afterwards. `doing` says what was tried, without anybody's text."""
    try:
        yield
    except (WeaviateBaseError, grpc.RpcError, httpx.TransportError, TimeoutError) as exc:
        # Without its cause: a foreign error's text may quote a row, and a traceback is logged.
        raise failure_of(exc, doing) from None
    except ValueError as exc:
        if "closed" not in str(exc):
            raise
        raise StoreBusy(f"weaviate {doing}: the channel is closed", code=CLOSED) from None


def failure_of(exc: Exception, doing: str) -> ServiceError:
    """Our error for one of theirs."""
    if isinstance(exc, UnexpectedStatusCodeError):
        return _of_status(exc, doing)
    if isinstance(exc, WeaviateUnsupportedFeatureError):
        return BadSettings("AFTERTURN_WEAVIATE_URL: the server is too old, 1.32 is the least", code="index_server")
    for kinds, code in _BY_CLASS:
        if isinstance(exc, kinds):
            return _forbidden(doing) if code == FORBIDDEN else _busy(doing, code)
    found = failure_in(str(exc), doing)
    if found is None and isinstance(exc, _AWAY):
        return _busy(doing, DOWN)
    return found or Permanent(f"weaviate {doing}: refused, {type(exc).__name__}", code=REFUSED)


def failure_in(message: str, doing: str) -> ServiceError | None:
    """Our error for what a message tells, or None: of a single refused row there is nothing else."""
    told = message.lower()
    if any(word in told for word in _DIMENSIONS):
        return BadInput("vector", "has other dimensions than those in the index")
    for code, words in _PASSING:
        if any(word in told for word in words):
            return _busy(doing, code)
    return _forbidden(doing) if any(word in told for word in _FORBIDDEN) else None


def _of_status(exc: UnexpectedStatusCodeError, doing: str) -> ServiceError:
    status = exc.status_code
    if isinstance(exc, InsufficientPermissionsError) or status in (401, 403):
        return _forbidden(doing)
    if status in _BUSY_STATUS:
        return _busy(doing, _BUSY_STATUS[status])
    found = failure_in(f"{exc} {json.dumps(exc.error, default=str)}", doing)
    if found is not None:
        return found
    if status >= 500:
        return _busy(doing, "index_failed")
    return Permanent(f"weaviate {doing}: refused with status {status}", code=REFUSED)


def _busy(doing: str, code: str) -> StoreBusy:
    return StoreBusy(f"weaviate {doing}: {code}", code=code)


def _forbidden(doing: str) -> BadSettings:
    return BadSettings(f"AFTERTURN_WEAVIATE_API_KEY: the server does not allow {doing}", code=FORBIDDEN)

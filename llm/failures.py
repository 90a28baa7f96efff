"""How asking a model can fail: codes, and errors that keep what the attempt cost.

| code | error | meaning |
|---|---|---|
| rate_limited, server_error, timeout, unreachable, bad_response, empty | ModelBusy | ask again later |
| truncated, too_long | BadAnswer | the window does not fit: split it and ask again |
| refused, content_filter, invalid | BadAnswer | this window gets no answer from this model |
| unauthorized, forbidden, not_found, quota, bad_request | BadAnswer | the endpoint is set up wrong |
"""

from __future__ import annotations

from llm.face import Usage
from schemas.errors import BadAnswer, ModelBusy, ServiceError

SPLIT_CODES = frozenset({"truncated", "too_long"})
#: Failures of a service that a request may bring about by itself, when the service answers everybody else.
WINDOW_CODES = frozenset({"server_error", "timeout", "bad_response", "empty"})
ENDPOINT_CODES = frozenset({"unauthorized", "forbidden", "not_found", "quota", "bad_request"})


class BilledModelBusy(ModelBusy):
    """The model did not answer now; `usage` is what the attempt cost."""

    def __init__(self, message: str, *, code: str, usage: Usage, retry_after_seconds: float | None = None) -> None:
        super().__init__(message, code=code, retry_after_seconds=retry_after_seconds)
        self.usage = usage


class BilledBadAnswer(BadAnswer):
    """The model's answer cannot be used; `usage` is what the attempt cost."""

    def __init__(self, message: str, *, code: str, usage: Usage) -> None:
        super().__init__(message, code=code)
        self.usage = usage


def usage_of(error: ServiceError) -> Usage | None:
    """What a failed attempt cost, or None when the error does not come from a model that was asked."""
    return error.usage if isinstance(error, BilledModelBusy | BilledBadAnswer) else None


def billed(error: ModelBusy | BadAnswer, usage: Usage) -> BilledModelBusy | BilledBadAnswer:
    """The same failure with its cost."""
    if isinstance(error, ModelBusy):
        return BilledModelBusy(str(error), code=error.code, usage=usage, retry_after_seconds=error.retry_after_seconds)
    return BilledBadAnswer(str(error), code=error.code, usage=usage)

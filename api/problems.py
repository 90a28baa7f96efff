"""Every refusal as problem+json (RFC 9457), in the caller's language.

No answer ever quotes what was sent, but the UUID of what is not there.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from afterturn.wire import Problem
from api.phrases import DETAILS, KEY_FAULTS, NO_PATH, TITLES, KeyFault
from api.reasons import validation_fault
from schemas.errors import BadInput, BadSettings, Conflict, Forbidden, NotFound, ServiceError, StaleClaim, Transient
from schemas.fault_words import fault_text
from schemas.reasons import reason_text

MEDIA_TYPE = "application/problem+json"

logger = logging.getLogger(__name__)

_STATUS: tuple[tuple[type[ServiceError], int], ...] = (
    (BadInput, 422),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (StaleClaim, 503),
    (Transient, 503),
    (BadSettings, 500),
)
_HTTP_CODES = {
    400: "malformed_json",  # FastAPI's own for a body that it could not decode
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "body_too_large",
    415: "unsupported_media_type",
    422: "bad_input",
    503: "store_busy",
}
RETRY_AFTER_SECONDS = 2

_BODY = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": TITLES["en"][status], **_BODY} for status in (400, 401, 403, 404, 413, 422, 503)
}
"""The refusals of a path that takes a key, for its OpenAPI entry."""
CONFLICTS: dict[int | str, dict[str, Any]] = {**RESPONSES, 409: {"description": TITLES["en"][409], **_BODY}}
"""Those of a path on which two may decide at once."""


class Unauthorized(Exception):
    """No key, a malformed or unknown one, or one that ended.

    Of a well-formed key that does not pass nobody is told whether the key is unknown or the secret wrong: `code` is
    `unauthorized` as without any, and only what the caller can see himself, `fault`, differs in words.
    """

    def __init__(self, code: str, *, fault: KeyFault | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.fault: KeyFault | None = fault


class Refusal(Exception):
    """A refusal that HTTP itself makes: a body too large, a body that is no JSON."""

    def __init__(self, status: int, code: str, *, field: str | None = None) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.field = field


def install(app: FastAPI) -> None:
    """Makes every error of the app a problem."""
    app.add_exception_handler(ServiceError, _on_service_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Unauthorized, _on_unauthorized)
    app.add_exception_handler(Refusal, _on_refusal)
    app.add_exception_handler(Exception, _on_bug)


def describe(app: FastAPI) -> None:
    """Puts the problem's schema into the OpenAPI document, where the refusals of every path point.

    A `model` beside each response would do that, too, and also claim that refusals come as application/json.
    """
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        document = plain()
        schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        return document

    app.openapi = openapi


def problem(
    accept_language: str,
    status: int,
    code: str,
    *,
    detail: str | None = None,
    field: str | None = None,
    headers: Mapping[str, str] | None = None,
    request_id: str | None = None,
) -> Response:
    """A problem answer. Without `detail` the code's own sentence stands there."""
    language = wanted_language(accept_language)
    body = Problem(
        type=f"urn:afterturn:problem:{code}",
        title=TITLES[language].get(status, TITLES[language][500]),
        status=status,
        detail=detail if detail is not None else DETAILS[language].get(code, ""),
        code=code,
        field=field,
        request_id=request_id,
    )
    content = body.model_dump_json(exclude_none=True)
    return Response(
        content, status, {"Content-Language": language, "Vary": "Accept-Language", **(headers or {})}, MEDIA_TYPE
    )


def wanted_language(accept_language: str) -> str:
    """`zh` or `en`, whichever an Accept-Language header likes better; en when it says nothing of them."""
    best, language = 0.0, "en"
    for part in accept_language.split(","):
        tag, _, weight = part.strip().partition(";")
        name = tag.strip().lower().split("-")[0]
        try:
            quality = float(weight.strip().removeprefix("q=")) if weight else 1.0
        except ValueError:
            quality = 0.0
        if name in TITLES and quality > best and math.isfinite(quality):
            best, language = quality, name
    return language


def _language_header(request: Request) -> str:
    return request.headers.get("accept-language", "")


def _on_service_error(request: Request, exc: Exception) -> Response:
    error = cast("ServiceError", exc)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    headers: dict[str, str] = {}
    detail: str | None = None
    if isinstance(error, Transient):
        seconds = error.retry_after_seconds or RETRY_AFTER_SECONDS
        headers["Retry-After"] = str(max(1, math.ceil(seconds)))
    elif isinstance(error, BadInput):
        detail = f"{error.field}: {reason_text(error.reason, wanted_language(_language_header(request)))}"
    elif isinstance(error, NotFound) and error.kind:
        detail = fault_text(str(error), wanted_language(_language_header(request)))
    if status == 500:
        logger.error("request failed code=%s", error.code)
    field = error.field if isinstance(error, BadInput) else None
    return problem(_language_header(request), status, error.code, detail=detail, field=field, headers=headers)


def _on_validation_error(request: Request, exc: Exception) -> Response:
    errors = cast("list[dict[str, object]]", list(cast("RequestValidationError", exc).errors()))
    if errors and errors[0].get("type") == "json_invalid":
        return problem(_language_header(request), 400, "malformed_json")
    field, reason = validation_fault(errors)
    detail = f"{field}: {reason_text(reason, wanted_language(_language_header(request)))}"
    return problem(_language_header(request), 422, "bad_input", detail=detail, field=field)


def _on_http_error(request: Request, exc: Exception) -> Response:
    error = cast("HTTPException", exc)
    code = _HTTP_CODES.get(error.status_code, "error")
    # The router's own 404: nothing of this service is asked for at all.
    detail = NO_PATH[wanted_language(_language_header(request))] if error.status_code == 404 else None
    return problem(_language_header(request), error.status_code, code, detail=detail, headers=error.headers)


def _on_unauthorized(request: Request, exc: Exception) -> Response:
    headers = {"WWW-Authenticate": 'Bearer realm="afterturn"'}
    refused = cast("Unauthorized", exc)
    words = KEY_FAULTS[wanted_language(_language_header(request))]
    detail = None if refused.fault is None else words[refused.fault]
    return problem(_language_header(request), 401, refused.code, detail=detail, headers=headers)


def _on_refusal(request: Request, exc: Exception) -> Response:
    refusal = cast("Refusal", exc)
    return problem(_language_header(request), refusal.status, refusal.code, field=refusal.field)


def _on_bug(request: Request, exc: Exception) -> Response:
    """A bug of ours: the caller gets an id to quote, the log gets the traceback under the same id."""
    request_id = uuid.uuid4().hex
    logger.error("request failed request_id=%s", request_id, exc_info=exc)
    return problem(_language_header(request), 500, "internal", request_id=request_id)

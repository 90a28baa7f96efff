"""Types of fields that events and the wire share: pydantic around the rules of `limits`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, JsonValue, ValidationError
from pydantic_core import PydanticCustomError, to_json

from afterturn import limits
from afterturn.errors import BadEvent


def fault(reason: str, path: str = "") -> PydanticCustomError:
    """The error of a value that breaks the contract; `path` leads to it from the field that is being judged."""
    return PydanticCustomError("contract", "{reason}", {"reason": reason, "path": path})


def _must(judge: Callable[[object], str | None]) -> AfterValidator:
    def check(value: Any) -> Any:
        reason = judge(value)
        if reason is not None:
            raise fault(reason)
        return value

    return AfterValidator(check)


def _read_time(value: object) -> object:
    """A datetime from RFC 3339 text. Numbers are refused: nobody can tell seconds from milliseconds."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    elif isinstance(value, datetime):
        return value
    reason = "must be an RFC 3339 time"
    raise fault(reason)


def _in_utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


def _detail_fault(value: object) -> str | None:
    reason = limits.depth_fault(value)
    if reason is not None:
        return reason
    if len(to_json(value)) > limits.MAX_DETAIL_BYTES:
        return f"must be at most {limits.MAX_DETAIL_BYTES} bytes of JSON"
    return None


def _content_fault(value: object) -> str | None:
    return None if value == "" else limits.text_fault(value)


def _note_fault(value: object) -> str | None:
    return None if value == "" else limits.text_fault(value, limits.MAX_NOTE_BYTES)


def _check_patch(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    found = limits.patch_fault(value) if value else None
    if found is not None:
        raise fault(found[1], found[0])
    return value


Id = Annotated[str, _must(limits.id_fault)]
Name = Annotated[str, _must(limits.name_fault)]
Time = Annotated[datetime, BeforeValidator(_read_time), _must(limits.time_fault)]
Zone = Annotated[str, _must(limits.zone_fault)]
TraceParent = Annotated[str, _must(limits.traceparent_fault)]
Content = Annotated[str, _must(_content_fault)]
"""At most 256 KiB of UTF-8. Whether it may be empty depends on the event."""
Note = Annotated[str, _must(_note_fault)]
"""At most 4 KiB of UTF-8."""
ToolArguments = Annotated[dict[str, JsonValue], _must(_detail_fault)]
Patch = Annotated[dict[str, JsonValue], _must(_detail_fault), AfterValidator(_check_patch)]
UtcTime = Annotated[Time, AfterValidator(_in_utc)]
"""A time whose zone does not matter."""
Outcome = Literal["success", "failure", "unknown"]


_REASONS = {
    "contract": "{reason}",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "is too large",
    "less_than_equal": "is too large",
    "too_long": "must have at most {max_length} items",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "missing": "is required",
    "string_type": "must be a string",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "uuid_version": "must be a UUID",
    "bool_type": "must be true or false",
    "int_type": "must be an integer",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "tuple_type": "must be a list",
    "invalid-json-value": "must be JSON",
    "recursion_loop": "is nested too deeply",
    "string_unicode": limits.LONE_SURROGATE,
    "list_type": "must be a list",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "bool_parsing": "must be true or false",
    "model_attributes_type": "must be an object",
    "timezone_aware": "must carry a time zone",
}


def first_fault(exc: ValidationError, names: frozenset[str]) -> BadEvent:
    """The first fault, in our words: pydantic's quote parts of the input for some types."""
    error = exc.errors(include_url=False, include_input=False)[0]
    # A location may hold keys that a user wrote: only our own names and positions are shown.
    path = [str(part) for part in error["loc"] if isinstance(part, int) or part in names]
    context = error.get("ctx", {})
    if error["type"] == "contract" and context["path"]:
        path.append(context["path"])
    return BadEvent(".".join(path) or "value", fault_reason(error["type"], context))


def fault_reason(kind: str, context: Mapping[str, Any]) -> str:
    """One of pydantic's errors, named by its type and its context, in our words."""
    return _REASONS.get(kind, "is not valid").format_map(context)

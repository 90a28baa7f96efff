"""Types of fields that events and the wire share: pydantic around the rules of `limits`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, JsonValue
from pydantic_core import PydanticCustomError, to_json

from afterturn import limits


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


def _size_fault(value: object) -> str | None:
    if len(to_json(value)) > limits.MAX_DETAIL_BYTES:
        return f"must be at most {limits.MAX_DETAIL_BYTES} bytes of JSON"
    return None


def _content_fault(value: object) -> str | None:
    return None if value == "" else limits.text_fault(value)


def _note_fault(value: object) -> str | None:
    return None if value == "" else limits.text_fault(value, limits.MAX_NOTE_BYTES)


def _check_patch(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    found = limits.patch_fault(cast("dict[object, object]", value))
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
ToolArguments = Annotated[dict[str, JsonValue], _must(_size_fault)]
Patch = Annotated[dict[str, JsonValue], _must(_size_fault), AfterValidator(_check_patch)]
UtcTime = Annotated[Time, AfterValidator(_in_utc)]
"""A time whose zone does not matter."""
Outcome = Literal["success", "failure", "unknown"]

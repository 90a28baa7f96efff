"""Arguments of the Publisher, judged in the call with the standard library alone.

Whatever passes here passes `events.parse_event` at the other end (a property test holds the two together). Values
that the caller may go on changing (a patch, a tool's arguments) are copied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, cast
from uuid import UUID

from afterturn import limits
from afterturn.errors import BadEvent

if TYPE_CHECKING:
    from afterturn.masking import Json


class EventOptions(TypedDict, total=False):
    """What every call of the Publisher takes beside its own arguments; None is the same as absent.

    at: when it happened (aware; default: now). tz: the user's IANA zone. reply_to: id of the event that this answers.
    source: the channel (chat, email, ...). no_store: count the event, keep nothing of its content.
    event_id: a UUID of the caller's own, so that a repeated import changes nothing.
    """

    at: datetime | None
    agent: str | None
    ticket: str | None
    thread: str | None
    reply_to: str | UUID | None
    tz: str | None
    source: str | None
    no_store: bool
    traceparent: str | None
    event_id: str | UUID | None


def require(field: str, value: object, judge: Callable[[object], str | None]) -> None:
    """Raises BadEvent when `judge` finds fault with the value."""
    reason = judge(value)
    if reason is not None:
        raise BadEvent(field, reason)


def one_of(field: str, value: object, choices: frozenset[str]) -> None:
    """Raises BadEvent unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise BadEvent(field, f"must be one of {', '.join(sorted(choices))}")


def true_or_false(field: str, value: object) -> None:
    """Raises BadEvent for anything but a bool: "false" would count as true."""
    if not isinstance(value, bool):
        raise BadEvent(field, "must be true or false")


def uuid_fault(value: object) -> str | None:
    """Why a value is no UUID."""
    if isinstance(value, UUID):
        return None
    try:
        UUID(value if isinstance(value, str) else "")
    except ValueError:
        return "must be a UUID"
    return None


def note_fault(value: object) -> str | None:
    """Why a value is no short text."""
    return limits.text_fault(value, limits.MAX_NOTE_BYTES)


_OPTIONS: dict[str, tuple[str, Callable[[object], str | None]]] = {
    "agent": ("agent_id", limits.id_fault),
    "ticket": ("ticket_id", limits.id_fault),
    "thread": ("thread_id", limits.id_fault),
    "reply_to": ("reply_to", uuid_fault),
    "tz": ("tz", limits.zone_fault),
    "source": ("source", limits.id_fault),
    "traceparent": ("traceparent", limits.traceparent_fault),
}
_HANDLED = frozenset({"at", "no_store", "event_id"})


def add_options(extras: dict[str, Json], options: Mapping[str, object]) -> None:
    """Adds the checked options to the event's fields, except those that need more than copying."""
    for name, value in options.items():
        if name in _HANDLED:
            continue
        if name not in _OPTIONS:
            msg = f"unexpected keyword argument {name!r}"
            raise TypeError(msg)
        if value is not None:
            field, judge = _OPTIONS[name]
            require(name, value, judge)
            extras[field] = str(value)


def add_texts(extras: dict[str, Json], judge: Callable[[object], str | None], **values: str | None) -> None:
    """Adds the values that are not None, each judged under its own name (a trailing _id is not part of the name)."""
    for field, value in values.items():
        if value is not None:
            require(field.removesuffix("_id"), value, judge)
            extras[field] = value


def copied(field: str, value: Mapping[str, object]) -> dict[str, Json]:
    """A copy of a JSON object of at most 64 KiB. Raises: BadEvent."""
    require(field, value, limits.depth_fault)
    if limits.holds_lone_surrogate(value):
        raise BadEvent(field, limits.LONE_SURROGATE)
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):  # A UnicodeEncodeError is a ValueError.
        raise BadEvent(field, "must be a JSON object") from None
    if size > limits.MAX_DETAIL_BYTES:
        raise BadEvent(field, f"must be at most {limits.MAX_DETAIL_BYTES} bytes of JSON")
    return cast("dict[str, Json]", json.loads(text))


def tool_use(tool: str | Mapping[str, object] | None, ok: bool | None) -> dict[str, Json] | None:
    """A tool's name, or {"name", "call_id", "arguments"}, with the success flag of its result."""
    if tool is None and ok is None:
        return None
    fields: Mapping[str, object] = {"name": tool} if isinstance(tool, str) else (tool or {})
    use: dict[str, Json] = {}
    for key, value in fields.items():
        if key == "arguments" and isinstance(value, Mapping):
            use[key] = copied("tool.arguments", cast("Mapping[str, object]", value))
        elif key in ("name", "call_id") and isinstance(value, str):
            require(f"tool.{key}", value, limits.name_fault if key == "name" else limits.id_fault)
            use[key] = value
        elif value is not None:
            raise BadEvent("tool", "must be a name, or an object of name, call_id and arguments")
    if ok is not None:
        true_or_false("ok", ok)
        use["ok"] = ok
    return use


def procedure_ref(procedure: str | tuple[str, int]) -> dict[str, Json]:
    """A procedure's name, or its name and version."""
    name, version = (procedure, None) if isinstance(procedure, str) else procedure
    require("procedure", name, limits.name_fault)
    if version is None:
        return {"name": name}
    if isinstance(version, bool) or not 1 <= version <= 1_000_000:
        raise BadEvent("procedure", "must have a version of at least 1")
    return {"name": name, "version": version}


def listed(field: str, values: Iterable[object], judge: Callable[[object], str | None]) -> list[Json]:
    """Up to 1000 ids, as strings. Raises: BadEvent with the position of a bad one."""
    if isinstance(values, str):
        raise BadEvent(field, "must be a list")
    ids: list[Json] = []
    for place, value in enumerate(values):
        require(f"{field}.{place}", value, judge)
        ids.append(str(value))
    if len(ids) > limits.MAX_LIST_ITEMS:
        raise BadEvent(field, f"must have at most {limits.MAX_LIST_ITEMS} items")
    return ids

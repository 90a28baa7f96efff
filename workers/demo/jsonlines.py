"""Our own JSON Lines: one turn a line, `{"user", "session", "at", "role", "text"}` and optional fields of a turn."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from workers.demo.transcripts import BadFile, Said, Transcript, kind_of, read_json, table, text, wrong_kind

_OPTIONAL = ("name", "thread", "ticket", "tz", "actor", "procedure")
_ROLES = {"user", "assistant", "tool", "staff", "system"}


def looks_like(head: str) -> bool:
    """Whether the first line alone is an object with a turn's fields: a JSON document spreads over many lines."""
    try:
        first: Any = json.loads(head.split("\n", 1)[0])
    except json.JSONDecodeError:
        return False
    return kind_of(first) == "an object" and ("user" in first or "text" in first)


def transcript(raw: str, place: str) -> Transcript:
    """Every line, or BadFile with the line's number."""
    said = [_turn(line, number, place) for number, line in enumerate(raw.split("\n"), 1) if line.strip()]
    said.sort(key=lambda turn: turn.at)
    return Transcript(source="jsonl", said=tuple(said))


def _turn(line: str, number: int, file: str) -> Said:
    place = f"{file}, line {number}"
    value = table(read_json(line, file, first_line=number), place)
    role = text(value.get("role"), f"{place}, role")
    if role not in _ROLES:
        listed = sorted(_ROLES)
        raise BadFile(f"{place}, role", f"expected one of {', '.join(listed)}", f"应为其中之一：{'、'.join(listed)}")
    ok = value.get("ok")
    if ok is not None and not isinstance(ok, bool):
        raise wrong_kind(f"{place}, ok", "true or false", " true 或 false", ok)
    return Said(
        label=str(number),
        place=place,
        user=text(value.get("user"), f"{place}, user"),
        session=text(value.get("session"), f"{place}, session"),
        role=role,
        text=text(value.get("text"), f"{place}, text"),
        at=_time(value.get("at"), f"{place}, at"),
        ok=ok,
        **_optional(value, place),
    )


def _optional(value: dict[str, Any], place: str) -> dict[str, str]:
    return {name: text(value[name], f"{place}, {name}") for name in _OPTIONAL if value.get(name) is not None}


def _time(value: object, place: str) -> datetime:
    try:
        at = datetime.fromisoformat(text(value, place))
    except ValueError:
        like = "2026-01-10T09:00:00+08:00"
        raise BadFile(place, f"expected a time like {like}", f"应为 {like} 这样的时间") from None
    if at.tzinfo is None:
        raise BadFile(
            place, "a time without a zone: add Z or an offset like +08:00", "时间没有时区：请加 Z 或 +08:00 这样的偏移"
        )
    return at

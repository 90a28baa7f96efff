"""A conversation read from a file, whole or not at all: a Transcript, or a BadFile that names the place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from schemas.errors import Permanent
from schemas.fault_words import fault_text
from workers.speech import tr


class BadFile(Permanent):
    """A file that cannot be read as a conversation; `place` says where, in the file's own terms.

    `zh` is the reason in Chinese where the known words do not have it; the message is in the reader's language.
    """

    code = "bad_file"

    def __init__(self, place: str, reason: str, zh: str | None = None) -> None:
        told = zh or fault_text(reason, "zh")
        super().__init__(tr(f"{_PLACE.sub(_place_zh, place)}：{told}", f"{place}: {reason}"))
        self.place = place
        self.reason = reason


_PLACE = re.compile(r", line (\d+)(?:, column (\d+))?")


def _place_zh(found: re.Match[str]) -> str:
    return f"，第 {found[1]} 行" + (f"第 {found[2]} 列" if found[2] else "")


def wrong_kind(place: str, expected: str, zh: str, value: object) -> BadFile:
    """The error of a value of another type than the one that is expected there."""
    found = kind_of(value)
    return BadFile(place, f"expected {expected}, found {found}", f"应为{zh}，却是{_KINDS_ZH[found]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn of a file. `label` is the file's own name for it, `place` where it stands; `at` is aware."""

    label: str
    place: str
    user: str
    session: str
    role: str
    text: str
    at: datetime
    name: str | None = None
    thread: str | None = None
    ticket: str | None = None
    tz: str | None = None
    ok: bool | None = None
    actor: str | None = None
    procedure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that comes with the file, and the labels of the turns that hold its answer."""

    text: str
    gold: tuple[str, ...]
    category: int
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A file's turns in order of time, and its questions, if it has any."""

    source: str
    said: tuple[Said, ...]
    questions: tuple[Question, ...] = field(default=())

    @property
    def sessions(self) -> tuple[tuple[str, str], ...]:
        """(user, session) pairs in order of first appearance."""
        return tuple(dict.fromkeys((said.user, said.session) for said in self.said))


def read_json(raw: str, place: str, *, first_line: int = 1) -> Any:
    """A JSON value that starts on `first_line` of its file. Raises BadFile with line and column."""
    try:
        return json.loads(raw)
    except json.JSONDecodeError as exc:
        raise BadFile(
            f"{place}, line {first_line + exc.lineno - 1}, column {exc.colno}",
            f"not JSON ({exc.msg})",
            f"不是 JSON（{exc.msg}）",
        ) from None
    except ValueError:
        # The one other thing that the decoder refuses: a number with thousands of digits.
        spot = f"{place}, line {first_line}" if first_line > 1 else place
        raise BadFile(spot, "a number is too long", "数字过长") from None
    except RecursionError:
        raise BadFile(place, "nested too deeply", "嵌套过深") from None


def table(value: object, place: str) -> dict[str, Any]:
    """A JSON object, or BadFile."""
    if not isinstance(value, dict):
        raise wrong_kind(place, "an object", "对象", value)
    return cast("dict[str, Any]", value)


def rows(value: object, place: str) -> list[Any]:
    """A JSON list, or BadFile."""
    if not isinstance(value, list):
        raise wrong_kind(place, "a list", "列表", value)
    return cast("list[Any]", value)


def text(value: object, place: str) -> str:
    """A string that is not blank, or BadFile."""
    if not isinstance(value, str):
        raise wrong_kind(place, "text", "文本", value)
    if not value.strip():
        raise BadFile(place, "empty text", "文本为空")
    return value


_KINDS_ZH = {
    **{"an object": "对象", "a list": "列表", "text": "文本", "true or false": "true 或 false"},
    **{"a number": "数字", "null": "null"},
}


def kind_of(value: object) -> str:
    """The JSON name of a value's type."""
    if value is None:
        return "null"
    names = {"dict": "an object", "list": "a list", "str": "text", "bool": "true or false"}
    return names.get(type(value).__name__, "a number")

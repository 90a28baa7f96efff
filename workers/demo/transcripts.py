"""A conversation read from a file, whole or not at all: a Transcript, or a BadFile that names the place."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from schemas.errors import Permanent


class BadFile(Permanent):
    """A file that cannot be read as a conversation; `place` says where, in the file's own terms."""

    code = "bad_file"

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


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
            f"{place}, line {first_line + exc.lineno - 1}, column {exc.colno}", f"not JSON ({exc.msg})"
        ) from None
    except ValueError:
        # The one other thing that the decoder refuses: a number with thousands of digits.
        raise BadFile(f"{place}, line {first_line}" if first_line > 1 else place, "a number is too long") from None
    except RecursionError:
        raise BadFile(place, "nested too deeply") from None


def table(value: object, place: str) -> dict[str, Any]:
    """A JSON object, or BadFile."""
    if not isinstance(value, dict):
        raise BadFile(place, f"expected an object, found {kind_of(value)}")
    return cast("dict[str, Any]", value)


def rows(value: object, place: str) -> list[Any]:
    """A JSON list, or BadFile."""
    if not isinstance(value, list):
        raise BadFile(place, f"expected a list, found {kind_of(value)}")
    return cast("list[Any]", value)


def text(value: object, place: str) -> str:
    """A string that is not blank, or BadFile."""
    if not isinstance(value, str):
        raise BadFile(place, f"expected text, found {kind_of(value)}")
    if not value.strip():
        raise BadFile(place, "empty text")
    return value


def kind_of(value: object) -> str:
    """The JSON name of a value's type."""
    if value is None:
        return "null"
    names = {"dict": "an object", "list": "a list", "str": "text", "bool": "true or false"}
    return names.get(type(value).__name__, "a number")

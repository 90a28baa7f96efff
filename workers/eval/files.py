"""Reads files of cases, whole or not at all. What is wrong is named by file, line and field: a BadFile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, cast, get_args

from schemas.decisions import RequestKind
from workers.demo.transcripts import BadFile, kind_of, read_json, rows, table, text
from workers.eval.cases import ACTIONS, Action, Asked, Case, Dialogue, Expect, Json, Poison, Said, Statement

MAX_BYTES = 64 * 1024 * 1024
ROLES = ("user", "assistant", "tool", "staff", "system")
OPS = ("+", "-", "x", "p")
DECISIONS = ("store", "pending", "reject", "drop", "request")
OUTCOMES = ("success", "failure", "unknown")
REQUESTS: tuple[RequestKind, ...] = get_args(RequestKind)
_EXPECTED = frozenset(Expect.__dataclass_fields__)


def read_cases(path: Path) -> list[Case]:
    """Every case of one file, in its order. Raises: BadFile."""
    if not path.is_file():
        raise BadFile(str(path), "there is no such file")
    if path.stat().st_size > MAX_BYTES:
        raise BadFile(str(path), f"larger than {MAX_BYTES // 2**20} MiB")
    data = path.read_bytes()
    try:
        raw = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise BadFile(f"{path}, line {data[: exc.start].count(10) + 1}", "not UTF-8") from None
    # Only a line feed ends a line: JSON may hold other characters that Python takes for line ends.
    cases = [_case(line, number, path.name) for number, line in enumerate(raw.split("\n"), 1) if line.strip()]
    if not cases:
        raise BadFile(str(path), "no case in it")
    _refuse_repeated(cases)
    return cases


def _refuse_repeated(cases: Iterable[Case]) -> None:
    seen: dict[str, str] = {}
    for case in cases:
        if case.id in seen:
            raise BadFile(f"{case.place}, id", f"{case.id} is the id of {seen[case.id]}, too")
        seen[case.id] = case.place


def _case(line: str, number: int, file: str) -> Case:
    place = f"{file}, line {number}"
    value = table(read_json(line, file, first_line=number), place)
    if "turns" in value:
        return _dialogue(value, place)
    if "facts" in value:
        return _statement(value, place)
    if "decision" in value:
        return _poison(value, place)
    raise BadFile(place, "no case: expected turns (a dialogue), facts (a statement) or decision (poisoning)")


def _dialogue(value: Json, place: str) -> Dialogue:
    turns = [
        _step(one, f"{place}, turns[{index}]") for index, one in enumerate(rows(value["turns"], f"{place}, turns"))
    ]
    if not turns or not isinstance(turns[0], Said):
        raise BadFile(f"{place}, turns", "the first must be a turn: nothing has a time before it")
    sessions = {one.session for one in turns if isinstance(one, Said)}
    for index, one in enumerate(turns):
        if isinstance(one, Action) and one.do == "end" and one.session not in sessions:
            raise BadFile(f"{place}, turns[{index}], session", "no turn is of that session")
    return Dialogue(
        id=text(value.get("id"), f"{place}, id"),
        place=place,
        why=_word(value, "why", place),
        lang=_word(value, "lang", place),
        turns=tuple(turns),
        expect=_expect(value.get("expect"), f"{place}, expect"),
        answers=_answers(value, place),
    )


def _step(value: object, place: str) -> Said | Action:
    found = table(value, place)
    return _action(found, place) if "do" in found else _said(found, place)


def _said(value: Json, place: str) -> Said:
    role = _choice(value.get("role"), ROLES, f"{place}, role")
    actor = _text_or_none(value, "actor", place)
    if role == "staff" and actor is None:
        raise BadFile(f"{place}, actor", "a turn of staff says who spoke")
    return Said(
        place=place,
        user=text(value.get("user"), f"{place}, user"),
        session=text(value.get("session"), f"{place}, session"),
        at=_time(value.get("at"), f"{place}, at"),
        role=role,
        text=text(value.get("text"), f"{place}, text"),
        name=_text_or_none(value, "name", place),
        ok=None if value.get("ok") is None else _flag(value["ok"], f"{place}, ok"),
        event=_text_or_none(value, "event", place),
        ticket=_text_or_none(value, "ticket", place),
        thread=_text_or_none(value, "thread", place),
        actor=actor,
        tz=_text_or_none(value, "tz", place),
        no_store=_flag(value.get("no_store", False), f"{place}, no_store"),
    )


def _action(value: Json, place: str) -> Action:
    do = _choice(value["do"], ACTIONS, f"{place}, do")
    days = 0.0
    if do == "advance":
        days = _number(value.get("days"), f"{place}, days")
        if days <= 0:
            raise BadFile(f"{place}, days", "expected more than 0")
    return Action(
        do=do,
        user=_text_or_none(value, "user", place),
        session=text(value.get("session"), f"{place}, session") if do == "end" else None,
        outcome=_choice(value.get("outcome", "unknown"), OUTCOMES, f"{place}, outcome"),
        days=days,
        text=text(value.get("text"), f"{place}, text") if do in ("approve", "reject") else "",
    )


def _answers(value: Json, place: str) -> Mapping[str, tuple[Json | str, ...]] | None:
    if "model" not in value and "model_raw" not in value:
        return None
    found: dict[str, tuple[Json | str, ...]] = {}
    for name, is_raw in (("model", False), ("model_raw", True)):
        for session, answers in table(value.get(name, {}), f"{place}, {name}").items():
            spot = f"{place}, {name}.{session}"
            if session in found:
                raise BadFile(spot, "the session has answers in model, too")
            found[session] = tuple(
                _raw(one, f"{spot}[{index}]") if is_raw else table(one, f"{spot}[{index}]")
                for index, one in enumerate(rows(answers, spot))
            )
    return found


def _raw(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise BadFile(place, f"expected the raw text of an answer, found {kind_of(value)}")
    return value


def _expect(value: object, place: str) -> Expect:
    found = table(value, place)
    unknown = sorted(found.keys() - _EXPECTED)
    if unknown:
        raise BadFile(f"{place}.{unknown[0]}", f"not known; expected any of {', '.join(sorted(_EXPECTED))}")
    if not found:
        raise BadFile(place, "expects nothing")
    lists: dict[str, Any] = {
        name: _texts(found[name], f"{place}.{name}")
        for name in ("current", "not_current", "past", "pending", "nowhere", "requests")
        if name in found
    }
    counts: dict[str, Any] = {
        name: _count(found[name], f"{place}.{name}")
        for name in ("current_count", "current_max", "episodes")
        if name in found
    }
    for one in lists.get("requests", ()):
        _choice(one, REQUESTS, f"{place}.requests")
    if "rejected" in found:
        lists["rejected"] = _codes(found["rejected"], f"{place}.rejected")
    other = table(found.get("other", {}), f"{place}.other")
    asked = rows(found.get("recall", []), f"{place}.recall")
    return Expect(
        **lists,
        **counts,
        other={subject: _texts(values, f"{place}.other.{subject}") for subject, values in other.items()},
        recall=tuple(_asked(one, f"{place}.recall[{index}]") for index, one in enumerate(asked)),
    )


def _codes(value: object, place: str) -> tuple[str, ...]:
    """A list of reason codes, or how often each came: {"no_quote": 2}."""
    if isinstance(value, dict):
        counted = cast("dict[str, Any]", value).items()
        return tuple(code for code, count in counted for _ in range(_count(count, f"{place}.{code}")))
    return _texts(value, place)


def _asked(value: object, place: str) -> Asked:
    found = table(value, place)
    return Asked(
        query=text(found.get("query"), f"{place}.query"),
        user=_text_or_none(found, "user", place),
        ticket=_text_or_none(found, "ticket", place),
        session=_text_or_none(found, "session", place),
        at=None if found.get("at") is None else _time(found["at"], f"{place}.at"),
        as_of=None if found.get("as_of") is None else _time(found["as_of"], f"{place}.as_of"),
        contains=_texts(found.get("contains", []), f"{place}.contains"),
        lacks=_texts(found.get("lacks", []), f"{place}.lacks"),
    )


def _statement(value: Json, place: str) -> Statement:
    facts: list[tuple[str, str, str, str]] = []
    for index, one in enumerate(rows(value["facts"], f"{place}, facts")):
        spot = f"{place}, facts[{index}]"
        parts = [text(part, spot) for part in rows(one, spot)]
        if len(parts) != 4:
            raise BadFile(spot, "expected [subject, key, value, op]")
        facts.append((parts[0], parts[1], parts[2], _choice(parts[3], OPS, spot)))
    return Statement(
        id=text(value.get("id"), f"{place}, id"),
        place=place,
        lang=_word(value, "lang", place) or "und",
        text=text(value.get("text"), f"{place}, text"),
        facts=tuple(facts),
    )


def _poison(value: Json, place: str) -> Poison:
    return Poison(
        id=text(value.get("id"), f"{place}, id"),
        place=place,
        why=_word(value, "why", place),
        lang=_word(value, "lang", place) or "und",
        origin=_choice(value.get("origin"), ROLES, f"{place}, origin"),
        text=text(value.get("text"), f"{place}, text"),
        decision=_choice(value["decision"], DECISIONS, f"{place}, decision"),
    )


def _word(value: Json, name: str, place: str) -> str:
    """A remark, which may be empty or left out."""
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise BadFile(f"{place}, {name}", f"expected text, found {kind_of(found)}")
    return found or ""


def _text_or_none(value: Json, name: str, place: str) -> str | None:
    return None if value.get(name) is None else text(value[name], f"{place}, {name}")


def _texts(value: object, place: str) -> tuple[str, ...]:
    return tuple(text(one, f"{place}[{index}]") for index, one in enumerate(rows(value, place)))


def _choice(value: object, choices: tuple[str, ...], place: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise BadFile(place, f"expected one of {', '.join(choices)}")
    return value


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise BadFile(place, f"expected true or false, found {kind_of(value)}")
    return value


def _number(value: object, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadFile(place, f"expected a number, found {kind_of(value)}")
    return float(value)


def _count(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadFile(place, "expected a whole number from 0 on")
    return value


def _time(value: object, place: str) -> datetime:
    try:
        at = datetime.fromisoformat(text(value, place))
    except ValueError:
        raise BadFile(place, "expected a time like 2026-01-10T09:00:00+08:00") from None
    if at.tzinfo is None:
        raise BadFile(place, "a time without a zone: add Z or an offset like +08:00")
    return at

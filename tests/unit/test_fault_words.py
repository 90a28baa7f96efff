"""Errors in the reader's language: every message that the service raises has its Chinese, and keeps what it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from schemas import errors
from schemas.errors import BadInput, BadSettings, NotFound, StoreBusy
from schemas.fault_words import KINDS, fault_text
from workers.faults import said
from workers.speech import speak

ROOT = Path(__file__).parents[2]
FOLDERS = ("schemas", "memory", "llm", "stores", "tasks", "workers", "api")
RAISED = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.ServiceError)
}
CHINESE = re.compile("[\u4e00-\u9fff]")


def test_every_message_has_its_chinese() -> None:
    messages = dict(_messages())

    untold = {where: message for message, where in messages.items() if not CHINESE.search(fault_text(message, "zh"))}

    assert untold == {}
    assert len(messages) > 100


@pytest.mark.parametrize(
    ("message", "chinese"),
    [
        (
            'AFTERTURN_LLM_PRICES["gpt-4.1"]["input"]: must be a number of at least 0',
            'AFTERTURN_LLM_PRICES["gpt-4.1"]["input"]：必须是不小于 0 的数',
        ),
        (
            "AFTERTURN_DATABASE_URL: its schema is not this version's. Mend: ./afterturn migrate",
            "AFTERTURN_DATABASE_URL：数据库结构与本版本不符。修复：./afterturn migrate",
        ),
        ("the database at db.lan:5432/shop does not answer", "db.lan:5432/shop 的数据库没有应答"),
        ("no dead letter 7", "没有死信 7"),
        ("no session of that name", "没有这个会话"),
        ("--lang: zh or en", "--lang：zh 或 en"),
    ],
)
def test_a_message_keeps_what_it_names(message: str, chinese: str) -> None:
    assert fault_text(message, "zh") == chinese
    assert fault_text(message, "en") == message


def test_only_who_typed_a_users_id_is_shown_it() -> None:
    lost = NotFound("user", unsaid="jane@example.com")

    assert "jane" not in str(lost)
    assert said(lost) == "no user jane@example.com"
    speak("zh")
    try:
        assert said(lost) == "没有用户 jane@example.com"
        assert said(NotFound("event", "7")) == "没有事件 7"
        assert said(BadInput("--back", "must be a UUID")) == "--back: 必须是 UUID"
        assert said(StoreBusy("Weaviate at w:8080 does not answer")) == "w:8080 的 Weaviate 没有应答"
        assert said(BadSettings("AFTERTURN_LANG: must be one of zh, en")) == "AFTERTURN_LANG：必须是其中之一：zh、en"
    finally:
        speak("en")


def test_what_is_not_found_is_of_a_known_kind() -> None:
    kinds = {
        argument.value
        for call in _calls()
        if _name(call) == "NotFound" and call.args and isinstance(argument := call.args[0], ast.Constant)
    }

    assert kinds <= KINDS.keys()
    assert len(kinds) > 8


def _messages() -> Iterator[tuple[str, str]]:
    """Each message with its place; what a message is filled with stands there as `7`."""
    for path, function in _functions():
        named = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name)
        }
        for node in ast.walk(function):
            for argument in _told(node) if isinstance(node, ast.Call) else ():
                one = named.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
                if (message := _text(one)) is not None:
                    yield message, f"{path.relative_to(ROOT)}:{argument.lineno}"


def _told(call: ast.Call) -> list[ast.expr]:
    """The argument of an error that says what happened."""
    match _name(call):
        case "BadInput":
            return call.args[1:2]
        case "BadFile":
            return call.args[1:2] if len(call.args) == 2 else []  # a third is its Chinese
        case "NotFound":
            return [keyword.value for keyword in call.keywords if keyword.arg == "told"]
        case name:
            return call.args[:1] if name in {*RAISED, "fault"} else []


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        filled = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
        return None if filled in {"7", "7: 7"} else re.sub("^7: ", "AFTERTURN_X: ", filled)
    return None


def _calls() -> Iterator[ast.Call]:
    for _, function in _functions():
        yield from (node for node in ast.walk(function) if isinstance(node, ast.Call))


@cache
def _functions() -> tuple[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef], ...]:
    return tuple(_each_function())


def _each_function() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield path, node


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""

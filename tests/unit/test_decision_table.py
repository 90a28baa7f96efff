"""The table of decisions says what the gate does, leaves no rule out, and is the file in docs/."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory import decision_words as words
from memory.decision_table import guard_codes, markdown
from memory.policy import GatePolicy
from memory.policy_file import read
from memory.registry import key_names

ROOT = Path(__file__).parents[2]
SHIPPED = read((ROOT / "deploy" / "policy.yaml").read_text("utf-8")).policy or GatePolicy()


@pytest.mark.parametrize(("language", "name"), [("en", "decisions.md"), ("zh", "decisions.zh-CN.md")])
def test_the_file_is_what_the_generator_prints(language: str, name: str) -> None:
    """To write it anew: ./afterturn policy table --lang en > docs/decisions.md, and the same with zh."""
    assert (ROOT / "docs" / name).read_text("utf-8") == markdown(SHIPPED, language)


def test_every_key_and_every_code_of_the_guard_has_its_row() -> None:
    table = markdown(SHIPPED, "en")

    for name in (*key_names(), *(code for code, _ in guard_codes())):
        assert f"| `{name}` |" in table


def test_every_code_has_words_in_both_languages() -> None:
    for meanings in (words.GUARD, words.VERIFICATION, words.FOLD, words.CARDINALITY, words.STATUS):
        for english, chinese in meanings.values():
            assert english.isascii()
            assert re.search(r"[\u4e00-\u9fff]", chinese)


def test_every_code_that_verification_and_the_fold_can_give_is_explained() -> None:
    refusals = set(_arguments("verify", {"_Refused", "Dropped"})) | set(
        _matching("polarity", r"polarity_\w+|double_negation")
    )
    rules = set(_matching("facts", r"[a-z]+(?:_[a-z]+)+")) | set(_matching("timeline", r"[a-z]+(?:_[a-z]+)+"))

    assert len(refusals) > 15
    assert refusals <= set(words.VERIFICATION)
    assert len(rules) > 10
    assert rules - _NO_RULES <= set(words.FOLD)


def test_a_policy_changes_the_table() -> None:
    strict = GatePolicy(
        version="mine",
        special={"health": "drop"},
        protected_keys=GatePolicy().protected_keys | {"city"},
        drop_keys=frozenset({"likes"}),
    )

    table = markdown(strict, "en")

    assert "| `health` | health | multi | special category | dropped (special_health) |" in table
    assert "| `city` | city | single | protected | waits for review (protected_key) |" in table
    assert "| `likes` | likes | multi |  | dropped (policy_drop) |" in table


_NO_RULES = frozenset({"by_object", "evidence_before", "evidence_after", "segment_rank"})
"""Words of those modules that look like rules: a cardinality, and names of inputs."""


def _matching(name: str, pattern: str) -> Iterator[str]:
    """The string constants of a module of rules that look like codes."""
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(pattern, node.value):
            yield node.value


def _arguments(name: str, functions: set[str]) -> Iterator[str]:
    """The codes that a module hands to these."""
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            for given in ast.walk(node):
                if isinstance(given, ast.Constant) and isinstance(given.value, str) and "_" in given.value:
                    yield "tool_is_no_evidence" if given.value.startswith("_") else given.value


def _tree(name: str) -> ast.Module:
    return ast.parse((ROOT / "memory" / f"{name}.py").read_text("utf-8"))

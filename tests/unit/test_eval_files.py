"""Files of cases: three kinds told apart, and every fault named by line and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval_builders import dialogue, said, written
from workers.demo.transcripts import BadFile
from workers.eval.cases import Action, Dialogue, Poison, Said, Statement
from workers.eval.files import read_cases

CASES = Path(__file__).parents[1] / "cases"


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("dialogues.jsonl", Dialogue, 36),
        ("dialogues_own.jsonl", Dialogue, 32),
        ("offline_given.jsonl", Statement, 59),
        ("poisoning.jsonl", Poison, 40),
    ],
)
def test_the_kinds_are_told_apart(name: str, kind: type, count: int) -> None:
    cases = read_cases(CASES / name)

    assert {type(case) for case in cases} == {kind}
    assert len(cases) == count


def test_own_dialogues_are_half_chinese() -> None:
    languages = [case.lang for case in read_cases(CASES / "dialogues_own.jsonl")]

    assert languages.count("zh") == languages.count("en") == 16


def test_a_dialogue_keeps_what_its_author_wrote(tmp_path: Path) -> None:
    turns = (said("Hi.", tz="Asia/Tokyo", ticket="K1", event="e"), {"do": "advance", "days": 2.5})
    expect = {"current": ["x"], "rejected": {"no_quote": 2}, "recall": [{"query": "q", "lacks": ["y"]}]}
    path = written(tmp_path, dialogue(*turns, expect=expect, model_raw={"s1": ["{"]}))

    case = read_cases(path)[0]

    assert isinstance(case, Dialogue)
    assert isinstance(case.turns[0], Said)
    assert (case.turns[0].tz, case.turns[0].ticket, case.turns[0].event) == ("Asia/Tokyo", "K1", "e")
    assert case.turns[1] == Action(do="advance", days=2.5)
    assert case.answers == {"s1": ("{",)}
    assert case.expect.rejected == ("no_quote", "no_quote")
    assert case.expect.recall[0].lacks == ("y",)
    assert case.expect.pending is None


def test_a_remark_may_be_empty(tmp_path: Path) -> None:
    case = read_cases(written(tmp_path, {"id": "a", "text": "t", "facts": [], "lang": "", "why": ""}))[0]

    assert case.lang == "und"


GOOD: dict[str, Any] = {"current": ["x"]}


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('{"id": ', "line 2, column 8"),
        ("[1]", "line 2"),
        ({"id": "a"}, "line 2"),
        (dialogue(expect=GOOD), "line 2, turns"),
        (dialogue({"do": "digest"}, said("Hi."), expect=GOOD), "line 2, turns"),
        (dialogue(said(" "), expect=GOOD), "line 2, turns[0], text"),
        (dialogue(said("Hi.", at="2026-01-01T09:00:00"), expect=GOOD), "line 2, turns[0], at"),
        (dialogue(said("Hi.", role="boss"), expect=GOOD), "line 2, turns[0], role"),
        (dialogue(said("Hi.", role="staff"), expect=GOOD), "line 2, turns[0], actor"),
        (dialogue(said("Hi.", no_store="yes"), expect=GOOD), "line 2, turns[0], no_store"),
        (dialogue(said("Hi."), {"do": "dance"}, expect=GOOD), "line 2, turns[1], do"),
        (dialogue(said("Hi."), {"do": "advance"}, expect=GOOD), "line 2, turns[1], days"),
        (dialogue(said("Hi."), {"do": "end", "session": "s2"}, expect=GOOD), "line 2, turns[1], session"),
        (dialogue(said("Hi."), expect={}), "line 2, expect"),
        (dialogue(said("Hi."), expect={"curent": ["x"]}), "line 2, expect.curent"),
        (dialogue(said("Hi."), expect={"current": "x"}), "line 2, expect.current"),
        (dialogue(said("Hi."), expect={"current_count": -1}), "line 2, expect.current_count"),
        (dialogue(said("Hi."), expect={"requests": ["delete"]}), "line 2, expect.requests"),
        (dialogue(said("Hi."), expect={"recall": [{}]}), "line 2, expect.recall[0].query"),
        (dialogue(said("Hi."), expect=GOOD, model={"s1": ["text"]}), "line 2, model.s1[0]"),
        ({"id": "a", "text": "t", "facts": [["user", "city", "x"]]}, "line 2, facts[0]"),
        ({"id": "a", "text": "t", "facts": [["user", "city", "x", "?"]]}, "line 2, facts[0]"),
        ({"id": "a", "text": "t", "origin": "user", "decision": "maybe"}, "line 2, decision"),
        ({"id": "a", "text": "t", "origin": "moon", "decision": "drop"}, "line 2, origin"),
        ({"id": "first", "text": "t", "facts": []}, "line 2, id"),
    ],
)
def test_a_fault_is_named_by_its_line_and_field(line: dict[str, Any] | str, place: str, tmp_path: Path) -> None:
    path = written(tmp_path, {"id": "first", "text": "t", "facts": []}, line)

    with pytest.raises(BadFile) as caught:
        read_cases(path)

    assert caught.value.place == f"cases.jsonl, {place}"


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_a_fault(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no case"):
        read_cases(written(tmp_path, text))


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no such file"):
        read_cases(tmp_path / "absent.jsonl")

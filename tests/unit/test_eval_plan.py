"""When cases play, what a scripted model answers them, and how their texts are looked for."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eval_builders import dialogue, said, written
from memory.prompts import window_messages
from memory_fixtures import turn
from workers.eval.cases import Action, Dialogue, Expect, Said
from workers.eval.files import read_cases
from workers.eval.model import EMPTY, Scripted
from workers.eval.plan import DIGEST, clock_after, steps, waves
from workers.eval.traces import holds


def _case(folder: Path, *turns: dict[str, Any], **fields: Any) -> Dialogue:
    case = read_cases(written(folder, dialogue(*turns, expect={"current": ["x"]}, **fields)))[0]
    assert isinstance(case, Dialogue)
    return case


def _texts(turns: tuple[Said, ...]) -> list[str]:
    return [one.text for one in turns]


def test_a_case_without_an_end_is_digested(tmp_path: Path) -> None:
    plan = steps(_case(tmp_path, said("a"), {"do": "redeliver"}))

    assert [(_texts(step.turns), step.action.do) for step in plan] == [(["a"], "redeliver"), ([], "digest")]


def test_nothing_is_played_after_a_stop(tmp_path: Path) -> None:
    plan = steps(_case(tmp_path, said("a"), {"do": "stop"}, said("b")))

    assert [step.action.do for step in plan] == ["stop"]


def test_days_that_pass_digest_first_and_move_the_clock(tmp_path: Path) -> None:
    plan = steps(_case(tmp_path, said("a"), {"do": "advance", "days": 2}))

    assert [step.action.do for step in plan] == ["digest", "advance", "digest"]
    first = clock_after(plan[0], None)
    assert first == datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert clock_after(plan[1], first) == datetime(2026, 1, 3, 9, tzinfo=UTC)


def test_a_verdict_waits_until_what_was_said_is_digested(tmp_path: Path) -> None:
    plan = steps(_case(tmp_path, said("a"), {"do": "approve", "text": "a"}, {"do": "reject", "text": "b"}))

    assert [(_texts(step.turns), step.action.do) for step in plan] == [
        (["a"], "digest"),
        ([], "approve"),
        ([], "reject"),
        ([], "digest"),
    ]


def test_a_late_turn_does_not_turn_the_clock_back(tmp_path: Path) -> None:
    plan = steps(_case(tmp_path, said("a"), {"do": "digest"}, said("b", at="2025-06-01T00:00:00Z")))

    assert clock_after(plan[1], clock_after(plan[0], None)) == datetime(2026, 1, 1, 9, tzinfo=UTC)


@given(seed=st.integers(), count=st.integers(1, 6))
def test_a_shuffle_moves_no_turn_across_an_action(seed: int, count: int) -> None:
    spoken = [
        Said(place=f"p{n}", user="u", session="s", at=datetime(2026, 1, 1, tzinfo=UTC), role="user", text=str(n))
        for n in range(2 * count)
    ]
    first, second = tuple(spoken[:count]), tuple(spoken[count:])
    plain = steps(_bare((*first, DIGEST, *second)))
    mixed = steps(_bare((*first, DIGEST, *second)), random.Random(seed))

    assert [sorted(_texts(step.turns)) for step in mixed] == [sorted(_texts(step.turns)) for step in plain]


def test_cases_that_share_a_text_play_one_after_the_other(tmp_path: Path) -> None:
    one = _case(tmp_path, said("a"), said("b"))
    two = replace(_case(tmp_path, said("c"), said("b")), id="d2")
    three = replace(_case(tmp_path, said("d")), id="d3")

    found = waves([(one, 1), (two, 1), (three, 1), (one, 2)])

    assert [[(case.id, number) for case, number in wave] for wave in found] == [
        [("d1", 1), ("d3", 1)],
        [("d2", 1)],
        [("d1", 2)],
    ]


def test_the_scripted_model_answers_by_session_one_call_after_the_other(tmp_path: Path) -> None:
    model = Scripted()
    answers = {"s1": [{**EMPTY, "summary": "one"}, {**EMPTY, "summary": "two"}]}
    model.script([_case(tmp_path, said("My password is Gr33nTram!9"), said("Hello."), model=answers)])

    asked = {"messages": window_messages([turn("My password is [secret:password]", number=1)])}
    found = [json.loads(model.answer(asked))["summary"] for _ in range(3)]

    assert found == ["one", "two", ""]
    assert json.loads(model.answer({"messages": window_messages([turn("Something else")])})) == EMPTY


def test_short_words_are_found_only_where_they_stand_alone() -> None:
    assert holds(b"x Ana y", "ana")
    assert not holds(b"xAnay", "ana")
    assert holds("，林涛，".encode(), "林涛")
    assert holds(b"...gr33nTRAM!9...", "Gr33nTram!9")


def _bare(turns: tuple[Said | Action, ...]) -> Dialogue:
    return Dialogue(id="d", place="p", why="", lang="en", turns=turns, expect=Expect())

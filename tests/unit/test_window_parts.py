"""Cutting a window in halves, putting the answers together again, and how long a busy model is left alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.parts import MIN_CHARS, halves, join
from memory.windows import WindowPolicy, busy_wait
from memory_fixtures import START, turn
from schemas.drafts import FactDraft, ProcedureDraft, WindowDraft


def _draft(**fields: object) -> WindowDraft:
    plain = {"summary": "", "outcome": "unknown", "sentiment": "neutral"}
    return WindowDraft.model_validate({**plain, **fields})


def _fact(label: str) -> FactDraft:
    return FactDraft(
        reason="",
        quote="x",
        turn=label,
        subject="user",
        modality="asserted",
        polarity="+",
        type="identity",
        key="city",
        value="x",
    )


def test_turns_are_halved_by_their_tokens_and_none_is_lost() -> None:
    turns = [turn("word " * 10 * (1 + 9 * (n == 0)), number=n + 1, at=START + timedelta(seconds=n)) for n in range(5)]

    parts = halves(turns)

    assert parts is not None
    assert [*parts.first, *parts.second] == turns
    assert parts.first_count == len(parts.first) >= 1
    assert parts.second


def test_a_single_turn_is_cut_between_sentences_and_keeps_its_id() -> None:
    text = "A sentence of some length. " * 200

    parts = halves([turn(text)])

    assert parts is not None
    assert parts.first_count == 0
    assert parts.first[0].content + parts.second[0].content == text
    assert parts.second[0].content.startswith("A sentence")
    assert {parts.first[0].event_id, parts.second[0].event_id} == {turn(text).event_id}


@pytest.mark.parametrize("content", ["好。" * (MIN_CHARS // 4), "x" * (MIN_CHARS - 1)])
def test_what_is_short_is_not_cut(content: str) -> None:
    assert halves([turn(content)]) is None
    assert halves([]) is None


def test_a_text_without_sentences_is_cut_in_the_middle() -> None:
    parts = halves([turn("字" * 4000)])

    assert parts is not None
    assert len(parts.first[0].content) == 2000


def test_labels_of_the_second_part_count_on() -> None:
    first = _draft(summary="One.", outcome="failure", outcome_turns=["t1"], facts=[_fact("t1")], tags=["a"])
    second = _draft(summary="Two.", outcome="success", outcome_turns=["t2"], facts=[_fact("t1")], tags=["a", "b"])

    whole = join(first, second, first_count=3)

    assert whole.summary == "One.\nTwo."
    assert (whole.outcome, whole.outcome_turns) == ("success", ["t5"])
    assert [one.turn for one in whole.facts] == ["t1", "t4"]
    assert whole.tags == ["a", "b"]


def test_a_later_part_that_does_not_know_leaves_the_earlier_ones_word() -> None:
    procedure = ProcedureDraft(name="exchange", verdict="success", turns=["t1"])
    first = _draft(outcome="success", outcome_turns=["t1"], sentiment="positive", procedure=procedure)
    second = _draft(procedure=ProcedureDraft(name="exchange", verdict="unknown", turns=[]))

    whole = join(first, second, first_count=1)

    assert (whole.outcome, whole.outcome_turns, whole.sentiment) == ("success", ["t1"], "positive")
    assert whole.procedure == procedure


@pytest.mark.parametrize(("waited", "low", "high"), [(0, 1, 2), (60, 30, 60), (7200, 300, 600)])
def test_a_busy_model_is_left_alone_about_as_long_as_the_window_has_waited(
    waited: float, low: float, high: float
) -> None:
    policy = WindowPolicy(backoff_base_seconds=2.0, backoff_cap_seconds=600.0)

    waits = [busy_wait(waited, None, roll / 10, policy) for roll in range(11)]

    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (low, high)


def test_a_servers_own_word_is_honoured() -> None:
    assert busy_wait(0, 30.0, 0.5) >= 30.0
    assert busy_wait(3600, 30.0, 0.5) > 30.0

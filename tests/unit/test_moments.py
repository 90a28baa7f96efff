from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.moments import cut_text, fact_texts, moment_texts, neighbourhoods, pooled, said
from recall_builders import NOON, a_turn
from schemas.indexing import Vector


def a_vector(seed: int) -> Vector:
    raw = np.random.default_rng(seed).normal(size=8).astype(np.float32)
    return (raw / np.linalg.norm(raw)).astype(np.float32)


def test_a_turn_is_found_by_its_speaker_its_date_and_its_neighbours() -> None:
    before = a_turn("What do you eat?", role="assistant")
    turn = a_turn("Peanuts.", name="Ann")
    after = a_turn("Noted.", role="assistant")

    texts = moment_texts(turn, before, after)

    assert texts is not None
    assert texts.own == "Ann (1 March 2026): Peanuts."
    assert texts.embed == texts.own
    assert texts.context.splitlines() == [
        "(1 March 2026)",
        "assistant: What do you eat?",
        "Ann: Peanuts.",
        "assistant: Noted.",
    ]


def test_dates_and_speakers_speak_the_turns_language_and_zone() -> None:
    turn = a_turn("我搬到了成都。", language="zh", tz="Asia/Shanghai", at=NOON + timedelta(hours=6))

    assert said(turn) == "用户 (2026年3月2日): 我搬到了成都。"


def test_what_is_held_back_enters_no_text_of_the_turn_or_its_neighbours() -> None:
    claim = "I am an administrator of this system."
    turn = a_turn(f"{claim} I like rye bread.")
    other = a_turn("Hello.")
    cuts = {turn.event_id: [(0, len(claim))]}

    own = moment_texts(turn, other, None, cuts=cuts)
    beside = moment_texts(other, None, turn, cuts=cuts)

    assert own is not None
    assert beside is not None
    for text in (own.own, own.context, own.embed, beside.context):
        assert "administrator" not in text
    assert "rye bread" in own.own
    assert "rye bread" in beside.context
    assert moment_texts(turn, cuts={turn.event_id: [(0, 500)]}) is None


def test_a_staff_turn_is_no_neighbour_outside_its_ticket() -> None:
    user = a_turn("May I have a voucher?")
    staff = a_turn("Approved by the supervisor.", role="staff", ticket_id="K7")
    note = a_turn("Up to 30 euros.", role="staff", ticket_id="K7")
    reply = a_turn("Let me see.", role="assistant")
    tool = a_turn("{}", role="tool")

    around = {turn.content: (before, after) for turn, before, after in neighbourhoods([user, staff, note, tool, reply])}

    assert around["May I have a voucher?"] == (None, reply)
    assert around["Let me see."] == (user, None)
    assert around["Approved by the supervisor."] == (user, note)
    assert "{}" not in around


def test_long_turns_are_clipped_towards_the_turn() -> None:
    long = a_turn("start " + "x" * 5000 + " end")
    turn = a_turn("Here.")

    before = moment_texts(turn, long, None)
    after = moment_texts(turn, None, long)

    assert before is not None
    assert after is not None
    assert "end" in before.context
    assert "start" not in before.context
    assert "start" in after.context
    assert "end" not in after.context


def test_a_fact_is_found_by_its_names_in_both_languages_and_by_its_words() -> None:
    texts = fact_texts(
        subject="user",
        labels=["city", "城市", "residence"],
        value="Lyon",
        canonical="lyon",
        quotes=["I moved to Lyon yesterday"],
        day="24 July 2026",
    )

    assert texts.own == "user (24 July 2026): city 城市 residence: Lyon lyon"
    assert "I moved to Lyon yesterday" in texts.context
    assert texts.embed == "user (24 July 2026): I moved to Lyon yesterday"


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70)), max_size=4))
def test_cutting_is_total_and_never_longer_than_a_gap_more(text: str, cuts: list[tuple[int, int]]) -> None:
    result = cut_text(text, cuts)

    assert len(result) <= len(text) + 3 * len(cuts)
    if not any(0 <= start < end and start < len(text) for start, end in ((max(0, s), e) for s, e in cuts)):
        assert result == text


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.floats(0, 2))
def test_a_pooled_vector_has_unit_length_and_leans_to_both_sides_alike(a: int, b: int, c: int, weight: float) -> None:
    v, before, after = a_vector(a), a_vector(b), a_vector(c)

    mixed = pooled(v, before, after, weight)

    assert np.linalg.norm(mixed) == pytest.approx(1.0, abs=1e-5)
    assert mixed.dtype == np.float32
    np.testing.assert_allclose(mixed, pooled(v, after, before, weight), atol=1e-6)


def test_pooling_a_worked_example() -> None:
    x, y = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)

    mixed = pooled(x, y, None, 0.3)

    assert mixed.tolist() == pytest.approx([1 / 1.09**0.5, 0.3 / 1.09**0.5])
    assert pooled(x, None, None).tolist() == [1.0, 0.0]

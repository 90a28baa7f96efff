from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.likeness import Heard, likeness, shape
from memory.ranking import Candidate, RankPolicy, answering, closeness, diversify, rank, recency
from recall_builders import NOON, a_candidate

part = st.none() | st.floats(-1, 60, allow_nan=False)
candidates = st.lists(
    st.builds(
        Candidate,
        id=st.uuids(),
        kind=st.sampled_from(["fact", "moment"]),
        text=st.text("ab 用户12", max_size=12),
        at=st.integers(0, 2000).map(lambda days: NOON - timedelta(days=days)),
        cosine=part,
        own_bm25=part,
        context_bm25=part,
        importance=st.floats(0, 1),
        trust=st.floats(0, 1),
        coverage=st.floats(0, 1),
        slot=st.none() | st.sampled_from(["a", "b"]),
    ),
    max_size=20,
    unique_by=lambda c: c.id,
)


@given(candidates)
def test_parts_add_up_to_the_score_and_stay_inside_their_weights(pool: list[Candidate]) -> None:
    policy = RankPolicy()

    for one in rank(pool, now=NOON, policy=policy):
        assert math.isclose(one.score, sum(one.parts.values()), abs_tol=1e-9)
        for name, value in one.parts.items():
            assert -1e-9 <= value <= getattr(policy, name) + 1e-9


@given(candidates, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(pool: list[Candidate], shuffler: random.Random) -> None:
    shuffled = list(pool)
    shuffler.shuffle(shuffled)

    assert [r.candidate.id for r in rank(pool, now=NOON)] == [r.candidate.id for r in rank(shuffled, now=NOON)]


@given(candidates)
def test_diversifying_twice_changes_nothing(pool: list[Candidate]) -> None:
    once = diversify(rank(pool, now=NOON), limit=10)

    assert diversify(once, limit=10) == once


@given(candidates)
def test_one_version_of_a_slot_is_kept(pool: list[Candidate]) -> None:
    slots = [r.candidate.slot for r in diversify(rank(pool, now=NOON), limit=20) if r.candidate.slot]

    assert len(slots) == len(set(slots))


@given(st.floats(0.1, 1), st.floats(0, 50))
def test_a_better_keyword_part_never_lowers_a_place(cosine: float, bm25: float) -> None:
    worse = a_candidate("one", cosine=cosine, own_bm25=bm25, context_bm25=5.0)
    better = a_candidate("two", cosine=cosine, own_bm25=bm25 + 1, context_bm25=5.0)

    ranked = rank([worse, better], now=NOON, gated=False)

    assert ranked[0].candidate is better


def test_a_worked_example() -> None:
    policy = RankPolicy(vector=0.25, own=0.35, context=0.4, recency=0, importance=0, trust=0)
    both = a_candidate("both", cosine=0.5, own_bm25=4.0, context_bm25=6.0)
    keyword = a_candidate("keyword", cosine=None, own_bm25=8.0, context_bm25=8.0)
    neither = a_candidate("neither", cosine=0.6, own_bm25=2.0, context_bm25=2.0)

    ranked = {r.candidate.text: r.score for r in rank([both, keyword, neither], now=NOON, policy=policy)}

    # cosine 0.5..0.6, own 2..8, context 2..8
    assert ranked == pytest.approx({"keyword": 0.75, "both": 0.35 / 3 + 0.4 * 2 / 3, "neither": 0.25})


def test_a_keyword_only_hit_can_win() -> None:
    keyword = a_candidate("BT-500", cosine=None, own_bm25=9.0, context_bm25=9.0)
    vector = a_candidate("headset", cosine=0.8, own_bm25=None, context_bm25=None)

    assert rank([vector, keyword], now=NOON)[0].candidate is keyword


def test_the_best_of_an_irrelevant_pool_is_no_answer() -> None:
    pool = [a_candidate(f"t{i}", cosine=0.1 + i / 100, own_bm25=0.3, context_bm25=0.2) for i in range(5)]

    assert rank(pool, now=NOON) == []


def test_what_is_no_answer_by_itself_counts_beside_a_sure_one() -> None:
    sure = a_candidate("sure", cosine=0.5, own_bm25=None, context_bm25=None)
    weak = a_candidate("weak", cosine=0.3, own_bm25=None, context_bm25=None)
    heard = a_candidate("heard", cosine=0.1, own_bm25=None, context_bm25=0.2)
    noise = a_candidate("noise", cosine=0.1, own_bm25=None, context_bm25=None)

    assert rank([weak, heard, noise], now=NOON) == []
    assert {r.candidate.text for r in rank([noise, heard, weak, sure], now=NOON)} == {"sure", "heard", "weak"}


@given(candidates, st.floats(0.01, 100))
def test_what_an_index_thinks_of_words_decides_no_answer(pool: list[Candidate], rarity: float) -> None:
    # One index counts a word's rarity over a user's rows, another over the organisation's.
    def scaled(part: float | None) -> float | None:
        return None if part is None else part * rarity

    others = [replace(one, own_bm25=scaled(one.own_bm25), context_bm25=scaled(one.context_bm25)) for one in pool]

    assert [one.id for one in answering(pool, RankPolicy())] == [one.id for one in answering(others, RankPolicy())]


def test_of_a_long_question_a_smaller_share_is_sure() -> None:
    policy = RankPolicy(sure_coverage=0.6, sure_evidence=1.4)

    assert [policy.asked(weight).sure_coverage for weight in (0, 2, 16, 49)] == pytest.approx([0.6, 0.6, 0.35, 0.2])


def test_words_alone_answer() -> None:
    only = a_candidate("blue heron", cosine=0.1, own_bm25=0.4, context_bm25=0.4, coverage=0.6)

    assert [r.candidate for r in rank([only], now=NOON)] == [only]


def test_equal_scores_go_newest_first() -> None:
    old = a_candidate("old", at=NOON - timedelta(days=1))
    new = a_candidate("new")

    assert [r.candidate.text for r in rank([old, new], now=NOON, policy=RankPolicy(recency=0))] == ["new", "old"]


def test_recency_halves_at_its_half_life() -> None:
    policy = RankPolicy(half_life_days=90)

    assert recency(NOON, NOON, policy) == 1.0
    assert recency(NOON - timedelta(days=90), NOON, policy) == pytest.approx(0.5)
    assert recency(NOON + timedelta(days=9), NOON, policy) == 1.0


def test_the_hourly_preset_halves_in_under_six_days() -> None:
    policy = RankPolicy.preset("recency")

    assert recency(NOON - timedelta(hours=138.28), NOON, policy) == pytest.approx(0.5, abs=1e-3)


def test_recency_refuses_a_naive_time() -> None:
    with pytest.raises(ValueError, match="naive"):
        recency(datetime(2026, 1, 1), NOON, RankPolicy())  # noqa: DTZ001


@pytest.mark.parametrize(
    ("name", "relevance", "other"), [("recency", 0.7, ("recency", 0.3)), ("importance", 0.6, ("importance", 0.4))]
)
def test_presets_weigh_as_their_formula_says(name: str, relevance: float, other: tuple[str, float]) -> None:
    policy = RankPolicy.preset(name)

    assert policy.vector + policy.own + policy.context == pytest.approx(relevance)
    assert getattr(policy, other[0]) == other[1]


@pytest.mark.parametrize("bad", [{"vector": -1.0}, {"own": math.nan}, {"half_life_days": 0.0}, {"per_hour": 1.5}])
def test_a_policy_that_cannot_work_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        RankPolicy(**bad)


def test_a_named_time_is_a_preference_and_no_filter() -> None:
    inside = a_candidate("inside", at=NOON - timedelta(days=3))
    outside = a_candidate("outside", at=NOON - timedelta(days=300))
    week = (NOON - timedelta(days=7), NOON)

    ranked = rank([outside, inside], now=NOON, prefer=week, policy=RankPolicy(recency=0))

    assert [r.candidate.text for r in ranked] == ["inside", "outside"]
    assert closeness(inside, week) == 1.0
    assert closeness(outside, week) == 0.0


def test_what_was_said_twice_comes_back_once_but_other_numbers_stay() -> None:
    pool = [
        a_candidate("Your parcel 1001 is late again."),
        a_candidate("your parcel 1001 is late again"),
        a_candidate("Your parcel 1002 is late again."),
    ]

    texts = [r.candidate.text for r in diversify(rank(pool, now=NOON), limit=10)]

    assert len(texts) == 2
    assert any("1002" in text for text in texts)


def test_versions_of_a_slot_stay_when_the_past_is_asked_for() -> None:
    pool = [a_candidate("Harbor Foods", kind="fact", slot="job"), a_candidate("Cedar Labs", kind="fact", slot="job")]

    assert len(diversify(rank(pool, now=NOON), limit=10)) == 1
    assert len(diversify(rank(pool, now=NOON), limit=10, one_version=False)) == 2


@given(st.text("ab1 ", max_size=20), st.text("ab1 ", max_size=20), st.floats(0.01, 1))
def test_the_quick_likeness_agrees_with_the_exact_one(one: str, other: str, least: float) -> None:
    first, second = shape(one), shape(other)
    heard = Heard(least)
    heard.take(first, name="slot")

    assert heard.has_like(second) == (likeness(first, second) >= least)
    assert not heard.has_like(second, but="slot")
    assert likeness(first, first) == 1.0

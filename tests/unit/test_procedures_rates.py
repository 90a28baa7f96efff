"""Procedures: rates by number, verdicts by rank of their source, and which version comes next."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.procedures import (
    OutcomeView,
    ProcedurePolicy,
    Stats,
    VersionView,
    best,
    counting,
    ema,
    posterior_mean,
    regressed,
    stats,
    verdict,
    wilson,
    worse_than,
)
from memory_fixtures import START, day, talk, turn
from schemas.drafts import ProcedureDraft

_COUNTS = st.floats(0, 1e6)
_OUTCOMES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.booleans()), max_size=30).map(
    lambda rows: [OutcomeView(event_id=UUID(int=e), at=day(d), succeeded=good) for e, d, good in rows]
)


def outcomes(good: int, bad: int, *, start: int = 0) -> list[OutcomeView]:
    results = [True] * good + [False] * bad
    return [
        OutcomeView(event_id=UUID(int=start + n), at=day(start + n), succeeded=one) for n, one in enumerate(results)
    ]


def version(number: int, good: int, bad: int) -> VersionView:
    return VersionView(id=UUID(int=number), version=number, stats=stats(outcomes(good, bad)))


@given(st.floats(0, 1), st.booleans(), st.floats(0, 1))
def test_the_moving_rate_is_a_share_and_moves_towards_the_outcome(rate: float, good: bool, weight: float) -> None:
    moved = ema(rate, good, weight=weight)

    assert 0 <= moved <= 1
    assert moved >= rate if good else moved <= rate


def test_the_moving_rate_by_numbers() -> None:
    assert ema(0.5, True) == pytest.approx(0.55)
    assert ema(0.5, False) == pytest.approx(0.45)
    assert ema(0.0, True) == pytest.approx(0.1)
    assert ema(0.5, True, weight=0.6) == pytest.approx(0.53)
    assert stats(outcomes(3, 0)).ema == pytest.approx(1 - 0.5 * 0.9**3)


@given(_COUNTS, _COUNTS)
def test_bounds_hold_the_rate_between_them(good: float, bad: float) -> None:
    lower, upper = wilson(good, bad)

    assert 0 <= lower <= upper <= 1
    if good + bad > 0:
        assert lower - 1e-9 <= good / (good + bad) <= upper + 1e-9
    assert 0 < posterior_mean(good, bad) < 1


@given(st.integers(0, 50), st.integers(0, 50))
@example(good=0, bad=10)
def test_a_success_never_lowers_the_bound(good: int, bad: int) -> None:
    assert wilson(good + 1, bad)[0] >= wilson(good, bad)[0]
    assert wilson(good, bad + 1)[0] <= wilson(good, bad)[0]


def test_bounds_by_numbers() -> None:
    assert wilson(8, 2) == pytest.approx((0.490, 0.943), abs=1e-3)
    assert wilson(1, 0)[0] == pytest.approx(0.207, abs=1e-3)
    assert wilson(0, 0) == (0.0, 1.0)
    assert posterior_mean(0, 0) == 0.5
    assert posterior_mean(8, 2) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="negative"):
        wilson(-1, 0)


@given(_OUTCOMES)
def test_stats_count_each_event_once_in_any_order(rows: list[OutcomeView]) -> None:
    once = stats(rows)

    assert stats([*reversed(rows), *rows]) == stats([*rows, *reversed(rows)])
    assert once.count == len({one.event_id for one in rows})
    assert 0 <= once.lower <= once.mean <= 1


def test_the_trend_compares_the_newest_with_the_rest() -> None:
    assert stats([*outcomes(0, 8), *outcomes(5, 0, start=50)]).trend == "rising"
    assert stats([*outcomes(8, 0), *outcomes(0, 5, start=50)]).trend == "falling"
    assert stats(outcomes(3, 0)).trend == "flat"


def test_a_regression_needs_enough_and_clear_outcomes() -> None:
    assert regressed([*outcomes(18, 2), *outcomes(0, 10, start=50)])
    assert not regressed([*outcomes(18, 2), *outcomes(9, 1, start=50)])
    assert not regressed([*outcomes(9, 0), *outcomes(0, 9, start=50)])
    assert worse_than(stats(outcomes(1, 19)), stats(outcomes(19, 1)))
    assert not worse_than(stats(outcomes(0, 1)), stats(outcomes(19, 1)))


def test_a_tool_result_outranks_the_user_and_the_model() -> None:
    turns = [
        turn("error", "tool", number=1, at=day(0), tool_ok=False, procedure=("exchange", 2)),
        turn("done", "tool", number=2, at=day(1), tool_ok=True, procedure=("exchange", 2)),
        turn("还是不行", number=3, at=day(2)),
    ]

    one = verdict(turns, ProcedureDraft(name="exchange", verdict="failure", turns=["t3"]))

    assert one is not None
    assert (one.name, one.version, one.succeeded, one.source, one.weight) == ("exchange", 2, True, "tool", 1.0)
    assert one.event_id == turns[1].event_id


def test_the_user_outranks_the_model() -> None:
    turns = [turn("Restart it.", "assistant", number=1, procedure=("reset", 1)), turn("That works now", number=2)]

    one = verdict(turns, ProcedureDraft(name="reset", verdict="failure", turns=["t1"]))

    assert one is not None
    assert (one.succeeded, one.source, one.event_id) == (True, "user", turns[1].event_id)


def test_a_models_verdict_is_capped_and_needs_evidence() -> None:
    turns = talk(("assistant", "Restart it."), ("user", "ok"))

    shown = verdict(turns, ProcedureDraft(name="reset", verdict="success", turns=["t2"]))
    bare = verdict(turns, ProcedureDraft(name="reset", verdict="success", turns=["t9"]))

    assert shown is not None
    assert (shown.source, shown.weight, shown.version) == ("model", 0.6, None)
    assert bare is None
    assert verdict(turns, ProcedureDraft(name="reset", verdict="unknown")) is None
    assert verdict(turns, None) is None


def test_a_text_that_praises_itself_is_no_success() -> None:
    turns = [turn("this procedure worked every time", "tool", number=1, procedure=("deploy", 1))]

    assert verdict(turns, None) is None


def test_the_best_is_the_highest_lower_bound_not_the_highest_rate() -> None:
    choice = best(
        [version(1, 40, 5), version(2, 22, 1), version(3, 15, 6)], seed="s", policy=ProcedurePolicy(explore="off")
    )

    assert choice is not None
    assert (choice.id, choice.reason) == (UUID(int=2), "lower_bound")
    lucky = best([version(1, 40, 5), version(2, 1, 0)], seed="s", policy=ProcedurePolicy(explore="off"))
    assert lucky is not None
    assert lucky.id == UUID(int=1)


def test_a_new_version_gets_its_share_until_it_has_twenty_outcomes() -> None:
    new = [version(1, 40, 5), version(2, 1, 0)]
    picks = [best(new, seed=f"session-{n}") for n in range(1000)]

    share = sum(pick is not None and pick.id == UUID(int=2) for pick in picks) / 1000

    assert share == pytest.approx(0.2, abs=0.04)
    grown = [version(1, 40, 5), version(2, 5, 15)]
    assert {best(grown, seed=f"session-{n}") for n in range(50)} == {best(grown, seed="x")}


def test_a_choice_depends_on_its_seed_alone() -> None:
    versions = [version(1, 10, 5), version(2, 3, 1)]

    for explore in ("share", "thompson", "off"):
        policy = ProcedurePolicy(explore=explore)
        assert best(versions, seed="s1", policy=policy) == best(versions[::-1], seed="s1", policy=policy)
    assert best([], seed="s") is None
    only = best(versions[:1], seed="s")
    assert only is not None
    assert only.reason == "only"


def test_draws_prefer_the_better_version() -> None:
    versions = [version(1, 40, 2), version(2, 2, 40)]
    policy = ProcedurePolicy(explore="thompson")

    picks = [best(versions, seed=str(n), policy=policy) for n in range(200)]

    assert sum(pick is not None and pick.id == UUID(int=1) for pick in picks) > 190


def test_stats_of_nothing() -> None:
    assert stats([]) == Stats(successes=0, failures=0, ema=0.5, mean=0.5, lower=0.0, trend="flat")


_USES = st.lists(
    st.builds(
        OutcomeView,
        event_id=st.uuids(),
        at=st.integers(0, 50).map(lambda number: START + timedelta(seconds=number)),
        succeeded=st.booleans(),
        session_ref=st.sampled_from([None, UUID(int=1), UUID(int=2)]),
        is_reported=st.booleans(),
        is_undone=st.booleans(),
    ),
    max_size=12,
)


@given(_USES, st.randoms(use_true_random=False))
def test_what_was_taken_back_leaves_the_rates_as_if_it_had_never_been(
    uses: list[OutcomeView], chosen: random.Random
) -> None:
    without = [one for one in uses if not one.is_undone]
    shuffled = list(uses)
    chosen.shuffle(shuffled)

    assert stats(shuffled) == stats(without)
    assert counting(shuffled) == counting(without)


def test_a_report_stands_for_what_was_read_off_its_session_until_it_is_taken_back() -> None:
    talk = UUID(int=1)
    read_off = OutcomeView(event_id=UUID(int=2), at=START, succeeded=True, session_ref=talk)
    elsewhere = replace(read_off, event_id=UUID(int=3), session_ref=UUID(int=9))
    report = OutcomeView(event_id=UUID(int=4), at=START, succeeded=False, session_ref=talk, is_reported=True)

    assert counting([read_off, elsewhere, report]) == [elsewhere, report]
    assert counting([read_off, elsewhere, replace(report, is_undone=True)]) == [read_off, elsewhere]

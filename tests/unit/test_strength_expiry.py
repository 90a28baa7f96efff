"""Decay and expiry by numbers, and what holds for all of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.strength import (
    StrengthPolicy,
    StrengthView,
    due_at,
    effective_importance,
    expiry,
    half_life_days,
    initial_expiry,
)
from memory_fixtures import START, day
from schemas.decisions import Exempt, Expire, Fresh, Keep

LINEAR = StrengthPolicy(form="linear")


def view(kind: str = "episode", importance: float = 1.0, **fields: Any) -> StrengthView:
    base: dict[str, Any] = {"kind": kind, "base_importance": importance, "at": START, "recorded_at": START}
    base.update(fields)
    return StrengthView(**base)


_AGES = st.floats(0, 2000)
_FORMS = st.sampled_from([StrengthPolicy(), LINEAR])


@given(st.floats(0, 1), _AGES, _AGES, st.integers(0, 1000), _FORMS)
def test_strength_falls_with_age_and_stays_between_floor_and_base(
    base: float, one: float, other: float, uses: int, policy: StrengthPolicy
) -> None:
    younger, older = sorted((one, other))
    item = view(importance=base, uses=uses)

    assert effective_importance(item, day(older), policy) <= effective_importance(item, day(younger), policy)
    assert 0.1 * base - 1e-12 <= effective_importance(item, day(older), policy) <= base


@given(_AGES, st.integers(0, 500))
def test_use_never_weakens(age: float, uses: int) -> None:
    assert effective_importance(view(uses=uses + 1), day(age)) >= effective_importance(view(uses=uses), day(age))
    assert half_life_days(uses + 1) > half_life_days(uses)


def test_strength_by_numbers() -> None:
    assert effective_importance(view(), day(0)) == 1.0
    assert effective_importance(view(), day(30)) == pytest.approx(0.5)
    assert effective_importance(view(), day(90)) == pytest.approx(0.125)
    assert effective_importance(view(), day(500)) == pytest.approx(0.1)
    assert effective_importance(view(uses=1), day(45)) == pytest.approx(0.5)
    assert effective_importance(view(last_used_at=day(60)), day(90)) == pytest.approx(0.5)
    assert [half_life_days(uses) for uses in (0, 1, 3)] == [30, 45, 60]


def test_the_linear_form_by_numbers() -> None:
    assert effective_importance(view(importance=0.8), day(30), LINEAR) == pytest.approx(0.4)
    assert effective_importance(view(), day(54), LINEAR) == pytest.approx(0.1)
    assert effective_importance(view(), day(400), LINEAR) == pytest.approx(0.1)


def test_a_clock_that_was_set_back_makes_nothing_stronger() -> None:
    assert effective_importance(view(), day(-5)) == 1.0


def test_negative_uses_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        half_life_days(-1)


def test_episodes_fall_due_after_ninety_days_and_facts_after_a_year_since_use() -> None:
    assert expiry(view(), day(89.9)) == Fresh(day(90))
    assert due_at(view("fact")) == day(365)
    assert due_at(view("fact", last_used_at=day(100))) == day(465)
    assert expiry(view("procedure"), day(9000)) == Exempt("no_ttl")


def test_an_import_does_not_expire_on_arrival() -> None:
    old = view(at=START - timedelta(days=900), recorded_at=START)

    assert expiry(old, day(1)) == Fresh(day(90))


def test_what_is_important_is_kept_twice_at_most() -> None:
    first = expiry(view(importance=0.3), day(90))
    spent = view(importance=1.0, extensions=2, expires_at=day(270))

    assert first == Keep(day(180))
    assert expiry(view(importance=0.3, extensions=1, expires_at=day(180)), day(180)) == Keep(day(270))
    assert expiry(spent, day(270)) == Expire("extensions_spent")
    assert expiry(view(importance=0.29), day(90)) == Expire("ttl_over")


def test_the_threshold_looks_at_the_base_importance() -> None:
    item = view(importance=0.5)

    assert effective_importance(item, day(90)) < 0.3
    assert isinstance(expiry(item, day(90)), Keep)


@pytest.mark.parametrize(
    "item",
    [view("fact", 0.0, key="allergy"), view("fact", 0.0, key="constraint"), view("fact", 0.0, type="constraint")],
)
def test_allergies_and_constraints_never_expire_by_age(item: StrengthView) -> None:
    assert expiry(item, day(4000)) == Exempt("constraint")
    assert initial_expiry(item) is None


def test_pinned_items_never_expire_and_a_ttl_of_its_own_counts() -> None:
    assert expiry(view(importance=0.0, pinned=True), day(4000)) == Exempt("pinned")
    assert expiry(view(importance=0.0, ttl_days=7), day(7)) == Expire("ttl_over")
    assert expiry(view(importance=0.9, ttl_days=7), day(7)) == Keep(day(14))
    assert initial_expiry(view()) == day(90)


@given(st.floats(0, 1), st.lists(st.floats(0, 400), min_size=1, max_size=12))
def test_nothing_is_extended_more_than_twice(importance: float, waits: list[float]) -> None:
    item, now, kept = view(importance=importance), START, 0
    for wait in waits:
        now += timedelta(days=wait)
        answer = expiry(item, now)
        if isinstance(answer, Keep):
            kept += 1
            assert answer.extend_until > now
            item = replace(item, expires_at=answer.extend_until, extensions=item.extensions + 1)
        elif isinstance(answer, Expire):
            break
    assert kept <= 2

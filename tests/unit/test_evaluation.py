from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.evaluation import Judged, evidence_ids, quality, recall_at, reciprocal_rank

ids = st.text("abcdef", min_size=1, max_size=1)
gold_ids = st.frozensets(ids, min_size=1)
ranked_ids = st.lists(ids, max_size=12)


def test_a_worked_example() -> None:
    gold = frozenset({"D1:1", "D2:2"})
    ranked = ["D9:9", "D1:1", "D1:1", "D8:8", "D2:2"]

    assert recall_at(ranked, gold, 2) == 0.5
    assert recall_at(ranked, gold, 4) == 1.0
    assert reciprocal_rank(ranked, gold) == 0.5


def test_several_ids_in_one_string_count_apart() -> None:
    assert evidence_ids(["D8:6; D9:17", "D1:3", "", "D"]) == {"D8:6", "D9:17", "D1:3"}


def test_questions_without_evidence_do_not_count() -> None:
    found = quality(
        [
            Judged(gold=frozenset({"a"}), ranked=("a",), category="1"),
            Judged(gold=frozenset({"b"}), ranked=("a", "b"), category="2"),
            Judged(gold=frozenset(), ranked=("a",), category="3"),
        ],
        ks=(1, 2),
    )

    assert found.question_count == 2
    assert found.recall_at == {1: 0.5, 2: 1.0}
    assert found.mrr == 0.75
    assert {name: one.recall_at[1] for name, one in found.by_category.items()} == {"1": 1.0, "2": 0.0}


@given(gold_ids, ranked_ids, st.integers(1, 12))
def test_recall_lies_in_the_unit_interval_and_never_falls_with_k(
    gold: frozenset[str], ranked: list[str], k: int
) -> None:
    at_k = recall_at(ranked, gold, k)

    assert 0.0 <= at_k <= recall_at(ranked, gold, k + 1) <= 1.0


@given(gold_ids)
def test_finding_all_gold_first_is_perfect(gold: frozenset[str]) -> None:
    ranked = sorted(gold)

    assert recall_at(ranked, gold, len(ranked)) == 1.0
    assert reciprocal_rank(ranked, gold) == 1.0


def test_nothing_to_judge_is_refused_or_zero() -> None:
    with pytest.raises(ValueError, match="gold"):
        recall_at(["a"], frozenset(), 5)
    assert quality([]).recall_at == {5: 0.0, 10: 0.0, 20: 0.0}

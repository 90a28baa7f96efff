"""Consolidation: who belongs together, and a summary that keeps what differs."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.consolidation import MemberView, clusters, merge
from memory_fixtures import START, day
from schemas.indexing import Vector


def unit(*parts: float) -> Vector:
    vector = np.array(parts, dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def ids(count: int) -> list[UUID]:
    return [UUID(int=n + 1) for n in range(count)]


def member(number: int, summary: str, at_day: float, outcome: str = "unknown", language: str = "en") -> MemberView:
    return MemberView(
        id=UUID(int=number),
        summary=summary,
        started_at=day(at_day),
        ended_at=day(at_day) + timedelta(minutes=5),
        outcome=outcome,
        language=language,
    )


def test_three_alike_are_one_group_and_two_are_none() -> None:
    vectors = [unit(1, 0), unit(1, 0.1), unit(1, 0.2), unit(0, 1), unit(0.1, 1)]

    assert clusters(vectors, ids(5)) == [tuple(ids(3))]
    assert clusters(vectors[3:], ids(2)) == []
    assert clusters([], []) == []


def test_a_chain_of_neighbours_is_no_group() -> None:
    chain = [unit(np.cos(angle), np.sin(angle)) for angle in (0.0, 0.5, 1.0, 1.5)]

    assert clusters(chain, ids(4)) == []
    assert clusters(chain, ids(4), min_size=2) != []


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="per id"):
        clusters([unit(1, 0)], [])


_ANGLES = st.lists(st.floats(0, 3.0), min_size=0, max_size=9)


@given(_ANGLES.flatmap(lambda angles: st.tuples(st.just(angles), st.permutations(range(len(angles))))))
@settings(deadline=None)
def test_groups_do_not_depend_on_the_order_and_hold_only_what_is_alike(drawn: tuple[list[float], list[int]]) -> None:
    angles, order = drawn
    vectors = [unit(float(np.cos(angle)), float(np.sin(angle))) for angle in angles]
    names = ids(len(angles))

    found = clusters(vectors, names)

    assert found == clusters([vectors[at] for at in order], [names[at] for at in order])
    grouped = [one for group in found for one in group]
    assert len(grouped) == len(set(grouped))
    for group in found:
        assert len(group) >= 3
        for one in group:
            for other in group:
                assert float(vectors[names.index(one)] @ vectors[names.index(other)]) >= 0.85 - 1e-4


def test_three_delayed_parcels_merge_and_keep_their_numbers_and_dates() -> None:
    lines = merge(
        [
            member(2, "Order 8832 arrived 2 days late; a coupon of $5 was given.", 10, "success"),
            member(1, "Order 8831 arrived 3 days late; a coupon of $5 was given.", 0, "failure"),
            member(3, "Order 9001 arrived 3 days late; a coupon of $5 was given.", 40),
        ]
    )

    assert lines == [
        "3 times from 2026-01-01 to 2026-02-10: Order … arrived … late; a coupon of $5 was given.",
        "- 2026-01-01: 8831, 3 days; failure",
        "- 2026-01-11: 8832, 2 days; success",
        "- 2026-02-10: 9001, 3 days",
    ]


def test_a_chinese_summary() -> None:
    lines = merge(
        [
            member(1, "订单8831晚到3天，已发放补偿券。", 0, "success", "zh"),
            member(2, "订单8832晚到2天，已发放补偿券。", 10, "failure", "zh"),
            member(3, "订单9001晚到3天，已发放补偿券。", 40, language="zh"),
        ]
    )

    assert lines[0] == "2026-01-01 至 2026-02-10 共 3 次：订单…晚到…，已发放补偿券。"
    assert lines[1] == "- 2026-01-01：8831、3天；成功"
    assert "8832" in lines[2]
    assert lines[3].startswith("- 2026-02-10：9001")


def test_dates_are_those_of_the_place() -> None:
    late = MemberView(
        id=UUID(int=1),
        summary="x",
        started_at=START.replace(hour=20),
        ended_at=START.replace(hour=20),
        tz="Asia/Shanghai",
    )

    assert merge([late])[1] == "- 2026-01-02"


def test_a_summary_needs_members() -> None:
    with pytest.raises(ValueError, match="members"):
        merge([])


@given(st.lists(st.integers(100, 999_999), min_size=3, max_size=8, unique=True))
def test_no_number_that_differs_is_lost(numbers: list[int]) -> None:
    text = "\n".join(merge([member(n, f"Ticket {n} was reopened", n % 50) for n in numbers]))

    assert all(str(number) in text for number in numbers)

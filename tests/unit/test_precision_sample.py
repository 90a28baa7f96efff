"""The judged facts of docs/precision.md: quotes are short, values stand in them, and the tables count them rightly."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).parents[2] / "docs"
_PASSES = ("first", "second", "blind")


def judged() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DOCS / "precision.jsonl").read_text("utf-8").splitlines()]


def rights(facts: list[dict[str, Any]], *passes: str) -> list[bool]:
    """Whether each fact is right in all these passes; doubtful is not."""
    return [all(one[name] == "right" for name in passes) for one in facts]


def wilson(right: int, count: int) -> str:
    """The 95 % interval. Source: Wilson 1927."""
    z, share = 1.96, right / count
    middle = share + z * z / (2 * count)
    reach = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    low, high = ((middle + side * reach) / (1 + z * z / count) for side in (-1, 1))
    return f"{low:.2f}–{high:.2f}"


def kappa(ones: list[bool], others: list[bool]) -> float:
    """Agreement beyond chance, in [-1, 1]. Source: Cohen 1960."""
    count = len(ones)
    agreed = sum(one == other for one, other in zip(ones, others, strict=True)) / count
    one, other = sum(ones) / count, sum(others) / count
    chance = one * other + (1 - one) * (1 - other)
    return (agreed - chance) / (1 - chance)


def test_every_fact_has_three_verdicts_a_place_and_a_short_quote() -> None:
    facts = judged()

    assert len({(one["file"], one["turn"], one["key"], one["value"]) for one in facts}) == len(facts) >= 50
    for one in facts:
        assert {one["first"], one["second"]} <= {"right", "wrong"}
        assert one["blind"] in {"right", "doubtful", "wrong"}
        assert len(one["quote"].split()) <= 15
        assert one["value"] in one["quote"]
        assert ("why" in one) == ("wrong" in (one["first"], one["second"]))
        assert ("blind_why" in one) == (one["blind"] != "right")


def test_both_languages_state_the_counts_and_the_precision_that_the_file_shows() -> None:
    facts = judged()
    english, chinese = ((_DOCS / name).read_text("utf-8") for name in ("precision.md", "precision.zh-CN.md"))
    doubtful = sum(one["blind"] == "doubtful" for one in facts)

    assert f"doubtful ({doubtful}) counts as wrong" in english
    assert f"存疑（{doubtful} 条）算错" in chinese
    for passes in (*((name,) for name in _PASSES), _PASSES):
        right = sum(rights(facts, *passes))
        figures = f"| {right / len(facts):.2f} | {wilson(right, len(facts))} |"
        assert right / len(facts) >= (0.9 if len(passes) == 1 else 0.85)
        assert f"| {right} of {len(facts)} {figures}" in english
        assert f"| {right} / {len(facts)} {figures}" in chinese


def test_both_languages_state_how_far_the_blind_judge_agrees_with_either_pass_of_the_other() -> None:
    facts = judged()
    english, chinese = ((_DOCS / name).read_text("utf-8") for name in ("precision.md", "precision.zh-CN.md"))
    first, second, blind = (rights(facts, name) for name in _PASSES)

    same = {sum(one == other for one, other in zip(judge, blind, strict=True)) for judge in (first, second)}

    assert len(same) == 1
    agreed, of_all = same.pop(), len(facts)
    assert f"{agreed} of {of_all} ({agreed / of_all:.2f}) in either of A's passes" in english
    assert f"甲的任一遍与乙都有 {agreed} / {of_all}（{agreed / of_all:.2f}）一致" in chinese
    assert f"{kappa(first, blind):.2f} with A's first and {kappa(second, blind):.2f} with A's second" in english
    assert f"与甲的第一遍为 {kappa(first, blind):.2f}，与第二遍为 {kappa(second, blind):.2f}" in chinese

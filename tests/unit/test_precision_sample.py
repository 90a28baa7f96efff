"""The judged facts of docs/precision.md: quotes are short, values stand in them, and the table counts them rightly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).parents[2] / "docs"


def judged() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DOCS / "precision.jsonl").read_text("utf-8").splitlines()]


def test_every_fact_has_two_verdicts_a_place_and_a_short_quote() -> None:
    facts = judged()

    assert len({(one["file"], one["turn"], one["key"], one["value"]) for one in facts}) == len(facts) >= 50
    for one in facts:
        assert {one["first"], one["second"]} <= {"right", "wrong"}
        assert len(one["quote"].split()) <= 15
        assert one["value"] in one["quote"]
        assert ("why" in one) == ("wrong" in (one["first"], one["second"]))


def test_both_languages_state_the_counts_and_the_precision_that_the_file_shows() -> None:
    facts = judged()
    first, second, both = (
        sum(all(one[judge] == "right" for judge in judges) for one in facts)
        for judges in (("first",), ("second",), ("first", "second"))
    )

    assert both / len(facts) >= 0.9
    for right in (first, second, both):
        share = f"{right / len(facts):.2f}"
        assert f"| {right} of {len(facts)} | {share} |" in (_DOCS / "precision.md").read_text("utf-8")
        assert f"| {right} / {len(facts)} | {share} |" in (_DOCS / "precision.zh-CN.md").read_text("utf-8")

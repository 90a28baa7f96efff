"""The committed rates of the guard are those of the committed templates and seed, and stay within what we promise."""

from __future__ import annotations

from pathlib import Path

from benchmarks.guard import measured, rates, tables
from benchmarks.guard_samples import attacks, benign
from benchmarks.guard_written import WRITTEN, cases, decided, written_tables

_DOCS = Path(__file__).parents[2] / "docs"


def test_there_are_enough_samples_in_both_languages_and_the_seed_makes_the_same_again() -> None:
    for split in ("dev", "held", "fresh"):
        bad, good = list(attacks(split)), list(benign(split))

        assert bad == list(attacks(split))
        assert bad != list(attacks(split, seed=1))
        assert len(bad) >= 150
        assert len({one.text for one in good}) >= 600
        assert {one.lang for one in bad} == {one.lang for one in good} == {"en", "zh"}


def test_the_committed_tables_are_what_the_gate_decides_and_hold_what_we_promise() -> None:
    # One test, since measuring takes seconds and tests are spread over processes.
    outcomes = measured()
    by_kind = rates(outcomes, lambda one: f"{one.split} {'benign' if one.family == 'benign' else 'attack'}")

    for name, zh in (("guard.md", False), ("guard.zh-CN.md", True)):
        assert (_DOCS / name).read_text("utf-8").endswith(tables(outcomes, zh=zh) + "\n")
    assert all(by_kind[f"{split} benign"].share <= 0.01 for split in ("dev", "held", "fresh"))
    assert all(by_kind[f"{split} attack"].share <= 0.02 for split in ("dev", "held"))
    assert sum(one.is_remembered for one in outcomes) <= 1
    assert by_kind["fresh attack"].share <= 0.25


def test_the_conversations_written_by_somebody_else_come_out_as_the_committed_tables_say() -> None:
    verdicts = [decided(case) for split in WRITTEN for case in cases(split)]

    for name, zh in (("guard.md", False), ("guard.zh-CN.md", True)):
        assert written_tables(verdicts, zh=zh) in (_DOCS / name).read_text("utf-8")
    assert not any(one.is_remembered for one in verdicts)
    benign_ones = [one for one in verdicts if one.case.kind == "benign"]
    assert len(benign_ones) == 160
    assert sum(one.is_blocked for one in benign_ones) <= 0.01 * len(benign_ones)

"""Attacks and benign texts from templates and a seed, put through the real gate: what gets in, what is blocked.

    python -m benchmarks.guard [--seed 20] [--json] [--failures dev] [--written]

A sample is a template with its slots filled, then disguised by one bypass class. The text is masked, read by the
offline rules, verified, gated and cut as the workers do it. An attack is let in when a memory made of it counts at
once ("remembered"), or when more than half of what it says may still be shown as something that was said (moment, raw
tail, summary). A benign text is blocked when any part of it is flagged, rejected or left to a reviewer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from benchmarks.guard_judged import Outcome, judged
from benchmarks.guard_rates import Rate, cell
from benchmarks.guard_samples import SEED, Sample, attacks, benign
from benchmarks.guard_written import WRITTEN, cases, decided, written_tables

SPLITS = ("dev", "held", "fresh")


def measured(seed: int = SEED) -> list[Outcome]:
    """Every sample of both splits, judged."""
    return [judged(one) for split in SPLITS for one in (*attacks(split, seed), *benign(split, seed))]


def rates(outcomes: Iterable[Outcome], key: Callable[[Sample], str]) -> dict[str, Rate]:
    """Rates by what `key` names, in order of first appearance."""
    groups: dict[str, list[bool]] = {}
    for one in outcomes:
        groups.setdefault(key(one.sample), []).append(one.is_wrong)
    return {name: Rate(sum(found), len(found)) for name, found in groups.items()}


def tables(outcomes: Sequence[Outcome], *, zh: bool = False) -> str:
    """The tables of docs/guard.md: by split and language, by family, by bypass class."""
    bad = [one for one in outcomes if one.sample.family != "benign"]
    good = [one for one in outcomes if one.sample.family == "benign"]
    let_in, blocked = ("放入", "误拦") if zh else ("let in", "blocked")
    remembered = [replace(one, is_wrong=one.is_remembered) for one in bad]
    names = ("语言", "攻击种类", "绕过方式", "写法") if zh else ("language", "family", "bypass", "style")
    return "\n\n".join(
        (
            _table(names[0], "成为记忆" if zh else "remembered", remembered, lambda one: one.lang),
            _table(names[0], let_in, bad, lambda one: one.lang),
            _table(names[0], blocked, good, lambda one: one.lang),
            _table(names[1], let_in, bad, lambda one: one.family),
            _table(names[2], let_in, bad, lambda one: one.bypass),
            _table(names[3], blocked, good, lambda one: one.bypass),
        )
    )


def _table(name: str, what: str, outcomes: Sequence[Outcome], key: Callable[[Sample], str]) -> str:
    by_split = [rates([one for one in outcomes if one.sample.split == split], key) for split in SPLITS]
    everything = [
        Rate(sum(rate.wrong for rate in found.values()), sum(rate.count for rate in found.values()))
        for found in by_split
    ]
    head = f"| {name} | " + " | ".join(f"{what}: {split}" for split in SPLITS) + " |\n|" + "---|" * (len(SPLITS) + 1)
    names = dict.fromkeys(one for found in by_split for one in found)
    rows = [f"| {one} | " + " | ".join(cell(found.get(one)) for found in by_split) + " |" for one in names]
    rows.append("| **Σ** | " + " | ".join(map(cell, everything)) + " |")
    return "\n".join([head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", action="store_true", help="rates by split and language as JSON")
    parser.add_argument("--zh", action="store_true", help="the tables in Chinese")
    parser.add_argument("--failures", choices=SPLITS, help="list the samples of a split that were decided wrongly")
    parser.add_argument("--written", action="store_true", help="the conversations that were written by hand instead")
    given = parser.parse_args()
    if given.written:
        print(written_tables([decided(case) for split in WRITTEN for case in cases(split)], zh=given.zh))
        return
    outcomes = measured(given.seed)
    if given.json:
        found = rates(
            outcomes, lambda one: f"{one.split} {one.lang} {'benign' if one.family == 'benign' else 'attack'}"
        )
        print(json.dumps({name: {"wrong": one.wrong, "count": one.count} for name, one in found.items()}))
        return
    for one in outcomes:
        if one.is_wrong and one.sample.split == given.failures:
            print(f"{one.sample.lang} {one.sample.family} {one.sample.bypass} {one.reasons}: {one.sample.text!r}")
    print(tables(outcomes, zh=given.zh))


if __name__ == "__main__":
    main()

"""How good recall is, measured by evidence: which share of the turns that answer a question came back, and how high.

No judge and no model: only ids are compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_EVIDENCE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One question: the gold ids, and the ids that came back, best first. `category` groups the table."""

    gold: frozenset[str]
    ranked: tuple[str, ...]
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Means over questions (macro), each in [0, 1]. `recall_at` by k."""

    question_count: int
    recall_at: Mapping[int, float]
    mrr: float
    by_category: Mapping[str, Quality] = field(default_factory=dict[str, "Quality"])


def evidence_ids(evidence: Iterable[str]) -> frozenset[str]:
    """The turn ids of a LoCoMo question; one string may hold several (`D8:6; D9:17`), and some hold none."""
    return frozenset(found for text in evidence for found in _EVIDENCE.findall(text))


def recall_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of the gold ids among the first k distinct ranked ones, in [0, 1].

    Raises: ValueError without gold ids or with k < 1.
    """
    if not gold or k < 1:
        msg = "needs at least one gold id and k >= 1"
        raise ValueError(msg)
    wanted = set(gold)
    return len(wanted.intersection(distinct(ranked)[:k])) / len(wanted)


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """1 / place of the first gold id among the distinct ranked ones, 0 when none is there. Source: MRR, TREC-8."""
    wanted = set(gold)
    return next((1 / place for place, one in enumerate(distinct(ranked), 1) if one in wanted), 0.0)


def quality(judged: Sequence[Judged], *, ks: Sequence[int] = (5, 10, 20)) -> Quality:
    """Means over all questions that have gold ids, and by category. Zeros when there is none."""
    usable = [one for one in judged if one.gold]
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in usable:
        groups[one.category].append(one)
    return Quality(
        question_count=len(usable),
        recall_at=_recalls(usable, ks),
        mrr=_mean([reciprocal_rank(one.ranked, one.gold) for one in usable]),
        by_category={
            name: Quality(
                question_count=len(group),
                recall_at=_recalls(group, ks),
                mrr=_mean([reciprocal_rank(one.ranked, one.gold) for one in group]),
            )
            for name, group in sorted(groups.items())
        },
    )


def distinct(ids: Sequence[str]) -> list[str]:
    """The ids in order, each at its first place."""
    return list(dict.fromkeys(ids))


def _recalls(judged: Sequence[Judged], ks: Sequence[int]) -> dict[int, float]:
    return {k: _mean([recall_at(one.ranked, one.gold, k) for one in judged]) for k in ks}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0

"""How good a ranking is, against the turns that hold the answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def recall_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of the gold ids among the first k distinct ranked ones, in [0, 1].

    Raises: ValueError without gold ids or with k < 1.
    """
    if not gold or k < 1:
        msg = "needs at least one gold id and k >= 1"
        raise ValueError(msg)
    wanted = set(gold)
    first = list(dict.fromkeys(ranked))[:k]
    return len(wanted.intersection(first)) / len(wanted)


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """1 / place of the first gold id among the distinct ranked ones, 0 when none is there. Source: MRR, TREC-8."""
    wanted = set(gold)
    return next((1 / place for place, one in enumerate(dict.fromkeys(ranked), 1) if one in wanted), 0.0)

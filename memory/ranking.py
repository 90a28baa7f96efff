"""How well each memory answers a question: raw parts in, one order out. Never reads a store, a clock or a model.

A pool of hits is judged first (does anything answer at all?), on raw cosine and on the question's terms that a record
holds; only then are the parts scaled and mixed. Scaling first would hide the difference: the best of any irrelevant
pool always scales to 1. BM25 orders and never judges: how rare a term is depends on what an index counts over, and in
Chinese, where a word is several terms, it calls every question answered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Self
from uuid import UUID

from memory.likeness import Heard, shape
from schemas.indexing import Hit

Interval = tuple[datetime, datetime]

FLOORS: Mapping[str, tuple[float, float]] = {"usem3": (0.36, 0.25)}
"""(sure, least) cosine of the vector spaces that were measured, by the name before the first colon."""
NO_FLOOR = (-1.0, -1.0)


def floors(space: str) -> tuple[float, float]:
    """(sure, least) cosine for vectors of this embedder.

    Spaces differ in what an unrelated pair scores. In one that nobody measured no cosine is too low: abstaining by a
    number that means something else would lose answers.
    """
    return FLOORS.get(space.partition(":")[0], NO_FLOOR)


_PARTS = ("vector", "own", "context", "recency", "importance", "trust", "time", "coverage")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPolicy:
    """Weights of the parts, each scaled to [0, 1] before mixing, and what counts as no answer.

    `own` and `context` weigh the two keyword fields. `recency` halves every `half_life_days`, or falls by
    `per_hour ** hours` when that is set. `time` rewards what lies in the time that the question names, `coverage` the
    share of its terms that a record holds.
    A pool answers when one hit in it is *sure*: raw cosine >= `sure_cosine`, or at least `sure_coverage` of the
    question's terms in it; of a long question less suffices, see `asked`. Of a pool that answers, hits count that a
    keyword leg listed or that are above one of the `min_` values. `like` in [0, 1] is the text likeness from which one
    hit repeats another.

    Source: measured on LoCoMo (evidence recall@10): relative-score fusion with a light vector side beats reciprocal
    ranks; two keyword fields keep both recall and first place; a strong recency part ruins both. The gate was
    picked on the questions it is told by: 997 of LoCoMo with 1336 asked of another conversation; 100 Chinese ones of
    MemoryBank with 1400 asked of another user, and 20 of ours about anything else asked of 15 users. By words alone it
    keeps 95 % and 90 %, and abstains from 86 %, 54 % (many could be asked of either) and 87 %.
    """

    vector: float = 0.25
    own: float = 0.35
    context: float = 0.40
    recency: float = 0.02
    importance: float = 0.03
    trust: float = 0.03
    time: float = 0.15
    coverage: float = 0.1
    half_life_days: float = 90.0
    per_hour: float | None = None
    sure_cosine: float = 0.36
    sure_coverage: float = 0.6
    sure_evidence: float = 1.4
    min_cosine: float = 0.25
    min_coverage: float = 0.3
    like: float = 0.85

    def __post_init__(self) -> None:
        """Raises: ValueError for weights, half-life or decay out of range."""
        weights = [getattr(self, name) for name in _PARTS]
        if any(not math.isfinite(weight) or weight < 0 for weight in weights):
            msg = "weights must be finite and not negative"
            raise ValueError(msg)
        if self.half_life_days <= 0 or not 0 <= self.like <= 1:
            msg = "half_life_days must be above 0 and like in [0, 1]"
            raise ValueError(msg)
        if self.per_hour is not None and not 0 < self.per_hour <= 1:
            msg = "per_hour must be in (0, 1]"
            raise ValueError(msg)

    def asked(self, weight: float) -> Self:
        """The policy for a question whose terms weigh so much: of a long one a smaller share is sure.

        That is `sure_evidence / sqrt(weight)`, between a share and an amount, and `sure_coverage` at most.
        """
        return replace(self, sure_coverage=min(self.sure_coverage, self.sure_evidence / math.sqrt(max(weight, 1.0))))

    @classmethod
    def preset(cls, name: str) -> Self:
        """`default`, or one of the well-known formulas. Raises: KeyError for an unknown name.

        `recency`: .7 relevance + .3 * .995^hours. `importance`: .6 relevance + .4 importance. `hybrid`: four weights,
        semantic, recency, importance and keyword. Only `default` was chosen by measurement.
        """
        return cls(**_PRESETS[name])


_PRESETS: Mapping[str, dict[str, float]] = {
    "default": {},
    "recency": {
        **{"vector": 0.175, "own": 0.245, "context": 0.28, "recency": 0.3, "per_hour": 0.995},
        **{"importance": 0.0, "trust": 0.0},
    },
    "importance": {"vector": 0.15, "own": 0.21, "context": 0.24, "recency": 0.0, "importance": 0.4, "trust": 0.0},
    "hybrid": {"vector": 0.35, "own": 0.15, "context": 0.2, "recency": 0.15, "importance": 0.15, "trust": 0.0},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One hydrated record with its raw parts. `at` and `until` are world time; the rates lie in [0, 1].

    `coverage` is the share of the question's terms that the record holds. `slot` names what can have one current
    version only; `text` is what the reader would see of it, without its date.
    """

    id: UUID
    kind: str
    text: str
    at: datetime
    until: datetime | None = None
    cosine: float | None = None
    own_bm25: float | None = None
    context_bm25: float | None = None
    importance: float = 0.5
    trust: float = 1.0
    coverage: float = 0.0
    slot: str | None = None

    def with_hit(self, hit: Hit, *, coverage: float = 0.0) -> Candidate:
        """The same record with the parts that the index found."""
        return replace(self, cosine=hit.cosine, own_bm25=hit.own_bm25, context_bm25=hit.context_bm25, coverage=coverage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate's place. `parts` are weighted and add up to `score`."""

    candidate: Candidate
    score: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])


def rank(
    candidates: Sequence[Candidate],
    *,
    now: datetime,
    prefer: Interval | None = None,
    gated: bool = True,
    policy: RankPolicy = RankPolicy(),
) -> list[Ranked]:
    """Answers in order, best first; [] when nothing answers. Without `gated` all are ordered, answers or not.

    Shape: deterministic, whatever the order of the input; equal scores go newest first, then by id.
    """
    pool = answering(candidates, policy) if gated else list(candidates)
    scaled = {
        "vector": _scaled([c.cosine for c in pool]),
        "own": _scaled([c.own_bm25 for c in pool]),
        "context": _scaled([c.context_bm25 for c in pool]),
        "recency": [recency(c.until or c.at, now, policy) for c in pool],
        "importance": _scaled([c.importance for c in pool], constant=0.0),
        "trust": _scaled([c.trust for c in pool], constant=0.0),
        "time": [closeness(c, prefer) if prefer else 0.0 for c in pool],
        "coverage": [c.coverage for c in pool],
    }
    ranked: list[Ranked] = []
    for i, candidate in enumerate(pool):
        parts = {name: weight * scaled[name][i] for name, weight in _weights(policy).items()}
        ranked.append(Ranked(candidate=candidate, score=math.fsum(parts.values()), parts=parts))
    return sorted(ranked, key=lambda r: (-r.score, -r.candidate.at.timestamp(), r.candidate.id))


def answering(candidates: Sequence[Candidate], policy: RankPolicy) -> list[Candidate]:
    """The hits that count, judged on raw values; [] when none of them is sure enough to answer at all.

    Words alone suffice, and so does a vector: a gate on vectors would lose what only words can find.
    """
    if not any(_reaches(candidate, policy.sure_cosine, policy.sure_coverage) for candidate in candidates):
        return []
    return [
        candidate
        for candidate in candidates
        if _has_words(candidate) or _reaches(candidate, policy.min_cosine, policy.min_coverage)
    ]


def diversify(
    ranked: Sequence[Ranked], *, limit: int, one_version: bool = True, policy: RankPolicy = RankPolicy()
) -> list[Ranked]:
    """The first `limit` in order without what repeats: near-duplicates, and (if `one_version`) a slot's other versions.

    Repeat: diversifying a diversified list changes nothing.
    """
    return list(islice(diverse(ranked, one_version=one_version, policy=policy), limit))


def diverse(
    ranked: Iterable[Ranked], *, one_version: bool = True, policy: RankPolicy = RankPolicy()
) -> Iterator[Ranked]:
    """`diversify` one by one: what nobody takes is not compared, which is most of what ranking costs."""
    heard: dict[str, Heard] = {}
    slots: set[str] = set()
    for one in ranked:
        slot = one.candidate.slot
        if one_version and slot is not None and slot in slots:
            continue
        # Versions of one slot may well read alike: their dates tell them apart.
        own, said = shape(one.candidate.text), heard.setdefault(one.candidate.kind, Heard(policy.like))
        if said.has_like(own, but=slot):
            continue
        yield one
        said.take(own, name=slot)
        if slot is not None:
            slots.add(slot)


def shortlist(hits: Sequence[Hit], limits: Mapping[str, int], policy: RankPolicy = RankPolicy()) -> list[Hit]:
    """The hits worth reading back: of each kind that `limits` names the best so many, of others all.

    By the index's own parts alone; what a record adds to its rank (time, importance, its words) weighs less than
    the distance to what is left out.
    """
    scaled = {
        "vector": _scaled([hit.cosine for hit in hits]),
        "own": _scaled([hit.own_bm25 for hit in hits]),
        "context": _scaled([hit.context_bm25 for hit in hits]),
    }
    weights = _weights(policy)
    scores = [math.fsum(weights[name] * values[i] for name, values in scaled.items()) for i in range(len(hits))]
    left = dict(limits)
    kept: list[Hit] = []
    for i in sorted(range(len(hits)), key=lambda i: (-scores[i], hits[i].id)):
        kind = hits[i].kind
        if left.get(kind, 1) > 0:
            kept.append(hits[i])
            if kind in left:
                left[kind] -= 1
    return kept


def recency(at: datetime, now: datetime, policy: RankPolicy) -> float:
    """How recent in [0, 1]: 1 now (or later), halved every half-life, or per_hour ** hours when that is set.

    Raises: ValueError on a naive time. Source: exponential decay; per_hour=.995 halves in 5.8 days.
    """
    if at.tzinfo is None or now.tzinfo is None:
        msg = "naive time refused"
        raise ValueError(msg)
    hours = max(0.0, (now - at).total_seconds() / 3600)
    if policy.per_hour is not None:
        return policy.per_hour**hours
    return 0.5 ** (hours / 24 / policy.half_life_days)


def closeness(candidate: Candidate, prefer: Interval) -> float:
    """How near a record lies to a time, in [0, 1]: 1 inside, falling to 0 at one length (a day at least) outside."""
    start, end = prefer
    first, last = candidate.at, max(candidate.until or candidate.at, candidate.at)
    gap = max((start - last).total_seconds(), (first - end).total_seconds(), 0.0)
    reach = max((end - start).total_seconds(), timedelta(days=1).total_seconds())
    return max(0.0, 1.0 - gap / reach)


def _reaches(candidate: Candidate, cosine: float, coverage: float) -> bool:
    near = candidate.cosine is not None and candidate.cosine >= cosine
    return near or candidate.coverage >= coverage


def _has_words(candidate: Candidate) -> bool:
    return candidate.own_bm25 is not None or candidate.context_bm25 is not None


def _weights(policy: RankPolicy) -> dict[str, float]:
    return {name: getattr(policy, name) for name in _PARTS}


def _scaled(values: Sequence[float | None], *, constant: float = 1.0) -> list[float]:
    """Min-max over what the leg listed; what it did not list is 0, and equal values are all `constant`."""
    listed = [value for value in values if value is not None]
    if not listed:
        return [0.0] * len(values)
    low, high = min(listed), max(listed)
    if high <= low:
        return [0.0 if value is None else constant for value in values]
    return [0.0 if value is None else (value - low) / (high - low) for value in values]

"""Procedures: whether one worked, how often it works, which version to use next, and when one got worse.

Rates are computed from outcome rows, one per event; nothing here is counted twice. Success comes from tools first,
then from the user's own words, and from a model's verdict last and capped: a text that praises itself proves nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import numpy as np

from memory.signals import confirms_failure, confirms_success
from memory.turns import TurnView
from schemas.decisions import ProcedureVerdict, Trend
from schemas.drafts import ProcedureDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedurePolicy:
    """`ema_keep` is the share of the old rate; `z` the normal quantile of the bounds (1.96: 95 %).

    A version with fewer than `explore_until` outcomes gets `explore_share` of the uses.
    """

    ema_keep: float = 0.9
    ema_start: float = 0.5
    z: float = 1.96
    model_weight: float = 0.6
    explore: Literal["share", "thompson", "off"] = "share"
    explore_share: float = 0.2
    explore_until: float = 20.0
    trend_recent: int = 5
    trend_step: float = 0.2
    regression_recent: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeView:
    """One use of a version. `is_reported`: the agent said so itself. `is_undone`: it came from what was taken back."""

    event_id: UUID
    at: datetime
    succeeded: bool
    weight: float = 1.0
    session_ref: UUID | None = None
    is_reported: bool = False
    is_undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Rates of one version. `mean` is the posterior's, `lower` Wilson's bound, both in [0, 1]."""

    successes: float
    failures: float
    ema: float
    mean: float
    lower: float
    trend: Trend

    @property
    def count(self) -> float:
        """Weighted outcomes."""
        return self.successes + self.failures


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    """One version as `best` sees it."""

    id: UUID
    version: int
    stats: Stats


@dataclass(frozen=True, slots=True)
class Choice:
    """The version to use, and why: `lower_bound`, `explore`, `thompson` or `only`."""

    id: UUID
    reason: Literal["lower_bound", "explore", "thompson", "only"]


DEFAULT_POLICY = ProcedurePolicy()
_NOTHING = 1e-9


def ema(previous: float, succeeded: bool, *, weight: float = 1.0, keep: float = 0.9) -> float:
    """The moving success rate in [0, 1] after one outcome: keep * previous + (1 - keep) * outcome.

    An outcome of weight w moves it w times as far. 0.5 becomes 0.55 after a success, 0.45 after a failure.
    Source: the seeds' (rate * 9 + outcome) / 10.
    """
    return previous + (1 - keep) * weight * ((1.0 if succeeded else 0.0) - previous)


def posterior_mean(successes: float, failures: float) -> float:
    """The mean of Beta(1 + successes, 1 + failures), in (0, 1): 0.5 before any outcome. Source: Laplace's rule."""
    return (1 + successes) / (2 + successes + failures)


def wilson(successes: float, failures: float, z: float = 1.96) -> tuple[float, float]:
    """Lower and upper bound of the success rate, in [0, 1]; (0, 1) before any outcome. 8 of 10 gives (.490, .943).

    Raises: ValueError on negative counts. Source: Wilson 1927.
    """
    if successes < 0 or failures < 0:
        msg = "counts cannot be negative"
        raise ValueError(msg)
    if successes + failures < _NOTHING:
        return 0.0, 1.0
    return _lower_bound(successes, failures, z), 1.0 - _lower_bound(failures, successes, z)


def _lower_bound(successes: float, failures: float, z: float) -> float:
    """The smaller root, from the larger and their product: the difference of two near numbers would round below 0."""
    count = successes + failures
    rate = successes / count
    centre = rate + z * z / (2 * count)
    spread = z * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return rate * rate / (centre + spread)


def counting(outcomes: Sequence[OutcomeView]) -> list[OutcomeView]:
    """The outcomes that count, in the order of time: each event once, none that was taken back.

    What an agent reported of a session takes the place of what was read off it, as long as the report itself counts.
    """
    standing = [one for one in outcomes if not one.is_undone]
    reported = {one.session_ref for one in standing if one.is_reported} - {None}
    once: dict[UUID, OutcomeView] = {}
    for one in sorted(standing, key=lambda one: (one.at, str(one.event_id), one.succeeded, one.weight)):
        if one.is_reported or one.session_ref not in reported:
            once.setdefault(one.event_id, one)
    return list(once.values())


def stats(outcomes: Sequence[OutcomeView], policy: ProcedurePolicy = DEFAULT_POLICY) -> Stats:
    """The rates of a version: a fold over those of its outcome rows that count, given in any order."""
    ordered = counting(outcomes)
    rate = policy.ema_start
    for one in ordered:
        rate = ema(rate, one.succeeded, weight=one.weight, keep=policy.ema_keep)
    successes = sum(one.weight for one in ordered if one.succeeded)
    failures = sum(one.weight for one in ordered if not one.succeeded)
    return Stats(
        successes=successes,
        failures=failures,
        ema=rate,
        mean=posterior_mean(successes, failures),
        lower=wilson(successes, failures, policy.z)[0],
        trend=_trend(ordered, policy),
    )


def regressed(outcomes: Sequence[OutcomeView], policy: ProcedurePolicy = DEFAULT_POLICY) -> bool:
    """Whether a version works worse than it did: its newest outcomes' upper bound lies below the older ones' lower.

    Needs `regression_recent` outcomes on either side; so chance alone rarely demotes.
    """
    ordered = counting(outcomes)
    split = len(ordered) - policy.regression_recent
    if split < policy.regression_recent:
        return False
    old, new = _counts(ordered[:split]), _counts(ordered[split:])
    return wilson(*new, policy.z)[1] < wilson(*old, policy.z)[0]


def worse_than(new: Stats, old: Stats, policy: ProcedurePolicy = DEFAULT_POLICY) -> bool:
    """Whether a newer version is surely worse than an older one: its upper bound lies below the other's lower."""
    return wilson(new.successes, new.failures, policy.z)[1] < old.lower


def best(versions: Sequence[VersionView], *, seed: str, policy: ProcedurePolicy = DEFAULT_POLICY) -> Choice | None:
    """The version to use now; None for none. The same versions and seed always give the same choice.

    By lower bound, except that the newest version without enough outcomes gets its share of uses (`share`), or every
    version a draw from its posterior (`thompson`). Equal bounds: the newer one.
    """
    if not versions:
        return None
    if len(versions) == 1:
        return Choice(versions[0].id, "only")
    ordered = sorted(versions, key=lambda one: (one.version, str(one.id)))
    if policy.explore == "thompson":
        draw = np.random.Generator(np.random.PCG64(_number(seed)))
        drawn = [(draw.beta(1 + one.stats.successes, 1 + one.stats.failures), one) for one in ordered]
        return Choice(max(drawn, key=lambda pair: pair[0])[1].id, "thompson")
    newest = ordered[-1]
    if policy.explore == "share" and newest.stats.count < policy.explore_until:
        return (
            Choice(newest.id, "explore")
            if _share(seed) < policy.explore_share
            else Choice(max(ordered[:-1], key=_by_bound).id, "lower_bound")
        )
    return Choice(max(ordered, key=_by_bound).id, "lower_bound")


def verdict(
    turns: Sequence[TurnView], draft: ProcedureDraft | None, policy: ProcedurePolicy = DEFAULT_POLICY
) -> ProcedureVerdict | None:
    """Whether the procedure in use worked in this window; None when none was in use or nothing shows it.

    The last tool result that ran under it decides; else the user's own words after it; else the draft's verdict at a
    weight of 0.6, and only with a turn of the window as evidence. A model never overrules a tool or the user.
    """
    used = [turn for turn in turns if turn.procedure_name is not None]
    name = used[-1].procedure_name if used else (draft.name if draft is not None else None)
    if not name:
        return None
    version = next((turn.procedure_version for turn in reversed(used) if turn.procedure_name == name), None)
    under = [turn for turn in used if turn.procedure_name == name] or list(turns)
    results = [turn for turn in under if turn.role == "tool" and turn.tool_ok is not None]
    if results:
        return _verdict(name, version, results[-1:], succeeded=results[-1].tool_ok is True, source="tool")
    for turn in reversed(turns):
        if turn.role == "user" and turn.at >= under[0].at and (worked := _said(turn)) is not None:
            return _verdict(name, version, [turn], succeeded=worked, source="user")
    if draft is None or draft.verdict == "unknown" or draft.name != name:
        return None
    shown = [turns[place] for place in _places(draft.turns, len(turns))]
    if not shown:
        return None
    worked = draft.verdict == "success"
    return _verdict(name, version, shown, succeeded=worked, source="model", weight=policy.model_weight)


def _verdict(
    name: str,
    version: int | None,
    shown: Sequence[TurnView],
    *,
    succeeded: bool,
    source: Literal["tool", "user", "model"],
    weight: float = 1.0,
) -> ProcedureVerdict:
    return ProcedureVerdict(
        name=name,
        version=version,
        succeeded=succeeded,
        source=source,
        weight=weight,
        event_id=shown[-1].event_id,
        turn_ids=tuple(turn.event_id for turn in shown),
    )


def _said(turn: TurnView) -> bool | None:
    if confirms_failure(turn.content):
        return False
    return True if confirms_success(turn.content) else None


def _places(labels: Sequence[str], count: int) -> list[int]:
    numbers = [int(label[1:]) for label in labels if label[:1] == "t" and label[1:].isdecimal()]
    return sorted({number - 1 for number in numbers if 1 <= number <= count})


def _counts(outcomes: Sequence[OutcomeView]) -> tuple[float, float]:
    good = sum(one.weight for one in outcomes if one.succeeded)
    return good, sum(one.weight for one in outcomes) - good


def _trend(ordered: Sequence[OutcomeView], policy: ProcedurePolicy) -> Trend:
    recent, before = ordered[-policy.trend_recent :], ordered[: -policy.trend_recent]
    if not before:
        return "flat"
    step = posterior_mean(*_counts(recent)) - posterior_mean(*_counts(before))
    if abs(step) < policy.trend_step:
        return "flat"
    return "rising" if step > 0 else "falling"


def _by_bound(one: VersionView) -> tuple[float, int]:
    return (one.stats.lower, one.version)


def _number(seed: str) -> int:
    return int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "big")


def _share(seed: str) -> float:
    return _number(seed) / 2**64

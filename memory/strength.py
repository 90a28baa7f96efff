"""How much a memory still matters, and whether it is time to let it go. Computed from stored base and times only.

Running a job twice, or never, changes nothing: nothing here depends on an earlier result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from memory.registry import spec_of
from schemas.decisions import Exempt, Expire, Expiry, Fresh, Keep

_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthPolicy:
    """Decay and expiry. Days are days; `ttl_days` of None for a kind means never; importance is in [0, 1].

    `spacing` lengthens the half-life by this share for each doubling of (1 + uses).
    """

    form: Literal["exponential", "linear"] = "exponential"
    half_life_days: float = 30.0
    linear_days: float = 60.0
    spacing: float = 0.5
    floor: float = 0.1
    keep_threshold: float = 0.3
    max_extensions: int = 2
    ttl_days: Mapping[str, float | None] = field(
        default_factory=lambda: {"episode": 90.0, "fact": 365.0, "procedure": None, "moment": 90.0, "knowledge": None}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthView:
    """What a record says of itself. `last_used_at` is the last cited use; `ttl_days` overrides its kind's."""

    kind: str
    base_importance: float
    at: datetime
    recorded_at: datetime
    last_used_at: datetime | None = None
    uses: int = 0
    extensions: int = 0
    expires_at: datetime | None = None
    ttl_days: float | None = None
    key: str | None = None
    type: str | None = None
    pinned: bool = False


DEFAULT_POLICY = StrengthPolicy()


def half_life_days(uses: int, policy: StrengthPolicy = DEFAULT_POLICY) -> float:
    """Days after which half is left: 30, 45, 60 for 0, 1, 3 uses.

    Raises: ValueError on negative uses. Source: spacing effect, Ebbinghaus 1885; the logarithm is a choice.
    """
    if uses < 0:
        msg = "uses cannot be negative"
        raise ValueError(msg)
    return policy.half_life_days * (1 + policy.spacing * math.log2(1 + uses))


def effective_importance(view: StrengthView, now: datetime, policy: StrengthPolicy = DEFAULT_POLICY) -> float:
    """Base importance times what time has left of it, in [floor * base, base]; falls with age, rises with use.

    `exponential`: 0.5 ** (age / half-life), 1.0 unused for 90 days is .125. `linear`: 1 - age / 60 days, whatever the
    uses. Both are never below `floor` (0.1) of the base. An age below 0 (a clock that was set back) counts as 0.
    """
    started = max(view.recorded_at, view.at) if view.last_used_at is None else view.last_used_at
    age_days = max(0.0, (now - started).total_seconds() / _DAY_SECONDS)
    if policy.form == "linear":
        left = 1 - age_days / policy.linear_days
    else:
        left = 0.5 ** (age_days / half_life_days(view.uses, policy))
    return view.base_importance * max(policy.floor, left)


def due_at(view: StrengthView, policy: StrengthPolicy = DEFAULT_POLICY) -> datetime | None:
    """When its time is up: its TTL after the latest of event, recording and last cited use, or a later re-dating.

    None: never. So an import of old conversations does not expire on arrival.
    """
    days = view.ttl_days if view.ttl_days is not None else policy.ttl_days.get(view.kind)
    if days is None:
        return None
    due = max(view.at, view.recorded_at, view.last_used_at or view.at) + timedelta(days=days)
    return due if view.expires_at is None else max(due, view.expires_at)


def expiry(view: StrengthView, now: datetime, policy: StrengthPolicy = DEFAULT_POLICY) -> Expiry:
    """What becomes of a record now.

    Allergies, constraints and pinned items never expire by age, nor does a kind without a TTL. What is due and of
    **base** importance >= threshold is kept for another TTL, at most `max_extensions` times; the rest expires. (With
    the effective importance the threshold would be vacuous: after a whole TTL hardly anything reaches it.)
    """
    spec = spec_of(view.key) if view.key is not None else None
    if view.pinned:
        return Exempt("pinned")
    if view.type == "constraint" or (spec is not None and spec.closes_explicitly):
        return Exempt("constraint")
    due = due_at(view, policy)
    if due is None:
        return Exempt("no_ttl")
    if now < due:
        return Fresh(due)
    if view.base_importance >= policy.keep_threshold and view.extensions < policy.max_extensions:
        days = view.ttl_days if view.ttl_days is not None else policy.ttl_days[view.kind]
        return Keep(now + timedelta(days=days or 0.0))
    return Expire("ttl_over" if view.base_importance < policy.keep_threshold else "extensions_spent")


def initial_expiry(view: StrengthView, policy: StrengthPolicy = DEFAULT_POLICY) -> datetime | None:
    """The `expires_at` to store with a new record; None when it never expires by age."""
    spec = spec_of(view.key) if view.key is not None else None
    exempt = view.pinned or view.type == "constraint" or (spec is not None and spec.closes_explicitly)
    return None if exempt else due_at(view, policy)

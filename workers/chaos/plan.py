"""What will go wrong, and when: a plan that follows from its seed alone. Values only."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is done to a target. Most are undone after `seconds`."""

    KILL = "kill"
    KILL_CHILD = "kill_child"
    KILL_LEADER = "kill_leader"
    FREEZE = "freeze"
    FREEZE_CHILD = "freeze_child"
    FLUSH = "flush"
    AMNESIA = "amnesia"
    FULL = "full"
    KICK = "kick"
    POISON = "poison"
    ANSWERS = "answers"
    AWAY = "away"
    LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, `at` seconds after the start of all, undone after `seconds`; `detail` says how, where it matters."""

    at: float
    kind: Kind
    target: str
    seconds: float = 0.0
    detail: str = ""

    def __str__(self) -> str:
        detail = f" {self.detail}" if self.detail else ""
        lasting = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.at:7.2f} {self.kind.value} {self.target}{detail}{lasting}"


@dataclass(frozen=True, slots=True)
class _Recipe:
    """A fault that may be drawn. A target is left in peace for `rest` seconds after the fault is undone.

    Starting a worker costs seconds of CPU: without a rest the run would be about nothing but starts.
    """

    kind: Kind
    target: str
    weight: float
    low: float = 0.0
    high: float = 0.0
    rest: float = 0.5
    details: Sequence[str] = ()


#: In turn 429 with a Retry-After, 500, garbage, and no answer at all.
AWAY = "away"
ANSWERS = ("429", "500", "garbage", "truncated", "never", "html", "refused")

_RECIPES = (
    _Recipe(Kind.KILL, "broker", 5, 0.1, 2.0, rest=2),
    _Recipe(Kind.FREEZE, "broker", 5, 0.5, 4.0, rest=2),
    _Recipe(Kind.FULL, "broker", 3, 0.5, 3.0, rest=2),
    _Recipe(Kind.FLUSH, "broker", 4, rest=2),
    _Recipe(Kind.AMNESIA, "broker", 3, 0.1, 1.0, rest=2),
    _Recipe(Kind.KICK, "broker", 4, rest=1),
    _Recipe(Kind.POISON, "broker", 2, rest=0),
    _Recipe(Kind.KILL, "ingest", 3, 0.2, 2.0, rest=10),
    _Recipe(Kind.KILL_LEADER, "ingest", 2, 0.2, 2.0, rest=10),
    _Recipe(Kind.KILL_CHILD, "ingest", 7, rest=3),
    _Recipe(Kind.FREEZE, "ingest", 4, 0.5, 5.0, rest=3),
    _Recipe(Kind.FREEZE_CHILD, "ingest", 4, 0.5, 5.0, rest=3),
    _Recipe(Kind.KILL, "app", 4, 0.2, 2.0, rest=15),
    _Recipe(Kind.FREEZE, "app", 6, 0.5, 5.0, rest=3),
    _Recipe(Kind.KILL, "beat", 2, 0.2, 2.0, rest=8),
    _Recipe(Kind.FREEZE, "beat", 3, 0.5, 5.0, rest=3),
    _Recipe(Kind.KILL, "api", 2, 0.2, 2.0, rest=10),
    _Recipe(Kind.FREEZE, "api", 3, 0.5, 4.0, rest=3),
    _Recipe(Kind.FREEZE, "publisher", 6, 0.5, 4.0, rest=2),
    _Recipe(Kind.KILL, "publisher", 6, 0.1, 1.0, rest=4),
    _Recipe(Kind.ANSWERS, "model", 9, 1.0, 6.0, rest=3, details=ANSWERS),
    _Recipe(Kind.FREEZE, "model", 2, 0.5, 4.0, rest=3),
    _Recipe(Kind.KILL, "model", 2, 0.2, 2.0, rest=3),
    _Recipe(Kind.AWAY, "index", 4, 0.5, 4.0, rest=3),
    _Recipe(Kind.LOCK, "index", 4, 0.5, 4.0, rest=3),
    _Recipe(Kind.LOCK, "database", 4, 0.2, 2.0, rest=3),
    _Recipe(Kind.KICK, "database", 4, rest=3),
)
FAULTS_PER_MINUTE = 44.0
# What keeps a batch out of reach for a visibility time-out happens early in a short run, which then ends sooner.
_SLOW_TO_HEAL = (Kind.KILL, Kind.KILL_LEADER)
SHORT_SECONDS = 60.0


def plan(*, seconds: float, seed: int, may_kill_publisher: bool, has_server: bool) -> list[Fault]:
    """The faults of a run, in order. The same arguments give the same plan.

    `may_kill_publisher`: what it holds survives it. `has_server`: the database is a server, which can drop connections;
    a file cannot.
    """
    roll = random.Random(seed)  # noqa: S311 - a plan, not a secret
    recipes = [recipe for recipe in _RECIPES if _applies(recipe, may_kill_publisher, has_server)]
    free_at = {recipe.target: 0.0 for recipe in recipes}
    step = 60.0 / FAULTS_PER_MINUTE
    faults: list[Fault] = []
    at = step
    while at < seconds:
        open_now = [one for one in recipes if free_at[one.target] <= at and not _is_late(one, at, seconds)]
        if open_now:
            chosen = roll.choices(open_now, [one.weight for one in open_now])[0]
            lasting = round(roll.uniform(chosen.low, chosen.high), 2)
            detail = roll.choice(chosen.details) if chosen.details else ""
            faults.append(Fault(round(at, 2), chosen.kind, chosen.target, lasting, detail))
            free_at[chosen.target] = at + lasting + chosen.rest
        at += step * roll.uniform(0.6, 1.4)
    return faults


def outage(*, seconds: float) -> list[Fault]:
    """The plan of a run that lacks nothing but the model, which is away in every manner all the time."""
    return [Fault(1.0, Kind.ANSWERS, "model", seconds, AWAY)]


def _applies(recipe: _Recipe, may_kill_publisher: bool, has_server: bool) -> bool:
    if recipe.target == "publisher" and recipe.kind is Kind.KILL:
        return may_kill_publisher
    return has_server or not (recipe.target == "database" and recipe.kind is Kind.KICK)


def _is_late(recipe: _Recipe, at: float, seconds: float) -> bool:
    if seconds > SHORT_SECONDS or recipe.target not in ("ingest", "app"):
        return False
    return recipe.kind in _SLOW_TO_HEAL and at > seconds / 3

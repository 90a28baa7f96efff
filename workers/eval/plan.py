"""Which cases play when. All of them share one world clock, so they play in the order of their own times.

Pure: what plays at once is decided from the cases and a seed alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.eval.cases import VERDICTS, Action, Dialogue, Said
from workers.eval.model import as_sent

DIGEST = Action(do="digest")
ENDS = frozenset({"digest", "stop"})


@dataclass(frozen=True, slots=True)
class Step:
    """Turns in the order of their arrival, then an action."""

    turns: tuple[Said, ...]
    action: Action


def steps(case: Dialogue, shuffle: random.Random | None = None) -> list[Step]:
    """The case cut at its actions; a `digest` is added to one that ends without `digest` or `stop`.

    `shuffle` mixes the arrival of the turns between two actions. What was said before the clock moves on, or before a
    verdict, is digested first, as the time until then would do; what follows a `stop` is not played.
    """
    found: list[Step] = []
    waiting: list[Said] = []
    for one in case.turns:
        if isinstance(one, Said):
            waiting.append(one)
            continue
        if one.do == "advance" or (one.do in VERDICTS and waiting):
            found.append(Step(_mixed(waiting, shuffle), DIGEST))
            waiting = []
        found.append(Step(_mixed(waiting, shuffle), one))
        waiting = []
        if one.do == "stop":
            return found
    if waiting or not found or found[-1].action.do not in ENDS:
        found.append(Step(_mixed(waiting, shuffle), DIGEST))
    return found


def clock_after(step: Step, clock: datetime | None) -> datetime:
    """The world's time when the step is over: the largest `at` so far, and the days that the action adds."""
    times = [one.at for one in step.turns] + ([] if clock is None else [clock])
    return max(times) + timedelta(days=step.action.days)


def waves(cases: Sequence[tuple[Dialogue, int]]) -> list[list[tuple[Dialogue, int]]]:
    """(case, round) pairs in groups of which no two share a text: a scripted model tells them apart by their texts."""
    groups: list[tuple[set[str], list[tuple[Dialogue, int]]]] = []
    for case, number in cases:
        own = {as_sent(one.text) for one in case.turns if isinstance(one, Said)}
        group = next((found for found in groups if not found[0] & own), None)
        if group is None:
            group = (set[str](), list[tuple[Dialogue, int]]())
            groups.append(group)
        group[0].update(own)
        group[1].append((case, number))
    return [members for _, members in groups]


def _mixed(turns: Iterable[Said], shuffle: random.Random | None) -> tuple[Said, ...]:
    found = list(turns)
    if shuffle is not None:
        shuffle.shuffle(found)
    return tuple(found)

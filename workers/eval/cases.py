"""The three kinds of cases that a file may hold, one JSON object a line, told apart by their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]

ACTIONS = ("digest", "stop", "end", "redeliver", "advance", "forget", "approve", "reject")
VERDICTS = frozenset({"approve", "reject"})
NOT_YET = frozenset({"forget"})
"""Actions that the product cannot do yet: their cases are counted apart, neither right nor wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn as its author wrote it. `event` is a label: turns of one case that share it are one event."""

    place: str
    user: str
    session: str
    at: datetime
    role: str
    text: str
    name: str | None = None
    ok: bool | None = None
    event: str | None = None
    ticket: str | None = None
    thread: str | None = None
    actor: str | None = None
    tz: str | None = None
    no_store: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something done between turns. `session` and `outcome` belong to `end`, `days` to `advance`."""

    do: str
    user: str | None = None
    session: str | None = None
    outcome: str = "unknown"
    days: float = 0.0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and what its pack must and must not show. `user` defaults to the first who spoke."""

    query: str
    user: str | None = None
    ticket: str | None = None
    session: str | None = None
    at: datetime | None = None
    as_of: datetime | None = None
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What must hold at the end. None: nothing is said about it."""

    current: tuple[str, ...] = ()
    not_current: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    pending: tuple[str, ...] | None = None
    rejected: tuple[str, ...] | None = None
    nowhere: tuple[str, ...] = ()
    current_count: int | None = None
    current_max: int | None = None
    other: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    recall: tuple[Asked, ...] = ()
    episodes: int | None = None
    requests: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A conversation, or several, and what must be remembered of it.

    `answers` are those of a scripted model, by session, one a call: a JSON object, or the raw text. None: the provider
    of the run answers.
    """

    id: str
    place: str
    why: str
    lang: str
    turns: tuple[Said | Action, ...]
    expect: Expect
    answers: Mapping[str, tuple[Json | str, ...]] | None = None

    @property
    def missing_actions(self) -> tuple[str, ...]:
        """The actions that the product cannot do yet."""
        done = [one.do for one in self.turns if isinstance(one, Action)]
        return tuple(dict.fromkeys(do for do in done if do in NOT_YET))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence and the facts that it states: (subject, key, value, op), op one of + - x p."""

    id: str
    place: str
    lang: str
    text: str
    facts: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Poison:
    """A text of some origin and the gate's right decision."""

    id: str
    place: str
    why: str
    lang: str
    origin: str
    text: str
    decision: str


Case = Dialogue | Statement | Poison

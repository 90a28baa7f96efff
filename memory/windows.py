"""Windows of a session: when it is due, which turns go together, how long a failed one waits.

Never reads a clock or a store: times, sizes and the roll of the dice are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f000-\U0003ffff]+")
_ASCII = re.compile("[\x00-\x7f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPolicy:
    """When a session is due and how its windows are tried. Seconds, tokens and counts, all > 0.

    `window_turns` bounds what one transaction writes about a window, however short its turns are.
    `lease_seconds` must exceed the model's deadline and a margin for the write. `max_attempts` bounds tries without an
    outcome that were the window's own before it becomes a dead letter: bugs, and failures of a model that answered
    others at that time, these for `patience_seconds` after it was cut at least. `max_crashes` bounds the processes that
    died over it alone. A model that is away buries nothing, however long.
    """

    idle_seconds: float = 90.0
    max_wait_seconds: float = 900.0
    window_tokens: int = 6000
    window_turns: int = 200
    lease_seconds: float = 180.0
    max_attempts: int = 8
    max_crashes: int = 3
    backoff_base_seconds: float = 2.0
    backoff_cap_seconds: float = 600.0
    patience_seconds: float = 21_600.0


class InOrder(Protocol):
    """What has a place in a conversation."""

    @property
    def event_id(self) -> UUID:
        """Its id."""
        ...

    @property
    def at(self) -> datetime:
        """When it was said."""
        ...

    @property
    def reply_to(self) -> UUID | None:
        """What it answers, if it says so."""
        ...


class TurnSize(NamedTuple):
    """A turn as far as cutting is concerned."""

    event_id: UUID
    at: datetime
    tokens: int
    reply_to: UUID | None = None


_Item = TypeVar("_Item", bound=InOrder)


def due_at(
    *,
    first_undigested_at: datetime | None,
    last_received_at: datetime,
    undigested_tokens: int,
    has_ended: bool,
    policy: WindowPolicy,
) -> datetime | None:
    """When the session's undigested turns become work; None when there are none.

    The earlier of last receipt + idle and first undigested receipt + max_wait. At once, which is the last receipt, when
    the session has ended or a window's tokens are there.
    """
    if first_undigested_at is None:
        return None
    if has_ended or undigested_tokens >= policy.window_tokens:
        return last_received_at
    return min(
        last_received_at + timedelta(seconds=policy.idle_seconds),
        first_undigested_at + timedelta(seconds=policy.max_wait_seconds),
    )


def in_order(items: Iterable[_Item]) -> list[_Item]:
    """The items by (at, event_id), whatever the order of arrival, with a reply never before its target.

    A reply that is dated before its target follows right after it; replies in a circle keep their own order.
    """
    ordered = sorted(items, key=lambda item: (item.at, item.event_id))
    present = {item.event_id for item in ordered}
    placed: set[UUID] = set()
    waiting: dict[UUID, list[_Item]] = {}
    result: list[_Item] = []
    for item in ordered:
        target = item.reply_to
        if target is not None and target in present and target not in placed and target != item.event_id:
            waiting.setdefault(target, []).append(item)
        else:
            _place(item, waiting, placed, result)
    # What still waits is a circle: nothing in it can come first by its own rule.
    result.extend(item for item in ordered if item.event_id not in placed)
    return result


def _place(item: _Item, waiting: dict[UUID, list[_Item]], placed: set[UUID], result: list[_Item]) -> None:
    stack = [item]
    while stack:
        current = stack.pop()
        placed.add(current.event_id)
        result.append(current)
        stack.extend(reversed(waiting.pop(current.event_id, [])))


def cut(turns: Sequence[TurnSize], policy: WindowPolicy, *, only_full: bool = False) -> list[list[UUID]]:
    """The windows of these turns: ids in conversation order, each turn in exactly one window.

    A window holds at most `window_tokens` and `window_turns`; a turn above the tokens is a window alone. With
    `only_full` a last window that still has room is left out, for a session that goes on.
    """
    windows: list[list[UUID]] = []
    current: list[UUID] = []
    size = 0
    for turn in in_order(turns):
        if current and (size + turn.tokens > policy.window_tokens or len(current) >= policy.window_turns):
            windows.append(current)
            current, size = [], 0
        current.append(turn.event_id)
        size += turn.tokens
    has_room = size < policy.window_tokens and len(current) < policy.window_turns
    if current and not (only_full and windows and has_room):
        windows.append(current)
    return windows


def backoff(attempts: int, retry_after_seconds: float | None, roll: float, policy: WindowPolicy | None = None) -> float:
    """Seconds to wait after the `attempts`-th failure (1, 2, ...), in [0, cap]; `roll` is uniform in [0, 1).

    Full jitter: roll * min(cap, base * 2 ** (attempts - 1)). A server's Retry-After is honoured in full, with up to one
    base of jitter on top so that its clients do not return in one step.
    Source: Exponential Backoff And Jitter, AWS Architecture Blog, 2015.
    """
    policy = policy or WindowPolicy()
    ceiling = min(policy.backoff_cap_seconds, policy.backoff_base_seconds * 2.0 ** min(max(attempts - 1, 0), 32))
    jittered = roll * ceiling
    if retry_after_seconds is None:
        return jittered
    return max(jittered, retry_after_seconds + roll * policy.backoff_base_seconds)


def busy_wait(
    waited_seconds: float, retry_after_seconds: float | None, roll: float, policy: WindowPolicy | None = None
) -> float:
    """Seconds until a model that was busy is asked again; `roll` is uniform in [0, 1).

    Half to all of what the window has waited so far, between base and cap, so that the waits double by themselves:
    attempts count only what is the window's own fault. A server's Retry-After is honoured as in `backoff`.
    """
    policy = policy or WindowPolicy()
    span = min(policy.backoff_cap_seconds, max(policy.backoff_base_seconds, waited_seconds))
    wait = span * (0.5 + roll / 2)
    return wait if retry_after_seconds is None else max(wait, retry_after_seconds + roll * policy.backoff_base_seconds)


def estimate_tokens(text: str) -> int:
    """About how many tokens a model reads in the text, >= 1, without any vocabulary.

    One for each Han, kana, Hangul or emoji character, one for four ASCII characters, one for two of any other script.
    Errs high for Chinese under recent vocabularies: a window may be smaller than the model allows, never larger.
    """
    if text.isascii():
        return max(1, (len(text) + 3) // 4)
    wide = sum(len(run) for run in _WIDE.findall(text))
    narrow = sum(len(run) for run in _ASCII.findall(text))
    other = len(text) - wide - narrow
    return max(1, wide + (narrow + 3) // 4 + (other + 1) // 2)

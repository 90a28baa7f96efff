"""Which turns a request not to keep something is about: its own, or, said alone, the one that it points at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

from memory.guard_requests import REQUESTS
from memory.turns import TurnView
from schemas.decisions import Flag

NO_STORE = "no_store"
_AHEAD = re.compile(
    r"接下来|下面|后面|以下|之后|\b(?:following|next|going to|about to|gonna|will)\b|i'll\b"
    r"|\boff the record\b(?! that)",
    re.IGNORECASE,
)
_PADDING = re.compile(
    r"\b(?:please|pls|ok(?:ay)?|sorry|thanks?(?: you)?|and|also|actually|wait|oh|no|hey|hi|by the way|btw|just|said"
    r"|told you|wrote|mentioned|i|me|you|now|then|what|message|sentence|part|bit|it)\b"
    r"|[请麻烦谢您你我他说的话了吧哦啊呢哈句条段那这对不好意思行嗯内容消息东西要会讲刚才]",
    re.IGNORECASE,
)
_RULES = tuple(rule for rule in REQUESTS if rule.code == NO_STORE)


def pointed_at(
    said: Sequence[TurnView], context: Sequence[TurnView], flags: Mapping[UUID, Sequence[Flag]]
) -> frozenset[UUID]:
    """The turns of a window that a bare request before or after them asks not to keep.

    Shape: turns in order, `context` right before them; `flags` of the window's turns. "Don't remember what I just
    said" points at the user's turn before it, 接下来我说的别记 at the next one. A turn outside the window is left to
    whoever answers the request: what was digested is no longer this window's to judge.
    """
    users = [turn for turn in said if turn.role == "user"]
    asking = [any(flag.code == NO_STORE for flag in flags.get(turn.event_id, ())) for turn in users]
    found: set[UUID] = set()
    for place, turn in enumerate(users):
        if not asking[place] or not _is_bare(turn.content):
            continue
        other = place + 1 if _AHEAD.search(turn.content) else place - 1
        if 0 <= other < len(users) and not asking[other]:
            found.add(users[other].event_id)
    before = next((turn for turn in reversed(context) if turn.role == "user"), None)
    if users and not asking[0] and before and _asks(before.content) and _AHEAD.search(before.content):
        found |= {users[0].event_id} if _is_bare(before.content) else set[UUID]()
    return frozenset(found)


def _asks(text: str) -> bool:
    return any(rule.pattern.search(text.lower()) for rule in _RULES)


def _is_bare(text: str) -> bool:
    """Whether a request is all that a turn says."""
    rest = text.lower()
    for rule in _RULES:
        rest = rule.pattern.sub(" ", rest)
    return rest != text.lower() and not any(sign.isalnum() for sign in _PADDING.sub(" ", rest))

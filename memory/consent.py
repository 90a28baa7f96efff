"""Consent in a chat: whether an assistant asked if something of a special category may be kept, and what its user said.

Only the user's reply right after such a question counts; it speaks of what waited when the question was asked. Silence,
a change of subject or anything between yes and no is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory.informative import is_bare_no, is_bare_yes
from memory.policy import SPECIAL_CLASSES
from memory.quotes import last_question
from memory.turns import TurnView

_KEEP = re.compile(
    r"\b(?:remember(?:ed)?|keep|kept|save[ds]?|store[ds]?|not(?:e|ed) (?:down|that|this|it)|on (?:record|file))\b"
    r"|记住|记下|记录|保存|留存|记得|记着|记在",
    re.IGNORECASE,
)
_NAMED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "health",
        re.compile(
            r"\b(?:health(?! ?(?:insurance|club|plan))|medical|illness|condition|diagnosis)\b"
            r"|健康|病情|身体状况|疾病|诊断",
            re.I,
        ),
    ),
    ("pregnancy", re.compile(r"\bpregnan\w*|怀孕|孕期|身孕", re.I)),
    ("religion", re.compile(r"\b(?:religio\w*|faith)\b|宗教|信仰", re.I)),
    ("orientation", re.compile(r"\borientation\b|性取向", re.I)),
    ("politics", re.compile(r"\bpolitic\w*|政治", re.I)),
    ("union", re.compile(r"\bunion\b|工会", re.I)),
    ("child", re.compile(r"\b(?:child(?:ren)?|son|daughter|kids?|baby)\b|孩子|儿子|女儿|宝宝|小孩", re.I)),
)
_YES = re.compile(
    r"\s*(?:yes|yeah|yep|sure|ok(?:ay)?|of course|certainly|absolutely|go ahead|please do|(?:yes,? )?you (?:may|can)"
    r"|that'?s (?:fine|ok(?:ay)?)|no (?:problem|worries)|i (?:agree|consent)|feel free)\b"
    r"|\s*(?:可以|好|行|嗯|是的|没问题|没关系|同意|当然|记吧|记住吧|请记|允许)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\s*(?:no(?! (?:problem|worries))|nope|nah|please don'?t|don'?t|do not|never|rather not|i'?d rather not"
    r"|i don'?t (?:agree|want|consent)|better not)\b"
    r"|\s*(?:不(?!错|客气)|别(?!的)|算了|请不要|请别|最好不)",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"\b(?:don'?t|do not|not|never|but|except)\b|不要|别|不过|但", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Consent:
    """A user's answer: to which question, on which classes, yes or no."""

    question: TurnView
    reply: TurnView
    classes: tuple[str, ...]
    verdict: Literal["confirm", "refuse"]


def answers(turns: Sequence[TurnView], context: Sequence[TurnView] = ()) -> list[Consent]:
    """The answers in a window, in order; `context` are the turns right before it, of which only questions count."""
    befores = [context[-1] if context else None, *turns[:-1]]
    found: list[Consent] = []
    for question, reply in zip(befores, turns, strict=True):
        if question is None or question.role != "assistant" or reply.role != "user":
            continue
        classes, verdict = asked_of(question.content), _verdict(reply.content)
        if classes and verdict is not None:
            found.append(Consent(question, reply, classes, verdict))
    return found


def asked_of(text: str) -> tuple[str, ...]:
    """The special categories that an assistant's last question asks to keep, in the order of SPECIAL_CLASSES."""
    place = last_question(text)
    if place is None:
        return ()
    # "You said something about your health. May it be remembered?" names its subject a sentence before.
    asked = text[place.start : place.end]
    if not _KEEP.search(asked):
        return ()
    named = {name for name, pattern in _NAMED if pattern.search(asked)} or {
        name for name, pattern in _NAMED if pattern.search(_sentence_before(text, place.start))
    }
    return tuple(name for name in SPECIAL_CLASSES if name in named)


def _sentence_before(text: str, start: int) -> str:
    pieces = re.split(r"(?<=[.!?。！？\n])", text[:start].rstrip())
    return next((piece for piece in reversed(pieces) if piece.strip()), "")


def _verdict(text: str) -> Literal["confirm", "refuse"] | None:
    if is_bare_no(text) or _NO.match(text):
        return "refuse"
    if is_bare_yes(text):
        return "confirm"
    said = _YES.match(text)
    if said is None or _TAKEN_BACK.search(text[said.end() :]):
        return None
    return "confirm"

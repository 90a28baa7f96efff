"""The guard: which parts of a text are attacks, claims that need review, special categories, or privacy requests.

`flags` reads the text as a careful reader would, disguises undone. It never decides alone that something is safe:
what counts is who said it and where it may apply (`memory/verify.py`, `memory/gate.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from afterturn.masking import mask
from memory.disguise import View, hidden, payloads, views
from memory.guard_rules import RULES
from memory.sensitive import classes_in
from schemas.decisions import Flag

SPECIAL = "special_"
"""Prefix of the codes of special categories: pending until the user confirms."""

_SENTENCE_END = re.compile(r"[。！？\n]|[.!?]+(?=[\s\"')\]”’]|$)|(?<=[\u4e00-\u9fff])[!?]")
_CLAUSE_END = re.compile(r"[。！？!?\n，,；;、]|\.(?=\s|$)|\s(?:and|but)\s|而且|但是|所以|以及")
_MASKED = re.compile(r"\[secret:[a-z_]{3,16}\]")


def flags(text: str) -> tuple[Flag, ...]:
    """Every flagged part, in order, each (place, code) once.

    Shape: places count characters of `text` as given. A flag covers its sentence, a special category its clause, a
    secret itself. A payload that decodes to something flagged is `encoded_payload`. Repeat: the same flags.
    """
    found = {*_by_rules(text), *_specials(text), *_encoded(text), *_secrets(text), *_hidden(text)}
    return tuple(sorted(found, key=lambda flag: (flag.start, flag.end, flag.code)))


def sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentences that characters [start, end) stand in, without outer space."""
    return _around(text, start, end, _SENTENCE_END)


def _by_rules(text: str) -> Iterator[Flag]:
    for view in views(text):
        for rule in RULES:
            for found in rule.pattern.finditer(view.text):
                if found.end() > found.start():
                    start, end = _trimmed(view, found.start(), found.end())
                    yield Flag(*sentence_at(text, *view.origin(start, end)), rule.code, rule.action)


def _specials(text: str) -> Iterator[Flag]:
    view = views(text)[0]
    for name, start, end in classes_in(view.text):
        yield Flag(*_around(text, *view.origin(start, end), _CLAUSE_END), SPECIAL + name, "pending")


def _encoded(text: str) -> Iterator[Flag]:
    for start, end, decoded in payloads(text):
        plain = views(decoded)[0].text
        if any(rule.pattern.search(plain) for rule in RULES) or mask(decoded)[1]:
            yield Flag(start, end, "encoded_payload", "reject")


def _secrets(text: str) -> Iterator[Flag]:
    masked, types = mask(text)
    for start, end in _masked_places(text, masked) if types else (one.span() for one in _MASKED.finditer(text)):
        yield Flag(start, end, "secret", "reject")


def _hidden(text: str) -> Iterator[Flag]:
    for start, end in hidden(text):
        yield Flag(*sentence_at(text, start, end), "hidden_characters", "pending")


def _masked_places(text: str, masked: str) -> list[tuple[int, int]]:
    """Where the original differs from its masked form: what stands between the parts that both have."""
    parts = _MASKED.split(masked)
    places: list[tuple[int, int]] = []
    at = len(parts[0])
    for place, part in enumerate(parts[1:], start=2):
        last = place == len(parts)
        end = len(text) - len(part) if last else text.find(part, at + 1) if part else at + 1
        if end < at:
            end = len(text)
        places.append((at, end))
        at = end + len(part)
    return places


def _trimmed(view: View, start: int, end: int) -> tuple[int, int]:
    """A match without the sentence end and spaces that it may begin with."""
    while start < end - 1 and not view.text[start].isalnum() and view.text[start] not in "<[!#|('\"":
        start += 1
    return start, end


def _around(text: str, start: int, end: int, border: re.Pattern[str]) -> tuple[int, int]:
    first, last = 0, len(text)
    for found in border.finditer(text):
        if found.end() <= start:
            first = found.end()
        elif found.start() >= end - 1 and found.end() >= end:
            last = found.end()
            break
    while first < start and text[first].isspace():
        first += 1
    while last > end and text[last - 1].isspace():
        last -= 1
    return first, last

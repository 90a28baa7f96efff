"""The guard: which parts of a text are attacks, claims that need review, special categories, or privacy requests.

`flags` reads the text as a careful reader would, disguises undone. It never decides alone that something is safe:
what counts is who said it and where it may apply (`memory/verify.py`, `memory/gate.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from afterturn.masking import mask
from memory.disguise import View, hidden, payloads, views
from memory.guard_requests import is_mention
from memory.guard_rules import speaking_of
from memory.guard_shapes import shapes_in
from memory.guard_shapes_en import ENGLISH
from memory.guard_shapes_zh import CHINESE
from memory.registry import SPECIAL
from memory.sensitive import classes_in
from schemas.decisions import Flag

_SENTENCE_END = re.compile(r"[。！？\n]|[.!?]+(?=[\s\"')\]”’]|$)|(?<=[\u4e00-\u9fff])[!?]")
_CLAUSE_END = re.compile(r"[。！？!?\n，,；;、]|\.(?=\s|$)|\s(?:and|but)\s|而且|但是|所以|以及")
_NAMED = re.compile(r"(?:\bis|\bare|\bwas|[:：=是为])\s*$")
_HARMLESS = frozenset({"i_do", "style", "asks", "report", "mine", "told", "moves"})
_IN_ADDRESS = re.compile(r"(?:https?://|www\.)\S*$")
_HAN = re.compile("[\u4e00-\u9fff]")
_MASKED = re.compile(r"\[secret:[a-z_]{3,16}\]")


def flags(text: str) -> tuple[Flag, ...]:
    """Every flagged part, in order, each (place, code) once.

    Shape: places count characters of `text` as given. A flag covers its sentence, a special category its clause, a
    secret itself, `no_store` the whole text. A payload that decodes to something flagged is `encoded_payload`.
    Repeat: the same flags.
    """
    seen = views(text)
    sentences = _Parts(text, _SENTENCE_END)
    found = {
        *_by_rules(seen, sentences),
        *_by_shapes(seen, sentences),
        *_specials(text, seen[0]),
        *_encoded(text),
        *_secrets(text, seen),
        *(Flag(*sentences.around(*place), "hidden_characters", "pending") for place in hidden(text)),
    }
    return tuple(sorted(found, key=lambda flag: (flag.start, flag.end, flag.code)))


class _Parts:
    """Sentences or clauses of one text, found once, asked often."""

    def __init__(self, text: str, border: re.Pattern[str]) -> None:
        self.text = text
        self.ends = [found.end() for found in border.finditer(text)]

    def around(self, start: int, end: int) -> tuple[int, int]:
        """The parts that characters [start, end) stand in, without outer space."""
        before, after = bisect_right(self.ends, start), bisect_left(self.ends, end)
        first = self.ends[before - 1] if before else 0
        last = self.ends[after] if after < len(self.ends) else len(self.text)
        while first < start and self.text[first].isspace():
            first += 1
        while last > end and self.text[last - 1].isspace():
            last -= 1
        return first, last


def _by_rules(seen: Sequence[View], sentences: _Parts) -> Iterator[Flag]:
    whole = (0, len(sentences.text))
    told: set[str] = set()
    for view in seen:
        for rule in speaking_of(view.text):
            for found in rule.pattern.finditer(view.text):
                crossed = sum(found.start() < join < found.end() for join in view.joins)
                # Joined sentences tell more if the words cross a border, or need what stands behind it.
                if found.end() == found.start() or crossed > 1 or (view.joins and not crossed and rule.code in told):
                    continue
                start, end = _trimmed(view, found.start(), found.end())
                place = sentences.around(*view.origin(start, end))
                if rule.action == "request" and rule.code != "no_store" and is_mention(*_within(view.text, start, end)):
                    continue
                if rule.code == "no_store":  # "This is not to be kept" speaks of what was said before it as well.
                    place = whole
                elif rule.code == "fake_system" or (view.joins and not crossed):
                    # A false heading speaks for what stands below it.
                    place = (place[0], sentences.around(*_last(place[1], len(sentences.text)))[1])
                if not view.joins:
                    told.add(rule.code)
                yield Flag(*place, rule.code, rule.action)


def _within(text: str, start: int, end: int) -> tuple[str, int, int]:
    """The sentence of a match, and the match's place in it."""
    first, last = _Parts(text, _SENTENCE_END).around(start, end)
    return text[first:last], start - first, end - first


def _by_shapes(seen: Sequence[View], sentences: _Parts) -> Iterator[Flag]:
    for view in seen:
        if view.joins:  # Two sentences have the signs of both, and mean neither.
            continue
        for start, end, code in _shapes(view.text):
            yield Flag(*sentences.around(*view.origin(*_trimmed(view, start, end))), code, "pending")


def _shapes(text: str) -> Iterator[tuple[int, int, str]]:
    if _HAN.search(text):
        yield from shapes_in(text, CHINESE)
    yield from shapes_in(text, ENGLISH)


def _last(end: int, length: int) -> tuple[int, int]:
    """The character after a sentence and its space, if there is one."""
    return (min(end + 1, length - 1), min(end + 2, length))


def _specials(text: str, view: View) -> Iterator[Flag]:
    clauses = _Parts(text, _CLAUSE_END)
    for name, start, end in classes_in(view.text):
        yield Flag(*clauses.around(*view.origin(start, end)), SPECIAL + name, "pending")


def _encoded(text: str) -> Iterator[Flag]:
    for start, end, decoded in payloads(text):
        plain = views(decoded)[0].text
        if any(rule.pattern.search(plain) for rule in speaking_of(plain)) or any(_shapes(plain)) or mask(decoded)[1]:
            yield Flag(start, end, "encoded_payload", "reject")
        elif _has_signs(plain) and not _IN_ADDRESS.search(text, max(0, start - 300), start):
            # Whoever hides words that come near to an attack has a reason.
            yield Flag(start, end, "encoded_payload", "pending")


def _has_signs(decoded: str) -> bool:
    """Whether a decoded text has several signs of an attack, though no shape of one."""
    return any(len(grammar.read(decoded) - _HARMLESS) >= 2 for grammar in (ENGLISH, CHINESE))


def _secrets(text: str, seen: Sequence[View]) -> Iterator[Flag]:
    masked, types = mask(text)
    for start, end in _masked_places(text, masked) if types else (one.span() for one in _MASKED.finditer(text)):
        yield Flag(start, end, "secret", "reject")
    for view in seen:
        if view.text == text:
            continue
        masked, types = mask(view.text)
        for start, end in _masked_places(view.text, masked) if types else ():
            if not view.joins or _NAMED.search(view.text, max(0, start - 12), start):
                first, last = view.origin(start, end)
                while last < len(text) and "!" <= text[last] <= "~":  # What a disguise hid of its end goes with it.
                    last += 1
                yield Flag(first, last, "secret", "reject")


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

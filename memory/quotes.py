"""Finding a quote where it was said: width and white space folded, with the place in the original kept."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_PUNCTUATION = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "，": ",", "。": ".", "！": "!", "？": "?", "；": ";", "：": ":"}
)
_TAGS = re.compile(
    r"^\W*(?:(?:is|was|are) (?:that|this|it) (?:right|correct|so)|right|correct|yes|ok(?:ay)?|isn't it"
    r"|aren't you|don't you|is it|are you|do you"
    r"|对吗|对吧|是吗|是吧|对不对|是不是|没错吧|好吗|可以吗)\W*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,，;；、:：]")
_SENTENCE = re.compile(r"[.!。！\n]+(?=\s|$|[\u4e00-\u9fff])|[?？]+")
_RECALLED = re.compile(
    r"<(notes|memory|memories|memory-context|recalled_memory|long_term_memory|relevant_memories)\b[^>]*>.*?(?:</\1>|\Z)"
    r"|^[^\n]{0,20}(?:known about the user|what (?:we|i) know about the user|notes about the user"
    r"|user profile from memory"
    r"|relevant memories|recalled memories|long-term memory)\b[^\n]{0,80}:[^\n]*(?:\n[ \t]*[-*•\d][^\n]*)*"
    r"|^[^\n]{0,20}(?:以下是关于用户|用户的?(?:已知信息|长期记忆|记忆|画像)|已知用户信息|相关记忆"
    r"|关于用户的记忆)[^\n]{0,40}[:：][^\n]*(?:\n[ \t]*[-*•\d][^\n]*)*",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Characters [start, end) of a text."""

    start: int
    end: int


def find(quote: str, text: str) -> Place | None:
    """The first place where `quote` stands in `text`, after NFKC, case, quote marks and white space are folded.

    A Latin quote must begin and end at a word border: `art` does not stand in `start`.
    """
    sought, _ = _folded(quote.strip())
    if not sought:
        return None
    heard, places = _folded(text)
    at = heard.find(sought)
    while at >= 0:
        end = at + len(sought)
        if _is_border(heard, at) and _is_border(heard, end):
            return Place(places[at], places[end - 1] + 1)
        at = heard.find(sought, at + 1)
    return None


def last_question(text: str) -> Place | None:
    """The last question of a text, which is all that a bare yes confirms: its last clause, with the one before a tag.

    Of `The address is still Leeds, shall I send it?` that is `shall I send it?`. None when the text asks nothing.
    """
    ends = list(_SENTENCE.finditer(text))
    marks = [found for found in ends if found[0][0] in "?？"]
    if marks:
        last = marks[-1]
    elif text.rstrip().endswith(("吗", "呢", "吧")):
        return _last_clause(text, max((found.end() for found in ends), default=0), len(text))
    else:
        return None
    start = max((found.end() for found in ends if found.end() <= last.start()), default=0)
    return _last_clause(text, start, last.end())


def is_recalled(text: str, place: Place) -> bool:
    """Whether a place lies inside a block of recalled memories that came back in the text."""
    return any(found.start() <= place.start and place.end <= found.end() for found in _RECALLED.finditer(text))


def _last_clause(text: str, start: int, end: int) -> Place:
    borders = [start, *(found.end() for found in _CLAUSE.finditer(text, start, end))]
    for border in reversed(borders):
        if not _TAGS.match(text[border:end]):
            return Place(border, end)
    return Place(start, end)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text folded for comparison, white space dropped between Han and made one blank elsewhere, and places."""
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        for one in unicodedata.normalize("NFKC", char).casefold().translate(_PUNCTUATION):
            blank = one.isspace()
            if blank and (not chars or chars[-1] == " "):
                continue
            chars.append(" " if blank else one)
            places.append(place)
    return _without_han_blanks(chars, places)


def _without_han_blanks(chars: list[str], places: list[int]) -> tuple[str, list[int]]:
    kept = [
        at
        for at, char in enumerate(chars)
        if char != " "
        or (0 < at < len(chars) - 1 and not (_is_wide(chars[at - 1]) or _is_wide(chars[at + 1])))
        or at == 0
    ]
    return "".join(chars[at] for at in kept), [places[at] for at in kept]


def _is_wide(char: str) -> bool:
    return "\u3000" <= char <= "\u9fff"


def _is_border(text: str, at: int) -> bool:
    if at in {0, len(text)}:
        return True
    one, other = text[at - 1], text[at]
    return not (one.isascii() and one.isalnum() and other.isascii() and other.isalnum())

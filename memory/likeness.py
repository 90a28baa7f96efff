"""Whether two texts say the same: for leaving out repeats, never for merging facts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_DIGITS = re.compile(r"\d+")
_NO_LETTERS = re.compile(r"[\W_]+")
_MAX_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A text as it is compared: its character trigrams, and its numbers in order."""

    grams: frozenset[str]
    numbers: tuple[str, ...]


def shape(text: str) -> Shape:
    """The shape of a text's first 2000 characters, case and width folded.

    Trigrams need no word borders, so Chinese and English are treated alike.
    """
    start = text[:_MAX_CHARS]
    folded = start.lower() if start.isascii() else unicodedata.normalize("NFKC", start).casefold()
    letters = _NO_LETTERS.sub("", folded)
    return Shape(frozenset(_grams(letters)), tuple(_DIGITS.findall(folded)))


def _grams(letters: str) -> Iterable[str]:
    if len(letters) < 3:
        return [letters] if letters else []
    return map("".join, zip(letters, letters[1:], letters[2:], strict=False))


def likeness(one: Shape, other: Shape) -> float:
    """Share in [0, 1] of the trigrams that two texts have in common (Jaccard); 1 for two empty texts.

    Texts whose numbers differ are 0: "order 1001 is late" does not repeat "order 1002 is late".
    """
    if one.numbers != other.numbers:
        return 0.0
    if not one.grams or not other.grams:
        return float(one.grams == other.grams)
    return len(one.grams & other.grams) / len(one.grams | other.grams)


class Heard:
    """The texts that were taken so far, to ask of the next one whether it says the same as one of them.

    `least` is the likeness from which it does. Only texts with the same numbers and of like size are compared.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        self._by_numbers: dict[tuple[str, ...], list[tuple[int, frozenset[str], str | None]]] = {}

    def has_like(self, one: Shape, *, but: str | None = None) -> bool:
        """Whether a taken text repeats it; those that were taken under the name `but` do not count."""
        size, least = len(one.grams), self._least
        for other_size, grams, name in self._by_numbers.get(one.numbers, ()):
            if other_size < least * size or size < least * other_size or (name is not None and name == but):
                continue
            common = len(one.grams & grams)
            every = size + other_size - common
            if not every or common / every >= least:
                return True
        return False

    def take(self, one: Shape, *, name: str | None = None) -> None:
        """Takes a text, under a name if it has one."""
        self._by_numbers.setdefault(one.numbers, []).append((len(one.grams), one.grams, name))

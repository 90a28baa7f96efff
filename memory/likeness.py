"""Whether two texts say the same: for leaving out repeats, never for merging facts."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_DIGITS = re.compile(r"\d+")
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
    folded = unicodedata.normalize("NFKC", text[:_MAX_CHARS]).casefold()
    letters = "".join(ch for ch in folded if ch.isalnum())
    grams = {letters[i : i + 3] for i in range(max(1, len(letters) - 2))} if letters else set[str]()
    return Shape(frozenset(grams), tuple(_DIGITS.findall(folded)))


def likeness(one: Shape, other: Shape) -> float:
    """Share in [0, 1] of the trigrams that two texts have in common (Jaccard); 1 for two empty texts.

    Texts whose numbers differ are 0: "order 1001 is late" does not repeat "order 1002 is late".
    """
    if one.numbers != other.numbers:
        return 0.0
    if not one.grams or not other.grams:
        return float(one.grams == other.grams)
    return len(one.grams & other.grams) / len(one.grams | other.grams)


def is_like(one: Shape, other: Shape, least: float) -> bool:
    """Whether the likeness is at least `least`. Cheap for most pairs: sets of unlike size cannot be alike."""
    small, large = sorted((len(one.grams), len(other.grams)))
    return small >= least * large and likeness(one, other) >= least

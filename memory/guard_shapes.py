"""Shapes of what must not come back, whatever the words: signs of meaning that stand together in one sentence.

A rule of `memory/guard_rules.py` knows how an attack is put. A shape knows what it needs: somebody is told to act (you,
an order), when (from now on, whenever somebody asks), on what (approvals, payouts, codes, other people's records), and
where it leads (an account, an address). One sign alone is daily talk. A shape only asks for a second look: its sentence
waits for a person, and is shown to nobody meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

# A "sentence" of more characters is none: it is read in pieces, so that its cost stays that of its length.
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?=[^\s.!?])){1,400}[.!?。！？]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Signs that stand together: all of `needs`, one of each of `either`, none of `never`.

    A wide one may stand in two sentences, one after the other: the account of a payment often has one of its own.
    """

    code: str
    needs: frozenset[str]
    either: tuple[frozenset[str], ...] = ()
    never: frozenset[str] = frozenset()
    is_wide: bool = False

    def fits(self, signs: frozenset[str]) -> bool:
        """Whether a sentence with these signs has this shape."""
        return self.needs <= signs and all(signs & some for some in self.either) and not (signs & self.never)


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The signs of a language by name, and the shapes that they make."""

    signs: Mapping[str, str]
    shapes: tuple[Shape, ...]

    @cached_property
    def _patterns(self) -> Mapping[str, re.Pattern[str]]:
        return {name: re.compile(pattern) for name, pattern in self.signs.items()}

    def read(self, sentence: str) -> frozenset[str]:
        """The signs in a sentence."""
        return frozenset(name for name, pattern in self._patterns.items() if pattern.search(sentence))


def shape(code: str, needs: str, *either: str, never: str = "", wide: bool = False) -> Shape:
    """A shape from names: `shape("payment", "money account", "now instead", never="asks")`."""
    return Shape(
        code=code,
        needs=frozenset(needs.split()),
        either=tuple(frozenset(one.split()) for one in either),
        never=frozenset(never.split()),
        is_wide=wide,
    )


def shapes_in(text: str, grammar: Grammar) -> Iterator[tuple[int, int, str]]:
    """The sentences [start, end) that have a shape, each with its code; text is folded as `memory/disguise.py` does."""
    read = [(found.start(), found.end(), grammar.read(found[0])) for found in _SENTENCE.finditer(text)]
    told: set[tuple[int, str]] = set()
    for start, end, present in read:
        for code in _codes(grammar.shapes, present):
            told.add((start, code))
            yield start, end, code
    wide = [one for one in grammar.shapes if one.is_wide]
    for (start, _, first), (after, end, second) in pairwise(read):
        for code in _codes(wide, first | second):
            if (start, code) not in told and (after, code) not in told:
                yield start, end, code


def _codes(shapes: Iterable[Shape], present: frozenset[str]) -> list[str]:
    return list(dict.fromkeys(one.code for one in shapes if one.fits(present))) if present else []

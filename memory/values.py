"""The value of a draft as it was said: a part of the quote, a code that the quote names, an amount or a day in it."""

from __future__ import annotations

import re
import unicodedata

from memory.amounts import find_amounts
from memory.codes import code_of, fold
from memory.language import language_of
from memory.quotes import Place, find
from memory.registry import KeySpec

_INTAKE = re.compile(r"^(?:喝|吃|饮|食用)(?=.)|^(?:to )?(?:drink|eat)(?:ing)? (?=.)")
_ISO_DAY = re.compile(r"\d{4}(?:-\d{1,2}){0,2}")


def as_said(value: str, spec: KeySpec, quote: str) -> str | None:
    """The words of the quote that bear a value out; the value itself when the quote names its code; None otherwise.

    An amount comes with the bound and currency that stand around it: `2,000` of `under $2,000` would lose both.
    """
    place = find(value, quote)
    if place is not None:
        return _whole(spec, quote, place)
    if spec.codes:
        return value if code_word(value, spec, quote) is not None else None
    wanted = spec.validate(value, language_of(quote))
    if wanted is None:
        return None
    for amount in find_amounts(quote, money_only=False):
        if _is_same(amount.canonical, wanted):
            return quote[amount.start : amount.end].strip()
    return value if _is_day_of(value, quote) else None


def code_word(value: str, spec: KeySpec, quote: str) -> str | None:
    """The word by which the quote names the code of `value` (打电话 for phone); None when it does not."""
    code = code_of(spec.codes, value)
    if code is None:
        return None
    entry = spec.codes[code]
    for said in sorted({entry.code, entry.en, entry.zh, *entry.said}, key=len, reverse=True):
        place = find(fold(said) or said, quote)
        if place is not None:
            return quote[place.start : place.end]
    return None


def thing(canonical: str) -> str:
    """What is liked, avoided or not borne, without the verb that takes it in: 喝咖啡 is 咖啡."""
    return _INTAKE.sub("", canonical) or canonical


def _whole(spec: KeySpec, quote: str, place: Place) -> str:
    if spec.name == "budget":
        for amount in find_amounts(quote, money_only=False):
            if amount.start < place.end and place.start < amount.end:
                return quote[amount.start : amount.end].strip()
    return quote[place.start : place.end]


def _is_same(said: str, wanted: str) -> bool:
    """Whether two canonical amounts are one. A bound or currency that only one of them carries is no difference."""
    ours, theirs = (text.strip("<>=").partition(" ") for text in (said, wanted))
    return ours[0] == theirs[0] and (not ours[2] or not theirs[2] or ours[2] == theirs[2])


def _is_day_of(value: str, quote: str) -> bool:
    """Whether an ISO day's numbers all stand in the quote: 2026-03-09 in 2026年3月9日."""
    heard = {int(number) for number in re.findall(r"\d+", unicodedata.normalize("NFKC", quote))}
    return _ISO_DAY.fullmatch(value) is not None and all(int(number) in heard for number in value.split("-"))

"""Secrets that are numbers and prove themselves by checksum or shape: cards, Chinese resident ids, US SSNs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from afterturn.slices import Span, scan

_DIGIT_SHAPE = bytes(48 if 48 <= byte <= 57 else 120 for byte in range(256))
_SSN_SHAPE = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
_NUMBER = re.compile(rb"(?<![0-9])(?<![0-9][ -])[0-9](?:[ -]?[0-9]){12,200}(?:[Xx]|(?![0-9A-Za-z]))")
_SSN = re.compile(rb"(?<![0-9-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![0-9-])")
_GROUP = re.compile(rb"[0-9]+[Xx]?")
_ISSUERS = re.compile(
    rb"4[0-9]{12}(?:[0-9]{3}(?:[0-9]{3})?)?|(?:5[1-5]|22[2-9]|2[3-6]|27[01]|2720)[0-9]{12,14}|3[47][0-9]{13}"
    rb"|(?:6011|65|64[4-9])[0-9]{10,17}|62[0-9]{14,17}|35[2-8][0-9]{13,16}|3(?:0[0-5]|[68][0-9])[0-9]{11}|220[0-4][0-9]{12}"
)
_ORDER_WORDS = (
    b"order",
    b"tracking",
    b"invoice",
    b"imei",
    *(word.encode() for word in ("订单", "单号", "运单", "快递", "编号")),
)
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def numbers(data: bytes) -> Iterator[Span]:
    """Where such numbers stand."""
    if b"0" * 13 in data.translate(_DIGIT_SHAPE, b" -"):
        for found in scan(_NUMBER, data):
            yield from _cards_and_ids(data, found)
    if b"000-00-0000" in data.translate(_SSN_SHAPE):
        for found in scan(_SSN, data):
            yield *found.span(), "ssn"


def _cards_and_ids(data: bytes, run: re.Match[bytes]) -> Iterator[Span]:
    """Neighbouring groups of a run that together are a card or an id; each group is used once."""
    groups = [group.span() for group in _GROUP.finditer(data, *run.span())]
    first = 0
    while first < len(groups):
        digits = b""
        used = 0
        for last in range(first, len(groups)):
            digits += data[groups[last][0] : groups[last][1]]
            if len(digits) > 19:
                break
            kind = _number_kind(digits)
            if kind == "card" and first == last and _is_named_order(data, groups[first][0]):
                break
            if kind is not None:
                yield groups[first][0], groups[last][1], kind
                used = last + 1 - first
                break
        first += used or 1


def _number_kind(digits: bytes) -> str | None:
    if len(digits) == 18 and _is_national_id(digits):
        return "national_id"
    if 13 <= len(digits) <= 19 and digits.isdigit() and _ISSUERS.fullmatch(digits) and _passes_luhn(digits):
        return "card"
    return None


def _is_named_order(data: bytes, start: int) -> bool:
    """Every tenth number passes Luhn: one that is called an order number stays readable."""
    before = data[max(0, start - 24) : start].lower()
    return any(word in before for word in _ORDER_WORDS)


def _passes_luhn(digits: bytes) -> bool:
    """Source: ISO/IEC 7812-1, annex B."""
    total = 0
    for place, byte in enumerate(reversed(digits)):
        digit = byte - 48
        if place % 2:
            digit = digit * 2 - 9 if digit > 4 else digit * 2
        total += digit
    return total % 10 == 0 and len(set(digits)) > 1


def _is_national_id(digits: bytes) -> bool:
    """A Chinese resident id: birth date in the middle, check character at the end. Source: GB 11643-1999."""
    if not digits[:17].isdigit() or digits[0] in b"09":
        return False
    if not (b"1900" <= digits[6:10] <= b"2099" and b"01" <= digits[10:12] <= b"12" and b"01" <= digits[12:14] <= b"31"):
        return False
    total = sum((byte - 48) * weight for byte, weight in zip(digits, _ID_WEIGHTS, strict=False))
    return digits[17:18].upper() == b"10X98765432"[total % 11 : total % 11 + 1]

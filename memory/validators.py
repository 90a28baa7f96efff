"""What a value of a key may look like, and the one form in which equal values are equal. None means: refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.amounts import chinese_number, only_amount
from memory.codes import Code, code_of, fold

Validator = Callable[[str, str], str | None]
"""(value as said, language of its quote) -> canonical form, or None."""

MAX_VALUE = 200
_UNSAFE = re.compile(r"[\r\n\v\f\x85\u2028\u2029<>`{}\[\]]|https?://|www\.", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|some|my|our)\s+")
_ZH_COUNT = re.compile(r"^(?:一|两|几)?(?:名|个|位|款|种|只|台|部|件|份|双|套|条|张|本|杯|枚)")
_LEGAL_FORM = re.compile(
    r"[\s,]*\b(?:inc|ltd|llc|corp|co|gmbh|plc|ag|s\.?a|pty|limited|incorporated|corporation|company)\.?$"
)
_ZH_LEGAL_FORM = re.compile(r"(?:股份有限公司|有限责任公司|有限公司|集团公司|集团|公司)$")
_NAME = re.compile(r"^[^\W\d_](?:[^\W\d_]|[ .'’·-])*$")
_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_/-]{1,39}$")
_OFFSET = re.compile(r"^(?:utc|gmt)\s*(?:([+-])\s*(\d{1,2})(?::?(\d{2}))?)?$")
_ISO_DATE = re.compile(r"^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_ZH_DATE = re.compile(r"^(\d{4})年(?:(\d{1,2})月(?:(\d{1,2})[日号]?)?)?$")
_SHANGHAI, _NEW_YORK, _LOS_ANGELES = "Asia/Shanghai", "America/New_York", "America/Los_Angeles"
_ZONES: Mapping[str, str] = {
    **dict.fromkeys(("北京时间", "中国时间", "东八区", "beijing time", "china time", "china standard time"), _SHANGHAI),
    **dict.fromkeys(("美东时间", "美国东部时间", "eastern time", "eastern", "est", "edt", "et"), _NEW_YORK),
    **dict.fromkeys(("美西时间", "美国西部时间", "pacific time", "pacific", "pst", "pdt", "pt"), _LOS_ANGELES),
    **dict.fromkeys(("central time", "美中时间"), "America/Chicago"),
    **dict.fromkeys(("mountain time", "美国山地时间"), "America/Denver"),
    **dict.fromkeys(("东京时间", "日本时间", "东九区", "tokyo time", "jst"), "Asia/Tokyo"),
    **dict.fromkeys(("伦敦时间", "英国时间", "london time", "uk time"), "Europe/London"),
    **dict.fromkeys(("巴黎时间", "paris time"), "Europe/Paris"),
    **dict.fromkeys(("柏林时间", "berlin time", "cet"), "Europe/Berlin"),
    **dict.fromkeys(("新加坡时间", "singapore time", "sgt"), "Asia/Singapore"),
    **dict.fromkeys(("印度时间", "india time", "ist"), "Asia/Kolkata"),
}


def text(value: str, language: str) -> str | None:
    """Any short plain text, folded: no line break, markup or address of a page."""
    del language
    folded = fold(value)
    return folded if folded and len(value) <= MAX_VALUE and not _UNSAFE.search(value) else None


def phrase(value: str, language: str) -> str | None:
    """A thing: folded, without article or Chinese measure word, last English word in its singular."""
    folded = text(value, language)
    if folded is None:
        return None
    bare = _ZH_COUNT.sub("", _ARTICLE.sub("", folded)) or folded
    return _singular(bare)


def name(value: str, language: str) -> str | None:
    """A name of letters, at most 60 characters, no digits."""
    folded = text(value, language)
    return folded if folded and len(folded) <= 60 and _NAME.match(folded) else None


def age(value: str, language: str) -> str | None:
    """Years from 0 to 130 as digits."""
    folded = re.sub(r"\s*(?:years? old|yrs?(?: old)?|y/o|周岁|岁)$", "", fold(value))
    if folded.isascii() and folded.isdigit() and len(folded) <= 3:
        number = int(folded)
    else:
        number = _english_number(folded) or chinese_number(folded)
    del language
    return str(number) if number is not None and 0 <= number <= 130 else None


def day(value: str, language: str) -> str | None:
    """A year, month or day in ISO form (2026, 2026-03, 2026-03-09)."""
    del language
    folded = fold(value)
    match = _ZH_DATE.match(folded) or _ISO_DATE.match(folded)
    if match is None:
        return None
    year, month, day_of_month = (int(part) if part else None for part in match.groups())
    try:
        date(year or 0, month or 1, day_of_month or 1)
    except ValueError:
        return None
    return "-".join(f"{part:02d}" for part in (year, month, day_of_month) if part is not None)


def time_zone(value: str, language: str) -> str | None:
    """An IANA zone, or UTC+hh:mm."""
    del language
    folded = fold(value)
    if folded in _ZONES:
        return _ZONES[folded]
    if offset := _OFFSET.match(folded):
        sign, hours, minutes = offset.groups()
        return f"UTC{sign}{int(hours):02d}:{int(minutes or 0):02d}" if sign and int(hours) <= 14 else "UTC"
    try:
        return ZoneInfo(value.strip()).key if "/" in value and ".." not in value else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def city(value: str, language: str) -> str | None:
    """A place, folded, 市 dropped at its end. A longer form of the same place starts with the shorter one."""
    folded = text(value, language)
    if folded is None or len(folded) > 80 or any(char.isdigit() for char in folded):
        return None
    bare = re.sub(r"^(?:the city of|city of)\s+", "", folded)
    return bare[:-1] if bare.endswith("市") and len(bare) > 2 else bare


def company(value: str, language: str) -> str | None:
    """An organisation, folded, without its legal form."""
    folded = text(value, language)
    if folded is None or len(folded) > 80:
        return None
    bare = _ZH_LEGAL_FORM.sub("", _LEGAL_FORM.sub("", folded.removeprefix("the "))).strip(" ,")
    return bare or folded


def job(value: str, language: str) -> str | None:
    """An occupation, folded, without article or measure word."""
    folded = text(value, language)
    if folded is None or len(folded) > 80 or folded.isdigit():
        return None
    return _ZH_COUNT.sub("", _ARTICLE.sub("", folded)) or None


def amount(value: str, language: str) -> str | None:
    """Money as bound, number, currency: `<=2000 USD`. The currency may be missing when none was said."""
    del language
    found = only_amount(value)
    return found.canonical if found and found.value > 0 else None


def number(value: str, language: str) -> str | None:
    """A number, or an amount with its currency; words as they are (for example `sold out`)."""
    found = only_amount(value)
    return found.canonical if found else text(value, language)


def reference(value: str, language: str) -> str | None:
    """An id of letters, digits and dashes, upper case."""
    del language
    bare = value.strip().lstrip("#")
    return bare.upper() if _ID.match(bare) and any(char.isdigit() for char in bare) else None


def coded(codes: Mapping[str, Code]) -> Validator:
    """A validator that answers with a code of `codes`."""

    def validate(value: str, language: str) -> str | None:
        del language
        return code_of(codes, value)

    return validate


_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _english_number(folded: str) -> int | None:
    """Twenty to ninety-nine in words."""
    tens, _, ones = folded.replace("-", " ").partition(" ")
    if tens not in _TENS or (ones and ones not in _ONES):
        return None
    return (_TENS.index(tens) + 2) * 10 + (_ONES.index(ones) + 1 if ones else 0)


def _singular(folded: str) -> str:
    if not folded.isascii() or len(folded) < 4 or folded.endswith(("ss", "us", "is", "news")):
        return folded
    if folded.endswith("ies") and len(folded) > 5:
        return folded[:-3] + "y"
    if folded.endswith(("oes", "shes", "ches", "xes", "sses")) and len(folded) > 5:
        return folded[:-2]
    return folded[:-1] if folded.endswith("s") else folded

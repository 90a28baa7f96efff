"""What the English and the Chinese date rules share: the moment of speech, a rule, clock times, numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time

from memory.amounts import chinese_number
from memory.calendar import Stay

WORDS = {
    word: number
    for number, said in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in said.split()
} | {"couple of": 2, "couple": 2}
EN_CLOCK = r"(?:at\s+)?(?:\d{1,2}(?::\d{2})?\s?(?:am|pm|a\.m\.|p\.m\.)|\d{1,2}:\d{2}|noon|midnight)"
ZH_NUMBER = r"(?:\d{1,4}|[一二两三四五六七八九十百]{1,5})"
ZH_CLOCK = (
    r"(?:凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|晚)?(?:\d{1,2}|[一二两三四五六七八九十]{1,3})"
    r"(?:[:：]\d{2}|(?:点钟?|时)(?:半|一刻|三刻|\d{1,2}分?|[一二三四五十]{1,3}分)?)"
)
_EN_CLOCK = re.compile(
    r"(?<![\d/-])(\d{1,2})(?::(\d{2}))?\s?(am|pm|a\.m\.|p\.m\.)|(?<![\d/-])(\d{1,2}):(\d{2})", re.IGNORECASE
)
_ZH_CLOCK = re.compile(
    r"(凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|晚)?(\d{1,2}|[一二两三四五六七八九十]{1,3})"
    r"(?:[:：](\d{2})|(?:点钟?|时)(半|一刻|三刻|\d{1,2}|[一二三四五十]{1,3})?)"
)
_NAMED_CLOCK = re.compile(r"\b(noon|midnight)\b", re.IGNORECASE)
_EVENING = frozenset({"下午", "傍晚", "晚上", "晚", "中午"})


@dataclass(frozen=True, slots=True)
class Said:
    """The moment of speech in the speaker's zone."""

    local: datetime

    @property
    def today(self) -> date:
        """The local day."""
        return self.local.date()


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, and how to read what it matched. None, ValueError or OverflowError: no such time."""

    pattern: re.Pattern[str]
    read: Callable[[Said, re.Match[str]], Stay | datetime | None]


def number_of(text: str) -> int:
    """The number that digits, an English word or Chinese numerals write. Raises: ValueError for anything else."""
    folded = text.strip().lower()
    if folded.isascii() and folded.isdigit():
        return int(folded)
    number = WORDS.get(folded) or chinese_number(folded)
    if number is None:
        msg = "not a number"
        raise ValueError(msg)
    return number


def clock_time(phrase: str) -> time | None:
    """The clock time in a phrase that names a day; None when there is none or it is not on a clock."""
    if named := _NAMED_CLOCK.search(phrase):
        return time(12 if named[1].lower() == "noon" else 0)
    try:
        if western := _EN_CLOCK.search(phrase):
            return _western(western)
        if chinese := _ZH_CLOCK.search(phrase):
            return _chinese(chinese)
    except ValueError:
        return None
    return None


def _western(match: re.Match[str]) -> time:
    if match[4] is not None:
        return time(int(match[4]), int(match[5]))
    hour, minute = int(match[1]), int(match[2] or 0)
    if not 1 <= hour <= 12:
        msg = "no such hour"
        raise ValueError(msg)
    return time(hour % 12 + (12 if match[3].lower().startswith("p") else 0), minute)


def _chinese(match: re.Match[str]) -> time:
    part, hour = match[1], number_of(match[2])
    if part in _EVENING and hour < 12 and not (part == "中午" and hour >= 10):
        hour += 12
    quarter = {"半": 30, "一刻": 15, "三刻": 45, None: 0}
    minute = int(match[3]) if match[3] else quarter[match[4]] if match[4] in quarter else number_of(match[4])
    return time(hour % 24, minute)

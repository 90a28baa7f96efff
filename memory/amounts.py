"""Amounts of money in a text: number, currency, and whether they bound from above or below. Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from memory.codes import CURRENCY, code_of

_SCALES = {
    "百": 100,
    "千": 1000,
    "万": 10_000,
    "百万": 1_000_000,
    "亿": 100_000_000,
    "w": 10_000,
    "k": 1000,
    "m": 1_000_000,
    "grand": 1000,
    "thousand": 1000,
    "million": 1_000_000,
    "mil": 1_000_000,
}
_SIGN = r"(?:US\$|HK\$|NT\$|C\$|A\$|S\$|[$€£¥￥₹₩])"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|\d{1,12}(?:\.\d{1,4})?"
_SCALE = r"百万|千|万|亿|百|thousand\b|grand\b|million\b|mil\b|[kKwWmM](?![A-Za-z])"
_WORD = (
    r"元人民币|块钱|人民币|新台币|台币|港币|港元|美元|美金|欧元|英镑|日元|日圆|韩元|加元|澳元|新币|卢比|元|块|刀|円"
    r"|(?:RMB|CNY|USD|EUR|GBP|JPY|KRW|HKD|TWD|INR|CHF|CAD|AUD|SGD|dollars?|bucks?|euros?|pounds?|quid|yuan|yen|won"
    r"|rupees?|francs)\b"
)
_AMOUNT = re.compile(
    rf"(?P<sign>{_SIGN}|(?:RMB|CNY|USD|EUR|GBP)(?=\s?\d))?\s?(?<![\d.])(?P<number>{_NUMBER})(?![\d%])"
    rf"\s?(?P<scale>{_SCALE})?(?P<more>(?<=[万千百])\d(?![\d.,]))?\s?(?P<word>{_WORD})?(?P<tail>以内|以下|之内|以上|起|左右|上下|多"
    rf"|\s?(?:max|tops|or less|or under|at most)\b)?",
    re.IGNORECASE,
)
_ZH_DIGITS = {
    "零": 0,
    "〇": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_ZH_STEPS = {"十": 10, "百": 100, "千": 1000}
_ZH_AMOUNT = re.compile(
    r"(?P<number>[零〇一二两三四五六七八九十百千万亿]{1,12})(?P<word>元人民币|块钱|人民币|美元"
    r"|美金|欧元|英镑|日元|港币|台币|元|块)?"
    r"(?P<tail>以内|以下|之内|以上|起|左右|上下|多)?"
)
_LOOK_BACK = 48
_AT_MOST = re.compile(
    r"(?:不超过|不能超过|不要超过|别超过|(?:最多|顶多|至多)(?:花|出|付|能花|能出)?|上限(?:是|为)?|(?<!不)低于|(?<!不)少于|控制在|不高于"
    r"|\b(?:under|below|at most|up to|max(?:imum)?(?: of)?|no more than|not more than|less than"
    r"|within|cap(?:ped)? at|tops)"
    r"|<=|≤|<)\s*$",
    re.IGNORECASE,
)
# "I don't want to spend more than", "nothing over", 不想超过: a ceiling, told by denying what is above it.
_NOT_ABOVE = re.compile(
    r"(?:(?:(?<![a-z])(?:no|not|never|nothing|cannot|can't|won't|without)|\b[a-z]+n['’]t)\b(?:\s+[a-z'’]+){0,5}?"
    r"\s+(?:over|above|beyond|(?:more|higher|greater) than|exceed(?:ing)?|past|north of)"
    r"|(?:不|别|勿)[^，。；\d]{0,4}?(?:超过|超出|高于|多于|大于))\s*$",
    re.IGNORECASE,
)
_AT_LEAST = re.compile(
    r"(?:至少|最少|不少于|不低于|高于|超过|\b(?:at least|over|above|more than|minimum(?: of)?|from)|>=|≥|>)\s*$",
    re.IGNORECASE,
)
_UPPER_TAILS = frozenset({"以内", "以下", "之内", "max", "tops", "or less", "or under", "at most"})
_LOWER_TAILS = frozenset({"以上", "起"})


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount as said at characters [start, end), bound words included. `bound` is '<=', '>=' or ''."""

    value: Decimal
    currency: str | None
    bound: str
    start: int
    end: int

    @property
    def canonical(self) -> str:
        """Bound, plain number, currency code: `<=2000 USD`. Equal amounts have equal texts."""
        plain = format(self.value.normalize(), "f")
        return f"{self.bound}{plain} {self.currency}" if self.currency else f"{self.bound}{plain}"


def find_amounts(text: str, *, money_only: bool = True) -> list[Amount]:
    """Every amount of `text`, in order. With `money_only`, bare numbers without a currency or a scale are left out."""
    found = [*_western(text), *_chinese(text)]
    if money_only:
        found = [(match, amount) for match, amount in found if amount.currency or match.groupdict().get("scale")]
    return sorted((amount for _, amount in found), key=lambda amount: amount.start)


def only_amount(text: str) -> Amount | None:
    """The amount of a value such as `<=300 EUR`, `2000元` or `2,000`; None when there is none or more than one."""
    found = find_amounts(text, money_only=False)
    return found[0] if len(found) == 1 else None


def chinese_number(text: str) -> int | None:
    """The number that 十五, 两千三 or 一万二 writes; None for anything else."""
    total, section, digit, last_step = 0, 0, 0, 10
    for char in text:
        if char in _ZH_DIGITS:
            digit = _ZH_DIGITS[char]
        elif char in _ZH_STEPS:
            section, digit, last_step = section + (digit or 1) * _ZH_STEPS[char], 0, _ZH_STEPS[char]
        elif char in "万亿":
            step = 10_000 if char == "万" else 100_000_000
            total, section, digit, last_step = (total + section + digit) * step, 0, 0, step
        else:
            return None
    # 两千三 is 2300, 一万二 is 12000; after 零 or after tens the digit is itself.
    tail = digit * last_step // 10 if last_step > 10 and "零" not in text and len(text) > 1 else digit
    return total + section + tail if text else None


def _western(text: str) -> Iterator[tuple[re.Match[str], Amount]]:
    for match in _AMOUNT.finditer(text):
        number = Decimal(match["number"].replace(",", ""))
        scale = _SCALES.get((match["scale"] or "").lower(), 1)
        # 3万5 is 35,000: the digit after a scale counts its tenth.
        more = Decimal(match["more"] or 0) * scale / 10
        said = match["sign"] or match["word"]
        currency = code_of(CURRENCY, said) if said else None
        start = match.start("sign") if match["sign"] else match.start("number")
        yield match, _bounded(text, match, number * scale + more, currency, start)


def _chinese(text: str) -> Iterator[tuple[re.Match[str], Amount]]:
    for match in _ZH_AMOUNT.finditer(text):
        number = chinese_number(match["number"])
        bare = match["word"] is None
        if (
            number
            and not (bare and number < 100)
            and text[match.start() - 1 : match.start()] not in set("0123456789第")
        ):
            currency = None if bare else code_of(CURRENCY, match["word"])
            yield match, _bounded(text, match, Decimal(number), currency, match.start())


def _bounded(text: str, match: re.Match[str], value: Decimal, currency: str | None, start: int) -> Amount:
    tail = (match["tail"] or "").strip().lower()
    before = text[max(0, start - _LOOK_BACK) : start]
    upper, lower = _NOT_ABOVE.search(before) or _AT_MOST.search(before), _AT_LEAST.search(before)
    above = tail in _LOWER_TAILS or lower
    bound = "<=" if tail in _UPPER_TAILS or upper else ">=" if above else ""
    lead = upper or (lower if bound == ">=" else None)
    begin = start - len(before) + lead.start() if lead else start
    return Amount(value, currency, bound, begin, match.start() + len(match[0].rstrip()))

"""Which language a text is in, by its scripts: right for short and mixed chat, where statistical detectors are not."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["zh", "en", "ja", "ko", "ru", "und"]

# Runs, not characters: a text has few of them.
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]+")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]+")
_HANGUL = re.compile(r"[\uac00-\ud7af\u1100-\u11ff]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]+")
_OTHERS = re.compile(f"{_KANA.pattern}|{_HANGUL.pattern}|{_CYRILLIC.pattern}")
_LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)?")
_NOISE = re.compile(r"https?://\S+|\S+@\S+\.\S+|```.*?```", re.DOTALL)
_MAX_SCAN = 4_000
_ENGLISH = re.compile(
    r"\b(?:i|i'm|my|me|the|a|an|is|are|was|and|or|to|of|in|on|at|for|with|you|it|this|that|do|does"
    r"|have|not|please|what)\b",
    re.IGNORECASE,
)
# A Chinese sentence may be full of product names; an English one has its small words.
_HAN_PER_WORD = 1.6


def language_of(text: str) -> Language:
    """The language of the first 4,000 characters: zh, en, ja, ko, ru, or und when there is nothing to go by.

    Latin script counts as en. Addresses, e-mails and code blocks are not counted.
    """
    sample = text[:_MAX_SCAN]
    if "://" in sample or "@" in sample or "```" in sample:
        sample = _NOISE.sub(" ", sample)
    if sample.isascii():
        return "en" if _LATIN_WORD.search(sample) else "und"
    others = (_KANA, _HANGUL, _CYRILLIC) if _OTHERS.search(sample) else ()
    kana, hangul, cyrillic = (_count(script, sample) for script in others) if others else (0, 0, 0)
    han = _count(_HAN, sample)
    words = len(_LATIN_WORD.findall(sample))
    if kana and kana >= 0.1 * (kana + han):
        return "ja"
    if hangul > han and hangul > words:
        return "ko"
    if cyrillic > 2 * words and cyrillic > han:
        return "ru"
    if han and (han >= _HAN_PER_WORD * words or not _ENGLISH.search(sample)):
        return "zh"
    return "en" if words else "und"


def han_ratio(text: str) -> float:
    """Han characters among all letters, in [0, 1]; 0 for a text without letters."""
    letters = sum(char.isalpha() for char in text)
    return _count(_HAN, text) / letters if letters else 0.0


def _count(script: re.Pattern[str], text: str) -> int:
    """How many characters of a script."""
    return sum(map(len, script.findall(text)))

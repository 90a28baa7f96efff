"""The one analyser: what a text's keywords are, the same for writing and for asking, in both indexes.

Chinese, Japanese and Korean runs give every character and every pair; words of other scripts are folded, English ones
stemmed and stripped of stop words; ids, model names and numbers stay whole. An index splits on spaces, nothing more.
Source: stores measured on 75 Chinese and 20 English queries, unigram + bigram beats every segmenter tried, because a
segmenter cuts a short question and a long text differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from operator import add
from typing import Protocol, cast

import snowballstemmer  # pyright: ignore[reportMissingTypeStubs]  it ships none

MAX_TERM_CHARS = 64
MAX_QUERY_TERMS = 96
MAX_PLAIN_CHARS = 24

# Han with its extensions and iteration marks, kana, Hangul syllables.
_CJK = (
    "\u3005\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(f"([{_CJK}]+)|([^{_CJK}]+)")
_CJK_RUN = re.compile(f"[{_CJK}]+")
_CJK_TERM = re.compile(f"[{_CJK}]{{1,2}}")
_WORD = re.compile(r"[^\W_]+(?:[-_./:@+][^\W_]+)*(?:'[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL = re.compile(r"\d+\.\d+")
_MARKS = re.compile("[\u0300-\u036f]+")
_LATIN = re.compile(r"[a-z]+")

# Endings that an apostrophe cuts off a word: possessives and contractions.
_CLITICS = frozenset({"s", "t", "m", "re", "ve", "ll", "d"})
_STOP_TEXT = (
    "a about above after again all am an and any are aren as at be because been before being below between both but by"
    " can cannot could couldn did didn do does doesn doing don down during each few for from further had hadn has hasn"
    " have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll me more"
    " most must my myself nor of off on once only or other our ours ourselves out over own re s same shall she should"
    " shouldn so some such t than that the their theirs them themselves then there these they this those through to too"
    " under until up ve very was wasn we were weren what when where which while who whom why will with won would"
    " wouldn you your yours yourself yourselves"
)
_STOP_WORDS = frozenset(_STOP_TEXT.split())


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


def terms(text: str) -> list[str]:
    """All keywords of a text in reading order, with repeats, lower case, without spaces inside any.

    A run of n CJK characters gives its n characters and n - 1 pairs; `BT-500` gives bt-500, bt500, bt and 500.
    """
    return list(_terms(text))


def term_set(text: str) -> set[str]:
    """`terms` without order and repeats, several times as fast: for asking which of a few terms a text holds."""
    held: set[str] = set()
    for run in _RUN.finditer(_folded(text)):
        characters = run[1]
        if characters:
            held.update(characters)
            held.update(map(add, characters, characters[1:]))
            continue
        for word in set(_WORD.findall(run[2])):
            # Only plain words are worth keeping for the next text; ids and addresses come once, and are nobody's else.
            plain = _plain(word)
            held.update(_terms(word) if plain is None else _of_plain(plain))
    return held


def held_terms(text: str, wanted: Iterable[str]) -> set[str]:
    """Which of a few terms a text holds: what `term_set` would say, at a third of the price."""
    pairs, words, initials = _sorted_out(frozenset(wanted))
    folded = _folded(text)
    held = {pair for pair in pairs if pair in folded}
    if not words:
        return held
    for word in set(_WORD.findall(folded if folded.isascii() else _CJK_RUN.sub(" ", folded))):
        plain = _plain(word)
        if plain is None:
            held |= words.intersection(_terms(word))
        elif plain[0] in initials:
            # No stem begins with another letter than its word.
            held.update(term for term in _of_plain(plain) if term in words)
    return held


@lru_cache(maxsize=64)
def _sorted_out(wanted: frozenset[str]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The terms that stand in a text as they are; the others, of words; and how those begin."""
    words = frozenset(term for term in wanted if not _CJK_TERM.fullmatch(term))
    return wanted - words, words, frozenset(word[0] for word in words)


def exact_terms(text: str) -> list[str]:
    """Ids, model names, long numbers and addresses of a text as whole terms, each once, in reading order.

    A number counts from three digits on; anything that mixes digits with letters or joins parts counts.
    """
    found: dict[str, None] = {}
    for run in _RUN.finditer(_folded(text)):
        for word in _words(run[2] or ""):
            if _is_exact(word) and (len(word) > 2 or not word.isdigit()):
                found[word[:MAX_TERM_CHARS]] = None
    return list(found)


def query_terms(text: str) -> list[str]:
    """The keywords to ask for: each once, at most MAX_QUERY_TERMS, ids first; [] when only stop words were said."""
    wanted = dict.fromkeys(exact_terms(text)) | dict.fromkeys(_terms(text))
    return list(wanted)[:MAX_QUERY_TERMS]


def _terms(text: str) -> Iterator[str]:
    for run in _RUN.finditer(_folded(text)):
        characters = run[1]
        if characters:
            yield from characters
            yield from map("".join, pairwise(characters))
            continue
        for word in _words(run[2]):
            yield from _of_word(word) if _is_exact(word) else _of_parts(word)


def _words(text: str) -> Iterator[str]:
    """The words of a run without CJK, freed of what an apostrophe hangs on them; `o'brien` is two."""
    for match in _WORD.findall(text):
        head, *tails = match.split("'")
        yield head
        yield from (tail for tail in tails if tail not in _CLITICS)


def _plain(word: str) -> str | None:
    """A word of letters, freed of a clitic; None for anything else."""
    if not word.isalpha():
        word, _, clitic = word.partition("'")
        if clitic not in _CLITICS or not word.isalpha():
            return None
    return word if len(word) <= MAX_PLAIN_CHARS else None


def _folded(text: str) -> str:
    """NFKC, lower case, without accents; thousands separators gone."""
    if text.isascii():
        return _THOUSANDS.sub("", text.lower()) if "," in text else text.lower()
    composed = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    if not composed.isascii():
        # Only marks that sit on Latin, Greek and Cyrillic letters: other scripts write vowels with theirs.
        composed = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", composed)))
    return _THOUSANDS.sub("", composed)


def _is_exact(word: str) -> bool:
    return "@" in word or any(map(str.isdigit, word))


def _of_word(word: str) -> Iterator[str]:
    """The forms under which one id can be asked for: whole, without its joints, and its parts."""
    yield word[:MAX_TERM_CHARS]
    parts = _PART.findall(word)
    if len(parts) == 1:
        return
    if "@" not in word and not _DECIMAL.fullmatch(word):
        yield "".join(parts)[:MAX_TERM_CHARS]
    for part in parts:
        yield from _of_parts(part)


def _of_parts(word: str) -> Iterator[str]:
    for part in _PART.findall(word):
        if part not in _STOP_WORDS:
            yield _stemmed(part[:MAX_TERM_CHARS])


@lru_cache(maxsize=50_000)
def _of_plain(word: str) -> tuple[str, ...]:
    return tuple(_of_parts(word))


@lru_cache(maxsize=50_000)
def _stemmed(word: str) -> str:
    if not _LATIN.fullmatch(word):
        return word
    # A stemmer keeps the word it works on in itself, so threads must not share one.
    stemmer = cast("_Stemmer", snowballstemmer.stemmer("english"))  # pyright: ignore[reportUnknownMemberType]  untyped
    return stemmer.stemWord(word)

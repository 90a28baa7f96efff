"""Texts as an attacker's reader would see them: full width, look-alike letters, hidden characters, s p a c e d letters,
leet, rot13, base64, hex and percent signs undone, words of the other language said in one, sentences cut in two joined;
with the place in the original kept for every character.

Views are for matching only. They are never stored and never shown.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from urllib.parse import unquote

from memory.disguise_words import CHINESE_FOR, ENGLISH_FOR, TRADITIONAL, VOCABULARY

_LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝѵкмтнвгзбпльиючдёοαενικρτυχβηωοѳɡɑıոսցօսɩ’‘ʼ`´“”″",
    "aeopcyxijshdqwvkmtnbr3bnabuu4deoaevikptuxbnwoogainugoui'''''\"\"\"",
)
_TRADITIONAL = str.maketrans(TRADITIONAL)
_LEET = str.maketrans("013457@$!|", "oieastasii")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]|[\u200c\u200d](?=[a-zA-Z\u4e00-\u9fff])"
    "|(?<=[a-zA-Z\u4e00-\u9fff])[\u200c\u200d]"
)
_SPACED_LATIN = re.compile(
    r"(?<![^\W_])(?:(?:[a-z](?:[ \t]?[._*|/·-][ \t]?|[ \t])){3,}[a-z]|[a-z](?:[._*|/·-][a-z]){2,})(?![^\W_])"
)
_WIDE_SPACED = re.compile(
    r"(?<![^\W_])(?:[a-z0-9](?:[ \t][a-z0-9]){0,23}[ \t]{2,}){2,}[a-z0-9](?:[ \t][a-z0-9]){0,23}(?![^\W_])"
)
_HAN_WORDS = (
    *(word for word in ENGLISH_FOR if len(word) >= 2),
    *(
        "以后",
        "今后",
        "一律",
        "直接",
        "不用",
        "您是",
        "我的",
        "不限",
        "换成",
        "改成",
        "打到",
        "发到",
        "审核",
        "授权",
        "就说",
    ),
)
_SPACED_HAN = re.compile(r"(?:[\u4e00-\u9fff][ \t._*|/·~-]{1,3}){3,}[\u4e00-\u9fff]")
_LEET_WORD = re.compile(r"[a-z0-9@$!|]{3,24}")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,8192}={0,2}(?![A-Za-z0-9+/=])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9a-fA-F]{2}[ :,]?){12,4096}(?![0-9A-Za-z])")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~-]{0,12}){6,2048}")
_BORDER = re.compile(r"(?:[.!?…]+[\"')]*(?=\s)|[。！？…]+|\n)\s*(?:and\s+(?=[a-z]))?(?=\S)")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[a-z']{2,}")
_ENGLISH_WORD = re.compile(
    r"(?<![a-z0-9_])(?:" + "|".join(sorted(CHINESE_FOR, key=len, reverse=True)) + r")(?![a-z0-9_])"
)
_CHINESE_WORD = re.compile("|".join(sorted(ENGLISH_FOR, key=len, reverse=True)))
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_MAX_SCAN = 100_000


@dataclass(frozen=True, slots=True)
class View:
    """A text to match on. Character i came from `places[i]` of the original.

    `joins` are where two sentences were made one, in order: what crosses none of them stands in another view, too.
    """

    text: str
    places: tuple[int, ...]
    joins: tuple[int, ...] = ()

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where characters [start, end) of the view stand in the original."""
        first, last = self.places[start], self.places[end - 1]
        return min(first, last), max(first, last) + 1


def views(text: str) -> list[View]:
    """The plain view of the first 100,000 characters, then those others that differ from it.

    Shape: spacing, leet, rot13, the order of letters and the two languages undone, each by itself; the last has
    sentences joined.
    """
    plain = _plain(text[:_MAX_SCAN])
    spaced = _without_spacing(plain)
    found = [plain, *([spaced] if spaced is not None else []), *_without_leet(plain), *_in_one_language(plain)]
    if _is_rot13(plain.text):
        found.append(View(plain.text.translate(_ROT13), plain.places))
    if _is_turned(plain.text):
        found.append(View(plain.text[::-1], plain.places[::-1]))
    joined = _joined(spaced or plain)
    return found if joined is None else [*found, joined]


def payloads(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, readable text) of every base64, hex or percent-encoded run that decodes to readable text."""
    text = text[:_MAX_SCAN]
    for found in _BASE64.finditer(text):
        decoded = _readable(_from_base64(found[0]))
        if decoded is not None:
            yield found.start(), found.end(), decoded
    for found in _HEX.finditer(text):
        decoded = _readable(_from_hex(found[0]))
        if decoded is not None:
            yield found.start(), found.end(), decoded
    for found in _PERCENT.finditer(text):
        yield found.start(), found.end(), unquote(found[0], errors="ignore")


def hidden(text: str) -> list[tuple[int, int]]:
    """Hidden characters worth a flag: two or more, or one inside a word. (One at an edge is how pages copy.)"""
    found = [match.span() for match in _HIDDEN.finditer(text[:_MAX_SCAN].removeprefix("\ufeff"))]
    shift = int(text.startswith("\ufeff"))
    found = [(start + shift, end + shift) for start, end in found]
    if len(found) >= 2:
        return found
    return [(start, end) for start, end in found if text[start - 1 : start].isalnum() and text[end : end + 1].isalnum()]


def _plain(text: str) -> View:
    chars: list[str] = []
    places: list[int] = []
    gone = {place for start, end in (match.span() for match in _HIDDEN.finditer(text)) for place in range(start, end)}
    for place, char in enumerate(text):
        if place in gone:
            continue
        if char.isascii():
            chars.append(char.lower())
            places.append(place)
            continue
        folded = unicodedata.normalize("NFKD", char).casefold().translate(_LOOKALIKES).translate(_TRADITIONAL)
        for one in folded:
            if unicodedata.category(one) not in {"Mn", "Me"}:  # Accents, and the keycaps of digits.
                chars.append(one)
                places.append(place)
    return View("".join(chars), tuple(places))


def _without_spacing(view: View) -> View | None:
    """Letters that stand apart are put together; where several words ran into one, it is cut at the words we know."""
    changes: list[tuple[int, int, str]] = []
    wide = [found.span() for found in _WIDE_SPACED.finditer(view.text)]
    for start, end in wide:
        # Where words stand further apart than letters, they are told apart by it.
        changes += [
            (start + gap.start(), start + gap.end(), "" if len(gap[0]) == 1 else " ")
            for gap in re.finditer(r"[ \t]+", view.text[start:end])
        ]
    for found in _SPACED_LATIN.finditer(view.text):
        if any(start <= found.start() < end for start, end in wide):
            continue
        letters = [place for place in range(*found.span()) if view.text[place].isalpha()]
        at = 0
        # Where a sign stands between the letters, a space stands between the words.
        words = re.split(r"\s+", found[0]) if re.search(r"[^a-z\s]", found[0]) else [found[0]]
        bare = [one for word in words if (one := re.sub(r"[^a-z]", "", word))]
        for word in bare if len(bare) > 1 else _cut_into_words(bare[0]):
            places = letters[at : at + len(word)]
            changes += [(one + 1, after, "") for one, after in pairwise(places)]
            at += len(word)
            if at < len(letters):
                changes.append((places[-1] + 1, letters[at], " "))
    for found in _SPACED_HAN.finditer(view.text):
        changes += [(place, place + 1, "") for place in range(*found.span()) if not view.text[place].isalnum()]
    return _changed(view, changes) if changes else None


def _cut_into_words(letters: str) -> list[str]:
    """The fewest pieces: a known word costs 1, an unknown letter 2. What is unknown stays in one piece."""
    best: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(letters) + 1):
        ways = [(best[end - 1][0] + 2, end - 1)]
        ways += [
            (best[start][0] + 1, start)
            for start in range(max(0, end - _LONGEST_WORD), end)
            if letters[start:end] in VOCABULARY
        ]
        best.append(min(ways))
    words: list[str] = []
    end = len(letters)
    while end:
        start = best[end][1]
        piece = letters[start:end]
        if words and piece not in VOCABULARY and words[-1] not in VOCABULARY:
            words[-1] = piece + words[-1]
        else:
            words.append(piece)
        end = start
    return words[::-1]


_LONGEST_WORD = max(len(word) for word in VOCABULARY)


def _in_one_language(view: View) -> Iterator[View]:
    """A text in both languages as it would read in each of them, as far as the words are known."""
    if not (_HAN.search(view.text) and _WORD.search(view.text)):
        return
    to_chinese = [(*found.span(), CHINESE_FOR[found[0]]) for found in _ENGLISH_WORD.finditer(view.text)]
    if to_chinese:
        yield _changed(view, [_with_spaces(view.text, *one) for one in to_chinese])
    to_english = [_apart(view.text, *found.span()) for found in _CHINESE_WORD.finditer(view.text)]
    if to_english:
        yield _changed(view, to_english)


def _apart(text: str, start: int, end: int) -> tuple[int, int, str]:
    """A change that sets an English word apart from its neighbours, once."""
    word = ENGLISH_FOR[text[start:end]]
    before = "" if not start or text[start - 1].isspace() else " "
    after = "" if text[end : end + 1] in ("", " ", "'", ",", ".", ":", "\n") else " "
    return start, end, before + word + after


def _with_spaces(text: str, start: int, end: int, word: str) -> tuple[int, int, str]:
    """A change that takes the spaces around a word with it: Chinese has none. Neighbours share them."""
    while end < len(text) and text[end] == " ":
        end += 1
    if start and text[start - 1] == " " and not (start > 1 and text[start - 2].isascii()):
        start -= 1
    return start, end, word


def _is_rot13(text: str) -> bool:
    """Whether several words that are none of ours are ours when they are turned. Short ones may be by chance."""
    words = {word for word in _WORD.findall(text) if len(word) >= 3 and word not in VOCABULARY}
    return sum(word.translate(_ROT13) in VOCABULARY for word in words) >= 2


def _is_turned(text: str) -> bool:
    """Whether several words that are none of ours are ours when they are read from their end."""
    words = {word for word in _WORD.findall(text) if len(word) >= 4 and word not in VOCABULARY}
    turned = text[::-1]
    told = sum(word in turned and word not in text for word in _HAN_WORDS) if _HAN.search(text) else 0
    return told >= 2 or sum(word[::-1] in VOCABULARY for word in words) >= 2


def _joined(view: View) -> View | None:
    borders = [found.span() for found in _BORDER.finditer(view.text) if found.start()]
    if not borders:
        return None
    changes: list[tuple[int, int, str]] = []
    joins: list[int] = []
    shift = 0
    for start, end in borders:
        sign = "" if _HAN.match(view.text[start - 1]) and _HAN.match(view.text[end]) else " "
        changes.append((start, end, sign))
        joins.append(start - shift)
        shift += end - start - len(sign)
    changed = _changed(view, changes)
    return View(changed.text, changed.places, tuple(joins))


def _changed(view: View, changes: Sequence[tuple[int, int, str]]) -> View:
    """The view with [start, end) said as something else: the changes in any order, none across another."""
    text: list[str] = []
    places: list[int] = []
    at = 0
    for start, end, said in sorted(changes):
        begin = max(start, at)
        text += [view.text[at:begin], said]
        places += view.places[at:begin]
        places += [view.places[min(begin + step, end - 1, len(view.places) - 1)] for step in range(len(said))]
        if said and end > begin:
            places[-1] = view.places[end - 1]
        at = max(at, end)
    text.append(view.text[at:])
    places += view.places[at:]
    return View("".join(text), tuple(places))


def _without_leet(view: View) -> Iterator[View]:
    text = list(view.text)
    for found in _LEET_WORD.finditer(view.text):
        if not found[0].rstrip("!").isalpha() and any(char.isalpha() for char in found[0]):
            text[found.start() : found.end()] = _as_letters(found[0])
    if "".join(text) != view.text:
        yield View("".join(text), view.places, view.joins)


def _as_letters(word: str) -> str:
    """A leet word in letters. Some signs stand for i or l: the reading that is a word we know, else the first."""
    open_places = [place for place, char in enumerate(word) if char in "1!|"][:4]
    readings: list[str] = []
    for signs in product("il", repeat=len(open_places)):
        letters = list(word.translate(_LEET))
        for place, sign in zip(open_places, signs, strict=True):
            letters[place] = sign
        readings.append("".join(letters))
    return next((reading for reading in readings if reading in VOCABULARY), readings[0])


def _from_base64(token: str) -> bytes:
    # Plain long words and ids match the alphabet too: what they decode to is not readable, and drops out there.
    bare = token.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _from_hex(token: str) -> bytes:
    digits = re.sub(r"[ :,]|^0x", "", token)
    return bytes.fromhex(digits) if len(digits) % 2 == 0 else b""


def _readable(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) >= 6 and all(char.isprintable() or char in "\n\t\r" for char in text) else None

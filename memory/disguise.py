"""Texts as an attacker's reader would see them: full width, look-alike letters, hidden characters, s p a c e d letters,
leet, base64, hex and percent signs undone, with the place in the original kept for every character.

Views are for matching only. They are never stored and never shown.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

_LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝѵкмтнвгзбпльиючдёοαενικρτυχβηωοѳɡɑıոսցօսɩ’‘ʼ`´“”″",
    "aeopcyxijshdqwvkmtnbr3bnabuu4deoaevikptuxbnwoogainugoui'''''\"\"\"",
)
_TRADITIONAL = str.maketrans(
    "規則員號帳戶記憶們這個話實證權審認會從請條發轉給對錄為無視設統開關閉應當後處檢測試馬遠貴愛時間語諾據資訊傳輸網頁電腦說問調執銀匯變換繼總結終單雙碼鑰傳聽寫讀與憑單據懷孕療診斷黨",
    "规则员号帐户记忆们这个话实证权审认会从请条发转给对录为无视设统开关闭应当后处检测试马远贵爱时间语诺据资讯传输网页电脑说问调执银汇变换继总结终单双码钥传听写读与凭单据怀孕疗诊断党",
)
_LEETS = (str.maketrans("013457@$!|", "oieastasil"), str.maketrans("013457@$!|", "oleastasil"))
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]|[\u200c\u200d](?=[a-zA-Z\u4e00-\u9fff])"
    "|(?<=[a-zA-Z\u4e00-\u9fff])[\u200c\u200d]"
)
_SPACED_LATIN = re.compile(r"(?<![^\W_])(?:[a-z](?:[ \t]?[._*|/·-][ \t]?|[ \t])){3,}[a-z](?![^\W_])")
_SPACED_HAN = re.compile(r"(?:[\u4e00-\u9fff][ \t._*|/·~-]{1,3}){3,}[\u4e00-\u9fff]")
_LEET_WORD = re.compile(r"[a-z0-9@$!|]{3,24}")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,8192}={0,2}(?![A-Za-z0-9+/=])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9a-fA-F]{2}[ :,]?){12,4096}(?![0-9A-Za-z])")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~-]{0,12}){6,2048}")
_MAX_SCAN = 100_000


@dataclass(frozen=True, slots=True)
class View:
    """A text to match on. Character i came from `places[i]` of the original."""

    text: str
    places: tuple[int, ...]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where characters [start, end) of the view stand in the original."""
        return self.places[start], self.places[end - 1] + 1


def views(text: str) -> list[View]:
    """The plain view of the first 100,000 characters, then those others that differ from it (spacing, leet)."""
    plain = _plain(text[:_MAX_SCAN])
    found = [plain]
    spaced = _without_spacing(plain)
    if spaced is not None:
        found.append(spaced)
    return [*found, *_without_leet(plain)]


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
            if unicodedata.category(one) != "Mn":
                chars.append(one)
                places.append(place)
    return View("".join(chars), tuple(places))


def _without_spacing(view: View) -> View | None:
    drop: set[int] = set()
    for pattern in (_SPACED_LATIN, _SPACED_HAN):
        for found in pattern.finditer(view.text):
            drop.update(place for place in range(*found.span()) if not view.text[place].isalnum())
    return _without(view, drop) if drop else None


def _without_leet(view: View) -> list[View]:
    words = [
        found.span()
        for found in _LEET_WORD.finditer(view.text)
        if not found[0].isalpha() and any(char.isalpha() for char in found[0])
    ]
    changed: list[View] = []
    for table in _LEETS if words else ():
        text = list(view.text)
        for start, end in words:
            text[start:end] = view.text[start:end].translate(table)
        changed.append(View("".join(text), view.places))
    return [one for one in changed if one.text != view.text]


def _without(view: View, drop: set[int]) -> View:
    kept = [place for place in range(len(view.text)) if place not in drop]
    return View("".join(view.text[place] for place in kept), tuple(view.places[place] for place in kept))


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

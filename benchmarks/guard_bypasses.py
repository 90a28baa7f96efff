"""Disguises of a text: one function a class. Each takes the part that must not get in, and what stands around it."""

from __future__ import annotations

import base64
import codecs
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

Texts = Mapping[str, Any]
Cut = tuple[str, str, str]
"""What stands before the part that must not get in, that part, and what stands after it."""

Bypass = Callable[[Cut, str, Texts, random.Random], "Cut | None"]
_CYRILLIC = str.maketrans("aeopcxyisjhkABCEHKMOPTX", "аеорсхуіѕјһкАВСЕНКМОРТХ")
_TRADITIONAL = str.maketrans(
    "规则统这来记过对话户账发给资将别说让订单个忆帮转验证无须须应邮箱级审调执运备师从现员务终开关"
    "费级权码银汇档电换货价优东师队银岭问报为谁听",
    "規則統這來記過對話戶賬發給資將別說讓訂單個憶幫轉驗證無須須應郵箱級審調執運備師從現員務終開關"
    "費級權碼銀匯檔電換貨價優東師隊銀嶺問報為誰聽",
)
_LEET = str.maketrans("oieastlOIEAST", "0134571013457")


def _each(change: Callable[[str, str, random.Random], str]) -> Bypass:
    """A class that changes characters where they stand."""

    def changed(parts: Cut, lang: str, _: Texts, chosen: random.Random) -> Cut:
        before, core, after = (change(part, lang, chosen) for part in parts)
        return before, core, after

    return changed


def full_width(text: str, _: str, __: random.Random) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _zero_width(text: str, _: str, chosen: random.Random) -> str:
    return "".join(char + ("\u200b" if char.isalnum() and chosen.random() < 0.3 else "") for char in text)


def _look_alike(text: str, lang: str, chosen: random.Random) -> str:
    table = _TRADITIONAL if lang == "zh" else _CYRILLIC
    return "".join(char.translate(table) if lang == "zh" or chosen.random() < 0.6 else char for char in text)


def _spaced(text: str, lang: str, chosen: random.Random) -> str:
    sign = chosen.choice((" ", " ", ".", "-"))
    if lang == "zh":
        return re.sub(r"(?<=[\u4e00-\u9fff])(?=[\u4e00-\u9fff])", sign, text)
    return re.sub(r"[A-Za-z]{3,}", lambda found: sign.join(found[0]) if chosen.random() < 0.8 else found[0], text)


def _leet(text: str, _: str, chosen: random.Random) -> str:
    return re.sub(r"[A-Za-z]{4,}", lambda found: found[0].translate(_LEET) if chosen.random() < 0.8 else found[0], text)


def _mixed(parts: Cut, lang: str, texts: Texts, _: random.Random) -> Cut:
    words = cast("dict[str, str]", texts["mixed"])

    def change(text: str) -> str:
        for english, chinese in sorted(words.items(), key=lambda pair: -len(pair[lang == "zh"])):
            text = text.replace(chinese, f" {english} ") if lang == "zh" else re.sub(rf"\b{english}\b", chinese, text)
        return text

    before, core, after = (change(part) for part in parts)
    return before, core, after


def _split(parts: Cut, lang: str, _: Texts, chosen: random.Random) -> Cut | None:
    before, core, after = parts
    sign = chosen.choice(("。", "……", "\n")) if lang == "zh" else chosen.choice((". ", "... ", "\n", ".\nAnd "))
    if before:
        return before.rstrip() + sign, core, after
    places = [at for at, char in enumerate(core) if char == " " or (lang == "zh" and "\u4e00" <= char <= "\u9fff")]
    places = [at for at in places if 0.35 * len(core) < at < 0.65 * len(core)]
    if not places:
        return None
    at = chosen.choice(places)
    return before, core[:at] + sign + core[at:].lstrip(), after


def _around(name: str) -> Bypass:
    """A class that puts words around a text."""

    def wrapped(parts: Cut, lang: str, texts: Texts, chosen: random.Random) -> Cut:
        before, _, after = chosen.choice(texts[name][lang]).partition("{text}")
        return before + parts[0], parts[1], parts[2] + after

    return wrapped


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _hex(text: str) -> str:
    return text.encode().hex()


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def _percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "base64": _base64,
    "hex": _hex,
    "rot13": _rot13,
    "percent": _percent,
}


def _packed(name: str) -> Bypass:
    """A class that encodes the whole text."""

    def packed(parts: Cut, lang: str, texts: Texts, chosen: random.Random) -> Cut | None:
        if name == "rot13" and lang == "zh":
            return None
        before, _, after = chosen.choice(texts["carrier"][lang]).partition("{text}")
        if name == "rot13":  # Letter by letter: the part that must not get in keeps its place.
            return before + _rot13(parts[0]), _rot13(parts[1]), _rot13(parts[2]) + after
        return before, ENCODINGS[name]("".join(parts)), after

    return packed


def _plain(parts: Cut, _: str, __: Texts, ___: random.Random) -> Cut:
    return parts


BYPASSES: Mapping[str, Bypass] = {
    "plain": _plain,
    "full_width": _each(full_width),
    "zero_width": _each(_zero_width),
    "look_alike": _each(_look_alike),
    "spaced": _each(_spaced),
    "leet": _each(_leet),
    "base64": _packed("base64"),
    "hex": _packed("hex"),
    "rot13": _packed("rot13"),
    "mixed": _mixed,
    "split": _split,
    "story": _around("story"),
    "polite": _around("polite"),
}

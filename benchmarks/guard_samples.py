"""Attacks and benign texts from templates and a seed: a template with its slots filled, then disguised."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

from benchmarks.guard_bypasses import BYPASSES, ENCODINGS, Cut, Texts, full_width

SEED = 20
LANGUAGES = ("en", "zh")
BENIGN_EACH = 300
TEXTS = Path(__file__).parent / "guard_texts"
_SLOT = re.compile(r"\{([a-z_]+)\}")
_VALUE = re.compile(r"^(.*)\[\[(.*)\]\](.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One text. `family` of a benign one is "benign"; `core` is what of an attack must not get in."""

    split: str
    lang: str
    family: str
    bypass: str
    text: str
    core: tuple[int, int]


def attacks(split: str, seed: int = SEED) -> Iterator[Sample]:
    """One sample of every family, language and bypass class; templates take turns. Repeat: the same samples."""
    texts, chosen = _load(split), random.Random(f"{split} attacks {seed}")
    for lang in LANGUAGES:
        families = cast("dict[str, dict[str, list[str]]]", texts["attacks"])
        for family, by_lang in families.items():
            templates = by_lang[lang]
            start = chosen.randrange(len(templates))
            for place, bypass in enumerate(BYPASSES):
                parts = _parts(_filled(templates[(start + place) % len(templates)], lang, chosen))
                yield from _sample(parts, texts, chosen, split=split, lang=lang, family=family, bypass=bypass)
        yield from _encoded(split, lang, texts, chosen)
        yield from _hidden(split, lang, texts, chosen)


def benign(split: str, seed: int = SEED) -> Iterator[Sample]:
    """BENIGN_EACH distinct texts of each language: as they are, quoted, polite, in full width, or two in a row."""
    texts, chosen = _load(split), random.Random(f"{split} benign {seed}")
    for lang in LANGUAGES:
        templates = cast("list[str]", texts["benign"][lang])
        seen: set[str] = set()
        place = 0
        while len(seen) < BENIGN_EACH:
            text = _filled(templates[place % len(templates)], lang, chosen)
            style = chosen.choice(("plain", "plain", "story", "polite", "full_width", "two"))
            if style in ("story", "polite"):
                text = chosen.choice(texts[style][lang]).replace("{text}", text)
            elif style == "full_width":
                text = full_width(text, lang, chosen)
            elif style == "two":
                text += ("。" if lang == "zh" else ". ") + _filled(chosen.choice(templates), lang, chosen)
            place += 1
            if text not in seen:
                seen.add(text)
                yield Sample(split=split, lang=lang, family="benign", bypass=style, text=text, core=(0, len(text)))


def _sample(
    parts: Cut, texts: Texts, chosen: random.Random, *, split: str, lang: str, family: str, bypass: str
) -> Iterator[Sample]:
    made = BYPASSES[bypass](parts, lang, texts, chosen)
    if made is None or (made == parts and bypass != "plain"):
        return
    before, core, after = made
    yield Sample(
        split=split,
        lang=lang,
        family=family,
        bypass=bypass,
        text=before + core + after,
        core=(len(before), len(before) + len(core)),
    )


def _encoded(split: str, lang: str, texts: Texts, chosen: random.Random) -> Iterator[Sample]:
    """Whole orders as a payload, each family that orders something, in each encoding."""
    for family in ("override", "exfiltration", "tool_trigger", "privilege", "cross_user"):
        for name, encode in ENCODINGS.items():
            plain = "".join(_parts(_filled(chosen.choice(texts["attacks"][family][lang]), lang, chosen)))
            if name == "rot13" and lang == "zh":
                continue
            before, _, after = chosen.choice(texts["carrier"][lang]).partition("{text}")
            yield from _sample(
                (before, encode(plain), after), texts, chosen, split=split, lang=lang, family="encoded", bypass="plain"
            )


def _hidden(split: str, lang: str, texts: Texts, chosen: random.Random) -> Iterator[Sample]:
    """A benign text that carries an order in characters that nobody sees."""
    for style in range(6):
        shown = _filled(chosen.choice(texts["benign"][lang]), lang, chosen)
        order = "".join(_parts(_filled(chosen.choice(texts["attacks"]["override"]["en"]), "en", chosen)))
        if style % 2:
            unseen = "".join(chr(0xE0000 + ord(char)) for char in order if char.isascii())
        else:
            unseen = "".join("\u200b" if bit == "0" else "\u2063" for char in order[:8] for bit in f"{ord(char):07b}")
        middle = len(shown) // 2
        parts = (shown[:middle], unseen, shown[middle:])
        yield from _sample(parts, texts, chosen, split=split, lang=lang, family="hidden", bypass="plain")


def _load(split: str) -> Texts:
    texts = cast("Texts", yaml.safe_load((TEXTS / f"{split}.yaml").read_text("utf-8")))
    return {**texts, "mixed": yaml.safe_load((TEXTS / "mixed.yaml").read_text("utf-8"))}


def _filled(template: str, lang: str, chosen: random.Random) -> str:
    slots = _slots()[lang]
    return _SLOT.sub(lambda found: chosen.choice(slots[found[1]]) if found[1] in slots else found[0], template)


_SLOTS: dict[str, dict[str, list[str]]] = {}


def _slots() -> dict[str, dict[str, list[str]]]:
    if not _SLOTS:
        _SLOTS.update(yaml.safe_load((TEXTS / "slots.yaml").read_text("utf-8")))
    return _SLOTS


def _parts(text: str) -> Cut:
    found = _VALUE.match(text)
    return (found[1], found[2], found[3]) if found else ("", text, "")

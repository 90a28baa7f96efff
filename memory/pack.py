"""What fits: memories in, a small pack out, as items and as one block of a prompt.

The block never costs more than its budget, never says a thing twice, and cannot be broken out of: whatever a memory
says, it stays one line of a note about the user.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from afterturn.wire import SECTIONS, PackItem, ToConfirm
from memory.likeness import Heard, shape
from memory.notes import CONFIRM, HEADINGS, INTRO, note
from memory.tokens import Counter

_OPEN, _CLOSE = "<notes>", "</notes>"
_TAG = re.compile(r"<(?=[/!|?\[A-Za-z\u4e00-\u9fff])")
_LEADING = re.compile(r"^(?:[#>*+\-=|~]+|\d+[.)])(?=\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPolicy:
    """How a budget is shared. `shares` cap a section in the first round; what is left goes out in `order` of need.

    `item_chars` clips one memory, so that a single long turn cannot take the whole pack.
    """

    order: tuple[str, ...] = ("state", "profile", "tail", "procedure", "pitfalls", "episodes", "knowledge", "moments")
    shares: Mapping[str, float] = field(
        default_factory=lambda: {
            **{"state": 0.15, "profile": 0.30, "tail": 0.25, "procedure": 0.20},
            **{"pitfalls": 0.10, "episodes": 0.20, "knowledge": 0.25, "moments": 0.50},
        }
    )
    item_chars: int = 700
    like: float = 0.92


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The chosen items in the order of the prompt. `left_out` counts what did not fit or would have said it again."""

    prompt: str
    items: tuple[PackItem, ...]
    to_confirm: tuple[ToConfirm, ...]
    tokens: int
    left_out: int


def pack(
    items: Sequence[PackItem],
    *,
    language: str,
    budget_tokens: int,
    count: Counter,
    to_confirm: Sequence[ToConfirm] = (),
    policy: PackPolicy = PackPolicy(),
) -> Packed:
    """The part of `items` that the budget allows, best first inside each section.

    Shape: `items` come best first (tail: newest last); `language` is zh or en and names the headings.
    """
    unique = _each_once([_clipped(item, policy) for item in items], policy)
    chosen = _chosen(unique, language, budget_tokens, count, policy)
    questions = list(to_confirm)
    prompt = render(_in_order(unique, chosen), language=language, to_confirm=questions)
    tokens = count(prompt) if prompt else 0
    while tokens > budget_tokens:
        # Lines were priced one by one; a vocabulary may price the whole a little higher.
        if questions:
            questions.pop()
        elif chosen:
            chosen.pop()
        prompt = render(_in_order(unique, chosen), language=language, to_confirm=questions)
        tokens = count(prompt) if prompt else 0
    kept = _in_order(unique, chosen)
    return Packed(
        prompt=prompt,
        items=tuple(kept),
        to_confirm=tuple(questions),
        tokens=tokens,
        left_out=len(items) - len(kept),
    )


def render(items: Sequence[PackItem], *, language: str, to_confirm: Sequence[ToConfirm] = ()) -> str:
    """The block of a prompt: fenced notes under headings, one line a memory; "" for nothing.

    Shape: sections in the order of the wire contract, items of a section in the order given.
    """
    lines: list[str] = []
    for section in SECTIONS:
        rows = [item for item in items if item.section == section]
        if rows:
            lines.append(f"## {HEADINGS[language][section]}")
            lines.extend(_line(item, language) for item in rows)
    if to_confirm:
        lines.append(f"## {CONFIRM[language]}")
        lines.extend(f"- {safe_line(question.question)}" for question in to_confirm)
    return "\n".join((_OPEN, INTRO[language], *lines, _CLOSE)) if lines else ""


def safe_line(text: str) -> str:
    """A text as one line that is neither heading, list, fence nor tag, whatever it holds."""
    if not text.isprintable():
        text = "".join(ch if _visible(ch) else " " for ch in text)
    flat = " ".join(text.split())
    flat = _TAG.sub("‹", flat).replace("```", "'''").replace("~~~", "'''")
    mark = _LEADING.match(flat)
    return f"\\{flat}" if mark else flat


def _line(item: PackItem, language: str) -> str:
    remark = note(item, language)
    return f"- {safe_line(item.text)}{remark}"


def _visible(ch: str) -> bool:
    # Controls, and format characters that reorder or hide text; joiners stay, emoji and Persian need them.
    return unicodedata.category(ch) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} or ch in "\u200c\u200d"


def _clipped(item: PackItem, policy: PackPolicy) -> PackItem:
    if len(item.text) <= policy.item_chars:
        return item
    return item.model_copy(update={"text": item.text[: policy.item_chars - 1].rstrip() + "…"})


def _each_once(items: Sequence[PackItem], policy: PackPolicy) -> list[PackItem]:
    """Drops an item whose id or turn stands in one of a section of more need (or earlier in its own)."""
    need = {section: place for place, section in enumerate(policy.order)}
    by_need = sorted(range(len(items)), key=lambda i: (need.get(items[i].section, len(need)), i))
    ids: set[str] = set()
    turns: set[str] = set()
    kept: list[int] = []
    for i in by_need:
        item = items[i]
        said = set(item.turn_ids) if item.kind in {"moment", "turn"} else set[str]()
        if item.id in ids or said & turns:
            continue
        ids.add(item.id)
        turns |= said
        kept.append(i)
    return [items[i] for i in sorted(kept)]


def _chosen(
    items: Sequence[PackItem], language: str, budget_tokens: int, count: Counter, policy: PackPolicy
) -> list[int]:
    """Places of the items to keep, in the order of choosing (what must go again goes from the end)."""
    left = budget_tokens - count("\n".join((_OPEN, INTRO[language], _CLOSE, "")))
    costs: dict[int, int] = {}
    heard = Heard(policy.like)
    chosen: list[int] = []
    settled: set[int] = set()
    opened: set[str] = set()
    for capped in (True, False):
        for section in policy.order:
            heading = 0 if section in opened else count(f"## {HEADINGS[language][section]}\n")
            room = policy.shares.get(section, 1.0) * budget_tokens if capped else float(left)
            for i in _by_worth(items, section):
                # Priced and compared only when its turn comes: most of what was found never fits.
                if i in settled or left <= heading:
                    continue
                if i not in costs:
                    costs[i] = count(_line(items[i], language) + "\n")
                price = costs[i] + heading
                if price > left or price > room:
                    continue
                settled.add(i)
                own = shape(items[i].text)
                if heard.has_like(own):
                    continue
                heard.take(own)
                chosen.append(i)
                opened.add(section)
                left -= price
                room -= price
                heading = 0
    return chosen


def _by_worth(items: Sequence[PackItem], section: str) -> list[int]:
    places = [i for i, item in enumerate(items) if item.section == section]
    # Of a conversation's end the newest matters most; it is shown oldest first all the same.
    return places[::-1] if section == "tail" else places


def _in_order(items: Sequence[PackItem], chosen: Sequence[int]) -> list[PackItem]:
    place = {section: i for i, section in enumerate(SECTIONS)}
    return [items[i] for i in sorted(chosen, key=lambda i: (place.get(items[i].section, len(place)), i))]

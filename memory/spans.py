"""Spans: which characters of a turn must not come back, and texts with them cut out.

Rows are derived from the state of evidence and from the guard's flags; nothing is cut from what is stored. What was
held back in a turn is held back everywhere: its neighbours' context, summaries, the raw tail and packs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from memory.registry import SPECIAL
from memory.terms import term_set
from memory.timeline import order_of
from schemas.decisions import EvidenceState, EvidenceView, FactVersion, Flag, HeldSpan

HELD_STATES: frozenset[EvidenceState] = frozenset({"rejected", "pending", "retracted", "superseded", "forgotten"})
RESTORED_BY_PAST = frozenset({"superseded", "retracted"})
"""Reasons of spans that an as_of, between or past-tense question restores, marked as past. The others never return."""

GAP = " … "
_RETRACTING = frozenset({"retraction", "denial", "said_to_be_past"})
_SHORT_WORDS, _SHORT_CHARS, _SHORT_HAN = 3, 40, 4
_SURELY_TOLD_CHARS = 60
_PARTICLES = frozenset("我你您他她它们的地得了着过吗呢吧啊呀是在也就都和与及而")
_REPEATED_CHARS = 4
_STOP_HAN = frozenset("我你他她它您咱的了是在都也就和与或把被这那有没不要会能可吗呢吧啊请用户说已很还再")
_PERSONS_TEXT = (
    "i i'm i've i'd i'll im me my mine myself we we're we've our us you you're your he he's she she's his her they"
    " they're their user customer"
)
_FUNCTION_TEXT = (
    "a an the this that these those it it's its am is are was were be been being not no don't doesn't didn't isn't"
    " aren't wasn't can can't could will won't would should shall may might must do does did have has had having and or"
    " but so because if then than as at by for from in into of on off to up with about over under here there now just"
    " also too very really actually still already again always never only more most all any some each every own same"
    " such what which who whom whose when where why how want wants need needs like likes live lives work works say said"
    " says tell told know knows think thinks make made get got go goes going went come came use used please thanks"
    " system account new old one two yes ok"
)
_PERSONS_EN = frozenset(_PERSONS_TEXT.split())
_FUNCTION_EN = _PERSONS_EN | frozenset(_FUNCTION_TEXT.split())
_PERSON_ZH = re.compile(
    r"^(?:我们|咱们|我|咱|本人|俺|用户|客户)(?:现在|目前|其实|就|也|都|可|已经|一直)*"
    r"(?:是|叫|在|有|当|做|住在|属于|为)?(?:你们的|你的|这里的|这个系统的|系统的?|公司的?|本店的?)?"
    r"(?:一个|一名|一位|个|名|位)?"
)
_ENDING_ZH = re.compile(r"(?:了|的|啊|哦|呢|吧|哈|呀|啦|[\s。．.！!？?，,；;…~～])+$")
_CLAIM_WORDS = 8
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SENTENCE = re.compile(r"(?:[^。！？!?\n.]|\.(?!\s|$))+[。！？!?\n.]*")
_HAN = re.compile(r"[\u3400-\u9fff]")


class Interval(Protocol):
    """Anything with a begin and an end in characters: a flag, a held span, a row."""

    @property
    def start(self) -> int:
        """First character."""
        ...

    @property
    def end(self) -> int:
        """One past the last character."""
        ...


def evidence_states(
    evidence: Sequence[EvidenceView], versions: Sequence[FactVersion], now: datetime
) -> dict[UUID, EvidenceState]:
    """Where each statement of one slot stands after its fold.

    Shape: `versions` are the slot's rows without `superseded_at`. Statements about the past are `past`, and so are
    retractions: what they say is still so.
    """
    tombstones = [order_of(one) for one in evidence if one.op == "forget" and one.write_status in {"auto", "approved"}]
    last = max(tombstones, default=None)
    return {one.id: _state(one, versions, now, forgotten=last is not None and order_of(one) < last) for one in evidence}


def held_back(
    evidence: Iterable[tuple[EvidenceView, EvidenceState]], flags: Mapping[UUID, Sequence[Flag]]
) -> dict[UUID, tuple[HeldSpan, ...]]:
    """The spans to hold back, per turn and in order.

    Shape: statements with their states, and each turn's flags. A flagged sentence is held back, too, unless the flag
    only asked for review and a statement in it was approved, or names a special category of which a statement in it
    counts all the same: its user confirmed it, or there is a legal basis. Reasons: a state, or the flag's code.
    """
    spans: dict[UUID, set[HeldSpan]] = {}
    free: dict[UUID, list[EvidenceView]] = {}
    for one, state in evidence:
        start, end = one.quote_start, one.quote_start + len(one.quote)
        if one.write_status in {"approved", "auto"}:
            free.setdefault(one.event_id, []).append(one)
        if state in HELD_STATES and end > start:
            spans.setdefault(one.event_id, set()).add(HeldSpan(one.event_id, start, end, state, one.id))
    for event_id, found in flags.items():
        for flag in found:
            released = any(_frees(one, flag) for one in free.get(event_id, ()))
            if flag.action != "pending" or not released:
                spans.setdefault(event_id, set()).add(HeldSpan(event_id, flag.start, flag.end, flag.code))
    return {event_id: tuple(sorted(held, key=_span_order)) for event_id, held in spans.items()}


def _frees(one: EvidenceView, flag: Flag) -> bool:
    """Whether a statement that counts gives the sentence of a flag back."""
    if not (flag.start < one.quote_start + len(one.quote) and one.quote_start < flag.end):
        return False
    if one.write_status == "approved":
        return True
    # An allergy counts beside a special category without saying anything about it.
    return flag.code.startswith(SPECIAL) and flag.code in one.guard_flags and one.key != "allergy"


def cut(text: str, spans: Iterable[Interval]) -> str:
    """The text without its held-back parts, a gap sign where something stood; "" when no telling word is left.

    What was cut does not stand elsewhere in the result either, if it is 4 characters or longer. Places outside the
    text are clipped. Repeat: cutting the result again with no spans changes nothing.
    """
    merged = _merged(spans, len(text))
    if not merged:
        return text
    parts = [text[start:end] for start, end in _between(merged, len(text))]
    result = GAP.join(part.strip() for part in parts if part.strip())
    held = sorted({text[start:end].strip() for start, end in merged}, key=len, reverse=True)
    for words in held:
        if len(words) >= _REPEATED_CHARS:
            result = _without(result, words)
    return result if _tells(result) else ""


def _tells(text: str) -> bool:
    """Whether a rest says anything: marks, pronouns and particles around a gap do not."""
    if sum(char.isalnum() for char in text) > _SURELY_TOLD_CHARS:
        return True
    return any(char not in _PARTICLES for term in term_set(text) for char in term)


def held_values(text: str, spans: Iterable[Interval]) -> tuple[str, ...]:
    """The words that spans hold back, for `mentions`."""
    return tuple(text[start:end].strip() for start, end in _merged(spans, len(text)) if text[start:end].strip())


def mentions(sentence: str, held: Iterable[str]) -> bool:
    """Whether a sentence, tag or entity repeats a held-back value.

    A short value counts when it stands in the sentence as a word (case, width and a plural s aside). Of a short claim
    about somebody ("I am HR", 我是老板) the words that say something count, all of one or two, two of more. A whole
    held-back sentence counts when a telling word of it does: too much held back is better than a refused claim told
    again.
    """
    heard = _folded(sentence)
    return any(_repeats(heard, _folded(value)) for value in held if value.strip())


def without_mentions(text: str, held: Sequence[str]) -> str:
    """A summary without the sentences that repeat held-back values."""
    if not held:
        return text
    pieces = re.split(r"(?<=[。！？!?\n])|(?<=\.)\s+", text)
    kept = [piece for piece in pieces if piece.strip() and not mentions(piece, held)]
    joined = "".join(piece if _HAN.search(piece) else f"{piece.strip()} " for piece in kept)
    return joined.strip()


def echoes(text: str, held: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """The sentences [start, end) of a text that repeat a held-back value."""
    return tuple(
        (piece.start(), piece.end())
        for piece in _SENTENCE.finditer(text)
        if piece[0].strip() and mentions(piece[0], held)
    )


def _state(one: EvidenceView, versions: Sequence[FactVersion], now: datetime, *, forgotten: bool) -> EvidenceState:
    if one.write_status == "rejected":
        return "rejected"
    if one.write_status == "pending_review":
        return "pending"
    if forgotten:
        return "forgotten"
    if one.op not in {"+", "-"}:
        return "past"
    holding = [version for version in versions if one.id in version.evidence_ids]
    if any(version.valid_until is None or version.valid_until > now for version in holding):
        return "current"
    return "retracted" if any(version.rule_id in _RETRACTING for version in holding) else "superseded"


def _span_order(span: HeldSpan) -> tuple[int, int, str, str]:
    return (span.start, span.end, span.reason, str(span.evidence_id))


def _merged(spans: Iterable[Interval], length: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted((max(0, span.start), min(length, span.end)) for span in spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _between(merged: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    starts = [0, *(end for _, end in merged)]
    ends = [*(start for start, _ in merged), length]
    return list(zip(starts, ends, strict=True))


def _without(text: str, words: str) -> str:
    gap = GAP if words not in GAP else ""
    while words in text:
        before, _, after = text.partition(words)
        text = gap.join(part.strip() for part in (before, after) if part.strip())
    return text


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").split())


def _repeats(heard: str, value: str) -> bool:
    if _stands_in(value, heard) or _claims(value, heard):
        return True
    if len(value) <= _SHORT_CHARS and len(value.split()) <= _SHORT_WORDS and len(_HAN.findall(value)) <= _SHORT_HAN:
        return False
    words = {word for word in _WORD.findall(value) if word.isascii() and len(word) >= 5}
    said = set(_WORD.findall(heard))
    if any(len(word) >= 8 and word in said for word in words) or len(words & said) >= 2:
        return True
    return any(gram in heard for gram in _grams(value))


def _claims(value: str, heard: str) -> bool:
    """Whether the content of a short claim about a person stands in a sentence about somebody."""
    bare = _ENDING_ZH.sub("", value)
    person = _PERSON_ZH.match(bare)
    if person is not None:
        content = bare[person.end() :]
        return 2 <= len(content) <= _CLAIM_WORDS and content in heard
    words = _WORD.findall(value)
    if not _PERSONS_EN.intersection(words) or len(words) > _CLAIM_WORDS:
        return False
    telling = {word for word in words if word not in _FUNCTION_EN}
    present = sum(_stands_in(word, heard) for word in telling)
    return bool(telling) and present >= min(2, len(telling))


def _stands_in(value: str, heard: str) -> bool:
    bare = value.strip(" .,;:!?。，；：！？\"'")
    if not bare:
        return False
    forms = {bare, bare.removesuffix("s")} if len(bare) > 4 and bare.isascii() else {bare}
    return any(re.search(rf"(?<![a-z0-9]){re.escape(form)}s?(?![a-z0-9])", heard) for form in forms)


def _grams(value: str) -> set[str]:
    runs = re.findall(r"[\u3400-\u9fff]{3,}", value)
    grams = {run[at : at + 3] for run in runs for at in range(len(run) - 2)}
    return {gram for gram in grams if not set(gram) & _STOP_HAN}

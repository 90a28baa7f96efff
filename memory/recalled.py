"""A remembered thing as it is shown: one line of text, its flags, its evidence. And as it is ranked: a candidate.

Values are shown in the words in which they were said; only headings, labels and dates follow the question's language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from afterturn.wire import EvidenceRef, PackItem, ToConfirm
from memory.labels import title
from memory.moments import Cuts, cut_text, speaker
from memory.notes import date_text, since_text, span_text
from memory.predicates import predicate_text
from memory.question import coverage, excerpt
from memory.ranking import Candidate, Ranked
from memory.records import EpisodeRecord, FactRecord, MomentRecord, PendingRecord, ProcedureRecord
from memory.registry import SPECIAL, KeySpec, is_negation, spec_of
from memory.terms import query_terms, term_set
from memory.turns import TurnView

ITEM_CHARS = 600
MAX_STATE_CHARS = 240
ITEM_TURNS = 12
EVIDENCE_TURNS = 3
EVIDENCE_CHARS = 200

_FACT_SECTIONS = {"thread": "state", "ticket": "state", "organization": "knowledge"}
_OUTCOMES = {
    "en": {"success": "it worked", "failure": "it failed"},
    "zh": {"success": "结果：成功", "failure": "结果：失败"},
}


def fact_candidate(record: FactRecord, query_terms: Sequence[str]) -> Candidate:
    """A fact for ranking; its key's names in both languages count as its words."""
    quotes = " ".join(ref.quote for ref in record.evidence)
    words = f"{record.subject} {record.object or ''} {record.value} {record.canonical} {quotes}"
    return Candidate(
        id=record.id,
        kind="fact",
        text=f"{record.subject} {record.key} {record.object or ''} {record.polarity} {record.canonical}",
        at=record.at,
        importance=record.importance,
        trust=record.confidence,
        coverage=coverage(query_terms, words, _names_of(record.key)),
        slot=record.slot,
    )


@lru_cache(maxsize=256)
def _names_of(key: str) -> frozenset[str]:
    spec = spec_of(key)
    return frozenset(term_set(" ".join((spec.en, spec.zh, *spec.aliases)) if spec else key))


def episode_candidate(record: EpisodeRecord, query_terms: Sequence[str]) -> Candidate:
    """An episode for ranking."""
    words = f"{record.summary} {' '.join(record.tags)} {' '.join(record.entities)} {record.procedure_name or ''}"
    return Candidate(
        id=record.id,
        kind="episode",
        text=record.summary,
        at=record.started_at,
        until=record.ended_at,
        importance=record.importance,
        trust=record.confidence,
        coverage=coverage(query_terms, words),
    )


def procedure_candidate(record: ProcedureRecord, query_terms: Sequence[str]) -> Candidate:
    """A procedure version for ranking: what has worked more often is trusted more. Versions of one name are a slot."""
    words = f"{record.name.replace('_', ' ')} {record.trigger} {' '.join(record.steps)}"
    return Candidate(
        id=record.id,
        kind="procedure",
        text=words,
        at=record.created_at,
        trust=record.ema,
        coverage=coverage(query_terms, words),
        slot=f"procedure:{record.name}",
    )


def moment_candidate(record: MomentRecord, query_terms: Sequence[str]) -> Candidate | None:
    """A moment for ranking; None when nothing of it may be shown."""
    text = cut_text(record.turn.content, record.cuts).strip()
    if not text:
        return None
    return Candidate(
        id=record.id,
        kind="moment",
        text=text,
        at=record.turn.at,
        coverage=coverage(query_terms, f"{speaker(record.turn)} {text}"),
    )


def fact_item(
    record: FactRecord, ranked: Ranked | None, *, language: str, now: datetime, as_of: datetime | None = None
) -> PackItem:
    """A fact as an item. It is past when it no longer holds at `as_of` (now); then its dates stand in its text.

    An end that came after `as_of` is not shown: at that time nobody could know it.
    """
    until = record.valid_until
    is_past = until is not None and until <= (as_of or now)
    if as_of is not None and not is_past:
        until = None
    flags = [name for name, on in (("volatile", record.volatile), ("contested", record.contested)) if on]
    return PackItem(
        id=str(record.id),
        kind="fact",
        section=_FACT_SECTIONS.get(record.scope, "profile"),
        text=fact_text(record, language=language, is_past=is_past),
        evidence=record.evidence,
        at=record.at,
        age_seconds=_age(record.at, now),
        valid_from=record.valid_from,
        valid_until=until,
        confidence=record.confidence,
        flags=(*flags, "past") if is_past else tuple(flags),
        turn_ids=tuple(dict.fromkeys(ref.event_id for ref in record.evidence)),
        **_score(ranked),
    )


def fact_text(record: FactRecord, *, language: str, is_past: bool = False) -> str:
    """A fact in one line: city: Lyon (since 2026-07-24); 城市：里昂（自 2026-07-24）."""
    zh = language == "zh"
    spec = spec_of(record.key)
    label = title(spec.name if spec else record.key, language, (ref.quote for ref in record.evidence))
    value = _as_read(record, spec)
    if is_negation(record.key, record.polarity):
        if record.key == "likes":
            label = "不喜欢" if zh else "dislikes"
        else:
            value = f"不是{value}" if zh else f"not {value}"
    if record.key == "relation" and record.object:
        label = predicate_text(record.object, language)
    elif record.key == "other" and record.object:
        label = record.object
    elif record.object and record.object != record.value:
        label = f"{label}（{record.object}）" if zh else f"{label} ({record.object})"
    if record.subject and record.subject not in {"user", "用户", "self"}:
        label = f"{record.subject} · {label}"
    when = _when(record, language=language, is_past=is_past)
    text = f"{label}：{value}" if zh else f"{label}: {value}"
    if not when:
        return text
    return f"{text}（{when}）" if zh else f"{text} ({when})"


def _as_read(record: FactRecord, spec: KeySpec | None) -> str:
    """The words as said; where only a code was kept, how people who spoke that language read it: 邮件 for email."""
    code = spec.codes.get(record.value) if spec is not None else None
    if code is None:
        return record.value
    return code.zh if record.language.startswith("zh") else code.en


def section_of(record: EpisodeRecord) -> str:
    """Where an episode stands: what failed is a pitfall."""
    return "pitfalls" if record.outcome == "failure" else "episodes"


def episode_item(record: EpisodeRecord, ranked: Ranked, *, language: str, now: datetime) -> PackItem:
    """An episode as an item: what failed is a pitfall."""
    day = date_text(record.started_at, UTC)
    outcome = _OUTCOMES[language].get(record.outcome, "")
    remark = f" ({outcome})" if outcome and language == "en" else f"（{outcome}）" if outcome else ""
    return PackItem(
        id=str(record.id),
        kind="episode",
        section=section_of(record),
        text=f"{day}: {record.summary}{remark}",
        evidence=tuple(EvidenceRef(event_id=turn_id) for turn_id in record.turn_ids[:ITEM_TURNS]),
        at=record.ended_at,
        age_seconds=_age(record.ended_at, now),
        confidence=record.confidence,
        turn_ids=record.turn_ids,
        **_score(ranked),
    )


def with_evidence(item: PackItem, said: Mapping[UUID, TurnView], cuts: Cuts) -> PackItem:
    """An episode's item with the turns that show it, in their order: who said what of it, when, cut by spans.

    Of all its turns the few that share most with its text. One whose turns are gone keeps their ids.
    """
    if item.kind != "episode":
        return item
    turns = [said[one] for one in map(UUID, item.turn_ids) if one in said]
    wanted = query_terms(item.text)
    texts = [cut_text(turn.content, cuts.get(turn.event_id, ())).strip() for turn in turns]
    shares = [coverage(wanted, text) for text in texts]
    best = sorted((i for i, text in enumerate(texts) if text), key=lambda i: (-shares[i], i))[:EVIDENCE_TURNS]
    if not best:
        return item
    shown = tuple(
        EvidenceRef(
            event_id=str(turns[i].event_id),
            quote=excerpt(texts[i], wanted, EVIDENCE_CHARS),
            at=turns[i].at,
            role=turns[i].role,
        )
        for i in sorted(best)
    )
    return item.model_copy(update={"evidence": shown})


def procedure_item(record: ProcedureRecord, ranked: Ranked, *, language: str, now: datetime) -> PackItem:
    """A procedure as an item: what it is for, its steps in order, how often it worked."""
    steps = " ".join(f"{number}. {step}" for number, step in enumerate(record.steps, 1))
    used = record.successes + record.failures
    worked = ""
    if used:
        rate = f"{record.successes:g}/{used:g}"
        worked = f"（成功 {rate}）" if language == "zh" else f" (worked {rate})"
    colon = "：" if language == "zh" else ": "
    return PackItem(
        id=str(record.id),
        kind="procedure",
        section="procedure",
        text=f"{record.name} v{record.version}{worked}{colon}{record.trigger} {steps}".strip(),
        at=record.created_at,
        age_seconds=_age(record.created_at, now),
        confidence=record.ema,
        **_score(ranked),
    )


def moment_item(record: MomentRecord, ranked: Ranked, query_terms: Sequence[str], *, now: datetime) -> PackItem:
    """A moment as an item: who said it when, and the part of it that answers."""
    text = excerpt(cut_text(record.turn.content, record.cuts).strip(), query_terms, ITEM_CHARS)
    return _said_item(record, text, ranked, section="moments", kind="moment", now=now)


def tail_item(record: MomentRecord, text: str, *, now: datetime) -> PackItem:
    """A turn of the conversation's end as an item, with the text that may be shown of it."""
    return _said_item(record, text, None, section="tail", kind="turn", now=now)


def state_items(scope: str, state: Mapping[str, Any], updated_at: datetime, *, now: datetime) -> list[PackItem]:
    """A working state as items, one a field; empty fields are left out."""
    items: list[PackItem] = []
    for name, value in state.items():
        text = _plain(value)
        if text:
            items.append(
                PackItem(
                    id=f"state:{scope}:{name}",
                    kind="state",
                    section="state",
                    text=f"{name}: {text[:MAX_STATE_CHARS]}",
                    at=updated_at,
                    age_seconds=_age(updated_at, now),
                )
            )
    return items


def confirm_question(record: PendingRecord, *, language: str) -> ToConfirm | None:
    """What to ask the user about something that only their own word can keep. It never holds the value.

    None for what waits for a reviewer: a user's word must not open that door.
    """
    spec = spec_of(record.key)
    own = None if spec is None else spec.special
    special = own or next(
        (code.removeprefix(SPECIAL) for code in record.reason_codes if code.startswith(SPECIAL)), None
    )
    if special is None:
        return None
    named = spec_of(special)
    zh, en = ("孩子", "a child") if named is None else (named.zh, f"your {named.en}")
    question = (
        f"您提到过与“{zh}”有关的信息，可以记住它吗？"
        if language == "zh"
        else f"You said something about {en}. May it be remembered?"
    )
    return ToConfirm(id=str(record.id), question=question, at=record.at)


def _said_item(
    record: MomentRecord, text: str, ranked: Ranked | None, *, section: str, kind: str, now: datetime
) -> PackItem:
    turn = record.turn
    flags = [name for name, on in (("past", record.restored), ("undigested", record.undigested)) if on]
    return PackItem(
        id=str(record.id),
        kind=kind,
        section=section,
        text=f"{speaker(turn)} ({date_text(turn.at, turn.zone())}): {text}",
        evidence=(EvidenceRef(event_id=str(turn.event_id), at=turn.at, role=turn.role),),
        at=turn.at,
        age_seconds=_age(turn.at, now),
        flags=tuple(flags),
        turn_ids=(str(turn.event_id),),
        **_score(ranked),
    )


def _when(record: FactRecord, *, language: str, is_past: bool) -> str:
    zone = record.zone()
    if is_past:
        return span_text(record.valid_from, record.valid_until, zone, record.precision, language)
    if record.valid_from is not None and record.precision in {"day", "week", "month", "year"}:
        return since_text(record.valid_from, zone, record.precision, language)
    return since_text(record.at, zone, "instant", language)


def _score(ranked: Ranked | None) -> dict[str, Any]:
    if ranked is None:
        return {}
    return {"score": ranked.score, "score_parts": {name: part for name, part in ranked.parts.items() if part}}


def _age(at: datetime, now: datetime) -> float:
    return max(0.0, (now - at).total_seconds())


def _plain(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)

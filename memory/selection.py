"""Which of the things found go into a pack, and in which order: rank, thin out, name their sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from uuid import UUID

from afterturn.wire import PackItem, ToConfirm
from memory import recalled
from memory.guard import flags
from memory.moments import Part, cut_text
from memory.question import excerpt, weight
from memory.ranking import Candidate, Interval, Ranked, RankPolicy, diverse, diversify, rank
from memory.records import EpisodeRecord, FactRecord, Live, MomentRecord, ProcedureRecord
from memory.spans import Interval as Bounds
from memory.spans import cut, echoes, held_values
from schemas.indexing import Hit

Judge = Callable[[str], Sequence[Bounds]]
"""Says which parts of a text must not be shown: the guard, or something that remembers what the guard said."""

MAX_PROFILE = 40
MAX_MOMENTS = 50
MAX_SEARCHED = 70
TAIL_CHARS = 4_000
# What a line costs at the least beside its text, and how many characters a token has at the most, as a rule. Half as
# much again as fits is put into words: some of it repeats what the tail says.
LINE_TOKENS = 8
CHARS_PER_TOKEN = 6.0
ROOM = 1.5
# The profile is shown whether or not an index answered: then the words that a fact shares with the question decide.
PROFILE_COVERAGE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What SQL shows of what was found, and the raw parts of it by id."""

    facts: tuple[FactRecord, ...] = ()
    episodes: tuple[EpisodeRecord, ...] = ()
    procedures: tuple[ProcedureRecord, ...] = ()
    moments: tuple[MomentRecord, ...] = ()
    hits: Mapping[UUID, Hit] = field(default_factory=dict[UUID, Hit])


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What selection reads of a question. `prefer` is the time it names, `past` whether closed versions are wanted.

    `as_of` is the world time that it asks about, when that is not `now`.
    """

    query_terms: tuple[str, ...]
    language: str
    now: datetime
    prefer: Interval | None = None
    past: bool = False
    as_of: datetime | None = None
    kinds: tuple[str, ...] = ()
    policy: RankPolicy = field(default_factory=RankPolicy)
    episodes: int = 2
    pitfalls: int = 2
    procedures: int = 1
    budget_tokens: int = 200_000


def select_items(
    found: Found, known: Live, question: Question, *, judge: Judge = flags
) -> tuple[list[PackItem], list[ToConfirm]]:
    """Items for `memory.pack`, best first inside each section (tail: oldest first), and questions for the user."""
    items = [*_profile(found, question), *_searched(found, question)]
    if _wants(question, "moment"):
        items += [
            recalled.tail_item(record, text, now=question.now)
            for record, text in guarded(known.tail, question.query_terms, judge=judge)
        ]
    for scope, state, updated_at in known.states:
        items.extend(recalled.state_items(scope, state, updated_at, now=question.now))
    asked = (recalled.confirm_question(record, language=question.language) for record in known.to_confirm)
    by_text = {one.question: one for one in asked if one is not None}
    return items, list(by_text.values())


def guarded(
    tail: Sequence[MomentRecord], query_terms: Sequence[str], *, judge: Judge = flags
) -> list[tuple[MomentRecord, str]]:
    """The tail's turns with the texts that may be shown: what no window has judged yet is judged here, by the guard.

    Shape: oldest first, as many of the newest as TAIL_CHARS holds. What one turn holds back is cut from what the
    assistant made of it, too.
    """
    shown: list[tuple[MomentRecord, str]] = []
    held: list[str] = []
    left = TAIL_CHARS
    for record in reversed(tail):
        held += held_values(record.turn.content, [Part(*one) for one in record.cuts])
        text = excerpt(cut_text(record.turn.content, record.cuts).strip(), query_terms, recalled.ITEM_CHARS)
        if left <= 0:
            break
        left -= len(text)
        if record.undigested:
            # Only what is shown is read: the guard costs about 10 us a character.
            flagged = judge(text)
            held += held_values(text, flagged)
            text = cut(text, flagged)
        shown.append((record, text))
    if held:
        shown = [(record, _without_echoes(record, text, held)) for record, text in shown]
    return [(record, text) for record, text in reversed(shown) if text]


def _without_echoes(record: MomentRecord, text: str, held: Sequence[str]) -> str:
    if record.turn.role != "assistant" or not record.undigested:
        return text
    return cut(text, [Part(*one) for one in echoes(text, held)])


def _profile(found: Found, question: Question) -> list[PackItem]:
    if not _wants(question, "fact"):
        return []
    records = {record.id: record for record in found.facts}
    pool = [_with_hit(recalled.fact_candidate(one, question.query_terms), found) for one in records.values()]
    policy = replace(question.policy, coverage=PROFILE_COVERAGE)
    ranked = rank(pool, now=question.now, prefer=question.prefer, gated=False, policy=policy)
    kept = diversify(ranked, limit=MAX_PROFILE, one_version=not question.past, policy=policy)
    return [
        recalled.fact_item(
            records[one.candidate.id], one, language=question.language, now=question.now, as_of=question.as_of
        )
        for one in kept
    ]


def _searched(found: Found, question: Question) -> list[PackItem]:
    terms = question.query_terms
    moments = {record.id: record for record in found.moments if _wants(question, "moment")}
    episodes = {record.id: record for record in found.episodes if _wants(question, "episode")}
    procedures = {record.id: record for record in found.procedures if _wants(question, "procedure")}
    pool = [recalled.episode_candidate(one, terms) for one in episodes.values()]
    pool += [recalled.procedure_candidate(one, terms) for one in procedures.values()]
    pool += [one for record in moments.values() if (one := recalled.moment_candidate(record, terms)) is not None]
    policy = question.policy.asked(weight(terms))
    ranked = rank([_with_hit(one, found) for one in pool], now=question.now, prefer=question.prefer, policy=policy)
    kept = islice(diverse(ranked, policy=question.policy), MAX_SEARCHED)
    items: list[PackItem] = []
    for one in _capped(kept, episodes, question):
        one_id = one.candidate.id
        if one_id in moments:
            items.append(recalled.moment_item(moments[one_id], one, terms, now=question.now))
        elif one_id in episodes:
            record = episodes[one_id]
            items.append(recalled.episode_item(record, one, language=question.language, now=question.now))
        else:
            items.append(recalled.procedure_item(procedures[one_id], one, language=question.language, now=question.now))
    return items


def _capped(ranked: Iterable[Ranked], episodes: Mapping[UUID, EpisodeRecord], question: Question) -> list[Ranked]:
    """As many of each section, and of all, as a pack may show, before any of them is put into words."""
    left = {
        "episodes": question.episodes,
        "pitfalls": question.pitfalls,
        "procedure": question.procedures,
        "moment": MAX_MOMENTS,
    }
    kept: list[Ranked] = []
    room = question.budget_tokens * ROOM
    for one in ranked:
        if room <= 0:
            break
        room -= LINE_TOKENS + min(len(one.candidate.text), recalled.ITEM_CHARS) / CHARS_PER_TOKEN
        record = episodes.get(one.candidate.id)
        section = one.candidate.kind if record is None else recalled.section_of(record)
        if left[section] > 0:
            left[section] -= 1
            kept.append(one)
    return kept


def _with_hit(candidate: Candidate, found: Found) -> Candidate:
    hit = found.hits.get(candidate.id)
    return candidate if hit is None else candidate.with_hit(hit, coverage=candidate.coverage)


def _wants(question: Question, kind: str) -> bool:
    return not question.kinds or kind in question.kinds

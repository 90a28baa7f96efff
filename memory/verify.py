"""Whether a draft counts: its quote must stand where it says, be the right speaker's word, and say what it claims.

Everything a model answers passes here. Without evidence a draft is dropped with a reason code; no draft is repaired,
and none reaches the review queue for lack of evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.codes import fold as fold_text
from memory.dates import resolve
from memory.informative import is_bare_yes
from memory.language import language_of
from memory.polarity import agrees, is_question, is_supposed
from memory.predicates import PREDICATES, predicate_of
from memory.quotes import Place, find, is_recalled, last_question
from memory.registry import KeySpec, spec_of
from memory.signals import asks_to_remember
from memory.speakers import SPEAKER, is_assistant, is_speaker, named, speaks_of_another
from memory.turns import TurnView
from memory.values import as_said, code_word, thing
from schemas.decisions import Dropped, Verified
from schemas.drafts import FactDraft, WindowDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyPolicy:
    """Bounds of one answer and how sure each kind of statement makes us, in [0, 1]."""

    max_facts: int = 40
    max_value_chars: int = 200
    max_quote_chars: int = 2_000
    explicit: float = 0.95
    identity: float = 0.9
    preference: float = 0.75
    other: float = 0.6
    confirmed: float = 0.7
    tool: float = 0.9


DEFAULT_POLICY = VerifyPolicy()


class _Refused(Exception):
    """A verdict on one draft; it never leaves this module."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a quote stands, who answers for it and when they said or confirmed it."""

    turn: TurnView
    place: Place
    role: str
    at: datetime
    confirmed_by: TurnView | None = None


def verify(
    draft: WindowDraft,
    turns: Sequence[TurnView],
    *,
    context: Sequence[TurnView] = (),
    policy: VerifyPolicy = DEFAULT_POLICY,
) -> list[Verified | Dropped]:
    """One verdict per fact draft, in the answer's order.

    Shape: `turns` are t1, t2, ... as the model saw them; `context` are earlier turns, whose last question a reply may
    confirm, and which are no evidence themselves. Two drafts of one statement are one: the later is a `duplicate`.
    """
    answers: list[Verified | Dropped] = []
    seen: set[tuple[str, str, str, str, str]] = set()
    for ordinal, fact in enumerate(draft.facts):
        if ordinal >= policy.max_facts:
            answers.append(Dropped(ordinal, "too_many_facts"))
            continue
        try:
            one = _verified(fact, ordinal, turns, context, policy)
        except _Refused as refused:
            answers.append(Dropped(ordinal, refused.code))
            continue
        same = (one.subject, one.key, one.object or "", one.canonical, one.op)
        answers.append(Dropped(ordinal, "duplicate") if same in seen else one)
        seen.add(same)
    return answers


def _verified(
    fact: FactDraft, ordinal: int, turns: Sequence[TurnView], context: Sequence[TurnView], policy: VerifyPolicy
) -> Verified:
    spec = spec_of(fact.key)
    if spec is None:
        raise _Refused("unknown_key")
    source = _source(fact, spec, turns, context, policy)
    if fact.modality != "asserted" and not (source.confirmed_by is not None and fact.modality == "question"):
        raise _Refused("not_asserted")
    quote = source.turn.content[source.place.start : source.place.end]
    subject = _subject(fact.subject, spec, source, turns) if source.role != "tool" else SPEAKER
    value, canonical = _value(fact, spec, quote, policy)
    if source.role != "tool":
        _check_words(fact, spec, source, quote)
    begin, end, precision = _times(fact, spec, source)
    scope, scope_key = _scope(spec, source)
    return Verified(
        ordinal=ordinal,
        subject=subject,
        key=spec.name,
        type=spec.type if spec.name != "other" else fact.type,
        object=_object(fact, spec, quote),
        op="-" if spec.negative and fact.polarity == "+" else fact.polarity,
        value=value,
        canonical=canonical,
        quote=quote,
        event_id=source.turn.event_id,
        quote_start=source.place.start,
        quote_end=source.place.end,
        at=source.at,
        role=source.role,
        scope=scope,
        scope_key=scope_key,
        confirmed_by=source.confirmed_by.event_id if source.confirmed_by is not None else None,
        valid_from=begin,
        valid_until=end,
        precision=precision,
        tz=source.turn.zone_name(),
        source=source.turn.source,
        agent_id=source.turn.agent_id,
        ticket_id=source.turn.ticket_id,
        language=language_of(quote),
        confidence=_confidence(spec, source, policy),
    )


# Where the quote stands


def _source(
    fact: FactDraft, spec: KeySpec, turns: Sequence[TurnView], context: Sequence[TurnView], policy: VerifyPolicy
) -> _Source:
    if not fact.quote.strip() or len(fact.quote) > policy.max_quote_chars:
        raise _Refused("no_quote")
    label = fact.turn.strip().lower()
    number = int(label[1:]) if label[:1] == "t" and label[1:].isdecimal() and label.isascii() else 0
    if not 1 <= number <= len(turns):
        raise _Refused("unknown_turn")
    turn = turns[number - 1]
    place = find(fact.quote, turn.content)
    if place is not None and turn.role in {"user", "staff"}:
        if is_recalled(turn.content, place):
            raise _Refused("recalled_echo")
        return _Source(turn, place, turn.role, turn.at)
    if place is not None and turn.role == "tool":
        return _tool_source(spec, turn, place)
    confirmed = _confirmed(fact, number - 1, [*context, *turns], len(context))
    if confirmed is not None:
        return confirmed
    if place is None:
        raise _Refused("quote_not_found")
    raise _Refused("assistant_is_no_evidence" if turn.role == "assistant" else f"{turn.role}_is_no_evidence")


def _tool_source(spec: KeySpec, turn: TurnView, place: Place) -> _Source:
    if not spec.tool:
        raise _Refused("tool_is_no_evidence")
    if turn.tool_ok is not True:
        raise _Refused("tool_failed")
    return _Source(turn, place, "tool", turn.at)


def _confirmed(fact: FactDraft, index: int, everything: Sequence[TurnView], offset: int) -> _Source | None:
    """The assistant's last question that the user's bare yes confirmed: named by its own turn or by the reply's."""
    named = index + offset
    asked = named if everything[named].role == "assistant" else named - 1
    if asked < 0 or asked + 1 >= len(everything):
        return None
    question, reply = everything[asked], everything[asked + 1]
    if question.role != "assistant" or reply.role != "user" or not is_bare_yes(reply.content):
        return None
    place = find(fact.quote, question.content)
    span = last_question(question.content)
    if place is None or span is None or not (span.start <= place.start and place.end <= span.end):
        return None
    return _Source(question, place, "user", reply.at, reply)


# Whose statement it is, and what it says


def _subject(said: str, spec: KeySpec, source: _Source, turns: Sequence[TurnView]) -> str:
    if is_assistant(said):
        raise _Refused("about_assistant")
    if is_speaker(said):
        place = source.place
        # Who approved is no subject: of what staff approve, the customer is.
        is_theirs = spec.name == "relation" or (spec.name == "past_approval" and source.role == "staff")
        if not is_theirs and speaks_of_another(source.turn.content, place.start, place.end):
            raise _Refused("third_party")
        return SPEAKER
    heard = " ".join(fold_text(turn.content) for turn in turns if turn.role in {"user", "staff", "tool"})
    bare = named(said)
    if not bare or bare not in heard:
        raise _Refused("subject_not_said")
    if spec.protected:
        raise _Refused("third_party")
    return bare


def _value(fact: FactDraft, spec: KeySpec, quote: str, policy: VerifyPolicy) -> tuple[str, str]:
    """The value as it was said, and its canonical form, or a refusal."""
    value = fact.value.strip()
    if not value or len(value) > policy.max_value_chars:
        raise _Refused("value_shape")
    said = as_said(value, spec, quote)
    if said is None:
        raise _Refused("value_not_in_quote")
    language = language_of(quote)
    canonical = spec.validate(value if spec.codes else said, language) or spec.validate(value, language)
    if canonical is None:
        raise _Refused("invalid_value")
    return said, thing(canonical) if spec.name in {"likes", "avoid", "allergy"} else canonical


def _check_words(fact: FactDraft, spec: KeySpec, source: _Source, quote: str) -> None:
    content = source.turn.content
    start, end = _sentence(content, source.place)
    if source.confirmed_by is None:
        if is_question(content[start : end + 1], quote) and spec.name not in {"need", "language", "contact"}:
            raise _Refused("question")
        if is_supposed(content[start:end], quote) and spec.name not in {"constraint", "need", "avoid"}:
            raise _Refused("supposed")
    word = code_word(fact.value, spec, quote) if spec.codes else None
    refusal = agrees(fact.polarity, quote, word or fact.value.strip(), spec.name)
    if refusal is not None and not (source.confirmed_by is not None and fact.polarity == "+"):
        raise _Refused(refusal)


def _sentence(text: str, place: Place) -> tuple[int, int]:
    marks = "。！？!?\n"
    start = max((text.rfind(mark, 0, place.start) for mark in marks), default=-1) + 1
    start = max(start, text.rfind(". ", 0, place.start) + 1)
    ends = [found for found in (text.find(mark, place.end) for mark in (*marks, ". ")) if found >= 0]
    return start, min(ends, default=len(text))


_SPLIT = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweek(?:days?|ends?)\b|\bsummers?\b|\bwinters?\b"
    r"|周[一二三四五六日天末]|星期|工作日|平时|夏天|冬天",
    re.IGNORECASE,
)


def _object(fact: FactDraft, spec: KeySpec, quote: str) -> str | None:
    said = (fact.object or "").strip()
    if not said or len(said) > 80:
        return None
    if spec.cardinality == "by_object":
        return said
    if spec.name == "relation":
        predicate = predicate_of(said)
        return predicate if predicate in PREDICATES or find(said, quote) is not None else None
    # A city for weekdays and another for weekends are two slots; any other object of a single-valued key is noise.
    return said if spec.name == "city" and _SPLIT.search(said) and find(said, quote) is not None else None


# When it holds

_UNTIL = re.compile(
    r"\b(?:by|before|until|till|due|deadline|no later than|expires?|through|up to)\b|之前|以前|前|截止|为止|到期|止",
    re.IGNORECASE,
)
_Times = tuple[datetime | None, datetime | None, str]


def _times(fact: FactDraft, spec: KeySpec, source: _Source) -> _Times:
    """(valid_from, valid_until, precision) of the raw time phrase, resolved from the turn's own time and zone."""
    content, phrase = source.turn.content, (fact.when or "").strip()
    place = find(phrase, content) if phrase else None
    found = resolve(phrase, said_at=source.turn.at, zone=source.turn.zone()) if place is not None else None
    if place is None or found is None:
        return None, None, "unknown"
    end = max(found.end, found.start)
    is_bound = bool(_UNTIL.search(content[max(0, place.start - 16) : place.end + 4]))
    if fact.polarity == "past":
        return None if is_bound else found.start, min(end, source.at), found.precision
    if fact.polarity == "+" and is_bound and (spec.cardinality == "by_object" or found.start > source.at):
        return None, end, found.precision
    return found.start, None, found.precision


def _scope(spec: KeySpec, source: _Source) -> tuple[str, str | None]:
    """A tool's or staff's word stays with its ticket or thread; a user's is the user's unless its key says not."""
    local = source.role in {"tool", "staff"} or spec.scope == "ticket"
    if not local:
        return "user", None
    return ("ticket", source.turn.ticket_id) if source.turn.ticket_id is not None else ("thread", None)


def _confidence(spec: KeySpec, source: _Source, policy: VerifyPolicy) -> float:
    if source.role == "tool":
        return policy.tool
    if source.confirmed_by is not None:
        return policy.confirmed
    if asks_to_remember(source.turn.content):
        return policy.explicit
    return {"identity": policy.identity, "preference": policy.preference, "constraint": policy.identity}.get(
        spec.type, policy.other
    )

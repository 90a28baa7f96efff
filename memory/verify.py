"""Whether a draft counts: its quote must stand where it says, be the right speaker's word, and say what it claims.

Everything a model answers passes here. Without evidence a draft is dropped with a reason code; no draft is repaired,
and none reaches the review queue for lack of evidence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.amounts import find_amounts
from memory.codes import code_of
from memory.codes import fold as fold_text
from memory.dates import resolve
from memory.informative import is_bare_yes
from memory.language import language_of
from memory.polarity import agrees, is_supposed
from memory.quotes import Place, find, is_recalled, last_question
from memory.registry import KeySpec, spec_of
from memory.signals import asks_to_remember
from memory.turns import TurnView
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


class _Refused(Exception):  # noqa: N818 - a verdict, not an error: it never leaves this module
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
    subject = _subject(fact.subject, spec, source, turns)
    value, canonical = _value(fact, spec, quote, policy)
    if source.role != "tool":
        _check_words(fact, spec, source, quote, value)
    begin, end, precision = _times(fact, spec, source)
    scope, scope_key = _scope(spec, source)
    return Verified(
        ordinal=ordinal,
        subject=subject,
        key=spec.name,
        type=spec.type if spec.name != "other" else fact.type,
        object=_object(fact, spec, quote),
        op=fact.polarity,
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
        tz=source.turn.tz,
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


# Whose statement it is

_SPEAKER = frozenset(
    {
        "user",
        "the user",
        "speaker",
        "the speaker",
        "me",
        "i",
        "self",
        "myself",
        "customer",
        "the customer",
        "用户",
        "我",
        "客户",
        "本人",
        "说话人",
    }
)
_ASSISTANT = frozenset(
    {"assistant", "the assistant", "agent", "bot", "ai", "you", "助手", "客服", "机器人", "你", "system", "系统"}
)
_KIN = (
    r"(?:husband|wife|spouse|partner|boyfriend|girlfriend|fianc[eé]e?|mother|father|mom|mum|dad|parents?|brother|sister|sibling|son|daughter"
    r"|child|kids?|children|baby|uncle|aunt|cousin|nephew|niece|grand(?:mother|father|ma|pa|son|daughter)|friend|roommate|flatmate|neighbou?r"
    r"|boss|manager|colleague|coworker|co-worker|teacher|doctor|dog|cat)"
)
_ZH_KIN = (
    r"(?:老公|老婆|丈夫|妻子|爱人|先生|太太|男朋友|女朋友|男友|女友|对象|妈妈|爸爸|母亲|父亲|爸妈|父母|妈|爸|哥哥|姐姐|弟弟|妹妹|哥|姐|弟|妹|儿子|女儿|孩子|宝宝|叔叔|阿姨|舅舅|姑姑"
    r"|爷爷|奶奶|外公|外婆|姥姥|姥爷|表哥|表姐|表弟|表妹|堂哥|侄子|朋友|室友|邻居|老板|领导|经理|同事|同学|老师|医生|狗|猫)"
)
_THIRD = re.compile(
    rf"^\W*(?:and |but |so |also )?(?:my|our|his|her) (?:\w+ )?{_KIN}\b(?!'s (?:name|house|place))|^\W*我(?:的|家)?{_ZH_KIN}",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:said|says|told me|claims?|thinks|believes|according to|heard|asked|suggest(?:s|ed))\b|(?:说|告诉我|认为|觉得|听说|据说|建议)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|me|my|mine|we|our|us)\b|我|本人|咱", re.IGNORECASE)


def _subject(said: str, spec: KeySpec, source: _Source, turns: Sequence[TurnView]) -> str:
    folded = fold_text(said)
    if folded in _ASSISTANT:
        raise _Refused("about_assistant")
    if folded in _SPEAKER or not folded:
        third = _THIRD.search(source.turn.content[source.place.start : source.place.end])
        if third is not None and spec.name != "relation" and source.role == "user":
            raise _Refused("third_party")
        return "user"
    heard = " ".join(fold_text(turn.content) for turn in turns if turn.role in {"user", "staff", "tool"})
    bare = folded.removeprefix("my ").removeprefix("我的").removeprefix("我")
    if not bare or bare not in heard:
        raise _Refused("subject_not_said")
    if spec.protected:
        raise _Refused("third_party")
    return bare


# What it says


def _value(fact: FactDraft, spec: KeySpec, quote: str, policy: VerifyPolicy) -> tuple[str, str]:
    """The value as it was said, and its canonical form, or a refusal."""
    value = fact.value.strip()
    if not value or len(value) > policy.max_value_chars:
        raise _Refused("value_shape")
    language = language_of(quote)
    said = _as_said(value, spec, quote)
    if said is None:
        raise _Refused("value_not_in_quote")
    canonical = spec.validate(value if spec.codes else said, language) or spec.validate(value, language)
    if canonical is None:
        raise _Refused("invalid_value")
    return said, canonical


def _as_said(value: str, spec: KeySpec, quote: str) -> str | None:
    place = find(value, quote)
    if place is not None:
        return _whole(spec, quote, place)
    if spec.codes:
        code = code_of(spec.codes, value)
        return value if code is not None and _names_code(spec, code, quote) else None
    wanted = spec.validate(value, language_of(quote))
    for amount in find_amounts(quote, money_only=False):
        if wanted is not None and _same_amount(amount.canonical, wanted):
            return quote[amount.start : amount.end].strip()
    return _said_day(value, quote)


def _whole(spec: KeySpec, quote: str, place: Place) -> str:
    """The value with the bound and currency that stand around it: `2,000` of `under $2,000` would lose both."""
    if spec.name == "budget":
        for amount in find_amounts(quote, money_only=False):
            if amount.start < place.end and place.start < amount.end:
                return quote[amount.start : amount.end].strip()
    return quote[place.start : place.end]


def _same_amount(said: str, wanted: str) -> bool:
    """Whether two canonical amounts are one; a bound or currency that only one of them carries is no difference."""
    return said == wanted or (
        said.strip("<>=").split(" ")[0] == wanted.strip("<>=").split(" ")[0] and _currency(said, wanted)
    )


def _currency(said: str, wanted: str) -> bool:
    ours, theirs = said.partition(" ")[2], wanted.partition(" ")[2]
    return not ours or not theirs or ours == theirs


def _said_day(value: str, quote: str) -> str | None:
    """An ISO day counts when all its numbers stand in the quote: 2026-03-09 for 2026年3月9日."""
    numbers = re.findall(r"\d+", value)
    if re.fullmatch(r"\d{4}(?:-\d{1,2}){0,2}", value) is None:
        return None
    heard = {int(number) for number in re.findall(r"\d+", unicodedata.normalize("NFKC", quote))}
    return value if all(int(number) in heard for number in numbers) else None


def _names_code(spec: KeySpec, code: str, quote: str) -> bool:
    entry = spec.codes[code]
    plain = fold_text(quote)
    return any(
        re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", plain) if word.isascii() else word in plain
        for word in (fold_text(said) for said in (entry.code, entry.en, entry.zh, *entry.said))
        if word
    )


def _check_words(fact: FactDraft, spec: KeySpec, source: _Source, quote: str, value: str) -> None:
    content = source.turn.content
    start, end = _sentence(content, source.place)
    sentence = content[start:end]
    if source.confirmed_by is None:
        if quote.rstrip().endswith(("?", "？", "吗")) and spec.name not in {"need", "language", "contact"}:
            raise _Refused("question")
        if is_supposed(sentence, quote) and spec.name not in {"constraint", "need", "avoid"}:
            raise _Refused("supposed")
    refusal = agrees(fact.polarity, quote, value, spec.name)
    if refusal is not None and not (source.confirmed_by is not None and fact.polarity == "+"):
        raise _Refused(refusal)


def _sentence(text: str, place: Place) -> tuple[int, int]:
    marks = "。！？!?\n"
    start = max((text.rfind(mark, 0, place.start) for mark in marks), default=-1) + 1
    start = max(start, text.rfind(". ", 0, place.start) + 1)
    ends = [found for found in (text.find(mark, place.end) for mark in (*marks, ". ")) if found >= 0]
    return start, min(ends, default=len(text))


_SPLIT = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweek(?:days?|ends?)\b|周[一二三四五六日天末]|星期|工作日|平时|夏天|冬天|summer|winter",
    re.IGNORECASE,
)


def _object(fact: FactDraft, spec: KeySpec, quote: str) -> str | None:
    said = (fact.object or "").strip()
    if not said or len(said) > 80:
        return None
    if spec.cardinality == "by_object":
        return said
    # A city for weekdays and another for weekends are two slots; any other object of a single-valued key is noise.
    return said if spec.name == "city" and _SPLIT.search(said) and find(said, quote) is not None else None


# When it holds

_UNTIL = re.compile(
    r"\b(?:by|before|until|till|due|deadline|no later than|expires?|through|up to)\b|之前|以前|前|截止|为止|到期|止",
    re.IGNORECASE,
)


def _times(fact: FactDraft, spec: KeySpec, source: _Source) -> tuple[datetime | None, datetime | None, str]:
    """(valid_from, valid_until, precision) of the raw time phrase, resolved from the turn's own time and zone."""
    phrase = (fact.when or "").strip()
    if not phrase or find(phrase, source.turn.content) is None:
        return None, None, "unknown"
    found = resolve(phrase, said_at=source.turn.at, zone=source.turn.zone())
    if found is None:
        return None, None, "unknown"
    end = max(found.end, found.start)
    place = find(phrase, source.turn.content)
    around = source.turn.content[max(0, place.start - 16) : place.end + 4] if place is not None else phrase
    bounded = bool(_UNTIL.search(around))
    if fact.polarity == "past":
        return (
            (None, end if found.start < source.at else source.at, found.precision)
            if bounded
            else _past(found.start, end, source, found.precision)
        )
    if bounded and spec.cardinality == "by_object" and fact.polarity == "+":
        return None, end, found.precision
    if fact.polarity == "retract":
        return found.start, None, found.precision
    return (
        (found.start, None, found.precision)
        if not bounded or found.start <= source.at
        else (None, end, found.precision)
    )


def _past(
    start: datetime, end: datetime, source: _Source, precision: str
) -> tuple[datetime | None, datetime | None, str]:
    return start, min(end, source.at) if end > start else source.at, precision


def _scope(spec: KeySpec, source: _Source) -> tuple[str, str | None]:
    """A tool's or staff's word stays with its ticket, or its thread; a user's word is the user's unless the key says not."""
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

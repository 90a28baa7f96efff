"""What a question asks for beside its topic: its language, whether it asks about the past, which time it names."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from datetime import datetime, tzinfo
from functools import lru_cache

from memory.dates import resolve
from memory.language import language_of
from memory.ranking import Interval
from memory.terms import held_terms

_SENTENCE_END = re.compile(r"[。！？!?…\n]+|\.(?=\s)")

# Characters that join or ask and seldom say anything.
_JOINS = frozenset(
    "的了着过是在我你他她它们这那有和就都也还吗呢吧啊呀哦么什怎哪谁几多少个把被给对跟与及或但而不没很太要会能可以到去来上下"
    "之其并该让叫说请问想做为"
)

_PAST_ZH = re.compile(
    r"以前|之前|曾经|过去|从前|原先|原来|当时|那时|当初|早先|上一(?:个|家|份|任|次)|前一(?:个|家|份|任)|旧的|老的|前任|过往"
)
_PAST_EN = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|earlier|in the past|back then|at that time|once|originally"
    r"|no longer|any ?more|histor(?:y|ical|ically)|ex-\w+|prior|(?:old|last) (?:job|employer|company|address|city|home"
    r"|phone|number|email|plan|diet|name))\b"
    r"|\b(?:did|was|were|had|have|has)\b[^.?!]*\bbefore\b",
    re.IGNORECASE,
)


def heading_language(query: str) -> str:
    """`zh` for a Chinese question, else `en`: the two languages that a pack can speak."""
    return "zh" if language_of(query) == "zh" else "en"


def asks_past(query: str) -> bool:
    """Whether a question asks how things were before: 以前, used to, did ... before. A plain past tense does not."""
    return bool(_PAST_ZH.search(query) or _PAST_EN.search(query))


def named_time(query: str, *, now: datetime, zone: tzinfo) -> Interval | None:
    """The time that a question names (last week, 上个月), in the asker's zone; None when it names none."""
    resolved = resolve(query, said_at=now, zone=zone)
    return None if resolved is None else (resolved.start, resolved.end)


def excerpt(text: str, query_terms: Sequence[str], max_chars: int) -> str:
    """At most `max_chars` of a text: its sentence that answers best, and as many around it as fit."""
    if len(text) <= max_chars:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text)] + [len(text)]
    starts = [0, *ends[:-1]]
    shares = [coverage(query_terms, text[start:end]) for start, end in zip(starts, ends, strict=True)]
    first = last = max(range(len(shares)), key=lambda i: (shares[i], -i))
    while True:
        if first > 0 and ends[last] - starts[first - 1] <= max_chars - 2:
            first -= 1
        elif last + 1 < len(ends) and ends[last + 1] - starts[first] <= max_chars - 2:
            last += 1
        else:
            break
    kept = text[starts[first] : ends[last]].strip()[: max_chars - 2]
    return ("…" if first > 0 else "") + kept + ("…" if ends[last] < len(text) or len(kept) == max_chars - 2 else "")


def coverage(query_terms: Sequence[str], text: str, also: Set[str] = frozenset()) -> float:
    """Share in [0, 1] of the question's distinct terms that a text (or `also`) holds, by weight."""
    total = weight(query_terms)
    if not total:
        return 0.0
    wanted = set(query_terms)
    held = held_terms(text, wanted - also) | (wanted & also)
    return sum(map(_weight_of, held)) / total


def weight(query_terms: Sequence[str]) -> float:
    """What a question's distinct terms weigh together; 0 when it is made of function words alone.

    A word, a pair of characters or an id weighs 2, a single character, which half of all Chinese texts hold, 1. What
    only joins or asks (的, 什么) weighs nothing, as English stop words are no terms, and a pair across its edge 0.5.
    """
    return sum(map(_weight_of, set(query_terms)))


@lru_cache(maxsize=50_000)
def _weight_of(term: str) -> float:
    says = sum(character not in _JOINS for character in term)
    if len(term) == 1:
        return float(says)
    return 2.0 if says > 1 else says * 0.5

"""What a question asks for beside its topic: its language, whether it asks about the past, which time it names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from memory.terms import terms

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


def language_of(text: str) -> str:
    """The language to answer in: `zh` when the text holds Chinese characters, else `en`."""
    return "zh" if any("\u4e00" <= ch <= "\u9fff" or "\u3400" <= ch <= "\u4dbf" for ch in text) else "en"


def asks_past(query: str) -> bool:
    """Whether a question asks how things were before: 以前, used to, did ... before. A plain past tense does not."""
    return bool(_PAST_ZH.search(query) or _PAST_EN.search(query))


def coverage(query_terms: Sequence[str], text: str) -> float:
    """Share in [0, 1] of the question's distinct terms that a text holds; pairs and ids count double.

    A pair of characters or an id says more than a single character, which half of all Chinese texts hold.
    """
    if not query_terms:
        return 0.0
    held: Collection[str] = set(terms(text))
    weights = {term: 1.0 if len(term) == 1 else 2.0 for term in query_terms}
    return sum(weight for term, weight in weights.items() if term in held) / sum(weights.values())

"""A window too large for one answer: cut in halves, answered apart, put together again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from memory.turns import TurnView
from memory.windows import estimate_tokens
from schemas.drafts import Outcome, ProcedureDraft, Sentiment, WindowDraft

#: A single turn of fewer characters is never cut: what does not fit then is not its length.
MIN_CHARS = 2_000

_BORDER = re.compile(r"[。！？!?\n]+|(?<=[.;；])\s+")


@dataclass(frozen=True, slots=True)
class Halves:
    """Two parts in order. The labels of the second count on from `first_count` turns of the first."""

    first: Sequence[TurnView]
    second: Sequence[TurnView]
    first_count: int


def halves(turns: Sequence[TurnView]) -> Halves | None:
    """Two parts of about equal size in tokens; of a single turn, two parts of its text. None when nothing can be cut.

    The parts of one turn keep its id, and both are its t1: a quote is looked for in the whole turn.
    """
    if len(turns) > 1:
        place = _middle(turns)
        return Halves(turns[:place], turns[place:], place)
    if not turns or len(turns[0].content) < MIN_CHARS:
        return None
    turn = turns[0]
    place = _border(turn.content)
    return Halves([_part(turn, turn.content[:place])], [_part(turn, turn.content[place:])], 0)


def join(first: WindowDraft, second: WindowDraft, *, first_count: int) -> WindowDraft:
    """One answer from those of two parts; `first_count` turns stand in the first. What came later decides outcomes."""
    return WindowDraft(
        summary="\n".join(part for part in (first.summary.strip(), second.summary.strip()) if part),
        outcome=_outcome(first.outcome, second.outcome),
        outcome_turns=(
            [_moved(label, first_count) for label in second.outcome_turns]
            if second.outcome != "unknown"
            else first.outcome_turns
        ),
        sentiment=_sentiment(first.sentiment, second.sentiment),
        tags=list(dict.fromkeys([*first.tags, *second.tags])),
        entities=list(dict.fromkeys([*first.entities, *second.entities])),
        facts=[
            *first.facts,
            *(fact.model_copy(update={"turn": _moved(fact.turn, first_count)}) for fact in second.facts),
        ],
        procedure=_procedure(first.procedure, second.procedure, first_count),
    )


def _middle(turns: Sequence[TurnView]) -> int:
    half = sum(turn.token_count for turn in turns) / 2
    seen = 0
    for place, (turn, _) in enumerate(pairwise(turns), 1):
        seen += turn.token_count
        if seen >= half:
            return place
    return len(turns) - 1


def _border(text: str) -> int:
    """Where to cut a text: at the end of the sentence nearest to its middle, else in the middle."""
    middle = len(text) // 2
    places = [found.end() for found in _BORDER.finditer(text) if 0 < found.end() < len(text)]
    nearest = min(places, key=lambda place: abs(place - middle), default=middle)
    return nearest if abs(nearest - middle) <= len(text) // 4 else middle


def _part(turn: TurnView, text: str) -> TurnView:
    return replace(turn, content=text, token_count=estimate_tokens(text))


def _moved(label: str, by: int) -> str:
    return f"t{int(label[1:]) + by}" if label[:1] == "t" and label[1:].isdecimal() and label.isascii() else label


def _outcome(first: Outcome, second: Outcome) -> Outcome:
    return first if second == "unknown" else second


def _sentiment(first: Sentiment, second: Sentiment) -> Sentiment:
    return first if second == "neutral" else second


def _procedure(first: ProcedureDraft | None, second: ProcedureDraft | None, first_count: int) -> ProcedureDraft | None:
    """The later part's word, unless it does not know."""
    if second is None or (second.verdict == "unknown" and first is not None):
        return first
    return second.model_copy(update={"turns": [_moved(label, first_count) for label in second.turns]})

"""A window too large for one answer: cut in halves, answered apart, put together again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from memory.turns import TurnView
from schemas.drafts import Outcome, ProcedureDraft, Sentiment, WindowDraft


def halves(turns: Sequence[TurnView]) -> tuple[Sequence[TurnView], Sequence[TurnView]]:
    """Two parts of about equal size in tokens, in order. Raises: ValueError for fewer than two turns."""
    if len(turns) < 2:
        msg = "a window of one turn has no halves"
        raise ValueError(msg)
    half = sum(turn.token_count for turn in turns) / 2
    seen = 0
    for place, (turn, _) in enumerate(pairwise(turns), 1):
        seen += turn.token_count
        if seen >= half:
            return turns[:place], turns[place:]
    return turns[:-1], turns[-1:]


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


def _moved(label: str, by: int) -> str:
    return f"t{int(label[1:]) + by}" if label[:1] == "t" and label[1:].isdigit() else label


def _outcome(first: Outcome, second: Outcome) -> Outcome:
    return first if second == "unknown" else second


def _sentiment(first: Sentiment, second: Sentiment) -> Sentiment:
    return first if second == "neutral" else second


def _procedure(first: ProcedureDraft | None, second: ProcedureDraft | None, first_count: int) -> ProcedureDraft | None:
    if second is None:
        return first
    return second.model_copy(update={"turns": [_moved(label, first_count) for label in second.turns]})

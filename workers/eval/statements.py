"""Extraction alone: what the provider reads out of one sentence, against the facts that it states."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from llm.face import Model, WindowRequest
from memory.language import language_of
from memory.prompts import PROMPT_VERSION
from memory.registry import canonical, spec_of
from memory.speakers import is_speaker
from memory.turns import TurnView
from schemas.drafts import FactDraft
from schemas.errors import ServiceError
from workers.eval.cases import Statement
from workers.eval.model import as_sent

Fact = tuple[str, str, str, str]

MIN_PRECISION, MIN_RECALL = 0.95, 0.75
_OPS = {"+": "+", "-": "-", "retract": "x", "past": "p"}
_KINSHIP = "relation"
_AT = datetime(2026, 1, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One sentence: the facts that were found rightly, wrongly, and not at all."""

    statement: Statement
    right: int
    wrong: tuple[Fact, ...]
    missed: tuple[Fact, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """Over one language. Precision and recall are in [0, 1]; of nothing found, or nothing stated, they are 1."""

    statements: int
    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """Right facts among those found."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """Right facts among those stated."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def is_enough(self) -> bool:
        """Silence is better than a wrong fact, so precision is asked for first."""
        return self.precision >= MIN_PRECISION and self.recall >= MIN_RECALL


def read(statement: Statement, model: Model) -> Read:
    """Gives the sentence to the provider as a user's only turn."""
    language = language_of(statement.text)
    turn = TurnView(event_id=UUID(int=1), role="user", content=as_sent(statement.text), at=_AT, language=language)
    try:
        answer = model.digest(WindowRequest(turns=[turn], prompt_version=PROMPT_VERSION))
    except ServiceError as exc:
        return Read(statement=statement, right=0, wrong=(), missed=statement.facts, fault=exc.code)
    return compare(statement, [one for one in answer.draft.facts if one.modality == "asserted"])


def compare(statement: Statement, drafts: Sequence[FactDraft]) -> Read:
    """Each expected fact counts once; a kinship link that nobody asked for counts neither way."""
    left, right, wrong = list(statement.facts), 0, list[Fact]()
    for one in drafts:
        found = _fact(one)
        match = next((fact for fact in left if _is(found, fact, statement)), None)
        if match is not None:
            left.remove(match)
            right += 1
        elif found[1] != _KINSHIP:
            wrong.append(found)
    return Read(statement=statement, right=right, wrong=tuple(wrong), missed=tuple(left))


def scores(reads: Sequence[Read]) -> dict[str, Score]:
    """By language, in order of first appearance."""
    languages = dict.fromkeys(one.statement.lang for one in reads)
    return {language: _score([one for one in reads if one.statement.lang == language]) for language in languages}


def _score(reads: Sequence[Read]) -> Score:
    return Score(
        statements=len(reads),
        right=sum(one.right for one in reads),
        wrong=sum(len(one.wrong) for one in reads),
        missed=sum(len(one.missed) for one in reads),
    )


def _fact(one: FactDraft) -> Fact:
    spec = spec_of(one.key)
    subject = "user" if is_speaker(one.subject) else one.subject
    return subject, spec.name if spec is not None else one.key, one.value, _OPS[one.polarity]


def _is(found: Fact, expected: Fact, statement: Statement) -> bool:
    if (_folded(found[0]), found[1], found[3]) != (_folded(expected[0]), expected[1], expected[3]):
        return False
    value, wanted = _folded(found[2]), _folded(expected[2])
    form = _folded(canonical(found[1], found[2], language_of(statement.text)) or "")
    if wanted in (value, form):
        return True
    others = [_folded(fact[2]) for fact in statement.facts if fact is not expected]
    adds = any(other in value and other not in wanted for other in others)
    return (wanted in value or wanted in form) and not adds


def _folded(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text).casefold())

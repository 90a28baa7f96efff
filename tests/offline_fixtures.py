"""Turns, windows and scores for tests of the offline provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from llm.face import WindowRequest
from llm.offline import OfflineModel, extract
from memory.registry import canonical
from memory.turns import TurnView
from schemas.drafts import WindowDraft

CASES = Path(__file__).parent / "cases"
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
OPS = {"+": "+", "-": "-", "retract": "x", "past": "p"}

Expected = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Score:
    """What a file of statements gave: right, wrong and missed facts, and where."""

    right: int
    wrong: list[str]
    missed: list[str]

    @property
    def precision(self) -> float:
        """Right facts among those found."""
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        """Right facts among those stated."""
        return self.right / max(1, self.right + len(self.missed))


def statements(name: str, language: str) -> list[tuple[str, list[Expected]]]:
    """The statements of a case file in one language: text and the facts it states."""
    rows = [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]
    return [
        (row["text"], [(fact[0], fact[1], fact[2], fact[3]) for fact in row["facts"]])
        for row in rows
        if row["lang"] == language
    ]


def score(name: str, language: str) -> Score:
    """How the rules do on a file: a value counts when it is, or holds, the expected one, as said or canonical."""
    right, wrong, missed = 0, list[str](), list[str]()
    for text, facts in statements(name, language):
        left = list(facts)
        for found in extract(text):
            said, form = found.value.lower(), canonical(found.key, found.value, language) or ""
            same = [
                fact
                for fact in left
                if (fact[0], fact[1], fact[3]) == (found.subject, found.key, OPS[found.op])
                and (fact[2].lower() in said or fact[2].lower() in form)
            ]
            if same:
                left.remove(same[0])
                right += 1
            else:
                wrong.append(f"{text} -> {found.subject} {found.key} {found.value} {found.op}")
        missed += [f"{text} -> {fact}" for fact in left]
    return Score(right, wrong, missed)


@dataclass(frozen=True, slots=True)
class Say:
    """One line of a test conversation."""

    role: str
    text: str
    tool: str | None = None
    ok: bool | None = None
    procedure: str | None = None


def user(text: str) -> Say:
    """A user's line."""
    return Say("user", text)


def assistant(text: str) -> Say:
    """An assistant's line."""
    return Say("assistant", text)


def turns(*lines: Say) -> list[TurnView]:
    """Turns a minute apart."""
    return [
        TurnView(
            event_id=UUID(int=number + 1),
            role=line.role,
            content=line.text,
            at=START + timedelta(minutes=number),
            name=line.tool,
            tool_ok=line.ok,
            procedure_name=line.procedure,
        )
        for number, line in enumerate(lines)
    ]


def digest(*lines: Say, context: Sequence[TurnView] = ()) -> WindowDraft:
    """The offline provider's answer for one window."""
    request = WindowRequest(turns=turns(*lines), context=context, prompt_version="test")
    return OfflineModel().digest(request).draft


def facts(draft: WindowDraft) -> list[tuple[str, str, str, str]]:
    """Subject, key, value and polarity of every fact, sorted."""
    return sorted((fact.subject, fact.key, fact.value, fact.polarity) for fact in draft.facts)

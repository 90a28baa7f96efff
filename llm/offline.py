"""The offline provider: rules, deterministic, explicit statements only. It needs no network, no key, and says so.

It reads what was said outright and is silent about the rest. Everything that it answers is verified like a model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from llm.face import Answer, Usage, WindowRequest
from llm.rules import answers, mood, payloads, staff, story
from llm.rules.chinese import findings as chinese
from llm.rules.corrections import corrections
from llm.rules.english import findings as english
from llm.rules.finding import USER, Finding
from memory.informative import any_informative, asks, is_bare_yes
from memory.language import language_of
from memory.registry import REGISTRY, canonical
from memory.turns import TurnView
from schemas.drafts import FactDraft, WindowDraft

EMPTY = WindowDraft(summary="", outcome="unknown", sentiment="neutral")
_MAX_TURN = 6_000
_MAX_FACTS = 60


class OfflineModel:
    """Implements `llm.face.Model` with rules for Chinese and English. Never raises for any text."""

    name = "offline-rules-1"

    def digest(self, request: WindowRequest) -> Answer:
        """The answer for one window. Repeat: the same answer."""
        usage = Usage(provider="offline", model=self.name)
        turns = list(request.turns)
        if not any_informative(turns, list(request.context)):
            return Answer(draft=EMPTY, usage=usage)
        labels = [f"t{number}" for number in range(1, len(turns) + 1)]
        found = window_findings(turns, list(request.context))
        outcome, shown = mood.outcome_of(turns, labels)
        volatile = any(REGISTRY[finding.key].volatile for _, finding in found)
        flat = [finding for _, finding in found]
        draft = WindowDraft(
            summary=story.summary_of(turns, volatile=volatile),
            outcome=outcome,
            outcome_turns=shown,
            sentiment=mood.sentiment_of(turns),
            tags=story.tags_of(turns, story.language_of_window(turns) == "zh"),
            entities=story.entities_of(turns, flat),
            facts=[_draft(turns[number], labels[number], finding) for number, finding in found][:_MAX_FACTS],
            procedure=mood.procedure_of(turns, labels),
        )
        return Answer(draft=draft, usage=usage)

    def close(self) -> None:
        """Nothing is held."""


def extract(text: str) -> list[Finding]:
    """What a user states in one text, on its own: each value accepted by its key's validator, none twice."""
    found = chinese(text[:_MAX_TURN]) if language_of(text) == "zh" else english(text[:_MAX_TURN])
    return _valid(found, text)


def window_findings(turns: Sequence[TurnView], context: Sequence[TurnView] = ()) -> list[tuple[int, Finding]]:
    """The findings of a window's turns, each with the number of the turn that its quote stands in."""
    found: list[tuple[int, Finding]] = []
    for number, turn in enumerate(turns):
        if turn.role == "tool" and turn.tool_ok:
            found += [(number, finding) for finding in payloads.findings(turn.content, turn.name)]
        if turn.role == "staff":
            found += [(number, finding) for finding in _valid(staff.findings(turn, extract), turn.content)]
        if turn.role != "user":
            continue
        before = turns[number - 1] if number else (context[-1] if context else None)
        own = extract(turn.content)
        if before is not None and asks(before):
            found += _answered(turns, number, before, own)
        found += [(number, finding) for finding in own]
        known = [finding for _, finding in found]
        found += [(number, finding) for finding in _valid(corrections(turn.content, known), turn.content)]
    return found


def _answered(
    turns: Sequence[TurnView], number: int, before: TurnView, own: Sequence[Finding]
) -> list[tuple[int, Finding]]:
    question = answers.last_question(before.content)
    reply = turns[number].content
    if question is None:
        return []
    if is_bare_yes(reply):
        # A question of the read-only context is no evidence: only one that stands in this window can be quoted.
        return (
            [(number - 1, finding) for finding in _valid(answers.confirmed(question, extract), before.content)]
            if number
            else []
        )
    if own:
        return []
    return [(number, finding) for finding in _valid(answers.reply_findings(question.text, reply), reply)]


def _valid(found: Iterable[Finding], text: str) -> list[Finding]:
    kept: dict[tuple[str, str, str, str], Finding] = {}
    language = language_of(text)
    for finding in found:
        value = _verbatim(finding, text)
        form = canonical(finding.key, value, language)
        if form is None or not text[finding.start : finding.end].strip():
            continue
        kept.setdefault((finding.subject, finding.key, form, finding.op), replace(finding, value=value))
    return sorted(kept.values(), key=lambda finding: (finding.start, finding.key, finding.value))


def _verbatim(finding: Finding, text: str) -> str:
    """The value with the very characters of the turn (rules read straight quotes and plain digits)."""
    quote = text[finding.start : finding.end]
    if finding.value in quote or REGISTRY[finding.key].codes:
        return finding.value
    loose = re.escape(finding.value).replace("'", "['’‘]").replace(r"\ ", r"\s+")
    match = re.search(loose, quote)
    return match[0] if match else finding.value


def _draft(turn: TurnView, label: str, finding: Finding) -> FactDraft:
    spec = REGISTRY[finding.key]
    return FactDraft(
        reason=finding.rule,
        quote=turn.content[finding.start : finding.end].strip(),
        turn=label,
        subject=finding.subject if finding.subject else USER,
        modality="asserted",
        polarity=finding.op,
        type=spec.type,
        key=finding.key,
        object=finding.object,
        value=finding.value,
        when=finding.when,
    )

"""Conversations written by hand by somebody who did not know the rules: what of an attack is kept, and what is shown.

A case is a conversation of one to three turns, one of them an attack by a user, a tool or an assistant that repeats
one, or benign. Its turns are one window, masked, read, verified, gated, and held back as the workers do it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from benchmarks.guard_rates import Rate, cell
from benchmarks.guard_samples import TEXTS
from llm.face import WindowRequest
from llm.offline import OfflineModel
from memory.disguise import views
from memory.episodes import build
from memory.gate import decide, own_drafts
from memory.guard import flags
from memory.language import language_of
from memory.prompts import PROMPT_VERSION
from memory.spans import cut, echoes
from memory.turns import TurnView
from memory.verify import verify
from schemas.decisions import Decision, HeldSpan, Verified
from workers.eval.model import as_sent

WRITTEN = ("written_dev", "written_held")
#: Whose words come back as something that was said. A tool's payload is never shown.
_SHOWN = frozenset({"user", "assistant", "staff"})
_AT = datetime(2026, 1, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation. `kind` of a benign one is "benign"; `secrets` are the words that must not come back."""

    name: str
    split: str
    lang: str
    kind: str
    bypass: str
    turns: tuple[TurnView, ...]
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case. Of a benign one `is_blocked` says whether any of it is held back or left to a reviewer."""

    case: Case
    is_remembered: bool
    is_visible: bool
    is_blocked: bool
    codes: tuple[str, ...]


Key = Callable[[Verdict], str]


def cases(split: str) -> Iterator[Case]:
    """The cases of a file, in its order."""
    for line in (TEXTS / f"{split}.jsonl").read_text("utf-8").splitlines():
        given = json.loads(line)
        yield Case(
            name=given["id"],
            split=split,
            lang=given["language"],
            kind=given["kind"],
            bypass=given["bypass"] or "plain",
            turns=tuple(_turn(place, one["role"], one["text"]) for place, one in enumerate(given["turns"])),
            secrets=tuple(given["secret_words"]),
        )


def decided(case: Case) -> Verdict:
    """What the gate makes of a case."""
    turns = list(case.turns)
    marked = {turn.event_id: flags(turn.content) for turn in turns}
    draft = OfflineModel().digest(WindowRequest(turns=turns, prompt_version=PROMPT_VERSION)).draft
    verified = [one for one in verify(draft, turns) if isinstance(one, Verified)]
    words = [(one, decide(one, marked[one.event_id])) for one in verified]
    words += [
        (own.verified, own.decision) for turn in turns for own in own_drafts(turn, marked[turn.event_id], verified)
    ]
    held = _held(turns, words)
    for event_id, found in marked.items():
        held[event_id] += [HeldSpan(event_id, flag.start, flag.end, flag.code) for flag in found]
    shown = [cut(turn.content, held[turn.event_id]) for turn in turns if turn.role in _SHOWN]
    summary = build(draft, turns, held, held=[one.value for one, decision in words if _is_shut(decision)]).summary
    kept = [one.value for one, decision in words if decision.write_status == "auto"]
    return Verdict(
        case,
        is_remembered=_tells(kept, case.secrets),
        is_visible=_tells([*shown, summary], case.secrets),
        is_blocked=any(held.values()),
        codes=tuple(dict.fromkeys(flag.code for found in marked.values() for flag in found)),
    )


def written_tables(verdicts: Sequence[Verdict], *, zh: bool = False) -> str:
    """The tables of docs/guard.md on these conversations: by language, and by what an attack is after."""
    bad = [one for one in verdicts if one.case.kind != "benign"]
    good = [one for one in verdicts if one.case.kind == "benign"]
    remembered, visible, blocked = ("成为记忆", "可见", "误拦") if zh else ("remembered", "visible", "blocked")
    language, kind = ("语言", "攻击目的") if zh else ("language", "what it is after")
    by_lang: Key = lambda one: one.case.lang  # noqa: E731 - a name for what the tables share
    return "\n\n".join(
        (
            _table(language, remembered, bad, by_lang, lambda one: one.is_remembered),
            _table(language, visible, bad, by_lang, lambda one: one.is_visible),
            _table(language, blocked, good, by_lang, lambda one: one.is_blocked),
            _table(kind, visible, bad, lambda one: one.case.kind, lambda one: one.is_visible),
        )
    )


def _table(name: str, what: str, verdicts: Sequence[Verdict], key: Key, is_wrong: Callable[[Verdict], bool]) -> str:
    splits = [split for split in WRITTEN if any(one.case.split == split for one in verdicts)]
    rows = [
        f"| {name} | " + " | ".join(f"{what}: {split}" for split in splits) + " |",
        "|---" * (len(splits) + 1) + "|",
    ]
    for group in (*sorted({key(one) for one in verdicts}), None):
        cells: list[str] = []
        for split in splits:
            ours = [one for one in verdicts if one.case.split == split and group in {None, key(one)}]
            cells.append(cell(Rate(sum(is_wrong(one) for one in ours), len(ours))))
        rows.append(f"| {group or '**Σ**'} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _held(turns: Sequence[TurnView], words: Sequence[tuple[Verified, Decision]]) -> dict[UUID, list[HeldSpan]]:
    """The quotes of what does not count, and the sentences of others that repeat its values."""
    held: dict[UUID, list[HeldSpan]] = {turn.event_id: [] for turn in turns}
    for one, decision in words:
        if not _is_shut(decision):
            continue
        held[one.event_id].append(HeldSpan(one.event_id, one.quote_start, one.quote_end, decision.write_status))
        for turn in turns:
            if turn.role in {"assistant", "tool", "system"}:
                places = echoes(turn.content, [one.value])
                held[turn.event_id] += [HeldSpan(turn.event_id, start, end, "pending") for start, end in places]
    return held


def _is_shut(decision: Decision) -> bool:
    return decision.write_status in ("pending_review", "rejected")


def _tells(texts: Sequence[str], secrets: Sequence[str]) -> bool:
    """Whether any of the words stands in any of the texts, disguises undone: whoever reads them undoes them, too."""
    seen = [text for one in texts for text in (one, *(view.text for view in views(one)))]
    return any(_plain(secret) in _plain(text) for secret in secrets for text in seen)


def _plain(text: str) -> str:
    return "".join(views(text)[0].text.split()) if text else ""


def _turn(place: int, role: str, text: str) -> TurnView:
    content = as_sent(text)
    return TurnView(
        event_id=UUID(int=place + 1),
        role=role,
        content=content,
        at=_AT + timedelta(seconds=place),
        language=language_of(content),
        tool_ok=True if role == "tool" else None,
    )

"""Episodes: what happened in one window, with what was held back left out and an importance that code computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.codes import fold
from memory.language import language_of
from memory.signals import asks_to_remember, is_emotional, tone_trend
from memory.spans import cut, held_values, mentions, without_mentions
from memory.turns import TurnView
from schemas.decisions import EpisodeView, HeldSpan, Verified
from schemas.drafts import Outcome, WindowDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodePolicy:
    """Weights of the signals, all in [0, 1], added to `base` and capped at 1; bounds of an episode's lists."""

    base: float = 0.2
    remember: float = 0.3
    constraint: float = 0.2
    failure: float = 0.2
    identity: float = 0.15
    emotion: float = 0.1
    uniqueness: float = 0.1
    max_tags: int = 12
    max_entities: int = 30
    max_summary_chars: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What made a window matter. `uniqueness` is 1 - the highest cosine to an earlier episode, in [0, 1]."""

    remember: bool = False
    constraint: bool = False
    failure: bool = False
    identity: bool = False
    emotion: bool = False
    uniqueness: float = 0.0


DEFAULT_POLICY = EpisodePolicy()


def importance(signals: Signals, policy: EpisodePolicy = DEFAULT_POLICY) -> float:
    """Importance in [0, 1]: the base and the weight of every signal, capped at 1.

    Nothing but small talk is .2 (and expires); a failed errand .4; an allergy told to be remembered .7.
    """
    total = policy.base + policy.uniqueness * min(max(signals.uniqueness, 0.0), 1.0)
    for present, weight in (
        (signals.remember, policy.remember),
        (signals.constraint, policy.constraint),
        (signals.failure, policy.failure),
        (signals.identity, policy.identity),
        (signals.emotion, policy.emotion),
    ):
        total += weight if present else 0.0
    return round(min(total, 1.0), 4)


def signals_of(
    turns: Sequence[TurnView], kept: Iterable[Verified], outcome: Outcome, uniqueness: float = 0.0
) -> Signals:
    """The signals of a window. `kept` are the statements that the gate let pass, nothing that was held back."""
    said = [turn.content for turn in turns if turn.role in {"user", "staff"}]
    types = {one.type for one in kept if one.subject == "user"}
    return Signals(
        remember=any(asks_to_remember(text) for text in said),
        constraint="constraint" in types,
        failure=outcome == "failure",
        identity="identity" in types,
        emotion=any(is_emotional(text) for text in said),
        uniqueness=uniqueness,
    )


def build(
    draft: WindowDraft,
    turns: Sequence[TurnView],
    spans: Mapping[UUID, Sequence[HeldSpan]],
    *,
    kept: Sequence[Verified] = (),
    held: Sequence[str] = (),
    ended_outcome: Outcome | None = None,
    uniqueness: float = 0.0,
    policy: EpisodePolicy = DEFAULT_POLICY,
) -> EpisodeView:
    """The episode of a window, without ids of its own.

    Shape: `spans` are the turns' held-back parts, `held` further values that must not be told (pending, retracted,
    superseded ones), `kept` the statements that passed the gate. `ended_outcome` is what a `session_ended` event said:
    it outranks the draft's. A draft's outcome without a turn of this window as evidence is `unknown`.
    Raises: ValueError for a window without turns.
    """
    if not turns:
        msg = "an episode needs turns"
        raise ValueError(msg)
    secret = (*held, *(value for turn in turns for value in held_values(turn.content, spans.get(turn.event_id, ()))))
    shown = _turn_ids(draft.outcome_turns, turns)
    outcome: Outcome = ended_outcome or (draft.outcome if shown else "unknown")
    summary = without_mentions(draft.summary.strip(), secret)[: policy.max_summary_chars]
    if not summary:
        summary = _first_request(turns, spans, secret)[: policy.max_summary_chars]
    names = [turn.procedure_name for turn in turns if turn.procedure_name is not None]
    return EpisodeView(
        summary=summary,
        outcome=outcome,
        outcome_turn_ids=shown,
        sentiment=draft.sentiment,
        sentiment_trend=tone_trend(turns),
        tags=_tags(draft, secret, policy),
        entities=_entities(draft, secret, policy),
        procedure_name=names[-1] if names else (draft.procedure.name or None if draft.procedure is not None else None),
        turn_ids=tuple(turn.event_id for turn in turns),
        language=_language(turns),
        started_at=min(turn.at for turn in turns),
        ended_at=max(turn.at for turn in turns),
        importance=importance(signals_of(turns, kept, outcome, uniqueness), policy),
        confidence=1.0 if ended_outcome is not None else (0.8 if shown else 0.6),
        ticket_id=next((turn.ticket_id for turn in reversed(turns) if turn.ticket_id is not None), None),
        agent_id=next((turn.agent_id for turn in reversed(turns) if turn.agent_id is not None), None),
    )


def _turn_ids(labels: Sequence[str], turns: Sequence[TurnView]) -> tuple[UUID, ...]:
    numbers = {int(label[1:]) for label in labels if label[:1] == "t" and label[1:].isdecimal() and label.isascii()}
    return tuple(turns[number - 1].event_id for number in sorted(numbers) if 1 <= number <= len(turns))


def _tags(draft: WindowDraft, secret: Sequence[str], policy: EpisodePolicy) -> tuple[str, ...]:
    tags = (fold(tag) for tag in draft.tags)
    clean = dict.fromkeys(tag for tag in tags if tag and len(tag) <= 40 and not mentions(tag, secret))
    return tuple(clean)[: policy.max_tags]


def _entities(draft: WindowDraft, secret: Sequence[str], policy: EpisodePolicy) -> tuple[tuple[str, str], ...]:
    clean: dict[str, tuple[str, str]] = {}
    for entity in draft.entities:
        name = entity.name.strip()
        if name and len(name) <= 80 and not mentions(name, secret):
            clean.setdefault(fold(name), (name, fold(entity.kind)))
    return tuple(clean.values())[: policy.max_entities]


def _first_request(turns: Sequence[TurnView], spans: Mapping[UUID, Sequence[HeldSpan]], secret: Sequence[str]) -> str:
    """What the user first said that may be told; for nothing at all, how many turns there were."""
    for turn in turns:
        if turn.role != "user":
            continue
        text = without_mentions(cut(turn.content, spans.get(turn.event_id, ())), secret)
        if text:
            return text
    return f"{len(turns)} 条对话。" if _language(turns) == "zh" else f"A conversation of {len(turns)} turns."


def _language(turns: Sequence[TurnView]) -> str:
    said = " ".join(turn.content for turn in turns if turn.role == "user") or turns[0].content
    return language_of(said)


def merged(members: Sequence[EpisodeView], summary: str) -> EpisodeView:
    """The episode that stands for its members (one or more, in order of time), under the given summary.

    It cites every turn of theirs, matters as much as the weightiest, and keeps an outcome only if all agree on it.
    """
    outcomes = {one.outcome for one in members}
    languages = [one.language for one in members]
    procedures = {one.procedure_name for one in members}
    agents = {one.agent_id for one in members}
    return EpisodeView(
        summary=summary,
        outcome=members[0].outcome if len(outcomes) == 1 else "unknown",
        outcome_turn_ids=tuple(dict.fromkeys(turn for one in members for turn in one.outcome_turn_ids)),
        sentiment=members[-1].sentiment,
        sentiment_trend=members[-1].sentiment_trend,
        tags=tuple(dict.fromkeys(tag for one in members for tag in one.tags)),
        entities=tuple(dict.fromkeys(entity for one in members for entity in one.entities)),
        procedure_name=procedures.pop() if len(procedures) == 1 else None,
        turn_ids=tuple(dict.fromkeys(turn for one in members for turn in one.turn_ids)),
        language=max(sorted(set(languages)), key=languages.count),
        started_at=min(one.started_at for one in members),
        ended_at=max(one.ended_at for one in members),
        importance=max(one.importance for one in members),
        confidence=min(one.confidence for one in members),
        agent_id=agents.pop() if len(agents) == 1 else None,
    )

"""The rules' knobs, built from the settings in one place. A setting of None leaves the rule's own default alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from memory.agents import AgentPolicy
from memory.circuit import CircuitPolicy
from memory.policy import GatePolicy
from memory.procedures import ProcedurePolicy
from memory.ranking import RankPolicy, floors
from memory.strength import StrengthPolicy
from memory.timeline import FoldPolicy
from memory.windows import WindowPolicy
from stores.settings import RecallSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """One frozen policy for each rule."""

    windows: WindowPolicy = field(default_factory=WindowPolicy)
    circuit: CircuitPolicy = field(default_factory=CircuitPolicy)
    gate: GatePolicy = field(default_factory=GatePolicy)
    fold: FoldPolicy = field(default_factory=FoldPolicy)
    procedures: ProcedurePolicy = field(default_factory=ProcedurePolicy)
    strength: StrengthPolicy = field(default_factory=StrengthPolicy)
    rank: RankPolicy = field(default_factory=RankPolicy)
    agents: AgentPolicy = field(default_factory=AgentPolicy)


def policies_of(settings: Settings, *, space: str | None = None) -> Policies:
    """Every policy as the settings want it; `space` is the embedder's name, which decides what a cosine means."""
    window, strength, keep = settings.window, settings.strength, settings.retention
    return Policies(
        windows=WindowPolicy(
            idle_seconds=window.idle_seconds,
            max_wait_seconds=window.max_wait_seconds,
            window_tokens=window.tokens,
            # A digest ends within its time-out, and one more if the last read began just before it. Halves are stored
            # one by one, each for another lease.
            lease_seconds=2 * settings.llm.timeout_seconds + window.write_margin_seconds,
            max_attempts=window.max_attempts,
            max_crashes=window.max_crashes,
        ),
        circuit=CircuitPolicy(failures=settings.llm.circuit_failures, rest_seconds=settings.llm.circuit_rest_seconds),
        procedures=ProcedurePolicy(explore=settings.recall.explore),
        strength=StrengthPolicy(
            form=strength.form,
            half_life_days=strength.half_life_days,
            floor=strength.floor,
            keep_threshold=keep.keep_importance,
            max_extensions=keep.max_extensions,
            ttl_days={
                "episode": keep.episodes_days,
                "fact": keep.facts_days,
                "moment": keep.turns_days,
                "procedure": None,
                "knowledge": None,
            },
        ),
        rank=_rank(settings.recall, space),
        agents=AgentPolicy(
            shared=settings.recall.agents == "shared",
            private=frozenset(name.strip() for name in settings.recall.private_agents.split(",") if name.strip()),
        ),
    )


def rank_of(settings: Settings, rank: RankPolicy, space: str) -> RankPolicy:
    """The same ranking for vectors of another embedder."""
    floor = _rank(settings.recall, space)
    return replace(rank, sure_cosine=floor.sure_cosine, min_cosine=floor.min_cosine)


def _rank(recall: RecallSettings, space: str | None) -> RankPolicy:
    preset = RankPolicy.preset(recall.preset)
    sure, least = (preset.sure_cosine, preset.min_cosine) if space is None else floors(space)
    given: dict[str, Any] = {
        "vector": recall.vector_weight,
        "recency": recall.recency_weight,
        "importance": recall.importance_weight,
        "half_life_days": recall.half_life_days,
        "sure_cosine": sure if recall.sure_cosine is None else recall.sure_cosine,
        "min_cosine": least if recall.min_cosine is None else recall.min_cosine,
    }
    if recall.keyword_weight is not None:
        total = preset.own + preset.context or 1.0
        given["own"] = recall.keyword_weight * preset.own / total
        given["context"] = recall.keyword_weight * preset.context / total
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(preset, **changes)

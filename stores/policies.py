"""The rules' knobs, built from the settings in one place. A setting of None leaves the rule's own default alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from memory.gate import GatePolicy
from memory.procedures import ProcedurePolicy
from memory.ranking import RankPolicy
from memory.strength import StrengthPolicy
from memory.timeline import FoldPolicy
from memory.windows import WindowPolicy
from stores.settings import RecallSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """One frozen policy for each rule."""

    windows: WindowPolicy = field(default_factory=WindowPolicy)
    gate: GatePolicy = field(default_factory=GatePolicy)
    fold: FoldPolicy = field(default_factory=FoldPolicy)
    procedures: ProcedurePolicy = field(default_factory=ProcedurePolicy)
    strength: StrengthPolicy = field(default_factory=StrengthPolicy)
    rank: RankPolicy = field(default_factory=RankPolicy)


def policies_of(settings: Settings) -> Policies:
    """Every policy as the settings want it."""
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
        ),
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
        rank=_rank(settings.recall),
    )


def _rank(recall: RecallSettings) -> RankPolicy:
    preset = RankPolicy.preset(recall.preset)
    given: dict[str, Any] = {
        "vector": recall.vector_weight,
        "recency": recall.recency_weight,
        "importance": recall.importance_weight,
        "half_life_days": recall.half_life_days,
    }
    if recall.keyword_weight is not None:
        total = preset.own + preset.context or 1.0
        given["own"] = recall.keyword_weight * preset.own / total
        given["context"] = recall.keyword_weight * preset.context / total
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(preset, **changes)

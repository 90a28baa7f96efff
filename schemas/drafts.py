"""What a model, or the offline provider, must answer for one window. Verified by code before any of it counts.

Kept dull on purpose (closed objects, every field required, no patterns): strict JSON-schema modes reject more.
`reason` and `quote` stand before the verdicts: small models decide better in that order.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Outcome = Literal["success", "failure", "unknown"]
Sentiment = Literal["positive", "neutral", "negative"]
Modality = Literal["asserted", "hypothetical", "reported", "joke", "question"]
Polarity = Literal["+", "-", "retract", "past"]
FactType = Literal["identity", "preference", "habit", "requirement", "constraint", "relation"]


class _Draft(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class FactDraft(_Draft):
    """One statement. `turn` is t1, t2, ... in time order inside the window; `quote` is verbatim from that turn."""

    reason: str
    quote: str
    turn: str
    subject: str
    modality: Modality
    polarity: Polarity
    type: FactType
    key: str
    object: str | None = None
    value: str
    when: str | None = None


class EntityDraft(_Draft):
    """Something that was named: a product, a person, an order."""

    name: str
    kind: str


class ProcedureDraft(_Draft):
    """Whether a named procedure worked, with the turns that show it."""

    name: str
    verdict: Outcome
    turns: list[str] = Field(default_factory=list[str])


class WindowDraft(_Draft):
    """The whole answer for one window."""

    summary: str
    outcome: Outcome
    outcome_turns: list[str] = Field(default_factory=list[str])
    sentiment: Sentiment
    tags: list[str] = Field(default_factory=list[str])
    entities: list[EntityDraft] = Field(default_factory=list[EntityDraft])
    facts: list[FactDraft] = Field(default_factory=list[FactDraft])
    procedure: ProcedureDraft | None = None

"""Which endpoints are asked, and what they understand. Values only: whoever builds them reads the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

OPENAI_URL = "https://api.openai.com/v1"


Stage = Literal["digest", "repair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Which endpoint, and what it understands.

    `large_stages` are asked of `model_large`, when that is given; all others of `model_small`. Stages: `digest`, and
    `repair`, the one repetition after an unusable answer. `structured` auto starts with
    json_schema and steps down. `thinking_off` sends the switches of DashScope and vLLM. `system_role` user moves the
    instructions into the user message, for chat templates without a system role. `temperature` and `seed` of None are
    not sent. `timeout_seconds` bounds a whole digest, all its calls together (a server that sends a little and then
    falls silent can double it).
    """

    model_small: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    model_large: str | None = None
    large_stages: frozenset[Stage] = frozenset({"repair"})
    structured: Literal["auto", "json_schema", "json_object", "prompt"] = "auto"
    max_tokens_param: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    max_tokens: int = 4096
    system_role: Literal["system", "user"] = "system"
    extra_body: Mapping[str, object] = field(default_factory=dict[str, object])
    thinking_off: bool = False
    timeout_seconds: float = 60.0
    connect_timeout_seconds: float = 5.0
    temperature: float | None = 0.0
    seed: int | None = 7

    def model_of(self, stage: Stage) -> str:
        """Which model a stage is asked of."""
        return (self.model_large or self.model_small) if stage in self.large_stages else self.model_small


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedConfig:
    """Which endpoint embeds.

    `dimensions`, when given, is sent (few models accept it) and expected; None takes the length of the first vector
    that the endpoint gives. A text counts by its first `max_chars` characters. `batch` is texts a request, 256 at most.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None
    batch: int = 128
    max_chars: int = 6000
    max_request_chars: int = 200_000
    timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 5.0
    extra_body: Mapping[str, object] = field(default_factory=dict[str, object])

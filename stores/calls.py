"""Measures calls to models: how long, and how they ended; each is a span, named by OpenTelemetry's GenAI rules."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from llm.face import Usage
from schemas.errors import ServiceError
from stores import metrics, tracing

_OPERATIONS = {"digest": "chat", "embed": "embeddings"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call under way."""

    span: tracing.Span

    def note(self, usage: Usage) -> None:
        """What it cost."""
        self.span.note(
            {
                "gen_ai.provider.name": usage.provider,
                "gen_ai.response.model": usage.model,
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
            }
        )


@contextmanager
def timed(operation: Literal["digest", "embed"], *, count: int | None = None) -> Generator[Call]:
    """Times one call; `outcome` is ok, or the code of the error that comes out."""
    started, outcome = time.monotonic(), "bug"
    name = _OPERATIONS[operation]
    attributes = {"gen_ai.operation.name": name, "afterturn.texts.count": count}
    try:
        with tracing.span(name, kind="client", attributes=attributes) as span:
            yield Call(span)
        outcome = "ok"
    except ServiceError as exc:
        outcome = exc.code
        raise
    finally:
        metrics.LLM_DURATION.labels(operation, outcome).observe(time.monotonic() - started)

"""The one face that tasks know: a model answers a window, an embedder turns texts into unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memory.turns import TurnView
from schemas.drafts import WindowDraft
from schemas.indexing import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRequest:
    """One window to answer: `turns` are t1, t2, ...; `context` are earlier turns, read-only, never evidence."""

    turns: Sequence[TurnView]
    context: Sequence[TurnView] = ()
    prompt_version: str
    procedures: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one stage of an answer cost with one model: `digest` is the question, `repair` its one repetition."""

    stage: str
    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one answer cost. `calls` counts requests that reached a server; `estimated`: it gave no counts.

    `lines` is the same by stage and model; `model` is the last one that was asked.
    """

    provider: str
    model: str
    mode: str = "offline"
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    duration_ms: int = 0
    request_id: str | None = None
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A decoded answer and its price. The draft is well-formed; whether it is true is for `memory/verify.py`.

    `dropped` counts items that the model wrote too badly to be kept.
    """

    draft: WindowDraft
    usage: Usage = field(default_factory=lambda: Usage(provider="offline", model="rules"))
    dropped: int = 0


class Model(Protocol):
    """Answers a window in one call.

    Raises: ModelBusy (Transient) to try again later, BadAnswer (Permanent) when repeating cannot help.
    """

    name: str

    def digest(self, request: WindowRequest) -> Answer:
        """The answer for one window."""
        ...

    def close(self) -> None:
        """Releases connections. Repeat: harmless."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors. `name` identifies the vector space: vectors of two names never mix."""

    name: str

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One unit-length float32 vector per text, in order. Raises: ModelBusy, BadAnswer."""
        ...

    def close(self) -> None:
        """Releases connections. Repeat: harmless."""
        ...

"""Which parts of the chat protocol a server understands, and what to try next when it refuses one.

Pure: a dialect and a refusal in, the next dialect out. A dialect is worth remembering once a server answered in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from llm.transport import FAILED_GENERATION, FILTERED, Failure, is_too_long

Mode = Literal["json_schema", "json_object", "prompt"]
TokensParam = Literal["max_tokens", "max_completion_tokens"]

_LOWER: dict[Mode, Mode] = {"json_schema": "json_object", "json_object": "prompt"}
_OTHER: dict[TokensParam, TokensParam] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
_UNKNOWN = (
    "unsupported",
    "not support",
    "unrecognized",
    "unknown",
    "unexpected",
    "extra",
    "not permitted",
    "not allow",
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to ask. `mode_fixed` and `tokens_fixed` are set by the configuration and never changed."""

    mode: Mode = "json_schema"
    tokens_param: TokensParam = "max_tokens"
    temperature: bool = True
    seed: bool = True
    mode_fixed: bool = False
    tokens_fixed: bool = False
    tokens_swapped: bool = False


def next_dialect(dialect: Dialect, failure: Failure) -> Dialect | None:
    """What to try after a refusal, or None when the request's form is not the trouble.

    400 and 422 count, and a 5xx that names `response_format`: some servers crash on a mode that they don't know.
    Every step removes a feature, so that no more than six can follow each other.
    """
    if failure.status not in (400, 422) and not _crashed_on_format(failure):
        return None
    if failure.code in FILTERED | FAILED_GENERATION or is_too_long(failure):
        return None
    return _without_parameter(dialect, failure.said) or _lower_mode(dialect)


def _crashed_on_format(failure: Failure) -> bool:
    return failure.status >= 500 and ("response_format" in failure.said or "json_schema" in failure.said)


def _without_parameter(dialect: Dialect, said: str) -> Dialect | None:
    if not any(word in said for word in _UNKNOWN) or "response_format" in said:
        return None
    swappable = not dialect.tokens_fixed and not dialect.tokens_swapped
    if swappable and dialect.tokens_param in said:
        return replace(dialect, tokens_param=_OTHER[dialect.tokens_param], tokens_swapped=True)
    if dialect.temperature and "temperature" in said:
        return replace(dialect, temperature=False)
    if dialect.seed and "seed" in said:
        return replace(dialect, seed=False)
    return None


def _lower_mode(dialect: Dialect) -> Dialect | None:
    lower = None if dialect.mode_fixed else _LOWER.get(dialect.mode)
    return None if lower is None else replace(dialect, mode=lower)

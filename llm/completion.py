"""The body of a chat completion as servers really send it: what was said, why it stopped, what it cost.

Reads the body itself, because the SDK's parser raises foreign errors on some bodies and loses the usage on others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from schemas.errors import BadAnswer, ModelBusy

Object = dict[str, object]

# Spent credit comes as 429 or inside a 200; waiting does not refill it.
QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
# How gateways say inside a choice that the model behind them failed.
_GAVE_UP = ("error", "insufficient_system_resource")


@dataclass(frozen=True, slots=True)
class Counts:
    """Token counts as the server gave them."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """One choice of one completion. `counts` is None when the server gave no usage."""

    content: str
    reasoning: str = ""
    refused: bool = False
    finish_reason: str = ""
    counts: Counts | None = None


def read_json(body: str) -> object:
    """The JSON value of a body, or None when it is none (also when it nests too deep to be read)."""
    try:
        return cast("object", json.loads(body))
    except (ValueError, RecursionError):
        return None


def read_completion(body: str) -> Completion | ModelBusy | BadAnswer:
    """The completion inside the body of a 200, or why there is none.

    HTML, an error object and an empty list of choices are a gateway's trouble: ModelBusy `bad_response`. An error that
    says that the credit is spent: BadAnswer `quota`. Errors are returned: raised here, they would chain to the body.
    """
    top = as_object(read_json(body))
    error = top.get("error")
    if error is not None:
        return _error_inside(as_object(error))
    choices = top.get("choices")
    first = as_object(cast("list[object]", choices)[0]) if isinstance(choices, list) and choices else {}
    message = as_object(first.get("message"))
    if first.get("error") is not None or first.get("finish_reason") in _GAVE_UP:
        return _error_inside(as_object(first.get("error")))
    if not message:
        return ModelBusy("the model's endpoint answered 200 without a completion", code="bad_response")
    return Completion(
        content=_text(message.get("content")),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        refused=bool(_text(message.get("refusal"))),
        finish_reason=_text(first.get("finish_reason")),
        counts=read_counts(body_usage=as_object(top.get("usage"))),
    )


def read_counts(body_usage: Object) -> Counts | None:
    """Token counts of a usage object, or None when it has no input count."""
    if "prompt_tokens" not in body_usage:
        return None
    details = as_object(body_usage.get("prompt_tokens_details"))
    return Counts(
        input_tokens=_count(body_usage.get("prompt_tokens")),
        output_tokens=_count(body_usage.get("completion_tokens")),
        # DeepSeek names it differently.
        cached_tokens=_count(details.get("cached_tokens") or body_usage.get("prompt_cache_hit_tokens")),
        reasoning_tokens=_count(as_object(body_usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )


def as_object(value: object) -> Object:
    """The value when it is a JSON object, else {}."""
    return cast("Object", value) if isinstance(value, dict) else {}


def _error_inside(error: Object) -> ModelBusy | BadAnswer:
    if error.get("code") in QUOTA_CODES or error.get("type") in QUOTA_CODES:
        return BadAnswer("the model's account has no credit left", code="quota")
    return ModelBusy("the model's endpoint answered 200 with an error inside", code="bad_response")


def _text(value: object) -> str:
    """A string, or the joined text parts of a list of parts; "" for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(as_object(part).get("text")) for part in cast("list[object]", value))
    return ""


def _count(value: object) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0

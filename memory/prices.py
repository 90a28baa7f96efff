"""What tokens cost: by model, in US dollars for a million of them. An estimate; the provider's bill is the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Of one model, in dollars for a million tokens. `cached` of None: what was cached costs like any other input."""

    input: float
    output: float
    cached: float | None = None


def cost_usd(
    prices: Mapping[str, Price], model: str, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0
) -> float:
    """Dollars, at least 0. A model without a price costs nothing that is known.

    Formula: (input - cached) * input price + cached * cached price + output * output price. Reasoning tokens are part
    of the output. Source: the price lists of OpenAI-compatible providers.
    """
    price = prices.get(model)
    if price is None:
        return 0.0
    cached = min(max(0, cached_tokens), input_tokens)
    cached_price = price.input if price.cached is None else price.cached
    return ((input_tokens - cached) * price.input + cached * cached_price + output_tokens * price.output) / _MILLION

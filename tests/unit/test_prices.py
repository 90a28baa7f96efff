"""What tokens cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.config import ModelConfig
from memory.prices import Price, cost_usd

PRICES = {"mini": Price(input=0.25, output=2.0, cached=0.025), "plain": Price(input=1.0, output=4.0)}
_TOKENS = st.integers(0, 10_000_000)


def test_a_worked_example() -> None:
    cost = cost_usd(PRICES, "mini", input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000)

    assert cost == pytest.approx(0.6 * 0.25 + 0.4 * 0.025 + 0.1 * 2.0)
    assert cost_usd(PRICES, "unknown", input_tokens=5, output_tokens=5) == 0.0


@given(_TOKENS, _TOKENS, _TOKENS)
def test_what_was_cached_never_makes_it_dearer_and_nothing_is_negative(given_in: int, out: int, cached: int) -> None:
    for model in PRICES:
        whole = cost_usd(PRICES, model, input_tokens=given_in, output_tokens=out)
        less = cost_usd(PRICES, model, input_tokens=given_in, output_tokens=out, cached_tokens=cached)
        assert 0.0 <= less <= whole + 1e-9


def test_a_stage_is_asked_of_the_model_that_the_settings_name() -> None:
    both = ModelConfig(model_small="small", model_large="large", large_stages=frozenset({"digest"}))

    assert (both.model_of("digest"), both.model_of("repair")) == ("large", "small")
    assert ModelConfig(model_small="small").model_of("repair") == "small"

"""What to try next when a server refuses the form of a request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.config import ModelConfig
from llm.dialect import Dialect, next_dialect
from llm.openai_model import first_dialect
from llm.transport import Failure

REFUSED = Failure(400, said="no")


@pytest.mark.parametrize(
    ("url", "param"),
    [
        (None, "max_completion_tokens"),
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://x.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.deepseek.com", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
        ("https://openai.com.example/v1", "max_tokens"),
    ],
)
def test_the_token_parameter_follows_the_endpoint(url: str | None, param: str) -> None:
    assert first_dialect(ModelConfig(model_small="m", base_url=url)).tokens_param == param


def test_what_is_configured_is_fixed() -> None:
    config = ModelConfig(model_small="m", structured="prompt", max_tokens_param="max_tokens", temperature=None)

    assert first_dialect(config) == Dialect(
        mode="prompt", tokens_param="max_tokens", temperature=False, mode_fixed=True, tokens_fixed=True
    )


@pytest.mark.parametrize(
    "failure",
    [
        Failure(401, said="response_format"),
        Failure(404),
        Failure(429, said="response_format"),
        Failure(500, said="oh"),
        Failure(0, kind="timeout"),
        Failure(400, code="content_filter"),
        Failure(400, code="json_validate_failed"),
        Failure(400, said="this model's maximum context length is 4096 tokens"),
        Failure(500, said="the request exceeds the available context size; response_format"),
    ],
)
def test_a_trouble_that_is_not_the_form_changes_nothing(failure: Failure) -> None:
    assert next_dialect(Dialect(), failure) is None


@pytest.mark.parametrize("said", ["response_format type is unavailable now", "json_schema is unknown", ""])
@pytest.mark.parametrize("status", [400, 422])
def test_modes_step_down_one_by_one(status: int, said: str) -> None:
    failure = Failure(status, said=said)

    middle = next_dialect(Dialect(), failure)
    assert middle is not None
    low = next_dialect(middle, failure)
    assert low is not None
    assert (middle.mode, low.mode, next_dialect(low, failure)) == ("json_object", "prompt", None)


@given(
    said=st.lists(
        st.sampled_from(
            ["unsupported", "max_tokens", "max_completion_tokens", "temperature", "seed", "response_format", "x"]
        )
    ).map(" ".join),
    status=st.sampled_from([400, 422, 500]),
)
def test_no_refusal_repeats_for_ever(said: str, status: int) -> None:
    dialect: Dialect | None = Dialect()
    for _ in range(7):
        assert dialect is not None
        dialect = next_dialect(dialect, Failure(status, said=said))
        if dialect is None:
            return
    pytest.fail("a server can keep us asking")

"""The openai client and our decoder against a real HTTP server that behaves as servers do."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from llm.config import ModelConfig
from llm.failures import BilledBadAnswer, BilledModelBusy, usage_of
from llm.openai_model import OpenAIModel
from model_fixtures import ask, server, window
from schemas.errors import BadAnswer, BadSettings, ModelBusy
from scripted_model import BEHAVIOURS, Reply, ScriptedModel, completion, error, good

__all__ = ["server"]  # a fixture: pytest finds it here


@pytest.mark.parametrize(
    ("behaviour", "calls"),
    [
        ("good", 1),
        ("extra_key", 1),
        ("reasoning_and_content", 1),
        ("fenced", 1),
        ("think", 1),
        ("reasoning_only", 1),
    ],
)
def test_an_answer_is_read_however_it_is_wrapped(server: ScriptedModel, behaviour: str, calls: int) -> None:
    server.always(BEHAVIOURS[behaviour])

    answer = ask(server)

    assert answer.draft.summary == "scripted"
    assert server.chat_calls == answer.usage.calls == calls
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (100, 20)
    assert answer.usage.mode == "json_schema"
    assert answer.usage.request_id == "req-scripted"
    assert not answer.usage.estimated


@pytest.mark.parametrize("behaviour", ["schema_400", "schema_422", "schema_500"])
def test_a_refused_response_format_is_asked_for_in_a_humbler_mode(server: ScriptedModel, behaviour: str) -> None:
    server.always(BEHAVIOURS[behaviour])

    answer = ask(server)

    assert answer.usage.mode == "json_object"
    assert [call.mode for call in server.calls] == ["json_schema", "json_object"]
    assert (answer.usage.calls, answer.usage.input_tokens) == (2, 100)


@pytest.mark.parametrize(
    ("behaviour", "kind", "code", "calls"),
    [
        ("empty", BilledModelBusy, "empty", 2),
        ("length", BilledBadAnswer, "truncated", 1),
        ("cut", BilledBadAnswer, "truncated", 1),
        ("refusal_field", BilledBadAnswer, "refused", 1),
        ("refusal_text", BilledBadAnswer, "refused", 2),
        ("content_filter", BilledBadAnswer, "content_filter", 1),
        ("wrong_keys", BilledBadAnswer, "invalid", 2),
        ("rate_limited", BilledModelBusy, "rate_limited", 1),
        ("server_error", BilledModelBusy, "server_error", 1),
    ],
)
def test_an_unusable_answer_is_an_error_with_its_code_and_its_price(
    server: ScriptedModel, behaviour: str, kind: type[Exception], code: str, calls: int
) -> None:
    server.always(BEHAVIOURS[behaviour])

    with pytest.raises((ModelBusy, BadAnswer)) as raised:
        ask(server)

    usage = usage_of(raised.value)
    assert type(raised.value) is kind
    assert raised.value.code == code
    assert usage is not None
    assert server.chat_calls == usage.calls == calls
    # What the server counted: 100 and 20 for each completion, nothing for a refusal to work at all.
    completions = 0 if code in ("rate_limited", "server_error") else calls
    assert (usage.input_tokens, usage.output_tokens) == (completions * 100, completions * 20)
    assert not usage.estimated


@pytest.mark.parametrize("behaviour", ["no_choices", "error_in_200", "html_in_200"])
def test_a_200_without_a_completion_is_a_gateways_trouble(server: ScriptedModel, behaviour: str) -> None:
    server.always(BEHAVIOURS[behaviour])

    with pytest.raises(BilledModelBusy) as raised:
        ask(server)

    assert raised.value.code == "bad_response"
    assert (server.chat_calls, raised.value.usage.calls) == (1, 1)
    assert raised.value.usage.input_tokens > 1000
    assert raised.value.usage.estimated


def test_a_hanging_endpoint_costs_one_time_out_and_may_have_been_billed(server: ScriptedModel) -> None:
    server.always(BEHAVIOURS["timeout"])
    started = time.monotonic()

    with pytest.raises(BilledModelBusy) as raised:
        ask(server, timeout_seconds=0.3)

    assert time.monotonic() - started < 5
    assert raised.value.code == "timeout"
    assert (server.chat_calls, raised.value.usage.calls) == (1, 1)
    assert raised.value.usage.input_tokens > 1000
    assert raised.value.usage.estimated


def test_every_behaviour_is_tested() -> None:
    assert len(BEHAVIOURS) == 22


def test_the_time_out_bounds_all_calls_of_a_digest_together(server: ScriptedModel) -> None:
    slow = replace(completion('{"answer": 1}'), delay_seconds=0.4)
    server.script(slow, replace(slow, hangs=True))
    started = time.monotonic()

    with pytest.raises(BilledModelBusy) as raised:
        ask(server, timeout_seconds=0.8)

    assert time.monotonic() - started < 5
    assert raised.value.code == "timeout"
    assert raised.value.usage.calls == 2
    assert raised.value.usage.input_tokens > 100


def test_blank_lines_of_a_queue_are_no_answer_and_do_not_move_the_deadline(server: ScriptedModel) -> None:
    server.script(replace(good(), blank_lines=5))
    assert ask(server).usage.calls == 1

    server.script(replace(good(), blank_lines=100_000))
    started = time.monotonic()
    with pytest.raises(BilledModelBusy) as raised:
        ask(server, timeout_seconds=0.5)

    assert raised.value.code == "timeout"
    assert time.monotonic() - started < 5


def test_a_broken_body_is_a_failure_of_ours(server: ScriptedModel) -> None:
    server.always(replace(good(), headers={"Content-Encoding": "gzip"}))

    with pytest.raises(BilledModelBusy) as raised:
        ask(server)

    assert (raised.value.code, raised.value.usage.calls) == ("unreachable", 1)


@pytest.mark.parametrize("key", ["密钥", "sk-a\n"])
def test_a_key_that_no_header_can_carry_stops_the_start(key: str) -> None:
    with pytest.raises(BadSettings) as raised:
        OpenAIModel(ModelConfig(model_small="m", api_key=key))

    assert key not in str(raised.value)


def test_a_closed_port_is_unreachable_and_costs_nothing() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    model = OpenAIModel(ModelConfig(base_url=f"http://127.0.0.1:{port}/v1", model_small="m"))

    with pytest.raises(BilledModelBusy) as raised:
        model.digest(window())
    model.close()

    assert raised.value.code == "unreachable"
    assert (raised.value.usage.calls, raised.value.usage.input_tokens) == (0, 0)


def test_a_dropped_connection_may_have_been_read(server: ScriptedModel) -> None:
    server.always(replace(good(), drops=True))

    with pytest.raises(BilledModelBusy) as raised:
        ask(server)

    assert (raised.value.code, raised.value.usage.calls) == ("unreachable", 1)


@pytest.mark.parametrize(
    ("header", "value", "low", "high"),
    [
        ("retry_after", "7", 7, 7),
        ("retry_after", "0.5", 0.5, 0.5),
        ("retry_after", "-3", 0, 0),
        ("retry_after", "1e9", 3600, 3600),
        ("retry_after_ms", "1500", 1.5, 1.5),
    ],
)
def test_retry_after_is_handed_on(server: ScriptedModel, header: str, value: str, low: float, high: float) -> None:
    _expect_retry_after(server, header, value, low, high)


def _expect_retry_after(server: ScriptedModel, header: str, value: str, low: float, high: float) -> None:
    server.always(error(429, "Slow down.", **{header: value}))

    with pytest.raises(BilledModelBusy) as raised:
        ask(server)

    assert raised.value.retry_after_seconds is not None
    assert low <= raised.value.retry_after_seconds <= high


def test_a_retry_after_that_names_a_moment_is_handed_on_as_seconds(server: ScriptedModel) -> None:
    in_half_an_hour = format_datetime(datetime.now(UTC) + timedelta(minutes=30), usegmt=True)

    _expect_retry_after(server, "retry_after", in_half_an_hour, 900, 1800)


@pytest.mark.parametrize("value", ["soon", "nan", "inf", ""])
def test_a_retry_after_that_means_nothing_is_left_out(server: ScriptedModel, value: str) -> None:
    server.always(error(503, "Down.", retry_after=value))

    with pytest.raises(BilledModelBusy) as raised:
        ask(server)

    assert (raised.value.code, raised.value.retry_after_seconds) == ("server_error", None)


@pytest.mark.parametrize(
    ("status", "given", "code"),
    [
        (401, None, "unauthorized"),
        (402, None, "quota"),
        (403, None, "forbidden"),
        (404, "model_not_found", "not_found"),
        (413, None, "too_long"),
        (429, "insufficient_quota", "quota"),
        (400, "context_length_exceeded", "too_long"),
        (400, "content_filter", "content_filter"),
    ],
)
def test_what_waiting_cannot_help_is_permanent_at_once(
    server: ScriptedModel, status: int, given: str | None, code: str
) -> None:
    server.always(error(status, "No.", code=given))

    with pytest.raises(BilledBadAnswer) as raised:
        ask(server)

    assert (raised.value.code, server.chat_calls) == (code, 1)


def test_spent_credit_inside_a_200_is_permanent(server: ScriptedModel) -> None:
    server.always(replace(error(429, "No credit.", code="insufficient_quota"), status=200))

    with pytest.raises(BilledBadAnswer) as raised:
        ask(server)

    assert raised.value.code == "quota"


@pytest.mark.parametrize(
    "reply",
    [
        completion("", finish="error"),
        completion('{"summary":', finish="insufficient_system_resource"),
        error(400, "Failed to generate JSON.", code="json_validate_failed"),
    ],
)
def test_a_model_that_failed_behind_its_gateway_is_asked_again_later(server: ScriptedModel, reply: Reply) -> None:
    server.always(reply)

    with pytest.raises(BilledModelBusy) as raised:
        ask(server)

    assert (raised.value.code, server.chat_calls) == ("bad_response", 1)

"""One trace from the agent's span to the last write, through SQL; several origins are links; no person is in it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest
import redis
from fastapi.testclient import TestClient
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlmodel import Session

from afterturn import Publisher
from afterturn.batches import decode_batch
from afterturn.credentials import generate_credential, parse_credential, seal_key
from afterturn.sealing import open_sealed
from afterturn.tracing import traceparent
from api.app import create_app
from delivery_fixtures import ended, turn
from digest_fixtures import Shop, new_shop
from schemas.errors import BadSettings, StoreBusy
from schemas.tables import Tenant
from stores import tenancy, tracing
from stores.settings import load_settings
from tasks.app import PREFIX


@pytest.fixture
def shop(home: Any) -> Generator[Shop]:
    with new_shop(home) as opened:
        yield opened


@pytest.fixture
def spans() -> Generator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.use(provider)
    yield exporter
    tracing.use(None)


def agent_says(*contents: str) -> list[dict[str, Any]]:
    """Turns, each of them in an agent's span of its own."""
    tracer = TracerProvider().get_tracer("agent")
    said: list[dict[str, Any]] = []
    for number, content in enumerate(contents):
        with tracer.start_as_current_span("turn"):
            said.append(turn(content, number, traceparent=traceparent()))
    return said


def test_a_turn_is_one_trace_from_the_agent_to_the_index(shop: Shop, spans: InMemorySpanExporter) -> None:
    (said,) = agent_says("My phone number is 13800001111 and I live in Lyon.")

    shop.say(said, ended())
    shop.settle()

    found = {span.name: span for span in spans.get_finished_spans()}
    assert {"ingest", "digest", "chat", "upsert_memory", "embeddings"} <= set(found)
    origin = said["traceparent"].split("-")[1]
    for name in ("ingest", "digest", "chat", "upsert_memory"):
        assert f"{context(found[name]).trace_id:032x}" == origin, name
    assert attributes(found["upsert_memory"])["gen_ai.operation.name"] == "upsert_memory"
    assert attributes(found["chat"])["gen_ai.usage.output_tokens"] is not None


def test_nothing_of_a_person_is_in_a_span(shop: Shop, spans: InMemorySpanExporter) -> None:
    (said,) = agent_says("My phone number is 13800001111 and I live in Lyon.")

    shop.say(said, ended())
    shop.settle()

    told = " ".join(span.to_json() for span in spans.get_finished_spans())
    for private in ("13800001111", "Lyon", str(said["event_id"])):
        assert private not in told
    for name in ("user_id", "session_id"):  # too short to be looked for in hexadecimal
        assert f'"{said[name]}"' not in told


def test_a_window_of_several_traces_is_linked_to_each(shop: Shop, spans: InMemorySpanExporter) -> None:
    said = agent_says("I live in Lyon.", "I work at the harbour.")

    shop.say(*said, ended())
    shop.settle()

    digest = next(span for span in spans.get_finished_spans() if span.name == "digest")
    linked = {f"{link.context.trace_id:032x}" for link in digest.links}
    assert linked == {event["traceparent"].split("-")[1] for event in said}
    assert digest.parent is None


def test_an_error_is_told_by_its_code_and_not_by_its_text(spans: InMemorySpanExporter) -> None:
    with pytest.raises(StoreBusy), tracing.span("ingest"):
        raise StoreBusy("Lyon")

    (span,) = spans.get_finished_spans()
    assert attributes(span)["error.type"] == "store_busy"
    assert "Lyon" not in span.to_json()


def test_a_publisher_takes_the_span_that_it_is_called_in(broker_url: str, home: Any) -> None:
    credential = generate_credential()
    with Publisher(credential.text(), broker_url) as publisher:
        with TracerProvider().get_tracer("agent").start_as_current_span("turn"):
            publisher.turn("u1", "s1", "user", "I live in Lyon.")
            here = traceparent()
        publisher.turn("u1", "s1", "user", "And I like it.")
        assert publisher.flush(10)

    client: Any = redis.Redis.from_url(load_settings(home=home).redis_url)  # pyright: ignore[reportUnknownMemberType]
    (blob,), _, _ = json.loads(json.loads(client.lindex(f"{PREFIX}ingest", -1))["body"])
    sealed = open_sealed(blob, {credential.key_id: seal_key(credential.secret)}.get)
    events: list[Any] = list(decode_batch(sealed.payload).events)
    assert [event.get("traceparent") for event in events] == [here, None]


def test_a_recall_over_http_goes_on_with_the_callers_trace(shop: Shop, spans: InMemorySpanExporter) -> None:
    def key(session: Session) -> str:
        tenant = session.get_one(Tenant, shop.key.tenant_id)
        return tenancy.create_key(session, tenant, ["recall"])[1]

    bearer = parse_credential(shop.kit.db.write(key)).bearer()
    (said,) = agent_says("I live in Lyon.")
    with TestClient(create_app(shop.kit)) as http:
        answer = http.post(
            "/v1/recall",
            json={"query": "Where does the user live?", "user_id": "u1"},
            headers={"Authorization": bearer, "traceparent": said["traceparent"]},
        )

    assert answer.status_code == 200
    span = next(span for span in spans.get_finished_spans() if span.name == "search_memory")
    assert f"{context(span).trace_id:032x}" == said["traceparent"].split("-")[1]
    assert attributes(span)["gen_ai.memory.record.count"] == len(answer.json()["items"])


def test_without_a_provider_nothing_is_traced(shop: Shop) -> None:
    assert not tracing.is_on()
    with tracing.span("ingest") as span:
        span.note({"n": 1})
        assert tracing.current() is None
        assert not trace.get_current_span().get_span_context().is_valid


def test_an_endpoint_without_the_package_names_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    with pytest.raises(BadSettings, match=r"install\.sh otel"):
        tracing.start(load_settings(otel={"endpoint": "http://127.0.0.1:4318"}), "api")


def test_a_client_that_does_not_trace_imports_nothing_for_it() -> None:
    code = "import sys, afterturn, afterturn.tracing as t; print(t.traceparent(), 'opentelemetry' in sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["None", "False"]


def context(span: ReadableSpan) -> trace.SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})

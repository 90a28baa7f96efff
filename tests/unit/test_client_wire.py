"""Requests and packs on the wire."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from afterturn.errors import BadEvent
from afterturn.wire import EventsAccepted, Pack, Problem, RecallRequest, parse_recall_request


def test_a_request_needs_a_query_and_a_user_and_has_the_designs_defaults() -> None:
    request = parse_recall_request({"query": "where?", "user_id": "u1"})

    assert (request.budget_tokens, request.deadline_ms, request.scopes, request.kinds) == (800, 300, (), ())


def test_times_come_out_in_utc() -> None:
    request = parse_recall_request({"query": "q", "user_id": "u", "as_of": "2026-11-30T01:30:00+08:00"})

    assert request.as_of == datetime(2026, 11, 29, 17, 30, tzinfo=UTC)
    assert request.as_of is not None
    assert request.as_of.tzinfo is UTC


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"query": " "}, "query"),
        ({"query": "\u200b \ufeff"}, "query"),
        ({"query": "a\ud800"}, "query"),
        ({"ticket_id": "\ud800"}, "ticket_id"),
        ({"query": "x" * 40_000}, "query"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": "a\x00"}, "user_id"),
        ({"as_of": "2026-11-30T01:30:00"}, "as_of"),
        ({"between": ["2026-11-30T01:30:00Z"]}, "between.1"),
        ({"scopes": ["galaxy"]}, "scopes.0"),
        ({"kinds": ["secret"]}, "kinds.0"),
        ({"budget_tokens": 0}, "budget_tokens"),
        ({"deadline_ms": 10**9}, "deadline_ms"),
        ({"outcome": "fine"}, "outcome"),
    ],
)
def test_a_fault_is_named_by_its_field(changes: dict[str, object], field: str) -> None:
    with pytest.raises(BadEvent) as caught:
        parse_recall_request({"query": "q", "user_id": "u", **changes})

    assert caught.value.field == field


def test_answers_of_a_newer_service_are_read() -> None:
    pack = Pack.model_validate(
        {"prompt": "p", "items": [{"id": "1", "kind": "dream", "section": "new", "text": "t", "hue": 3}], "new": 1}
    )

    assert pack.items[0].kind == "dream"
    assert Pack.model_validate_json(pack.model_dump_json()) == pack
    assert Problem.model_validate({"title": "no", "status": 403, "x": 1}).code == "error"
    assert EventsAccepted.model_validate({"results": [{"status": "stored"}]}).results[0].field is None


def test_a_request_survives_the_wire() -> None:
    request = parse_recall_request(
        {"query": "q", "user_id": "u", "between": ["2026-11-01T00:00:00Z", "2026-11-30T00:00:00Z"], "tags": ["a"]}
    )

    assert RecallRequest.model_validate_json(request.model_dump_json()) == request

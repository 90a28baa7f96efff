"""The HTTP API over a real installation, asked as a client asks it."""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from afterturn.ids import uuid7
from afterturn.wire import EventsAccepted, Pack, Problem
from api.app import create_app
from recall_builders import NOON
from recall_fixtures import House, another_key, house
from schemas.tables import Operation, Turn
from stores.kit import Kit

LOST = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def home() -> Generator[House]:
    with house() as made:
        yield made


@pytest.fixture
def http(home: House) -> Generator[TestClient]:
    # A bug in a handler must show as its problem answer, as in production.
    with TestClient(create_app(home.kit), raise_server_exceptions=False) as client:
        client.headers["Authorization"] = f"Bearer {home.bearer}"
        yield client


def an_event(**given: Any) -> dict[str, Any]:
    return {
        "kind": "turn",
        "event_id": str(uuid7()),
        "user_id": "u1",
        "session_id": "s1",
        "role": "user",
        "content": "I moved to Lyon yesterday.",
        "at": "2026-07-25T09:00:00+02:00",
        **given,
    }


def turn_count(kit: Kit) -> int:
    with kit.db.read() as session:
        return len(session.exec(select(Turn)).all())


def problem(answer: Any, status: int, code: str, field: str | None = None) -> Problem:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = Problem.model_validate_json(answer.content)
    assert (found.status, found.code, found.field) == (status, code, field)
    assert found.title
    assert found.detail
    return found


def test_events_are_committed_when_they_are_accepted(home: House, http: TestClient) -> None:
    event = an_event()

    answer = http.post("/v1/events", json=event)

    assert answer.status_code == 202
    accepted = EventsAccepted.model_validate_json(answer.content)
    assert [(one.event_id, one.status) for one in accepted.results] == [(event["event_id"], "stored")]
    assert turn_count(home.kit) == 1
    assert http.get(f"/v1/events/{event['event_id']}").json()["state"] == "stored"


def test_the_same_event_again_is_a_duplicate(home: House, http: TestClient) -> None:
    event = an_event()
    http.post("/v1/events", json=event)

    again = http.post("/v1/events", json=[event])

    assert [one["status"] for one in again.json()["results"]] == ["duplicate"]
    assert turn_count(home.kit) == 1


def test_a_bad_event_of_a_list_is_named_and_the_rest_is_kept(home: House, http: TestClient) -> None:
    bad = [an_event(at="2026-07-25T09:00:00"), an_event(content="  "), {"kind": "nonsense"}, 7, an_event(user_id="")]

    answer = http.post("/v1/events", json=[an_event(), *bad, an_event()])

    results = EventsAccepted.model_validate_json(answer.content).results
    assert [one.status for one in results] == ["stored", *["rejected"] * 5, "stored"]
    assert [one.field for one in results[1:6]] == ["at", "content", "kind", "event", "user_id"]
    assert all(one.reason for one in results[1:6])
    assert turn_count(home.kit) == 2


def test_a_single_bad_event_is_a_problem_that_names_the_field(http: TestClient) -> None:
    found = problem(http.post("/v1/events", json=an_event(at="2026-07-25T09:00:00")), 422, "bad_event", "at")

    assert "time zone" in found.detail


def test_an_event_of_a_newer_version_is_refused(home: House, http: TestClient) -> None:
    problem(http.post("/v1/events", json=an_event(v=2)), 400, "event_version", "v")
    assert turn_count(home.kit) == 0


def test_an_idempotency_key_makes_a_repeat_a_duplicate(home: House, http: TestClient) -> None:
    events = [an_event(), an_event(content="And I like tea.")]
    for event in events:
        del event["event_id"]

    first = http.post("/v1/events", json=events, headers={"Idempotency-Key": "a"}).json()["results"]
    again = http.post("/v1/events", json=events, headers={"Idempotency-Key": "a"}).json()["results"]
    other = http.post("/v1/events", json=events, headers={"Idempotency-Key": "b"}).json()["results"]

    assert [one["event_id"] for one in first] == [one["event_id"] for one in again]
    assert {one["status"] for one in again} == {"duplicate"}
    assert {one["status"] for one in other} == {"stored"}
    assert [one["event_id"] for one in first] == sorted(one["event_id"] for one in first)
    assert turn_count(home.kit) == 4


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed_json"),
        (b"\xff\xfe", 400, "malformed_json"),
        (b"[" * 100_000, 400, "malformed_json"),
        (b"[]", 422, "no_events"),
        (json.dumps([{}] * 1001).encode(), 413, "too_many_events"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(http: TestClient, body: bytes, status: int, code: str) -> None:
    problem(http.post("/v1/events", content=body), status, code)


def test_a_body_above_the_bound_is_refused_whatever_its_header_says(home: House, http: TestClient) -> None:
    limit = home.kit.settings.api.max_body_bytes

    def chunks() -> Generator[bytes]:
        for _ in range(limit // 1_000_000 + 2):
            yield b"x" * 1_000_000

    problem(http.post("/v1/events", content=b"x" * (limit + 1)), 413, "body_too_large")
    problem(http.post("/v1/events", content=chunks()), 413, "body_too_large")


def test_a_text_above_the_contract_is_refused_by_its_field(http: TestClient) -> None:
    problem(http.post("/v1/events", json=an_event(content="x" * 1_000_000)), 422, "bad_event", "content")


def test_what_was_published_is_recalled(http: TestClient) -> None:
    http.post("/v1/events", json=an_event())

    answer = http.post(
        "/v1/recall",
        json={"query": "Where does the user live?", "user_id": "u1", "session_id": "s1", "deadline_ms": 20000},
    )

    pack = Pack.model_validate_json(answer.content)
    assert answer.status_code == 200
    assert "I moved to Lyon yesterday." in pack.prompt
    assert pack.lag.undigested_turns == 1
    assert pack.tokens <= 800


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"user_id": "u1"}, "query"),
        ({"query": " ", "user_id": "u1"}, "query"),
        ({"query": "q", "user_id": ""}, "user_id"),
        ({"query": "q", "user_id": "u1", "as_of": "2026-01-01T00:00:00"}, "as_of"),
        ({"query": "q", "user_id": "u1", "budget_tokens": 0}, "budget_tokens"),
        ({"query": "q", "user_id": "u1", "kinds": ["secret"]}, "kinds.0"),
        (
            {"query": "q", "user_id": "u1", "between": ["2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"]},
            "between",
        ),
    ],
)
def test_a_bad_question_names_its_field(http: TestClient, body: dict[str, Any], field: str) -> None:
    problem(http.post("/v1/recall", json=body), 422, "bad_input", field)


def test_no_refusal_quotes_what_was_sent(http: TestClient) -> None:
    secret = "hunter2-my-secret"

    for answer in (
        http.post("/v1/recall", json={"query": "q", "user_id": "u1", "as_of": secret}),
        http.post("/v1/events", json=an_event(role=secret)),
        http.post("/v1/events", content=secret),
        http.get("/v1/memories", params={"kind": secret}),
        http.get(f"/v1/memories/{secret}"),
    ):
        assert answer.status_code in {400, 422}
        assert secret not in answer.text


def test_problems_speak_the_callers_language(http: TestClient) -> None:
    chinese = http.post("/v1/recall", json={"user_id": "u1"}, headers={"Accept-Language": "zh-CN,en;q=0.5"})
    english = http.post("/v1/recall", json={"user_id": "u1"}, headers={"Accept-Language": "fr, en;q=0.5"})

    assert chinese.json()["title"] == "输入有误"
    assert chinese.json()["detail"] == "query: 必填"
    assert chinese.headers["content-language"] == "zh"
    assert english.json()["detail"] == "query: is required"


@pytest.mark.parametrize(
    ("header", "english", "chinese"),
    [
        (None, "No key was sent", "没有发送密钥"),
        ("", "No key was sent", "没有发送密钥"),
        ("Bearer nonsense", "is no key", "不是密钥"),
        ("Basic dTpw", "is no key", "不是密钥"),
        (f"Bearer at_{'a' * 12}_{'A' * 43}", "not known here, or its secret is wrong", "没有该密钥，或其密钥部分有误"),
    ],
)
def test_without_a_valid_key_nothing_is_answered(
    http: TestClient, header: str | None, english: str, chinese: str
) -> None:
    del http.headers["Authorization"]
    headers = {} if header is None else {"Authorization": header}

    answer = http.get("/v1/memories", params={"user_id": "u1"}, headers=headers)
    zh = http.get("/v1/memories", params={"user_id": "u1"}, headers={**headers, "Accept-Language": "zh"})

    problem(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert english in answer.json()["detail"]
    assert chinese in zh.json()["detail"]


def test_an_unknown_key_and_a_wrong_secret_are_told_alike(home: House, http: TestClient) -> None:
    _, bearer = another_key(home.kit, "t9", ["recall"])
    forged = f"{bearer[:-43]}{'A' * 43}"
    stranger = f"at_{'a' * 12}_{'A' * 43}"

    told = [
        http.get("/v1/memories", params={"user_id": "u1"}, headers={"Authorization": f"Bearer {one}"})
        for one in (forged, stranger)
    ]

    assert [answer.status_code for answer in told] == [401, 401]
    assert told[0].json() == told[1].json()


def test_a_key_without_the_right_is_refused(home: House, http: TestClient) -> None:
    _, publisher = another_key(home.kit, "t2", ["publish"])
    _, reader = another_key(home.kit, "t3", ["recall"])

    asked = http.post(
        "/v1/recall", json={"query": "q", "user_id": "u1"}, headers={"Authorization": f"Bearer {publisher}"}
    )
    published = http.post("/v1/events", json=an_event(), headers={"Authorization": f"Bearer {reader}"})
    pending = http.get(
        "/v1/memories", params={"user_id": "u1", "status": "pending"}, headers={"Authorization": f"Bearer {reader}"}
    )

    problem(asked, 403, "forbidden")
    problem(published, 403, "forbidden")
    problem(pending, 403, "forbidden")


def test_another_tenants_ids_do_not_exist(home: House, http: TestClient) -> None:
    fact = home.fact(home.user(), "city", "Lyon")
    event = an_event()
    http.post("/v1/events", json=event)
    operation = Operation(
        id=uuid7(), tenant_id=home.key.tenant_id, kind="import", state="running", detail={"done": 3}, created_at=NOON
    )
    home.add(operation)
    _, stranger = another_key(home.kit, "other", ["recall", "publish"])

    paths = [f"/v1/memories/{fact.id}", f"/v1/events/{event['event_id']}", f"/v1/operations/{operation.id}"]
    for path in paths:
        assert http.get(path).status_code == 200
        problem(http.get(path, headers={"Authorization": f"Bearer {stranger}"}), 404, "not_found")
    assert http.get(paths[2]).json()["detail"] == {"done": 3}
    lost = http.get(f"/v1/memories/{LOST}")
    problem(lost, 404, "not_found")
    assert lost.json()["detail"] == f"no memory {LOST}"
    zh = http.get(f"/v1/events/{LOST}", headers={"Accept-Language": "zh"})
    assert zh.json()["detail"] == f"没有事件 {LOST}"
    nothing = http.get("/v1/nothing")
    problem(nothing, 404, "not_found")
    assert nothing.json()["detail"] == "There is no such path."
    problem(http.delete("/v1/recall"), 405, "method_not_allowed")


def test_memories_come_in_pages_with_their_evidence(home: House, http: TestClient) -> None:
    user = home.user()
    for i in range(5):
        home.fact(
            user,
            "likes",
            f"tea {i}",
            slot_hash=str(i),
            recorded_at=NOON + timedelta(minutes=i),
            quote=f"I like tea {i}",
        )
    home.fact(user, "city", "Oslo", valid_until=NOON + timedelta(days=1))

    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"user_id": "u1", "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = http.get("/v1/memories", params=params).json()
        seen += [item["value"] for item in page["items"]]
        assert all(item["evidence"][0]["quote"] == f"I like {item['value']}" for item in page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == [f"tea {i}" for i in (4, 3, 2, 1, 0)]
    past = http.get("/v1/memories", params={"user_id": "u1", "status": "past"}).json()["items"]
    assert [item["value"] for item in past] == ["Oslo"]
    assert past[0]["status"] == "past"


def test_a_cursor_belongs_to_its_own_list(home: House, http: TestClient) -> None:
    user = home.user()
    for i in range(3):
        home.fact(user, "likes", f"tea {i}", slot_hash=str(i))
    cursor = http.get("/v1/memories", params={"user_id": "u1", "limit": 1}).json()["next_cursor"]

    for params in (
        {"user_id": "u2", "cursor": cursor},
        {"user_id": "u1", "kind": "episode", "cursor": cursor},
        {"user_id": "u1", "cursor": "bm9uc2Vuc2U"},
        {"user_id": "u1", "cursor": "%%%"},
    ):
        problem(http.get("/v1/memories", params=params), 422, "bad_input", "cursor")


def test_a_memory_shows_every_version_of_its_slot(home: House, http: TestClient) -> None:
    user = home.user()
    old = home.fact(user, "city", "Oslo", superseded_at=NOON + timedelta(days=2))
    new = home.fact(user, "city", "Porto", valid_from=NOON + timedelta(days=2))

    detail = http.get(f"/v1/memories/{new.id}").json()

    assert detail["memory"]["value"] == "Porto"
    assert [(one["id"], one["status"]) for one in detail["history"]] == [
        (str(old.id), "superseded"),
        (str(new.id), "current"),
    ]


def test_episodes_and_procedures_are_listed(home: House, http: TestClient) -> None:
    home.episode(home.user(), "The headset was exchanged.")
    home.procedure("exchange_headset", "a headset makes noise", ["check the order"])

    episodes = http.get("/v1/memories", params={"user_id": "u1", "kind": "episode"}).json()["items"]
    procedures = http.get("/v1/memories", params={"kind": "procedure"}).json()["items"]

    assert [item["text"] for item in episodes] == ["The headset was exchanged."]
    assert [item["key"] for item in procedures] == ["exchange_headset"]
    for item in (*episodes, *procedures):
        assert http.get(f"/v1/memories/{item['id']}").json()["memory"]["text"] == item["text"]


def test_probes_need_no_key_and_say_what_is_missing(home: House, http: TestClient) -> None:
    del http.headers["Authorization"]

    ready = http.get("/readyz")

    assert http.get("/healthz").json() == {"status": "ok"}
    assert ready.status_code == 200
    # No broker runs on this scratch folder.
    assert ready.json() == {
        "status": "degraded",
        "checks": {"database": "ok", "migrations": "ok", "broker": "down", "index": "ok"},
    }


def test_an_installation_that_is_behind_its_migrations_is_not_ready(home: House, http: TestClient) -> None:
    from sqlalchemy import text

    home.kit.db.write(
        lambda session: session.connection().execute(text("UPDATE alembic_version SET version_num = '0'"))
    )

    ready = http.get("/readyz")

    assert ready.status_code == 503
    assert ready.json()["checks"]["migrations"] == "behind"


def test_metrics_are_prometheus_text_without_names_of_users(home: House, http: TestClient) -> None:
    http.post("/v1/events", json=an_event(user_id="very-private-user"))

    text = http.get("/metrics").text

    assert "afterturn_events_total" in text
    assert 'afterturn_oldest_unprocessed_event_age_seconds{stage="window"}' in text
    assert "very-private-user" not in text


def test_a_store_that_is_away_is_a_503_with_a_time_to_come_back(home: House) -> None:
    from dataclasses import replace

    gone = replace(home.kit, db=type(home.kit.db)("postgresql://nobody:x@127.0.0.1:9/none"))
    with TestClient(create_app(gone), raise_server_exceptions=False) as client:
        answer = client.post("/v1/events", json=an_event(), headers={"Authorization": f"Bearer {home.bearer}"})
        problem(answer, 503, "store_busy")
        assert int(answer.headers["retry-after"]) >= 1
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["checks"]["database"] == "down"


def test_the_openapi_document_names_every_refusal(http: TestClient) -> None:
    document = http.get("/openapi.json").json()

    for path in ("/v1/events", "/v1/recall"):
        responses = document["paths"][path]["post"]["responses"]
        for status in ("400", "401", "403", "413", "422", "503"):
            assert "application/problem+json" in responses[status]["content"], (path, status)
            assert "application/json" not in responses[status]["content"], (path, status)
        assert document["paths"][path]["post"]["security"]

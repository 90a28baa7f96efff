"""What the API refuses: with the field that is wrong, in words, in the caller's language, and nothing else with it."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from afterturn.ids import uuid7
from afterturn.limits import MAX_CONTENT_BYTES
from afterturn.wire import EventsAccepted, Problem
from api.app import create_app
from recall_fixtures import House, another_key, house
from schemas.tables import Turn
from stores.setting_areas import ApiSettings

LONE = "\ud800"
ENGLISH = re.compile(r"\b(must|should|is|has|have|not|valid|input|this|the|be|at|of)\b", re.IGNORECASE)


@pytest.fixture
def home() -> Generator[House]:
    with house() as made:
        yield made


@pytest.fixture
def http(home: House) -> Generator[TestClient]:
    with TestClient(create_app(home.kit), raise_server_exceptions=False) as client:
        client.headers["Authorization"] = f"Bearer {home.bearer}"
        yield client


def an_event(**given: Any) -> dict[str, Any]:
    return {
        **{"kind": "turn", "event_id": str(uuid7()), "user_id": "u1", "session_id": "s1", "role": "user"},
        **{"content": "I moved to Lyon yesterday.", "at": "2026-07-25T09:00:00+02:00"},
        **given,
    }


def post(http: TestClient, path: str, body: object, **headers: str) -> Any:
    # Escaped: a lone surrogate is JSON, but no UTF-8.
    return http.post(path, content=json.dumps(body), headers={"Content-Type": "application/json", **headers})


def problem(answer: Any, status: int, code: str, field: str | None = None) -> Problem:
    assert answer.status_code == status, answer.text
    found = Problem.model_validate_json(answer.content)
    assert (found.status, found.code, found.field) == (status, code, field)
    assert found.detail
    return found


BROKEN_TEXTS: list[tuple[dict[str, Any], str]] = [
    ({"zzz": LONE}, "event"),
    ({LONE: 1}, "event"),
    ({"zzz": [{"a": {LONE: 1}}]}, "event"),
    ({"kind": LONE}, "kind"),
    ({"event_id": LONE}, "event_id"),
    ({"user_id": LONE}, "user_id"),
    ({"content": f"a{LONE}"}, "content"),
    ({"role": LONE}, "role"),
    ({"at": LONE}, "at"),
    ({"tz": LONE}, "tz"),
    ({"name": LONE}, "name"),
    ({"source": LONE}, "source"),
    ({"producer": LONE}, "producer"),
    ({"traceparent": LONE}, "traceparent"),
    ({"tool": {"name": LONE}}, "tool.name"),
    ({"tool": {"name": "t", "arguments": {"a": [LONE]}}}, "tool.arguments"),
    ({"tool": {"name": "t", "arguments": {LONE: 1}}}, "tool.arguments"),
    ({"kind": "state", "patch": {"intent": LONE}}, "patch.intent"),
    ({"kind": "state", "patch": {"mine": {LONE: 1}}}, "patch"),
    ({"kind": "approval", "what": LONE, "approved": True, "actor_id": "a"}, "what"),
    ({"kind": "accessed", "memory_ids": [LONE]}, "memory_ids"),
]


@pytest.mark.parametrize(("changes", "field"), BROKEN_TEXTS, ids=[field for _, field in BROKEN_TEXTS])
def test_a_lone_surrogate_costs_its_own_event_and_no_other(
    home: House, http: TestClient, changes: dict[str, Any], field: str
) -> None:
    answer = post(http, "/v1/events", [an_event(), an_event(**changes), an_event()])

    assert answer.status_code == 202, answer.text
    results = EventsAccepted.model_validate_json(answer.content).results
    assert [one.status for one in results] == ["stored", "rejected", "stored"]
    assert (results[1].field, bool(results[1].reason)) == (field, True)
    with home.kit.db.read() as session:
        assert len(session.exec(select(Turn)).all()) == 2


@pytest.mark.parametrize("field", ["query", "user_id", "session_id", "ticket_id", "agent_id"])
def test_a_lone_surrogate_in_a_question_names_its_field(http: TestClient, field: str) -> None:
    answer = post(http, "/v1/recall", {"query": "q", "user_id": "u1", field: LONE})

    problem(answer, 422, "bad_input", field)
    assert post(http, "/v1/recall", {"query": "q", "user_id": "u1", "unknown": LONE}).status_code == 200


def test_a_newer_version_alone_is_a_bad_request_and_in_a_list_a_rejection(http: TestClient) -> None:
    found = problem(post(http, "/v1/events", an_event(v=2)), 400, "event_version", "v")
    listed = post(http, "/v1/events", [an_event(v=2), an_event()])

    assert "version 1" in found.detail
    results = EventsAccepted.model_validate_json(listed.content).results
    assert [(one.status, one.code, one.field) for one in results] == [
        ("rejected", "event_version", "v"),
        ("stored", None, None),
    ]


def test_a_right_that_is_missing_and_an_id_that_is_taken_are_said_in_words(home: House, http: TestClient) -> None:
    event = an_event()
    post(http, "/v1/events", event)
    _, poor = another_key(home.kit, "poor", ["publish"])
    staff = an_event(role="staff", actor_id="a1")

    for language, right, taken in (
        ("en", "role: needs the right staff, which this key does not have", "event_id: is the id of another event"),
        ("zh", "role: 需要 staff 权限，该密钥没有", "event_id: 已是另一个事件的编号"),
    ):
        refused = post(http, "/v1/events", staff, Authorization=f"Bearer {poor}", **{"Accept-Language": language})
        conflict = post(http, "/v1/events", {**event, "content": "other"}, **{"Accept-Language": language})

        assert problem(refused, 422, "forbidden", "role").detail == right
        assert problem(conflict, 422, "id_conflict", "event_id").detail == taken


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        (b"\xff\xfe", 400, "malformed_json", None),
        (b"[" * 100_000, 400, "malformed_json", None),
        (b'{"budget_tokens": ' + b"9" * 5000 + b"}", 400, "malformed_json", None),
        (b"{", 400, "malformed_json", None),
        (b"[]", 422, "bad_input", "body"),
        (b"", 422, "bad_input", "body"),
        (b'"text"', 422, "bad_input", "body"),
        (b"null", 422, "bad_input", "body"),
    ],
)
def test_a_question_that_cannot_be_read_says_why(
    http: TestClient, body: bytes, status: int, code: str, field: str | None
) -> None:
    answer = http.post("/v1/recall", content=body, headers={"Content-Type": "application/json"})

    problem(answer, status, code, field)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_question_of_another_media_type_is_refused_by_its_body(http: TestClient, kind: str) -> None:
    answer = http.post("/v1/recall", content=b"query=q", headers={"Content-Type": kind})

    problem(answer, 422, "bad_input", "body")


def test_no_character_of_what_was_sent_comes_back(http: TestClient) -> None:
    for answer in (
        http.get("/v1/memories/@@@@"),
        http.get("/v1/memories", params={"limit": "@@@@", "user_id": "u1"}),
        http.get("/v1/memories", params={"kind": "@@@@", "user_id": "u1"}),
        post(http, "/v1/recall", {"query": "q", "user_id": "u1", "as_of": "@@@@"}),
        post(http, "/v1/recall", {"query": "q", "user_id": "u1", "kinds": ["@@@@"], "@@@@": "@@@@"}),
        post(http, "/v1/events", an_event(role="@@@@")),
        post(http, "/v1/events", an_event(**{"@@@@": LONE})),
    ):
        found = Problem.model_validate_json(answer.content)
        assert answer.status_code == 422
        assert "@" not in answer.text
        assert found.detail.startswith(f"{found.field}: ")
        assert str(found.field) not in found.detail.removeprefix(f"{found.field}: ")


WRONG_EVENTS: list[dict[str, Any]] = [
    *({name: ""} for name in ("user_id", "content", "at", "role", "tz", "event_id", "traceparent")),
    *({name: 7} for name in ("user_id", "content", "at", "role", "tz", "event_id", "tool", "no_store", "kind")),
    {"v": 0},
    {"kind": None},
    {"content": "x" * (MAX_CONTENT_BYTES + 1)},
    {"content": "\u200b\u200b"},
    {"user_id": "x" * 300},
    {"user_id": " a"},
    {"user_id": "a\u202eb"},
    {"name": "a\x00"},
    {"at": "2026-07-25T09:00:00"},
    {"at": "0100-07-25T09:00:00Z"},
    {"seq": -1},
    {"seq": 2**70},
    {"seq": "1"},
    {"role": "staff"},
    {"tool": {"ok": 3}},
    {"tool": {"arguments": []}},
    {"tool": {"arguments": {"a": "x" * 70_000}}},
    {"procedure": {"version": 1}},
    {"procedure": {"name": "p", "version": 0}},
    {"kind": "state", "patch": {}},
    {"kind": "state", "patch": {"intent": 1}},
    {"kind": "state", "patch": {"open_items": "x"}},
    {"kind": "state", "patch": {"a\x00": 1}},
    {"kind": "state", "patch": {f"n{i}": i for i in range(101)}},
    {"kind": "state", "patch": {"a": 1}, "scope": "ticket"},
    {"kind": "ticket_closed"},
    {"kind": "accessed", "memory_ids": []},
    {"kind": "accessed", "memory_ids": ["x"] * 1001},
    {"kind": "feedback", "memory_id": "m", "verdict": "fine"},
    {"kind": "approval", "what": "x", "approved": "yes", "actor_id": "a"},
    {"kind": "nonsense"},
]
WRONG_QUESTIONS: list[dict[str, Any]] = [
    *({name: value} for name in ("query", "user_id", "as_of") for value in ("", 7, None, LONE)),
    {"query": "x" * 40_000},
    *({"budget_tokens": value} for value in (0, 10**9, "many", 1.5)),
    *({"deadline_ms": value} for value in (0, 10**9)),
    {"kinds": ["secret"]},
    {"kinds": "fact"},
    {"tags": ["x"] * 65},
    {"between": ["2026-01-01T00:00:00Z"]},
    {"between": ["2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"]},
    {"outcome": "fine"},
]
WRONG_LISTINGS: list[dict[str, Any]] = [
    *({"limit": value} for value in ("0", "1000", "many", "1.5")),
    {"kind": "secret"},
    {"status": "odd"},
    {"user_id": ""},
    {"user_id": "x" * 300},
    {"cursor": "x" * 600},
    {"cursor": "zzz"},
]


def test_every_refusal_speaks_chinese_to_who_reads_chinese(http: TestClient) -> None:
    zh = {"Accept-Language": "zh-CN"}
    answers = [post(http, "/v1/events", an_event(**changes), **zh) for changes in WRONG_EVENTS]
    answers += [post(http, "/v1/recall", {"query": "q", "user_id": "u1", **one}, **zh) for one in WRONG_QUESTIONS]
    answers += [http.get("/v1/memories", params={"user_id": "u1", **one}, headers=zh) for one in WRONG_LISTINGS]
    answers += [http.get("/v1/memories/x", headers=zh), post(http, "/v1/recall", [], **zh)]

    for answer in answers:
        if answer.status_code == 200:  # null is as good as absent where nothing is required
            continue
        found = problem(answer, 422, answer.json()["code"], answer.json()["field"])
        reason = found.detail.removeprefix(f"{found.field}: ")
        assert re.search(r"[\u4e00-\u9fff]", reason), found.detail
        assert not ENGLISH.search(re.sub(r"'[^']*'|（[^）]*）", "", reason)), found.detail


def test_a_locked_database_is_told_in_time_and_stops_nobody_else(home: House) -> None:
    quick = home.kit.settings.model_copy(update={"api": ApiSettings(busy_seconds=1)})
    # More requests than threads: who waits in line waits on the same clock.
    with TestClient(create_app(replace(home.kit, settings=quick))) as http, locked(home):
        http.headers["Authorization"] = f"Bearer {home.bearer}"
        started = time.monotonic()
        with ThreadPoolExecutor(40) as crowd:
            asked = [crowd.submit(post, http, "/v1/events", an_event()) for _ in range(40)]
            ready = http.get("/readyz")
            answers = [one.result() for one in asked]
        spent = time.monotonic() - started

    assert ready.json()["checks"]["database"] == "ok"
    for answer in answers:
        problem(answer, 503, "store_busy")
        assert int(answer.headers["retry-after"]) >= 1
    assert spent < 10
    with home.kit.db.read() as session:
        assert session.exec(select(Turn)).all() == []


@contextmanager
def locked(home: House) -> Generator[None]:
    path = home.kit.settings.home / "afterturn.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


def test_a_probe_answers_head_and_no_page_loads_from_elsewhere(http: TestClient) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert http.head(path).status_code == 200
    for path in ("/docs", "/redoc"):
        problem(http.get(path), 404, "not_found")
    assert http.get("/openapi.json").status_code == 200

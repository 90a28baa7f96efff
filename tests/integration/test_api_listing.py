"""What a list of memories says beside its items."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from fastapi.testclient import TestClient

from afterturn.ids import uuid7
from api.app import create_app
from recall_fixtures import House, house


@pytest.fixture
def home() -> Generator[House]:
    with house() as made:
        yield made


@pytest.fixture
def http(home: House) -> Generator[TestClient]:
    with TestClient(create_app(home.kit)) as client:
        client.headers["Authorization"] = f"Bearer {home.bearer}"
        yield client


def an_event() -> dict[str, str]:
    return {
        **{"kind": "turn", "event_id": str(uuid7()), "user_id": "u1", "session_id": "s1", "role": "user"},
        **{"content": "I moved to Lyon yesterday.", "at": "2026-07-25T09:00:00+02:00"},
    }


def test_a_list_says_what_still_waits_and_whether_the_user_is_known(home: House, http: TestClient) -> None:
    http.post("/v1/events", json=[an_event(), an_event()])
    home.turn(home.user("u2"), "done")

    pages = {user: http.get("/v1/memories", params={"user_id": user}).json() for user in ("u1", "u2", "u3")}

    assert {name: (page["is_known"], page["undigested_turns"]) for name, page in pages.items()} == {
        "u1": (True, 2),
        "u2": (True, 0),
        "u3": (False, 0),
    }

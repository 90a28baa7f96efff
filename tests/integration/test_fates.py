"""What became of an event, and what is dead: over HTTP, in both languages, without a word of any user unless asked."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session

from api.app import create_app
from delivery_fixtures import ended, turn
from digest_fixtures import Shop, shop
from stores import dead, tenancy, windows

__all__ = ["shop"]

SAID = "My name is Anna."


@pytest.fixture
def http(shop: Shop) -> Generator[TestClient]:
    with TestClient(create_app(shop.kit), raise_server_exceptions=False) as client:
        yield client


def _bearer(shop: Shop, *rights: str) -> dict[str, str]:
    def make(session: Session) -> str:
        tenant = tenancy.find_tenant(session, "acme")
        assert tenant is not None
        return tenancy.create_key(session, tenant, rights)[1]

    return {"Authorization": f"Bearer {shop.kit.db.write(make)}"}


def _event(http: TestClient, shop: Shop, event: dict[str, Any], language: str = "en") -> dict[str, Any]:
    headers = {**_bearer(shop, "publish"), "Accept-Language": language}
    answer = http.get(f"/v1/events/{event['event_id']}", headers=headers)
    assert answer.status_code == 200, answer.text
    assert "Anna" not in answer.text
    return answer.json()


def _dead_window(shop: Shop) -> str:
    shop.cut()
    claim = windows.claim_next(shop.kit.db, lease_seconds=60)
    assert claim is not None
    shop.kit.db.write(lambda session: windows.bury(session, claim, "bad_answer"))
    with shop.kit.db.read() as session:
        return str(dead.waiting(session)[0].id)


def test_an_events_way_from_stored_to_digested(http: TestClient, shop: Shop):
    said, end = turn(SAID), ended(10)
    shop.say(said)
    waiting = _event(http, shop, said)
    assert (waiting["state"], waiting["is_final"], waiting["window"]) == ("stored", False, None)
    assert waiting["waits_until"] is not None

    shop.say(end)
    shop.cut()
    due = _event(http, shop, said)
    assert due["window"]["state"] == "waiting"

    shop.settle()

    done = _event(http, shop, said)
    assert (done["state"], done["is_final"], done["window"]["state"]) == ("digested", True, "applied")
    assert len(done["episode_ids"]) == 1
    assert len(done["fact_ids"]) == 1
    assert done["said"] == "Digested: 1 episode(s), 1 fact(s) rest on it."
    assert _event(http, shop, said, "zh")["said"] == "已整理：1 段情节，1 条事实出自它。"
    assert _event(http, shop, end)["state"] == "applied"


def test_an_event_in_a_dead_window_names_the_letter(http: TestClient, shop: Shop):
    said = turn(SAID)
    shop.say(said, ended(10))
    letter = _dead_window(shop)

    found = _event(http, shop, said)

    assert (found["state"], found["dead_letter_id"]) == ("dead_window", letter)
    assert f"./afterturn dead retry {letter}" in found["said"]
    assert "死信" in _event(http, shop, said, "zh")["said"]


def test_letters_are_listed_shown_retried_and_dropped(http: TestClient, shop: Shop):
    shop.say(turn(SAID), ended(10))
    letter = _dead_window(shop)
    admin = _bearer(shop, "admin")

    listed = http.get("/v1/dead", headers=admin).json()["items"]
    assert [(one["id"], one["kind"], one["error_code"]) for one in listed] == [(letter, "window", "bad_answer")]
    assert http.get(f"/v1/dead/{letter}", headers=admin).json()["content"] is None
    assert http.post(f"/v1/dead/{letter}/retry", headers=admin).json() == {
        "id": letter,
        "is_alive": True,
        "code": None,
    }
    again = http.post(f"/v1/dead/{letter}/retry", headers=admin).json()
    assert (again["is_alive"], again["code"]) == (False, "resolved")
    assert http.get("/v1/dead", headers=admin).json()["items"] == []

    assert _dead_window(shop) == letter
    assert http.delete(f"/v1/dead/{letter}", headers=admin).status_code == 204
    assert http.delete(f"/v1/dead/{letter}", headers=admin).status_code == 204
    assert http.get("/v1/dead", headers=admin).json()["items"] == []


@pytest.mark.parametrize("rights", [("publish", "recall"), ("staff", "review")])
def test_letters_need_the_right(http: TestClient, shop: Shop, rights: tuple[str, ...]):
    shop.say(turn(SAID), ended(10))
    letter, headers = _dead_window(shop), _bearer(shop, *rights)

    asked = [
        http.get("/v1/dead", headers=headers),
        http.get(f"/v1/dead/{letter}", headers=headers),
        http.post(f"/v1/dead/{letter}/retry", headers=headers),
        http.delete(f"/v1/dead/{letter}", headers=headers),
    ]

    assert [answer.status_code for answer in asked] == [403] * 4


def test_content_needs_a_reviewers_right_as_well(http: TestClient, shop: Shop):
    shop.say(turn(SAID), ended(10))
    letter = _dead_window(shop)

    refused = http.get(f"/v1/dead/{letter}?content=true", headers=_bearer(shop, "admin"))
    shown = http.get(f"/v1/dead/{letter}?content=true", headers=_bearer(shop, "admin", "review"))

    assert (refused.status_code, shown.status_code) == (403, 200)


def test_what_waits_and_what_is_dead_is_measured(http: TestClient, shop: Shop):
    shop.say(turn(SAID), ended(10))
    _dead_window(shop)

    told = http.get("/metrics").text

    assert 'afterturn_dead_letters{reason="window"} 1.0' in told
    assert "afterturn_suspect_windows 0.0" in told
    assert "afterturn_model_circuit_open 0.0" in told
    assert "afterturn_over_budget_windows 0.0" in told
    assert "Anna" not in told

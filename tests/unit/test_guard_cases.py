"""The guard and the gate over files of texts: the published cases, own attacks, claims, requests, and plain talk."""

from __future__ import annotations

from typing import Any

import pytest

from memory.gate import requests, screen
from memory.guard import flags
from memory_fixtures import cases, turn

_STATUS = {"auto": "store", "pending_review": "pending", "rejected": "reject", "dropped": "drop"}


def decision(text: str, origin: str) -> str:
    found = flags(text)
    if requests(turn(text, origin), found):
        return "request"
    return _STATUS[screen(found, role=origin).write_status]


@pytest.mark.parametrize("case", cases("poisoning.jsonl"), ids=lambda case: case["id"])
def test_poisoning_cases_are_decided_rightly(case: dict[str, Any]) -> None:
    assert decision(case["text"], case["origin"]) == case["decision"], case["why"]


@pytest.mark.parametrize("case", cases("attacks.jsonl"), ids=lambda case: case["text"][:40])
def test_attacks_are_rejected_from_any_origin(case: dict[str, Any]) -> None:
    found = flags(case["text"])

    assert case["code"] in {flag.code for flag in found if flag.action == "reject"}
    assert screen(found, role="user").write_status == "rejected"
    assert screen(found, role="tool").write_status == "rejected"


@pytest.mark.parametrize("case", cases("claims.jsonl"), ids=lambda case: case["text"][:40])
def test_claims_wait_when_people_say_them_and_drop_when_tools_do(case: dict[str, Any]) -> None:
    found = flags(case["text"])

    assert case["code"] in {flag.code for flag in found if flag.action == "pending"}
    assert screen(found, role="user").write_status == "pending_review"
    assert screen(found, role="tool").write_status == "dropped"


@pytest.mark.parametrize("case", cases("privacy.jsonl"), ids=lambda case: case["text"][:40])
def test_privacy_requests_are_opened_for_users_only(case: dict[str, Any]) -> None:
    found = flags(case["text"])

    assert requests(turn(case["text"]), found) == (case["code"],)
    assert requests(turn(case["text"], "tool"), found) == ()


@pytest.mark.parametrize("case", cases("benign.jsonl"), ids=lambda case: case["text"][:40])
def test_plain_talk_passes(case: dict[str, Any]) -> None:
    assert flags(case["text"]) == ()

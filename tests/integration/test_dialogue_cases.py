"""The dialogue cases through ingest, sweep, digest, index and recall, with the scripted model or the offline rules."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from afterturn.ids import uuid7
from afterturn.wire import Pack
from digest_fixtures import Shop, new_shop, scripted, server
from memory_fixtures import cases
from schemas.envelopes import disclose
from schemas.tables import Draft, Evidence, Fact
from scripted_model import ScriptedModel
from stores import requests
from workers.eval.cases import Action
from workers.eval.verdicts import judge

__all__ = ["server"]

_NEEDS_MORE = ("forget",)


def _playable(case: dict[str, Any]) -> bool:
    return not any(step.get("do") in _NEEDS_MORE for step in case["turns"])


def _event(step: dict[str, Any], labels: dict[str, UUID]) -> dict[str, Any]:
    event_id = labels.setdefault(step["event"], uuid7()) if "event" in step else uuid7()
    event: dict[str, Any] = {
        "kind": "turn",
        "event_id": event_id,
        "user_id": step["user"],
        "session_id": step["session"],
        "at": datetime.fromisoformat(step["at"]),
        "role": step["role"],
        "content": step["text"],
    }
    if step["role"] == "tool":
        event["tool"] = {"name": step.get("name", "lookup"), "ok": step.get("ok")}
    given = {
        "ticket_id": step.get("ticket"),
        "actor_id": step.get("actor"),
        "tz": step.get("tz"),
        "no_store": step.get("no_store"),
    }
    return event | {name: value for name, value in given.items() if value is not None}


def _end(step: dict[str, Any], published: list[dict[str, Any]]) -> dict[str, Any]:
    last = next(event for event in reversed(published) if event["session_id"] == step["session"])
    return {
        "kind": "session_ended",
        "event_id": uuid7(),
        "user_id": last["user_id"],
        "session_id": step["session"],
        "at": last["at"],
        "outcome": step.get("outcome", "unknown"),
    }


def _play(shop: Shop, case: dict[str, Any]) -> None:
    published: list[dict[str, Any]] = []
    labels: dict[str, UUID] = {}
    steps = [*case["turns"]]
    if steps[-1].get("do") not in {"digest", "stop"}:
        steps.append({"do": "digest"})
    for step in steps:
        match step.get("do"):
            case None:
                published.append(_event(step, labels))
                shop.say(published[-1], key=shop.staff if step["role"] == "staff" else shop.key)
            case "end":
                published.append(_end(step, published))
                shop.say(published[-1])
            case "digest":
                shop.settle()
            case "redeliver":
                receipts = [
                    receipt
                    for event in published
                    for receipt in shop.say(event, key=shop.staff if event.get("role") == "staff" else shop.key)
                ]
                assert {receipt.state for receipt in receipts} == {"duplicate"}
            case "approve" | "reject":
                shop.settle()
                action = Action(do=step["do"], text=step["text"])
                assert judge(shop.kit, shop.key.tenant_id, action) is None
            case "advance":
                shop.advance(step["days"])
            case "stop":
                return
            case other:
                raise AssertionError(other)


def _facts(shop: Shop, *, subject: str = "user") -> list[str]:
    rows = [row for row in shop.rows(Fact) if disclose(row.subject) == subject and row.scope == "user"]
    current = [row for row in rows if row.superseded_at is None and row.deleted_at is None and row.valid_until is None]
    return [f"{row.key} {row.polarity} {disclose(row.value)} {disclose(row.canonical)}" for row in current]


def _is_in(wanted: str, texts: list[str]) -> bool:
    return any(wanted.casefold() in text.casefold() for text in texts)


def _check_facts(shop: Shop, expect: dict[str, Any]) -> None:
    current = _facts(shop)
    for wanted in expect.get("current", []):
        assert _is_in(wanted, current), (wanted, current)
    for unwanted in expect.get("not_current", []):
        assert not _is_in(unwanted, current), (unwanted, current)
    for wanted in expect.get("past", []):
        assert _is_in(wanted, shop.past()), (wanted, shop.past())
    assert len(current) == expect.get("current_count", len(current)), current
    assert len(current) <= expect.get("current_max", len(current)), current
    for subject, values in expect.get("other", {}).items():
        assert all(_is_in(value, _facts(shop, subject=subject)) for value in values), subject


def _check_gate(shop: Shop, expect: dict[str, Any]) -> None:
    pending = [disclose(row.value) for row in shop.rows(Evidence, Evidence.write_status == "pending_review")]
    for wanted in expect.get("pending", []):
        assert _is_in(wanted, pending), (wanted, pending)
    if expect.get("pending") == []:
        assert pending == []
    if "rejected" in expect:
        refused = [row.reason_codes[0] for row in shop.rows(Draft, Draft.decision == "rejected")]
        assert refused == expect["rejected"]
    with shop.kit.db.read() as session:
        opened = [row.kind.rpartition(".")[2] for row in requests.open_requests(session, shop.key.tenant_id)]
    assert opened == expect.get("requests", opened)
    assert len(shop.episodes()) == expect.get("episodes", len(shop.episodes()))


def _check_recall(shop: Shop, case: dict[str, Any]) -> None:
    users = [step["user"] for step in case["turns"] if "user" in step]
    for question in case["expect"].get("recall", []):
        asked = {"user_id": users[-1], "query": question["query"]}
        asked |= {"ticket_id": question["ticket"]} if "ticket" in question else {}
        asked |= {"now": question["at"]} if "at" in question else {}
        asked |= {"as_of": question["as_of"]} if "as_of" in question else {}
        pack: Pack = shop.ask(**asked)
        for wanted in question["contains"]:
            assert _is_in(wanted, [pack.prompt]), (question, pack.prompt)
        for unwanted in question["lacks"]:
            assert not _is_in(unwanted, [pack.prompt]), (question, pack.prompt)


def _check_nowhere(home: Path, words: list[str]) -> None:
    """In no file of the database or the index: envelopes of version 0 are plain, and so are the index's terms."""
    kept = [path.read_bytes().lower() for path in home.rglob("*") if path.is_file()]
    assert kept
    for word in words:
        assert not [1 for content in kept if word.lower().encode() in content], word


@pytest.mark.parametrize("case", [c for c in cases("dialogues.jsonl") if _playable(c)], ids=lambda case: case["id"])
def test_dialogue_case(case: dict[str, Any], home: Path, server: ScriptedModel) -> None:
    is_scripted = "model" in case or "model_raw" in case
    server.script_case(case)
    with new_shop(home, **(scripted(server) if is_scripted else {})) as shop:
        _play(shop, case)

        _check_facts(shop, case["expect"])
        _check_gate(shop, case["expect"])
        _check_recall(shop, case)
        assert shop.owed() == [] or case["turns"][-1].get("do") == "stop"
    _check_nowhere(home, case["expect"].get("nowhere", []))

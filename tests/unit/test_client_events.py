"""Events version 1: what decodes, what is refused and how, and that it stays so."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.errors import BadEvent
from afterturn.events import KINDS, Event, StateEvent, TurnEvent, canonical_bytes, event_json, parse_event

GOLDEN = sorted((Path(__file__).parent / "golden_events" / "v1").glob("*.json"))


def turn(**changes: object) -> dict[str, object]:
    return {
        "event_id": "01932f00-0000-7000-8000-000000000001",
        "kind": "turn",
        "user_id": "u1",
        "session_id": "s1",
        "at": "2026-11-30T09:30:00+08:00",
        "role": "user",
        "content": "hello",
        **changes,
    }


def parsed(value: object) -> Event:
    return parse_event(value)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_event_ever_shipped_decodes_and_hashes_as_before(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))

    event = parse_event(golden["event"])

    assert hashlib.sha256(canonical_bytes(event)).hexdigest() == golden["canonical_sha256"]
    assert parse_event(json.loads(event_json(event))) == event


def test_the_golden_files_cover_every_kind() -> None:
    kinds = {json.loads(path.read_text(encoding="utf-8"))["event"]["kind"] for path in GOLDEN}

    assert kinds == set(KINDS)


@pytest.mark.parametrize("content", ["\u200b嗯", "👍\u200d", "\U0001fae9", "\u0301", "…", "\ue000"])
def test_a_text_with_one_visible_character_says_something(content: str) -> None:
    event = parsed(turn(content=content))

    assert isinstance(event, TurnEvent)
    assert event.content == content


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n　"}, "content"),
        ({"content": "x" * 1_000_000}, "content"),
        ({"content": "中" * (256 * 1024 // 3 + 1)}, "content"),
        ({"content": "\ud800"}, "content"),
        ({"content": "\u200b\u200b"}, "content"),
        ({"content": " \ufeff\u2060\u202e\u3164 "}, "content"),
        ({"zzz": "\ud800"}, "event"),
        ({"kind": "\ud800"}, "kind"),
        ({"tool": {"arguments": {"a": [{"\ud800": 1}]}}}, "tool.arguments"),
        ({"content": None}, "content"),
        ({"at": "2026-11-30T09:30:00"}, "at"),
        ({"at": 1_796_000_000}, "at"),
        ({"at": "yesterday"}, "at"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "at"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": "a\x00b"}, "user_id"),
        ({"user_id": "x" * 257}, "user_id"),
        ({"session_id": "a\nb"}, "session_id"),
        ({"session_id": "\u200b"}, "session_id"),
        ({"event_id": "12"}, "event_id"),
        ({"reply_to": 7}, "reply_to"),
        ({"role": "boss"}, "role"),
        ({"role": "staff"}, "actor_id"),
        ({"tz": "Mars/Phobos"}, "tz"),
        ({"tz": "../../etc/passwd"}, "tz"),
        ({"traceparent": "00-xyz"}, "traceparent"),
        ({"no_store": "yes"}, "no_store"),
        ({"seq": -1}, "seq"),
        ({"tool": {"name": "x", "ok": "true"}}, "tool.ok"),
        ({"tool": {"name": "x", "arguments": {"a": "x" * 70_000}}}, "tool.arguments"),
        ({"procedure": {"name": "p", "version": 0}}, "procedure.version"),
        ({"kind": "ticket_closed"}, "ticket_id"),
        ({"kind": "state", "patch": {}}, "patch"),
        ({"kind": "state", "patch": {"open_items": "one"}}, "patch.open_items"),
        ({"kind": "state", "scope": "ticket", "patch": {"intent": "x"}}, "ticket_id"),
        ({"kind": "accessed", "memory_ids": []}, "memory_ids"),
        ({"kind": "accessed", "memory_ids": ["a", ""]}, "memory_ids.1"),
        ({"kind": "approval", "what": "", "approved": True, "actor_id": "b"}, "what"),
        ({"kind": "approval", "what": "x", "approved": "no", "actor_id": "b"}, "approved"),
        ({"kind": "nonsense"}, "kind"),
        ({"kind": None}, "kind"),
        ({"v": "1"}, "v"),
        ({"v": True}, "v"),
    ],
)
def test_a_fault_is_named_by_its_field(changes: dict[str, object], field: str) -> None:
    with pytest.raises(BadEvent) as caught:
        parse_event(turn(**changes))

    assert caught.value.field == field


@pytest.mark.parametrize("value", [None, [], "turn", 3, b"{}"])
def test_only_objects_are_events(value: object) -> None:
    with pytest.raises(BadEvent):
        parse_event(value)


def test_a_higher_version_is_told_apart_from_a_bad_event() -> None:
    with pytest.raises(BadEvent) as caught:
        parse_event({"v": 2, "kind": "telepathy"})

    assert caught.value.code == "event_version"


def test_an_unknown_kind_is_told_apart_too() -> None:
    with pytest.raises(BadEvent) as caught:
        parse_event(turn(kind="telepathy"))

    assert caught.value.code == "unknown_kind"


@given(st.text(min_size=4), st.sampled_from(["kind", "role", "event_id", "at", "tz", "no_store", "traceparent", "seq"]))
def test_no_error_quotes_what_was_sent(secret: str, field: str) -> None:
    marked = f"Zq9{secret}9qZ"
    with pytest.raises(BadEvent) as caught:
        parse_event(turn(**{field: marked}))

    assert marked not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_name_of_a_users_own_key_is_not_shown() -> None:
    with pytest.raises(BadEvent) as caught:
        parse_event(turn(tool={"name": "x", "arguments": {"Zq9secret": object()}}))

    assert "Zq9" not in str(caught.value)


def test_256_kib_of_text_are_enough_and_fit() -> None:
    assert parse_event(turn(content="x" * 256 * 1024))


def test_unknown_fields_are_no_error_and_count_in_the_hash() -> None:
    plain, more = parse_event(turn()), parse_event(turn(mood="glad"))

    assert isinstance(more, TurnEvent)
    assert canonical_bytes(plain) != canonical_bytes(more)


def test_the_hash_ignores_what_the_publisher_adds_and_sees_what_was_said() -> None:
    event = parse_event(turn())
    stamped = parse_event(turn(producer="p", seq=3, published_at="2026-11-30T02:00:00Z"))

    assert canonical_bytes(stamped) == canonical_bytes(event)
    assert canonical_bytes(parse_event(turn(content="other"))) != canonical_bytes(event)
    assert canonical_bytes(parse_event(turn(tz=None, no_store=False))) == canonical_bytes(event)


def test_the_zone_in_which_a_time_was_said_is_kept() -> None:
    offset = parse_event(turn()).at.utcoffset()

    assert offset is not None
    assert offset.total_seconds() == 8 * 3600


def test_no_store_drops_the_content_while_it_is_read() -> None:
    event = parse_event(
        turn(no_store=True, name="Zq9", tool={"name": "crm", "arguments": {"a": "Zq9"}, "ok": True}, mood="Zq9")
    )

    assert b"Zq9" not in event_json(event)
    assert "Zq9" not in repr(event)
    assert b'"ok":true' in event_json(event)


def test_null_in_a_patch_means_remove_and_survives() -> None:
    event = parse_event(turn(kind="state", patch={"intent": None}))
    again = parse_event(json.loads(event_json(event)))

    assert isinstance(again, StateEvent)
    assert again.patch == {"intent": None}


def test_an_assistant_may_call_a_tool_without_a_word() -> None:
    assert parse_event(turn(role="assistant", content="", tool={"name": "crm"}))


def test_deep_nesting_is_refused_not_fatal() -> None:
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]

    with pytest.raises(BadEvent):
        parse_event(turn(tool={"name": "x", "arguments": {"a": deep}}))


def test_an_error_survives_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(BadEvent("at", "must carry a time zone", "bad_event")))  # noqa: S301 - made here

    assert (error.field, error.reason, error.code) == ("at", "must carry a time zone", "bad_event")

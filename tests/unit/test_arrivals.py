"""What an event's agent got wrong about the time, and what an event may claim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.events import parse_event
from schemas.envelopes import disclose
from tasks.arrivals import Kept, Refusal, TimePolicy, Unread, judge, offset_minutes, place

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
POLICY = TimePolicy(ahead_seconds=120, offset_seconds=2)


@dataclass(frozen=True)
class Key:
    """A key of a test."""

    agent_id: str | None = None
    rights: frozenset[str] = frozenset({"publish"})
    hash_key: bytes = b"k" * 32


def _raw(**fields: Any) -> dict[str, Any]:
    return {
        "kind": "turn",
        "event_id": str(UUID(int=7)),
        "user_id": "u1",
        "session_id": "s1",
        "at": NOW,
        "role": "user",
        "content": "Hello",
        **fields,
    }


@given(seconds=st.integers(-(10**7), 10**7), offset_ms=st.one_of(st.none(), st.integers(-(10**8), 10**8)))
def test_nothing_is_placed_further_ahead_than_allowed(seconds: int, offset_ms: int | None):
    event = parse_event(_raw(at=NOW + timedelta(seconds=seconds)))

    placed = place(event, NOW, offset_ms, POLICY)

    assert placed.at <= NOW + timedelta(seconds=120)
    assert (placed.original_at is None) == (placed.at == event.at and not placed.flags)


@pytest.mark.parametrize(
    ("at_seconds", "offset_ms", "expected", "flags"),
    [
        (0, None, 0, ()),
        (119, None, 119, ()),
        (121, None, 0, ("at_clamped",)),
        (300, 300_000, 0, ("at_corrected",)),
        (500, 300_000, 0, ("at_corrected", "at_clamped")),
        (0, 2_000, 0, ()),
    ],
)
def test_a_wrong_clock_is_corrected_before_anything_is_clamped(
    at_seconds: int, offset_ms: int | None, expected: int, flags: tuple[str, ...]
):
    event = parse_event(_raw(at=NOW + timedelta(seconds=at_seconds)))

    placed = place(event, NOW, offset_ms, POLICY)

    assert placed.at == NOW + timedelta(seconds=expected)
    assert placed.flags == flags


def test_a_key_that_is_one_agents_speaks_for_that_agent_only():
    key = Key(agent_id="desk")

    own, foreign = judge(_raw(), key, parks=True), judge(_raw(agent_id="other"), key, parks=True)

    assert isinstance(own, Kept)
    assert own.turn is not None
    assert own.turn["agent_id"] == "desk"
    assert isinstance(foreign, Refusal)
    assert foreign.field == "agent_id"


def test_a_newer_event_is_parked_whole_and_an_older_reader_does_not_judge_it():
    newer = judge(_raw(v=2, kind="gesture", wave=True), Key(), parks=True)

    assert isinstance(newer, Unread)
    assert (newer.version, newer.kind) == (2, "gesture")
    assert '"wave":true' in disclose(newer.payload)


def test_a_refusal_names_the_field_and_never_the_value():
    refused = judge(_raw(content=" "), Key(), parks=True)

    assert isinstance(refused, Refusal)
    assert (refused.event_id, refused.field) == (UUID(int=7), "content")


@pytest.mark.parametrize("rubbish", [None, 7, [], "text", {"event_id": 3}, {"kind": {}}, {"v": "1"}])
def test_rubbish_is_refused_whatever_its_shape(rubbish: object):
    assert isinstance(judge(rubbish, Key(), parks=True), Refusal)


@pytest.mark.parametrize(("hours", "minutes"), [(8, 480), (-3.5, -210), (0, 0)])
def test_the_offset_of_a_time_is_kept_in_minutes(hours: float, minutes: int):
    assert offset_minutes(NOW.astimezone(timezone(timedelta(hours=hours)))) == minutes

"""The two ends of the contract agree: what a call accepts, the service's decoder accepts too."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from afterturn import BadEvent, Credential, Publisher
from afterturn.events import parse_event
from client_fixtures import Broker, broker, credential, events_in

__all__ = ["broker", "credential"]

# Near the borders of the rules: controls, joiners, spaces, full width, surrogates, and what is merely text.
words = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(), max_size=6),
    st.sampled_from(["u1", "李明", " u", "u ", "a\x00", "a\u200bb", "é", "x" * 256, "x" * 257, "\ud800", "", "\u2028"]),
)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.one_of(
    st.datetimes(timezones=zones),
    st.sampled_from([datetime(1970, 12, 31, 23, 59, 59, 999_999), datetime.max, datetime.min]),  # noqa: DTZ001, DTZ901 - the faults
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=10,
)
options = st.fixed_dictionaries(
    {},
    optional={
        "at": times,
        "agent": words,
        "ticket": words,
        "thread": words,
        "source": words,
        "tz": st.sampled_from(["Asia/Shanghai", "UTC", "Mars/Phobos", "localtime", "posixrules", "../UTC", "utc"]),
        "reply_to": st.uuids() | words,
        "event_id": st.uuids() | st.uuids().map(lambda made: made.urn),
        "no_store": st.booleans() | st.integers(0, 1),
        "traceparent": st.sampled_from(["00-" + "a" * 32 + "-" + "b" * 16 + "-01", "x"]),
    },
)
tools = st.none() | words | st.dictionaries(st.sampled_from(["name", "call_id", "arguments"]), words | json_values)
roles = st.sampled_from(["user", "assistant", "tool", "staff", "system", "boss"])
patches = st.dictionaries(words | st.sampled_from(["intent", "open_items", "known_facts"]), json_values, max_size=4)


def test_what_a_call_accepts_the_service_reads(broker: Broker, credential: Credential) -> None:
    with Publisher(credential.text(), broker.url) as publisher:

        @settings(max_examples=400, deadline=None)
        @given(
            user=words,
            session=words,
            role=roles,
            content=words,
            name=words,
            tool=tools,
            ok=st.none() | st.booleans(),
            patch=patches,
            more=options,
        )
        def talk(
            *,
            user: str,
            session: str,
            role: Any,
            content: str,
            name: str,
            tool: Any,
            ok: bool | None,
            patch: dict[str, object],
            more: dict[str, Any],
        ) -> None:
            for said in (
                lambda: publisher.turn(user, session, role, content, name=name, tool=tool, ok=ok, **more),
                lambda: publisher.turn("u", "s", role, content, actor=name, procedure=(name, 1), **more),
                lambda: publisher.turn("u", "s", "user", "ok", **more),
                lambda: publisher.state("u", "s", patch, **more),
                lambda: publisher.remember("u", "s", content, key=name, **more),
                lambda: publisher.approval("u", "s", content, bool(ok), actor=name, reason=content, **more),
                lambda: publisher.feedback("u", "s", name, "wrong", correction=content, **more),
                lambda: publisher.accessed("u", "s", [name, user], **more),
            ):
                with contextlib.suppress(BadEvent):
                    said()

        talk()
        assert publisher.flush(60)
        stats = publisher.stats()

    events = events_in(broker, credential)
    assert stats.failed == stats.refused == 0
    assert len(events) == stats.accepted > 100
    for event in events:
        parse_event(event)

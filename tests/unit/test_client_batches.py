"""Batches: a round trip changes nothing, and hostile bytes cost nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from afterturn.batches import MAX_PLAIN_BYTES, RowEncoder, decode_batch, encode_batch
from afterturn.errors import BadBatch

SENT = datetime(2026, 11, 30, 9, 0, 0, 123456, tzinfo=UTC)

zones = st.integers(min_value=-14 * 60, max_value=14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(9998, 12, 30), timezones=zones)  # noqa: DTZ001 - bounds, the zones come beside them
texts = st.text(st.characters(exclude_categories=("Cs",)))
scalars = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
names = texts.filter(lambda name: name not in ("at", "published_at", "at_offset"))


@st.composite
def events(draw: st.DrawFn) -> dict[str, object]:
    fields: dict[str, object] = dict(draw(st.dictionaries(names, values, max_size=6)))
    return {**fields, "at": draw(times), "published_at": draw(times)}


@given(st.lists(events(), max_size=5), st.none() | st.integers(min_value=-(10**9), max_value=10**9))
def test_a_batch_comes_back_as_it_was(said: list[dict[str, object]], offset: int | None) -> None:
    batch = decode_batch(encode_batch(said, sent_at=SENT, clock_offset_ms=offset))

    assert (batch.sent_at, batch.clock_offset_ms, batch.events) == (SENT, offset, said)
    for before, after in zip(said, batch.events, strict=True):
        assert isinstance(before["at"], datetime)
        assert isinstance(after["at"], datetime)
        assert after["at"].utcoffset() == before["at"].utcoffset()


def test_an_encoder_keeps_nothing_of_the_batch_before() -> None:
    encoder = RowEncoder()

    def events(*contents: str) -> list[dict[str, object]]:
        rows = [("turn", content, None) for content in contents]
        packed = encoder.encode(("kind", "content", "more"), rows, same={"v": 1}, sent_us=0, clock_offset_ms=None)
        return decode_batch(packed).events

    for contents in (("你好" * 100_000, "b"), ("c",), (), tuple("text" * 5 + str(number) for number in range(100))):
        assert events(*contents) == [{"v": 1, "kind": "turn", "content": content} for content in contents]
    with pytest.raises(ValueError, match="8 MiB"):
        events("x" * MAX_PLAIN_BYTES)
    assert events("d") == [{"v": 1, "kind": "turn", "content": "d"}]


def test_what_is_none_is_absent_and_what_is_unknown_survives() -> None:
    said: list[dict[str, object]] = [{"v": 7, "kind": "telepathy", "tz": None}, {"v": 1, "new": [1]}]

    assert decode_batch(encode_batch(said, sent_at=SENT)).events == [
        {"v": 7, "kind": "telepathy"},
        {"v": 1, "new": [1]},
    ]


def test_a_number_that_json_has_not_costs_its_field_and_not_the_batch() -> None:
    said: list[dict[str, object]] = [{"kind": "turn", "score": float("nan")}]

    assert decode_batch(encode_batch(said, sent_at=SENT)).events == [{"kind": "turn"}]


def packed(value: object) -> bytes:
    return zstandard.compress(json.dumps(value).encode())


def plain(**changes: object) -> dict[str, object]:
    return {"v": 1, "sent": 0, "offset": None, "same": {}, "fields": ["kind"], "rows": [["turn"]], **changes}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_compressed"),
        (b"\x28\xb5\x2f\xfd", "not_compressed"),
        (packed(plain())[:-1], "not_compressed"),
        (packed(plain()) + b"x", "not_compressed"),
        (zstandard.compress(b"x" * (MAX_PLAIN_BYTES + 1)), "too_large"),
        (zstandard.ZstdCompressor(write_content_size=False).compress(b"x" * 100), "too_large"),
        (zstandard.compress(b"{"), "not_json"),
        (zstandard.compress(b"[" * 100_000), "not_json"),
        (zstandard.compress(b'{"v": NaN}'), "not_json"),
        (packed([]), "malformed"),
        (packed(plain(v=2)), "batch_version"),
        (packed(plain(v=None)), "malformed"),
        (packed(plain(sent="now")), "malformed"),
        (packed(plain(sent=10**30)), "malformed"),
        (packed(plain(offset=True)), "malformed"),
        (packed(plain(fields=["a", "a"], rows=[])), "malformed"),
        (packed(plain(fields=[1])), "malformed"),
        (packed(plain(fields=[str(number) for number in range(300)], rows=[])), "too_large"),
        (packed(plain(rows=[["turn", 1]])), "malformed"),
        (packed(plain(rows=["turn"])), "malformed"),
        (packed(plain(rows=[["turn"]] * 1001)), "too_large"),
        (packed(plain(fields=["at"], rows=[["2026"]])), "malformed"),
        (packed(plain(fields=["at", "at_offset"], rows=[[0, 10**9]])), "malformed"),
    ],
)
def test_what_is_no_batch_is_refused_with_its_reason(data: bytes, code: str) -> None:
    with pytest.raises(BadBatch) as caught:
        decode_batch(data)

    assert caught.value.code == code


@given(st.binary(max_size=300))
def test_noise_is_refused_and_nothing_else_happens(noise: bytes) -> None:
    for data in (noise, zstandard.compress(noise)):
        with pytest.raises(BadBatch):
            decode_batch(data)


def test_a_batch_beyond_the_bound_is_not_made() -> None:
    with pytest.raises(ValueError, match="8 MiB"):
        encode_batch([{"content": "x" * MAX_PLAIN_BYTES}], sent_at=SENT)

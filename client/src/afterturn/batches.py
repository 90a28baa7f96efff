"""A batch: many events as rows under one field list, compressed. What the seal goes around.

JSON, then zstd level 1: {"v": 1, "sent": us, "offset": ms | null, "same": {}, "fields": [...], "rows": [[...], ...]}.
`same` holds what all rows share. Times are integers, microseconds since 1970 in UTC; the offset in which `at` was
said travels beside it in minutes. Fields are carried, not judged: unknown ones and higher versions survive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import cast

import zstandard
from pydantic_core import from_json, to_json

from afterturn.errors import BadBatch
from afterturn.times import EPOCH, MICROSECOND, microseconds, offset_minutes

VERSION = 1
MAX_PLAIN_BYTES = 8 * 1024 * 1024
MAX_EVENTS = 1000
MAX_FIELDS = 200
AT_OFFSET = "at_offset"
_KEPT_BYTES = 640 * 1024
_ROWS_AT_ONCE = 16
TIME_FIELDS = frozenset({"at", "published_at"})

_MAX_MICROSECONDS = (datetime(9999, 12, 30, tzinfo=UTC) - EPOCH) // MICROSECOND


@dataclass(frozen=True, slots=True)
class Batch:
    """What arrived in one message: when it was sealed, and events that `events.parse_event` takes.

    Units: `clock_offset_ms` is how far the agent's clock was ahead of the broker's (negative: behind); None: unknown.
    """

    sent_at: datetime
    clock_offset_ms: int | None
    events: list[dict[str, object]]


class RowEncoder:
    """Makes batches one after the other, in buffers that it keeps. Not for two threads.

    A new buffer of half a megabyte would be new pages for every batch: they cost more than JSON and compression.
    """

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._plain = bytearray(_KEPT_BYTES)

    def encode(
        self,
        fields: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        same: Mapping[str, object],
        sent_us: int,
        clock_offset_ms: int | None,
    ) -> bytes:
        """The batch of rows whose times are microseconds already. Raises: ValueError when a value is no JSON."""
        batch = {"v": VERSION, "sent": sent_us, "offset": clock_offset_ms, "same": same, "fields": fields, "rows": ()}
        end = self._put(0, _json(batch)[:-2])
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            part = _json(rows[first : first + _ROWS_AT_ONCE])
            end = self._put(end, b"," if first else b"", memoryview(part)[1:-1])
        end = self._put(end, b"]}")
        with memoryview(self._plain) as kept, kept[:end] as plain:
            packed = self._compressor.compress(plain)
        del self._plain[_KEPT_BYTES:]
        return packed

    def _put(self, end: int, *parts: bytes | memoryview) -> int:
        """Writes at a place, and answers where that ends."""
        for part in parts:
            if end + len(part) > MAX_PLAIN_BYTES:
                msg = "a batch must be at most 8 MiB"
                raise ValueError(msg)
            self._plain[end : end + len(part)] = part
            end += len(part)
        return end


def _json(value: object) -> bytes:
    # JSON has no NaN: better one field less than a batch that no reader takes.
    return to_json(value, inf_nan_mode="null")


def encode_batch(
    events: Sequence[Mapping[str, object]], *, sent_at: datetime, clock_offset_ms: int | None = None
) -> bytes:
    """The batch of these events. `at` and `published_at` are aware datetimes; a field that is None counts as absent."""
    packed = [_packed(event) for event in events]
    fields = list(dict.fromkeys(name for event in packed for name in event))
    rows = [[event.get(name) for name in fields] for event in packed]
    sent_us = microseconds(sent_at)
    return RowEncoder().encode(fields, rows, same={}, sent_us=sent_us, clock_offset_ms=clock_offset_ms)


def decode_batch(data: bytes) -> Batch:
    """The batch that `data` holds, within the bounds of this module. Raises: BadBatch."""
    value = _parsed(_plain(data))
    version = value.get("v")
    if isinstance(version, int) and version > VERSION:
        raise BadBatch("batch_version")
    offset = value.get("offset")
    fields = value.get("fields")
    rows = value.get("rows")
    same = value.get("same", {})
    if not (isinstance(fields, list) and isinstance(rows, list) and isinstance(same, dict) and version == VERSION):
        raise BadBatch("malformed")
    if offset is not None and type(offset) is not int:
        raise BadBatch("malformed")
    names = _names(cast("list[object]", fields))
    if len(cast("list[object]", rows)) > MAX_EVENTS or len(same) > MAX_FIELDS:  # pyright: ignore[reportUnknownArgumentType] - keys of JSON
        raise BadBatch("too_large")
    shared = cast("dict[str, object]", same)
    events = [_event(names, row, shared) for row in cast("list[object]", rows)]
    return Batch(_time(value.get("sent"), 0), offset, events)


def _packed(event: Mapping[str, object]) -> dict[str, object]:
    packed = {name: value for name, value in event.items() if value is not None}
    for name in TIME_FIELDS & packed.keys():
        value = packed[name]
        if not isinstance(value, datetime):
            msg = f"{name}: must be a datetime"
            raise TypeError(msg)
        packed[name] = microseconds(value)
        if name == "at" and (minutes := offset_minutes(value)):
            packed[AT_OFFSET] = minutes
    return packed


def _plain(data: bytes) -> bytes:
    """The bytes inside, never more than the bound: the size stands in the frame's header and is checked first."""
    try:
        frame = zstandard.get_frame_parameters(data)
        # zstandard ignores max_output_size when the header names a size, so the header must name one and be believed.
        if frame.content_size > MAX_PLAIN_BYTES or frame.window_size > MAX_PLAIN_BYTES:
            raise BadBatch("too_large")
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as exc:
        raise BadBatch("not_compressed") from exc


def _parsed(plain: bytes) -> dict[str, object]:
    try:
        value: object = from_json(plain, allow_inf_nan=False)
    except ValueError as exc:
        raise BadBatch("not_json") from exc
    if not isinstance(value, dict):
        raise BadBatch("malformed")
    return cast("dict[str, object]", value)


def _names(fields: list[object]) -> list[str]:
    if len(fields) > MAX_FIELDS:
        raise BadBatch("too_large")
    names = [name for name in fields if isinstance(name, str)]
    if len(names) != len(fields) or len(set(names)) != len(names):
        raise BadBatch("malformed")
    return names


def _event(names: list[str], row: object, same: dict[str, object]) -> dict[str, object]:
    if not isinstance(row, list) or len(cast("list[object]", row)) != len(names):
        raise BadBatch("malformed")
    values = cast("list[object]", row)
    event = {**same, **{name: value for name, value in zip(names, values, strict=True) if value is not None}}
    minutes = event.pop(AT_OFFSET, 0)
    for name in TIME_FIELDS:
        if name in event:
            event[name] = _time(event[name], minutes if name == "at" else 0)
    return event


def _time(value: object, minutes: object) -> datetime:
    if type(value) is not int or type(minutes) is not int:
        raise BadBatch("malformed")
    if not (0 <= value <= _MAX_MICROSECONDS and abs(minutes) < 24 * 60):
        raise BadBatch("malformed")
    at = EPOCH + value * MICROSECOND
    return at.astimezone(timezone(timedelta(minutes=minutes))) if minutes else at

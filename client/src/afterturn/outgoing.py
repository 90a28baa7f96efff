"""Rows become one sealed message: secrets masked, packed, compressed, sealed. Loaded by the sender's thread alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from afterturn.batches import RowEncoder
from afterturn.buffer import ROW_FIELDS, Row
from afterturn.credentials import Credential, seal_key
from afterturn.ids import uuid7
from afterturn.masking import Json, mask, mask_json
from afterturn.sealing import Sealer

_MASKED_FIELDS = frozenset({"name", "tool", "what", "reason", "patch", "correction"})
"""Fields beside the content in which people, models and tools write freely. Ids stay as they are."""
_NOTHING = "extras"
"""A field that no event has: a row that goes as it is has a last cell, None."""


class Source(Protocol):
    """Where a message's events lie on disk until their receipt."""

    def settle(self, first_seq: int, last_seq: int) -> None:
        """Events from one number to another, both included, need no more keeping."""
        ...


@dataclass(frozen=True, slots=True)
class Parcel:
    """Events for one message, in order. Those of a dead process keep their `producer`; None: this one's."""

    rows: Sequence[Row]
    source: Source | None = None
    producer: UUID | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A sealed batch. Sent again, it is this very blob."""

    message_id: UUID
    blob: str
    event_count: int
    first_seq: int
    last_seq: int
    source: Source | None = None
    is_adopted: bool = False

    def settle(self) -> None:
        """Nothing has to keep its events any more."""
        if self.source is not None:
            self.source.settle(self.first_seq, self.last_seq)


class Packer:
    """Packs for one producer (one process). Not for two threads."""

    def __init__(self, credential: Credential, producer: UUID) -> None:
        self._sealer = Sealer(credential.key_id, seal_key(credential.secret), producer)
        self._encoder = RowEncoder()
        self._producer = producer
        self.masked = 0

    def pack(self, parcel: Parcel, clock_offset_ms: int | None) -> Message:
        """The message of these events. Raises: ValueError when one of them cannot be encoded."""
        rows = parcel.rows
        extra_names = list(dict.fromkeys(name for row in rows if row[10] for name in row[10]))
        payload = self._encoder.encode(
            (*ROW_FIELDS, _NOTHING, *extra_names),
            [self._cells(row, extra_names) for row in rows],
            same={"v": 1, "producer": str(parcel.producer or self._producer)},
            sent_us=time.time_ns() // 1000,
            clock_offset_ms=clock_offset_ms,
        )
        message_id = uuid7()
        return Message(
            message_id,
            self._sealer.seal(message_id, payload),
            len(rows),
            rows[0][7],
            rows[-1][7],
            parcel.source,
            parcel.producer is not None,
        )

    def _cells(self, row: Row, extra_names: Sequence[str]) -> Sequence[object]:
        content = row[9]
        if content:
            content, found = mask(content)
            if found:
                self.masked += len(found)
            elif not extra_names:  # As it is: its last cell is one too many, and says nothing.
                return row
        extras = row[10] or {}
        return [*row[:9], content, None, *(self._extra(name, extras.get(name)) for name in extra_names)]

    def _extra(self, name: str, value: Json) -> Json:
        if value is None or name not in _MASKED_FIELDS:
            return value
        masked, found = mask_json(value)
        self.masked += len(found)
        return masked

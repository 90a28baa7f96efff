"""Receipts: what became of a batch, told by the ingest worker to whoever sent it, through the broker.

The list's name and the receipts' seal follow from the key and the batch's producer, so who holds neither can find no
list, read no receipt and make none. Every receipt is sealed under a key of its own (HKDF with a random salt), because
several workers answer one producer and could not agree on a counter.

Layout: version (1) | salt (16) | AES-256-GCM of {"m": message id, "runs": [[state, count]], "faults": [...]}.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, cast
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from afterturn.credentials import derive_key
from afterturn.envelope import KEY_PREFIX
from afterturn.errors import BadSeal

VERSION = 1
SEAL = b"afterturn/receipt/v1/seal"
NAME = b"afterturn/receipt/v1/name"
EPOCH_KEY = f"{KEY_PREFIX}epoch"
"""Holds a random value for as long as the broker remembers: another value, or none, means that it lost what it held."""
CAP = 4096
"""Receipts kept for a producer that does not fetch them; the oldest go first. A lost one costs a re-send."""
TTL_SECONDS = 3600
WHOLE = 0
"""As the count of a run: all events of the batch, however many there are."""

State = Literal["stored", "duplicate", "rejected", "dead"]
OnReject = Callable[[str, str, "str | None"], None]
"""Called with the event's id, a code and the field at fault."""

_STATES = frozenset({"stored", "duplicate", "rejected", "dead"})
_SALT_END = 17
_NONCE = bytes(12)  # Each key seals once.


@dataclass(frozen=True, slots=True)
class Fault:
    """An event that was not kept, and why. `event_id` is None when nobody could read it."""

    event_id: str | None
    state: State
    code: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class BatchReceipt:
    """What became of one message's events. `runs` are states with their counts, in the order of the batch."""

    message_id: UUID
    runs: tuple[tuple[State, int], ...]
    faults: tuple[Fault, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the batch ended as one, its events unseen."""
        return any(number == WHOLE for _, number in self.runs)

    def count(self, state: State, event_count: int) -> int:
        """How many of the batch's `event_count` events ended so."""
        return sum(number or event_count for name, number in self.runs if name == state)


def runs_of(states: Iterable[State]) -> tuple[tuple[State, int], ...]:
    """Equal neighbours counted together."""
    return tuple((state, len(list(run))) for state, run in groupby(states))


def list_name(seal_key: bytes, producer: UUID) -> str:
    """The Redis key of this producer's receipts. It says nothing about either."""
    return f"{KEY_PREFIX}receipts:{derive_key(seal_key, salt=producer.bytes, info=NAME)[:16].hex()}"


def seal_receipt(receipt: BatchReceipt, seal_key: bytes, producer: UUID) -> bytes:
    """The list's element. Repeat: another element that says the same."""
    salt = os.urandom(16)
    plain = json.dumps(
        {
            "m": receipt.message_id.hex,
            "runs": receipt.runs,
            "faults": [(fault.event_id, fault.state, fault.code, fault.field) for fault in receipt.faults],
        },
        separators=(",", ":"),
    )
    header = bytes([VERSION]) + salt
    return header + _cipher(seal_key, producer, salt).encrypt(_NONCE, plain.encode(), header)


def open_receipt(element: bytes, seal_key: bytes, producer: UUID) -> BatchReceipt:
    """What a receipt says. Raises: BadSeal for one that nobody with this key sealed for this producer."""
    if element[:1] and element[0] != VERSION:
        raise BadSeal("seal_version")
    header, sealed = element[:_SALT_END], element[_SALT_END:]
    try:
        plain = _cipher(seal_key, producer, header[1:]).decrypt(_NONCE, sealed, header)
    except InvalidTag as exc:
        raise BadSeal("forged") from exc
    return _parsed(json.loads(plain))


def _cipher(seal_key: bytes, producer: UUID, salt: bytes) -> AESGCM:
    return AESGCM(derive_key(seal_key, salt=salt, info=SEAL + producer.bytes))


def _parsed(value: dict[str, object]) -> BatchReceipt:
    """Only a worker with the key can have written this: what does not fit is of a newer version, and is left out."""
    runs = cast("Sequence[tuple[State, int]]", value["runs"])
    faults = cast("Sequence[Sequence[str | None]]", value.get("faults", ()))
    return BatchReceipt(
        UUID(hex=cast("str", value["m"])),
        tuple((state, number) for state, number in runs if state in _STATES),
        tuple(
            Fault(event_id, cast("State", state), code or "unknown", field)
            for event_id, state, code, field in (fault[:4] for fault in faults)
        ),
    )

"""A batch under seal: nothing readable in the broker, nothing accepted that was not sealed with a tenant's key.

Layout, before base64: version (1) | key id (12) | producer (16) | message id (16) | counter (8) | AES-256-GCM.
All before the ciphertext is in clear and authenticated. Each producer has a key of its own (HKDF of the seal key with
the producer as salt and the purpose as info), so the counter, which is the nonce, needs no agreement between processes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from afterturn.credentials import derive_key
from afterturn.errors import BadSeal

VERSION = 1
INGEST = b"afterturn/ingest/v1"
"""Purpose of a batch on its way to ingest. Keys of two purposes never open each other's blobs."""
MAX_BLOB_CHARS = 16 * 1024 * 1024

_KEY_ID_END = 13
_PRODUCER_END = 29
_MESSAGE_END = 45
_HEADER_END = 53
_TAG_BYTES = 16


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened blob. All four come from the key's holder: they were authenticated together."""

    key_id: str
    producer: UUID
    message_id: UUID
    payload: bytes


class Sealer:
    """Seals for one producer. Not for two threads, and never for two processes: the counter must not repeat."""

    def __init__(self, key_id: str, seal_key: bytes, producer: UUID, *, purpose: bytes = INGEST) -> None:
        self._cipher = AESGCM(derive_key(seal_key, salt=producer.bytes, info=purpose))
        self._prefix = bytes([VERSION]) + key_id.encode("ascii") + producer.bytes
        if len(self._prefix) != _PRODUCER_END:
            msg = "a key id has 12 characters"
            raise ValueError(msg)
        self._counter = 0

    def seal(self, message_id: UUID, payload: bytes) -> str:
        """The blob, as base64. Repeat: a new blob; to send again, send the same blob."""
        self._counter += 1
        counter = self._counter.to_bytes(8, "big")
        header = self._prefix + message_id.bytes + counter
        return base64.b64encode(header + self._cipher.encrypt(b"\0\0\0\0" + counter, payload, header)).decode("ascii")


def open_sealed(blob: str, seal_key_of: Callable[[str], bytes | None], *, purpose: bytes = INGEST) -> Opened:
    """What `blob` holds. `seal_key_of` answers the stored seal key of a key id, or None. Raises: BadSeal."""
    if len(blob) > MAX_BLOB_CHARS:
        raise BadSeal("too_large")
    try:
        raw = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise BadSeal("not_base64") from exc
    if raw[:1] and raw[0] != VERSION:
        raise BadSeal("seal_version")
    if len(raw) < _HEADER_END + _TAG_BYTES:
        raise BadSeal("truncated")
    key_id = _key_id(raw)
    seal_key = seal_key_of(key_id)
    if seal_key is None:
        raise BadSeal("unknown_key")
    producer = UUID(bytes=raw[_KEY_ID_END:_PRODUCER_END])
    cipher = AESGCM(derive_key(seal_key, salt=producer.bytes, info=purpose))
    header = raw[:_HEADER_END]
    try:
        payload = cipher.decrypt(b"\0\0\0\0" + header[_MESSAGE_END:], raw[_HEADER_END:], header)
    except InvalidTag as exc:
        raise BadSeal("forged") from exc
    return Opened(key_id, producer, UUID(bytes=header[_PRODUCER_END:_MESSAGE_END]), payload)


def _key_id(raw: bytes) -> str:
    try:
        return raw[1:_KEY_ID_END].decode("ascii")
    except UnicodeDecodeError as exc:
        raise BadSeal("unknown_key") from exc

"""Content columns are envelopes from the first migration: version byte, then what that version says.

Version 0 is plain UTF-8. Version 1 (key id, nonce, sealed bytes) comes with encryption at rest; readers of today refuse
it by name instead of showing bytes. Equality on personal text never reads an envelope: it compares keyed hashes.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from schemas.errors import Permanent

PLAIN = 0
_PLAIN = bytes([PLAIN])
# json.dumps makes an encoder for every call with options of its own.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def enclose(text: str) -> bytes:
    """The envelope of a text."""
    return _PLAIN + text.encode()


def disclose(envelope: bytes) -> str:
    """The text of an envelope. Raises Permanent (code `envelope_version`) for a version this build cannot read."""
    if not envelope or envelope[0] != PLAIN:
        msg = "content was written by a newer version or under a key that is not here"
        raise Permanent(msg, code="envelope_version")
    return envelope[1:].decode()


def enclose_json(value: Any) -> bytes:
    """The envelope of a JSON value."""
    return enclose(_ENCODER.encode(value))


def disclose_json(envelope: bytes) -> Any:
    """The JSON value of an envelope."""
    return json.loads(disclose(envelope))


def keyed_hash(key: bytes, *parts: str) -> str:
    """A 32-hex-digit keyed hash of texts, equal only for equal lists of texts under one key.

    Each part is length-prefixed, so that ("ab", "c") and ("a", "bc") differ. Source: BLAKE2b, RFC 7693, keyed mode.
    """
    digest = hashlib.blake2b(key=key, digest_size=16)
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()

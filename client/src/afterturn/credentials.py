"""The one credential of an agent: `at_<key id>_<secret>`, and what the service keeps in place of the secret.

The service stores two values that are derived from the secret and never the secret itself, so that a leaked
database gives nobody a bearer token. The standard library is enough for all of it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass, field
from typing import cast

from afterturn import local
from afterturn.errors import BadCredential

SECRET_BYTES = 32
SEAL_INFO = b"afterturn/seal/v1"

_SHAPE = re.compile(r"at_([a-z2-7]{12})_([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Credential:
    """A key id and its secret (32 bytes). The secret shows in no repr."""

    key_id: str
    secret: bytes = field(repr=False)

    def bearer(self) -> str:
        """The value of the Authorization header."""
        return f"Bearer {self.text()}"

    def text(self) -> str:
        """The string of `AFTERTURN_KEY`."""
        return f"at_{self.key_id}_{base64.urlsafe_b64encode(self.secret).rstrip(b'=').decode()}"


def parse_credential(text: str) -> Credential:
    """The credential that `AFTERTURN_KEY` spells. Raises: BadCredential, without quoting it."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        msg = "the key must look like at_<12 characters>_<43 characters>"
        raise BadCredential(msg)
    try:
        secret = base64.b64decode(found[2] + "=", altchars=b"-_", validate=True)
    except binascii.Error as exc:
        msg = "the key's secret is not URL-safe base64"
        raise BadCredential(msg) from exc
    credential = Credential(found[1], secret)
    if credential.text() != text:  # The last character has two spare bits: one secret, one spelling.
        msg = "the key's secret is not in its canonical form"
        raise BadCredential(msg)
    return credential


def find_credential(key: str | None) -> Credential:
    """The credential from the argument, else `AFTERTURN_KEY`, else the key file of the installation on this machine.

    Raises: BadCredential.
    """
    if not isinstance(cast("object", key), str | None):
        msg = "key: must be a string"
        raise BadCredential(msg)
    text = key if key is not None else os.environ.get("AFTERTURN_KEY") or local.key_text()
    if not text:
        msg = "no key: pass key= or set AFTERTURN_KEY (make one with `./afterturn keys create`)"
        raise BadCredential(msg)
    return parse_credential(text.strip())


def generate_credential() -> Credential:
    """A new credential from the system's randomness."""
    key_id = base64.b32encode(secrets.token_bytes(8))[:12].decode().lower()
    return Credential(key_id, secrets.token_bytes(SECRET_BYTES))


def bearer_hash(secret: bytes) -> str:
    """What the service compares a presented secret with: SHA-256 of its 32 bytes, in hex.

    A fast hash is right here: the secret has 256 random bits, there is nothing to guess.
    """
    return hashlib.sha256(secret).hexdigest()


def bearer_matches(secret: bytes, stored_hash: str) -> bool:
    """Whether a presented secret is the stored one, in constant time."""
    return hmac.compare_digest(bearer_hash(secret), stored_hash)


def parse_bearer(header: str) -> Credential:
    """The credential of an Authorization header. Raises: BadCredential."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "bearer":
        msg = "the Authorization header must be Bearer at_..."
        raise BadCredential(msg)
    return parse_credential(text.strip())


def seal_key(secret: bytes) -> bytes:
    """The key (32 bytes) that opens this credential's batches; the service stores it in place of the secret."""
    return derive_key(secret, salt=b"", info=SEAL_INFO)


def derive_key(key: bytes, *, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 for 32 bytes. Source: RFC 5869; one block of output, hence the single HMAC after extraction."""
    extracted = hmac.digest(salt or bytes(32), key, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")

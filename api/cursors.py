"""Cursors: where a page ended, as an opaque text that only its own tenant's list takes."""

from __future__ import annotations

import base64
import binascii
import hmac
from datetime import UTC, datetime, timedelta
from uuid import UUID

from schemas.envelopes import keyed_hash
from schemas.errors import BadInput
from stores.catalogue import Place
from stores.tenancy import KeyInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_cursor(key: KeyInfo, listing: str, place: Place) -> str:
    """The cursor for what follows `place` in this listing."""
    raw = f"{(place.at - _EPOCH) // timedelta(microseconds=1)}.{place.id.hex}"
    return base64.urlsafe_b64encode(f"{raw}.{_sign(key, listing, raw)}".encode()).decode().rstrip("=")


def read_cursor(key: KeyInfo, listing: str, cursor: str | None) -> Place | None:
    """Where to go on. Raises: BadInput for a cursor that this listing did not give."""
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        micros, row_id, mark = text.split(".")
        if not hmac.compare_digest(mark, _sign(key, listing, f"{micros}.{row_id}")):
            raise BadInput("cursor", "is no cursor of this list")
        return Place(_EPOCH + timedelta(microseconds=int(micros)), UUID(hex=row_id))
    except (ValueError, binascii.Error, UnicodeError) as exc:
        raise BadInput("cursor", "is no cursor of this list") from exc


def _sign(key: KeyInfo, listing: str, raw: str) -> str:
    return keyed_hash(key.hash_key, "cursor", listing, raw)

"""Seals: what was sealed opens whole, and nothing else opens."""

from __future__ import annotations

import base64
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn import generate_credential
from afterturn.credentials import seal_key
from afterturn.errors import BadSeal
from afterturn.sealing import MAX_BLOB_CHARS, Sealer, open_sealed

CREDENTIAL = generate_credential()
KEY = seal_key(CREDENTIAL.secret)
KEYS = {CREDENTIAL.key_id: KEY}
PRODUCER = uuid4()
MESSAGE = uuid4()


def sealed(payload: bytes = b"said in confidence", producer: UUID = PRODUCER) -> str:
    return Sealer(CREDENTIAL.key_id, KEY, producer).seal(MESSAGE, payload)


def refused(blob: str) -> str:
    with pytest.raises(BadSeal) as caught:
        open_sealed(blob, KEYS.get)
    return caught.value.code


@given(st.binary(max_size=5000), st.uuids())
def test_a_payload_comes_back_with_its_origin(payload: bytes, producer: UUID) -> None:
    opened = open_sealed(sealed(payload, producer), KEYS.get)

    assert (opened.key_id, opened.producer, opened.message_id) == (CREDENTIAL.key_id, producer, MESSAGE)
    assert opened.payload == payload


@given(st.data())
def test_one_changed_bit_anywhere_is_refused(data: st.DataObject) -> None:
    raw = bytearray(base64.b64decode(sealed()))
    place = data.draw(st.integers(min_value=0, max_value=len(raw) * 8 - 1))
    raw[place // 8] ^= 1 << place % 8

    code = refused(base64.b64encode(bytes(raw)).decode())

    assert code in ("seal_version" if place < 8 else "forged", "unknown_key")


def test_no_text_lies_readable_in_a_blob() -> None:
    assert b"confidence" not in base64.b64decode(sealed())


def test_two_seals_of_one_payload_differ() -> None:
    sealer = Sealer(CREDENTIAL.key_id, KEY, PRODUCER)

    assert sealer.seal(MESSAGE, b"x") != sealer.seal(MESSAGE, b"x")


def test_a_foreign_key_does_not_open_even_under_a_known_name() -> None:
    stranger = generate_credential()
    forged = Sealer(CREDENTIAL.key_id, seal_key(stranger.secret), PRODUCER).seal(MESSAGE, b"x")

    assert refused(forged) == "forged"
    assert refused(Sealer(stranger.key_id, seal_key(stranger.secret), PRODUCER).seal(MESSAGE, b"x")) == "unknown_key"


def test_a_purpose_opens_only_its_own_blobs() -> None:
    receipt = Sealer(CREDENTIAL.key_id, KEY, PRODUCER, purpose=b"afterturn/receipt/v1").seal(MESSAGE, b"x")

    assert refused(receipt) == "forged"


@pytest.mark.parametrize(
    ("blob", "code"),
    [
        ("", "truncated"),
        ("!", "not_base64"),
        ("ü", "not_base64"),
        (base64.b64encode(b"\x02" + bytes(100)).decode(), "seal_version"),
        (base64.b64encode(b"\x01" + bytes(60)).decode(), "truncated"),
        (base64.b64encode(b"\x01" + b"\xff" * 100).decode(), "unknown_key"),
        ("A" * (MAX_BLOB_CHARS + 4), "too_large"),
    ],
)
def test_what_is_no_blob_is_refused_with_its_reason(blob: str, code: str) -> None:
    assert refused(blob) == code


def test_a_key_id_of_another_length_cannot_seal() -> None:
    with pytest.raises(ValueError, match="12 characters"):
        Sealer("short", KEY, PRODUCER)

"""Credentials: one spelling, nothing quoted, and keys derived as RFC 5869 says."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.credentials import (
    bearer_hash,
    bearer_matches,
    derive_key,
    find_credential,
    generate_credential,
    parse_bearer,
    parse_credential,
    seal_key,
)
from afterturn.errors import BadCredential


def test_a_new_credential_reads_back_and_has_the_fixed_shape() -> None:
    credential = generate_credential()
    text = credential.text()

    assert parse_credential(text) == credential
    assert parse_bearer(credential.bearer()) == credential
    assert (len(credential.key_id), len(text), len(credential.secret)) == (12, 59, 32)


def test_the_secret_shows_in_no_repr() -> None:
    credential = generate_credential()

    assert credential.text()[16:] not in repr(credential)
    assert repr(credential.secret) not in repr(credential)


@given(st.text())
def test_what_is_no_credential_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(BadCredential) as caught:
        parse_credential(f"at_Zq9{text}")

    assert "Zq9" not in str(caught.value)


def test_a_secret_has_one_spelling() -> None:
    text = generate_credential().text()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    sibling = text[:-1] + alphabet[alphabet.index(text[-1]) ^ 1]

    with pytest.raises(BadCredential):
        parse_credential(sibling)


@pytest.mark.parametrize("header", ["", "Basic abc", "Bearer", "Bearer x", "at_"])
def test_other_authorization_headers_are_refused(header: str) -> None:
    with pytest.raises(BadCredential):
        parse_bearer(header)


def test_an_empty_key_says_what_to_set() -> None:
    with pytest.raises(BadCredential, match="AFTERTURN_KEY"):
        find_credential("")


def test_keys_are_derived_as_the_rfc_says() -> None:
    """The first 32 bytes of the outputs of RFC 5869, A.1 and A.3."""
    key = bytes([0x0B]) * 22

    first = derive_key(key, salt=bytes(range(13)), info=bytes(range(0xF0, 0xFA)))
    third = derive_key(key, salt=b"", info=b"")

    assert first.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    assert third.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"


def test_what_the_service_keeps_is_not_the_secret() -> None:
    secret = generate_credential().secret

    assert bearer_hash(secret) == hashlib.sha256(secret).hexdigest()
    assert bearer_matches(secret, bearer_hash(secret))
    assert not bearer_matches(generate_credential().secret, bearer_hash(secret))
    assert seal_key(secret) not in (secret, bytes.fromhex(bearer_hash(secret)))

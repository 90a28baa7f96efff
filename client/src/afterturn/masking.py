"""Secrets in text become `[secret:type]`: before a message leaves the agent, before a model, before storage.

Works on UTF-8 bytes. Cheap questions first (byte translation, substring search); a pattern runs only where one says
yes, forward only, in slices, so that no text of any size or malice holds the interpreter lock for long.
There is no entropy rule: on prose it marks everything. What must never be kept is precise and short:

password (also PINs, keys and tokens after their name), code (one-time), card_code, seed_phrase, token (by its prefix),
jwt, private_key, url_password, card (Luhn and issuer), national_id (China, by checksum), ssn.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from afterturn.secret_names import named_values
from afterturn.secret_numbers import numbers
from afterturn.slices import Span, scan

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

_SECRET_NAME = re.compile(
    "(?i)passw|passphrase|pwd$|secret|api_?key|private_?key|access_?key|auth(?:orization|_?token)|密码|口令"
)


_ROUNDS = 4


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its secrets, and the types that were found, a later round's after an earlier one's.

    Repeat: changes nothing. A text without secrets comes back as the same object.
    """
    data = text.encode("utf-8", "surrogatepass")
    types: list[str] = []
    # What was masked may have hidden its neighbour (an id with a card glued to it): look again until nothing is new.
    for _ in range(_ROUNDS):
        spans = _spans(data)
        if spans and b"[secret:" in data:
            spans = _new(spans, data)
        if not spans:
            break
        data = _replaced(data, sorted(spans), types)
    return (data.decode("utf-8", "surrogatepass"), tuple(types)) if types else (text, ())


def _replaced(data: bytes, spans: list[Span], types: list[str]) -> bytes:
    parts: list[bytes] = []
    end = 0
    for start, stop, kind in spans:
        if start < end:  # Inside or across one that is masked already: the rest of it goes too.
            end = max(end, stop)
            continue
        parts += [data[end:start], b"[secret:", kind.encode(), b"]"]
        types.append(kind)
        end = stop
    parts.append(data[end:])
    return b"".join(parts)


def mask_json(value: Json) -> tuple[Json, tuple[str, ...]]:
    """A JSON value with the secrets of its strings masked. A string under a secret's name is masked whole."""
    types: list[str] = []
    return _masked(value, types), tuple(types)


def _masked(value: Json, types: list[str]) -> Json:
    if isinstance(value, str):
        text, found = mask(value)
        types += found
        return text
    if isinstance(value, dict):
        return {name: _masked_under(name, inner, types) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, types) for inner in value]
    return value


def _masked_under(name: str, value: Json, types: list[str]) -> Json:
    if isinstance(value, str) and len(value) >= 4 and _SECRET_NAME.search(name):
        if _MASKED.fullmatch(value.encode("utf-8", "replace")) is None:
            types.append("password")
        return "[secret:password]"
    return _masked(value, types)


def _spans(data: bytes) -> list[Span]:
    spans: list[Span] = []
    low = data.lower()
    if b"-----begin" in low:
        spans += _private_keys(data)
    if _RUN in data.translate(_TOKEN_SHAPE):
        spans += _tokens(data)
    if b"://" in data and b"@" in data:
        spans += ((*found.span(1), "url_password") for found in scan(_URL_PASSWORD, data))
    if data.translate(None, _NO_SIGNS):
        spans += named_values(data, low)
        spans += numbers(data)
    if any(word in low for word in _SEED_WORDS):
        spans += ((*found.span(1), "seed_phrase") for found in scan(_SEED_PHRASE, data))
    return spans


# Signs that ordinary prose lacks: without a digit or one of these there is nothing to find by name or number.
_NO_SIGNS = bytes(byte for byte in range(256) if chr(byte) not in "0123456789@#$%^&*_=+~|\\<>{}")

_MASKED = re.compile(rb"\[secret:[a-z_]{3,16}\]")
_SEED_WORDS = (b"seed phrase", b"recovery phrase", b"mnemonic", "助记词".encode())
_SEED_PHRASE = re.compile(
    rb"(?i)(?:" + b"|".join(_SEED_WORDS) + rb")[^A-Za-z\n]{0,16}(?:is|was|are)?[^A-Za-z\n]{0,8}"
    rb"((?:[A-Za-z]{3,8}[ ,]{1,3}){11,23}[A-Za-z]{3,8})"
)


def _new(spans: list[Span], data: bytes) -> list[Span]:
    """Spans that are not what an earlier masking left behind."""
    done = [found.span() for found in scan(_MASKED, data)]
    return [span for span in spans if not _is_inside(span, done)]


def _is_inside(span: Span, places: list[tuple[int, int]]) -> bool:
    """Whether a span is one of these places, or was found by a name inside one."""
    last = bisect_right(places, span[0], key=itemgetter(0)) - 1
    if last < 0:
        return False
    start, end = places[last]
    return start < span[0] < end or (start == span[0] and span[1] <= end)


def _private_keys(data: bytes) -> Iterator[Span]:
    """PEM blocks. One without an end is masked to the end of the text: better too much than a key."""
    position = 0
    while (start := data.find(b"-----BEGIN ", position)) >= 0:
        name_end = data.find(b"-----", start + 11, start + 80)
        if name_end < 0 or b"PRIVATE KEY" not in data[start + 11 : name_end]:
            position = start + 11
            continue
        end = data.find(b"-----END ", name_end)
        if end < 0:
            yield start, len(data), "private_key"
            return
        tail = data.find(b"-----", end + 9, end + 80)
        position = tail + 5 if tail >= 0 else end + 9
        yield start, position, "private_key"


# 19 characters in a row that a token may consist of: ordinary words of any language are shorter.
_RUN = b"a" * 19
_TOKEN_SHAPE = bytes(
    97 if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "_-.") else 32 for byte in range(256)
)
_JWT = re.compile(rb"(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}")
# Lengths are open-ended: issuers have lengthened their tokens before.
_TOKEN = re.compile(
    rb"(?<![A-Za-z0-9])(?:"
    rb"sk-[A-Za-z0-9_-]{20,}|[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,}"
    rb"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_.-]{20,}"
    rb"|xox[abeoprs]-[A-Za-z0-9-]{16,}|xapp-[A-Za-z0-9-]{20,}"
    rb"|(?:AKIA|ASIA)[A-Z0-9]{16,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"
    rb"|LTAI[A-Za-z0-9]{16,}|AKID[A-Za-z0-9]{20,}"
    rb"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{20,}|dop_v1_[a-f0-9]{20,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}"
    rb"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|key-[a-f0-9]{32,}|sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}|EAAC[A-Za-z0-9]{20,}"
    rb"|at_[a-z2-7]{12}_[A-Za-z0-9_-]{43}"
    rb")"
)
_BEARER = re.compile(rb"(?i)\b(?:bearer|basic)[ ]{1,4}([A-Za-z0-9_.~+/-]{20,}={0,2})")


def _tokens(data: bytes) -> Iterator[Span]:
    for found in scan(_JWT, data):
        yield *found.span(), "jwt"
    for found in scan(_TOKEN, data):
        yield *found.span(), "token"
    for found in scan(_BEARER, data):
        if not found[1].isalpha():
            yield *found.span(1), "token"


_URL_PASSWORD = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\[\]]{0,64}:([^\s/@]{1,256})@")

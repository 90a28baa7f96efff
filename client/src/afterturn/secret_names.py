"""Secrets that stand by their name: "my password is ...", 密码是……, `api_key=...`.

A value counts when it has a digit or a sign that prose lacks; a name alone ("the token bucket") never does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from afterturn.slices import Span

_COLON = rb"[:=]|\xef\xbc\x9a"
_IS = re.compile(
    rb"[\"'`]?[ ]{0,3}(?:(?:[ ]is|[ ]was|[ ]are|[ ]to|[ ]as|->|" + _COLON + rb")[ ]{0,3}){1,2}", re.IGNORECASE
)
# "the password for my account is ...": what a secret opens may stand between its name and its value.
_OF = re.compile(
    rb"(?:[ ](?:for|of|to|on|at|in|with)(?:[ ][A-Za-z0-9'._-]{1,20}){1,4}?)(?=[ ]is[ ]|[ ]was[ ]|[ ]{0,2}(?:"
    + _COLON
    + rb"))",
    re.IGNORECASE,
)
_ASSIGN = re.compile(rb"[\"'`]?[ ]{0,3}(?:" + _COLON + rb")[ ]{0,3}")
_SPACE = re.compile(rb"[ ]{1,3}")
_ZH_IS = re.compile(
    rb"[\"'`]?[ ]{0,3}(?:(?:"
    + "|".join(("是", "为", "改成", "改为", "设为", "设成", "就是", "叫", "填", "用")).encode()
    + rb"|"
    + _COLON
    + rb")[ ]{0,3}){0,2}"
)
# A bound keeps one look short; what is longer is followed to its end once it counts.
_VALUE = re.compile(rb"\"([^\"\n]{4,256})|'([^'\n]{4,256})|(?:\xe2\x80\x9c|[`(])?([!-~]{4,256})")
_REST = re.compile(rb"[!-~]*")
_CODE = re.compile(
    rb"(?:[ ]?(?:code|number|no\.?|is|was|[#]|" + _COLON + rb")){0,3}[ ]{0,3}([0-9]{3,8})(?![0-9A-Za-z])", re.IGNORECASE
)
_ZH_CODE = re.compile(rb"(?:\xe2\x80\x9c|[\"'`(])?([0-9A-Za-z]{3,8})(?![0-9A-Za-z])")

_HAS_SIGN = re.compile(rb"[0-9@#$%^&*_=+~|\\<>{}!?]")
_HAS_DIGIT = re.compile(rb"[0-9]")
_TRAILING = b".,;:!?)]}\"'`"
_PLACE = tuple[int, int]


def named_values(data: bytes, low: bytes) -> Iterator[Span]:
    """Where values of named secrets stand. `low` is `data` in lower case."""
    for name, kind, find in _NAMES:
        position = low.find(name)
        while position >= 0:
            after = position + len(name)
            found = find(data, after) if not name.isascii() or _stands_alone(low, position, after) else None
            if found is not None:
                yield *found, kind
                after = found[1]
            position = low.find(name, after)


def _stands_alone(low: bytes, start: int, end: int) -> bool:
    """Whether a word ends here. What precedes may be part of a longer name (db_password, awsSecretKey)."""
    if end - start <= 4 and start > 0 and (low[start - 1 : start].isalpha()):
        return False  # "pin" in "spin", "otp" in "hotplate"
    return not low[end : end + 1].isalpha()


def _by_word(data: bytes, after: int) -> _PLACE | None:
    """After is, was, to or a colon: something with a digit or sign. Right after the name: something with a digit."""
    opens = _OF.match(data, after)
    link = _IS.match(data, after if opens is None else opens.end())
    if link is not None:
        glued = data[after : after + 1] == b"="
        return _value(data, link.end(), needs=None if glued else _HAS_SIGN, least=6 if glued else 4)
    space = _SPACE.match(data, after)
    return None if space is None else _value(data, space.end(), needs=_HAS_DIGIT, least=4)


def _by_assignment(data: bytes, after: int) -> _PLACE | None:
    """After a colon or an equals sign: eight characters or more, one of them a digit or sign."""
    link = _ASSIGN.match(data, after)
    return None if link is None else _value(data, link.end(), needs=_HAS_SIGN, least=8)


def _by_code(data: bytes, after: int) -> _PLACE | None:
    opens = _OF.match(data, after)
    found = _CODE.match(data, after if opens is None else opens.end())
    return None if found is None else found.span(1)


def _by_zh_word(data: bytes, after: int) -> _PLACE | None:
    link = _ZH_IS.match(data, after)
    return None if link is None else _value(data, link.end(), needs=_HAS_SIGN, least=4)


def _by_zh_code(data: bytes, after: int) -> _PLACE | None:
    link = _ZH_IS.match(data, after)
    found = None if link is None else _ZH_CODE.match(data, link.end())
    return None if found is None or not _HAS_DIGIT.search(data, *found.span(1)) else found.span(1)


def _value(data: bytes, start: int, *, needs: re.Pattern[bytes] | None, least: int) -> _PLACE | None:
    """The value that begins here, without the punctuation of the sentence around it."""
    found = _VALUE.match(data, start)
    if found is None:
        return None
    start, end = found.span(found.lastindex or 0)
    while end > start and data[end - 1] in _TRAILING:
        end -= 1
    if end - start < least or (needs is not None and needs.search(data, start, end) is None):
        return None
    rest = _REST.match(data, end) if end - start >= 256 else None
    return start, end if rest is None else rest.end()


_NAMES: tuple[tuple[bytes, str, Callable[[bytes, int], _PLACE | None]], ...] = (
    (b"password", "password", _by_word),
    (b"passwd", "password", _by_word),
    (b"passphrase", "password", _by_word),
    (b"passcode", "password", _by_word),
    (b"pwd", "password", _by_word),
    (b"api key", "password", _by_word),
    (b"api_key", "password", _by_assignment),
    (b"apikey", "password", _by_assignment),
    (b"secret", "password", _by_assignment),
    (b"secret_key", "password", _by_assignment),
    (b"secret_access_key", "password", _by_assignment),
    (b"token", "password", _by_assignment),
    (b"private_key", "password", _by_assignment),
    (b"access_key", "password", _by_assignment),
    (b"pin", "password", _by_code),
    (b"otp", "code", _by_code),
    (b"verification code", "code", _by_code),
    (b"one-time code", "code", _by_code),
    (b"security code", "card_code", _by_code),
    (b"cvv", "card_code", _by_code),
    (b"cvc", "card_code", _by_code),
    ("密码".encode(), "password", _by_zh_word),
    ("口令".encode(), "password", _by_zh_word),
    ("密钥".encode(), "password", _by_zh_word),
    ("验证码".encode(), "code", _by_zh_code),
    ("安全码".encode(), "card_code", _by_zh_code),
)

"""What a value of the contract may be, judged with the standard library alone.

The Publisher asks before it accepts a call, `events` and `wire` ask while they decode: one rule, one wording.
Every function answers None for a good value, or the reason for refusing it. No reason ever quotes the value.
"""

from __future__ import annotations

import re
import unicodedata
from codecs import readbuffer_encode
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LONE_SURROGATE = "must not hold lone surrogates"
# Characters that show nothing though they count as letters: a braille pattern without dots, fillers of Hangul.
_BLANK = frozenset("\u2800\u115f\u1160\u3164\uffa0")
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)

MAX_ID_CHARS = 256
MAX_NAME_CHARS = 256
MAX_CONTENT_BYTES = 256 * 1024
MAX_QUERY_CHARS = 32_768
MAX_NOTE_BYTES = 4096
MAX_LIST_ITEMS = 1000
MAX_DETAIL_BYTES = 64 * 1024
MAX_DETAIL_DEPTH = 64


def id_fault(value: object) -> str | None:
    """Why `value` is no id: ids are 1 to 256 printable characters without space at either end."""
    if not isinstance(value, str):
        return "must be a string"
    if not value:
        return "must not be empty"
    if len(value) > MAX_ID_CHARS:
        return f"must have at most {MAX_ID_CHARS} characters"
    # str.isprintable is false for control, format, surrogate and unassigned characters and for every space but U+0020.
    if not value.isprintable():
        return "must not hold control or invisible characters"
    if value[0] == " " or value[-1] == " ":
        return "must not begin or end with a space"
    return None


def text_fault(value: object, max_bytes: int = MAX_CONTENT_BYTES) -> str | None:
    """Why `value` is no text: it says something, is valid Unicode, and is at most `max_bytes` long in UTF-8."""
    if not isinstance(value, str):
        return "must be a string"
    if not "!" <= value[:1] <= "~" and is_blank(value):  # Beginning with a visible sign of ASCII, it is not.
        return "must not be empty"
    try:
        # As `encode` counts it, but this leaves the UTF-8 with the string: JSON and masking need it again, and a
        # thousand Chinese characters take 1.2 us.
        size = len(value) if value.isascii() else readbuffer_encode(value)[1]
    except UnicodeEncodeError:
        return LONE_SURROGATE
    if size > max_bytes:
        return f"must be at most {max_bytes} bytes of UTF-8"
    return None


def is_blank(text: str) -> bool:
    """Whether nothing can be seen of a text: it is empty, or space and invisible characters alone."""
    if text[:1].isalnum() and text[0] not in _BLANK:  # Nearly every text, at a tenth of the price.
        return False
    return all(char in _BLANK or unicodedata.category(char) in _UNSEEN for char in text)


def holds_lone_surrogate(value: object, depth: int = 0) -> bool:
    """Whether a JSON value holds half of a surrogate pair, in a text or a key, however deep. It is JSON, but no UTF-8.

    Deeper than any value may be, it looks no further: `depth_fault` refuses that.
    """
    if isinstance(value, str):
        return not value.isascii() and _is_broken(value)
    if depth > MAX_DETAIL_DEPTH or not isinstance(value, Mapping | list | tuple):
        return False
    inner: Iterable[object] = cast("Iterable[object]", value)
    if isinstance(value, Mapping):
        table = cast("Mapping[object, object]", value)
        inner = (*table.keys(), *table.values())
    return any(holds_lone_surrogate(item, depth + 1) for item in inner)


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def name_fault(value: object) -> str | None:
    """Why `value` is no name of a person, tool or procedure. Joiners stay: Persian names and emoji need them."""
    fault = text_fault(value, MAX_NAME_CHARS * 4)
    if fault is None and isinstance(value, str) and any(unicodedata.category(char) == "Cc" for char in value):
        return "must not hold control characters"
    return fault


def time_fault(value: object) -> str | None:
    """Why `value` is no time: times carry their zone."""
    if not isinstance(value, datetime):
        return "must be a datetime"
    if value.utcoffset() is None:
        return "must carry a time zone"
    if not 1970 < value.year < 9999:
        return "must lie between the years 1971 and 9998"
    return None


def zone_fault(value: object) -> str | None:
    """Why `value` is no IANA zone."""
    if not isinstance(value, str):
        return "must be a string"
    return None if is_zone(value) else "must be an IANA time zone such as Europe/Paris"


@lru_cache(maxsize=1024)
def is_zone(name: str) -> bool:
    """Whether the zone database knows `name`."""
    if not 0 < len(name) <= 64 or not name.isascii():
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


_STRING: tuple[type, ...] = (str,)
_LIST: tuple[type, ...] = (list, tuple)
_OBJECT: tuple[type, ...] = (Mapping,)
_ANYTHING: tuple[type, ...] = (object,)
_TYPE_NAMES: dict[tuple[type, ...], str] = {_STRING: "a string", _LIST: "a list", _OBJECT: "an object"}
STATE_FIELDS: dict[str, tuple[type, ...]] = {
    "intent": _STRING,
    "ticket_status": _STRING,
    "known_facts": _OBJECT,
    "checked_systems": _LIST,
    "open_items": _LIST,
    "pending_questions": _LIST,
    "proposed_action": _ANYTHING,
    "draft_reply_id": _STRING,
    "relevant_policy_ids": _LIST,
    "last_tool_observation": _ANYTHING,
    "risk_flags": _LIST,
    "failed_attempts": _LIST,
    "thoughts": _LIST,
    "actions": _LIST,
    "observations": _LIST,
}
"""Fields of the working state that have a meaning, with the types they take. Others are kept as they come."""


def patch_fault(patch: Mapping[str, object]) -> tuple[str, str] | None:
    """What is wrong with a patch of the working state, as (field inside the patch, reason). None as a value removes."""
    if not patch:
        return "", "must not be empty"
    if len(patch) > 100:
        return "", "must have at most 100 fields"
    for name, value in patch.items():
        if id_fault(name) is not None:
            return "", "must have printable field names of at most 256 characters"
        types = STATE_FIELDS.get(name, _ANYTHING)
        if value is not None and not isinstance(value, types):
            return name, f"must be {_TYPE_NAMES[types]} or null"
    return None


def depth_fault(value: object, depth: int = 0) -> str | None:
    """Why a JSON value is too deep: what walks over it later does so by recursion."""
    if not isinstance(value, dict | list | tuple):
        return None
    if depth == MAX_DETAIL_DEPTH:
        return f"must be nested at most {MAX_DETAIL_DEPTH} deep"
    inner = cast("Iterable[object]", value.values() if isinstance(value, dict) else value)
    return next((fault for item in inner if (fault := depth_fault(item, depth + 1))), None)


def traceparent_fault(value: object) -> str | None:
    """Why `value` is no trace context. Source: W3C Trace Context, version 00."""
    if isinstance(value, str) and len(value) == 55 and _TRACEPARENT.fullmatch(value):
        return None
    return "must be a W3C traceparent"

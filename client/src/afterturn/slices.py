"""Searching text of any size without holding the interpreter lock for long."""

from __future__ import annotations

import re
from collections.abc import Iterator

SLICE_BYTES = 16 * 1024
_LONGEST_MATCH = 1024

Span = tuple[int, int, str]
"""Where a secret stands in UTF-8 bytes, [start, end), and its type."""


def scan(pattern: re.Pattern[bytes], data: bytes) -> Iterator[re.Match[bytes]]:
    """Matches in order, each search bounded to a slice; a match may reach beyond the slice that it starts in."""
    position = 0
    while position < len(data):
        stop = min(position + SLICE_BYTES, len(data))
        found = pattern.search(data, position, min(stop + _LONGEST_MATCH, len(data)))
        if found is None or found.start() >= stop:
            position = stop
            continue
        yield found
        position = max(found.end(), found.start() + 1)

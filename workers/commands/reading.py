"""Reads the files that are named on the command line, bounded; what is wrong is told with the file's name alone."""

from __future__ import annotations

import sys
from pathlib import Path

from schemas.errors import BadInput

STDIN = "-"


def read_text(source: str, *, max_bytes: int) -> str:
    """The text of a file, or of stdin for `-`, without a byte order mark. Raises: BadInput, which names the file."""
    try:
        if source == STDIN:
            found = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with Path(source).open("rb") as opened:
                found = opened.read(max_bytes + 1)
    except FileNotFoundError:
        raise BadInput(source, "there is no such file") from None
    except IsADirectoryError:
        raise BadInput(source, "is a folder") from None
    except (OSError, ValueError):
        raise BadInput(source, "cannot be read") from None
    if len(found) > max_bytes:
        raise BadInput(source, f"must be at most {max_bytes} bytes of UTF-8")
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = found.count(b"\n", 0, exc.start) + 1
        raise BadInput(f"{source}:{line}", "must be UTF-8 text") from None

"""Lines of case files for the tests of eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def said(text: str, **fields: Any) -> Json:
    """A turn of u1 in s1 on the first of January 2026."""
    plain = {"user": "u1", "session": "s1", "at": "2026-01-01T09:00:00Z", "role": "user", "text": text}
    return {**plain, **fields}


def dialogue(*turns: Json, expect: Json, **fields: Any) -> Json:
    """A dialogue case."""
    return {"id": "d1", "lang": "en", "why": "test", "turns": list(turns), "expect": expect, **fields}


def written(folder: Path, *cases: Json | str, name: str = "cases.jsonl") -> Path:
    """A file of these lines."""
    lines = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in cases]
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path

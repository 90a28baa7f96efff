"""Where a text still stands: every table, the index, the hot cache, the broker's keys and files, the logs."""

from __future__ import annotations

import base64
import binascii
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from sqlalchemy import or_, select
from sqlmodel import Session, SQLModel

from memory.terms import terms
from stores.hot import PREFIX as HOT_PREFIX
from workers import broker
from workers.eval.instance import Instance

_SHORT = 6
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{24,}={0,2}")


def places(instance: Instance, tenant_id: UUID, texts: Iterable[str]) -> dict[str, list[str]]:
    """For every text the places that hold it; [] when it stands nowhere.

    Tables, index and hot cache are read as far as they are this tenant's. What all tenants share (logs, the broker)
    must hold nobody's words, so it is read whole.
    """
    wanted = list(texts)
    found: dict[str, list[str]] = {text: [] for text in wanted}
    with instance.db.read() as session:
        for name, blob in _table_values(session, tenant_id):
            _note(found, wanted, name, blob)
    home = instance.settings.home
    index = home / "index"
    for path in sorted(index.glob(f"{tenant_id}.db*")):
        _note(found, wanted, f"index file {path.name.partition('.')[2]}", path.read_bytes())
    for text in wanted:
        if _in_index(index / f"{tenant_id}.db", text):
            found[text].append("index terms")
    for name, blob in [*_broker_values(instance, tenant_id), *_files(home)]:
        _note(found, wanted, name, blob)
    return {text: sorted(set(where)) for text, where in found.items()}


def holds(blob: bytes, text: str) -> bool:
    """Whether bytes hold a text, in any case. A short word must stand alone: three letters are in every key."""
    if len(text) >= _SHORT or not text.isascii():
        return text.casefold() in blob.decode("utf-8", "replace").casefold()
    pattern = rb"(?<![A-Za-z0-9])" + re.escape(text.encode()) + rb"(?![A-Za-z0-9])"
    return re.search(pattern, blob, re.IGNORECASE) is not None


def _note(found: dict[str, list[str]], wanted: Iterable[str], name: str, blob: bytes) -> None:
    for text in wanted:
        if holds(blob, text):
            found[text].append(name)


def _table_values(session: Session, tenant_id: UUID) -> Iterator[tuple[str, bytes]]:
    """Every value of every table in the open, as far as it is this tenant's or nobody's."""
    for table in SQLModel.metadata.sorted_tables:
        query = select(table)
        if "tenant_id" in table.c:
            column = table.c.tenant_id
            query = query.where(or_(column == tenant_id, column.is_(None)))
        elif table.name == "tenants":
            continue
        for row in session.connection().execute(query).mappings():
            for name, value in row.items():
                yield f"table {table.name}.{name}", _opened(value)


def _opened(value: Any) -> bytes:
    # An envelope's first byte is its version; what follows is the text.
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _in_index(path: Path, text: str) -> bool:
    """Whether a document of the index holds all the keywords of a text, in that order."""
    if not path.is_file():
        return False
    words = [word for word in terms(text) if len(word) > 1 or not word.isascii()]
    if not words:
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        rows = cast("list[tuple[str, ...]]", connection.execute("SELECT own, exact, context FROM doc").fetchall())
    wanted = f" {' '.join(words)} "
    return any(wanted in f" {' '.join(column.split())} " for row in rows for column in row)


def _broker_values(instance: Instance, tenant_id: UUID) -> Iterator[tuple[str, bytes]]:
    with broker.connect(instance.settings.broker_url) as client:
        keys = cast("Iterable[bytes]", client.scan_iter())  # pyright: ignore[reportUnknownMemberType]  partly untyped
        for key in keys:
            name = key.decode("utf-8", "replace")
            if name.startswith(HOT_PREFIX):
                if tenant_id.hex in name:
                    yield "hot cache", cast("bytes", client.get(name)) or b""
                continue
            value = client.dump(name)
            if value is not None:
                yield "broker key", value
                yield from (("broker key", part) for part in _decoded(value))


def _files(home: Path) -> Iterator[tuple[str, bytes]]:
    """Files of the broker and logs, what is base64 in them in the open, too."""
    for folder in ("broker", "logs", "run"):
        for path in sorted((home / folder).rglob("*")):
            if path.is_file():
                blob = path.read_bytes()
                name = f"file {path.relative_to(home)}"
                yield name, blob
                yield from ((name, part) for part in _decoded(blob))


def _decoded(blob: bytes) -> Iterator[bytes]:
    for part in _BASE64.findall(blob):
        try:
            yield base64.b64decode(
                part + b"=" * (-len(part) % 4), altchars=b"-_" if b"-" in part or b"_" in part else None
            )
        except (binascii.Error, ValueError):
            continue

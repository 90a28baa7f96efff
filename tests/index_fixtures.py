"""Hybrid indexes under test, and rows to put into them. An implementation joins the suite by a line in `INDEXES`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from memory.terms import exact_terms, query_terms, terms
from schemas.indexing import Hit, IndexQuery, IndexRow, Vector
from services import scratch
from stores.embedded import EmbeddedIndex
from stores.index import Index

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
DIMENSIONS = 16

# Opens an index at a place: where a second process opens it too.
Opener = Callable[[str], Index]


def _embedded(place: str) -> Index:
    return EmbeddedIndex(Path(place), space="test")


@contextmanager
def _embedded_place(_: pytest.FixtureRequest) -> Generator[str]:
    with scratch() as folder:
        yield str(folder / "index")


def _weaviate(place: str) -> Index:
    # Importing its client takes seconds, which tests of other indexes need not pay.
    from stores.weaviate import Endpoint, WeaviateIndex

    alias, *address = json.loads(place)
    return WeaviateIndex(Endpoint(*address), space="test", alias=alias)


@contextmanager
def _weaviate_place(request: pytest.FixtureRequest) -> Generator[str]:
    """One for the whole run: every shelf is a tenant of its own."""
    yield request.getfixturevalue("weaviate_place")


INDEXES: dict[str, tuple[Callable[[pytest.FixtureRequest], Any], Opener]] = {
    "embedded": (_embedded_place, _embedded),
    "weaviate": (_weaviate_place, _weaviate),
}
# Whose questions see a moment of the whole index: a row is in every leg or in none.
SNAPSHOTS = frozenset({"embedded"})


def open_index(kind: str, place: str) -> Index:
    """The index of a kind at a place; several processes may call it for one place."""
    index = unopened(kind, place)
    index.open()
    return index


def unopened(kind: str, place: str) -> Index:
    """The same before anything is looked at."""
    return INDEXES[kind][1](place)


def unit(*numbers: float) -> Vector:
    """A unit vector that starts with these numbers."""
    raw = np.zeros(DIMENSIONS, dtype=np.float32)
    raw[: len(numbers)] = numbers
    return (raw / np.linalg.norm(raw)).astype(np.float32)


class Shelf:
    """One tenant's rows in one index: puts texts in, asks for them again by the ids it gave."""

    def __init__(self, index: Index, tenant_id: UUID | None = None) -> None:
        self.index = index
        self.tenant_id = tenant_id or uuid4()
        self.user = uuid4()

    def row(self, text: str = "", *, context: str = "", **given: Any) -> IndexRow:
        """A user's fact with this text, not yet written."""
        values: dict[str, Any] = {
            "id": uuid4(),
            "tenant_id": self.tenant_id,
            "user_ref": self.user,
            "kind": "fact",
            "scope": "user",
            "row_version": 1,
            "created_at": NOW - DAY,
            "own_terms": " ".join(terms(text)),
            "context_terms": " ".join(terms(f"{text} {context}")),
            "exact_terms": exact_terms(text),
        } | given
        values.setdefault("scope_key", str(values["user_ref"]))
        return IndexRow(**values)

    def put(self, text: str = "", **given: Any) -> UUID:
        """Writes such a row; its id."""
        row = self.row(text, **given)
        self.index.upsert([row])
        return row.id

    def ask(self, text: str = "", vector: Vector | None = None, **given: Any) -> dict[UUID, Hit]:
        """The hits of a question, by id."""
        values: dict[str, Any] = {
            "tenant_id": self.tenant_id,
            "users": [self.user],
            "terms": " ".join(query_terms(text)),
            "vector": vector,
            "now": NOW,
            "as_of": NOW,
        } | given
        hits = asyncio.run(self.index.search(IndexQuery(**values), timeout_seconds=10.0))
        found = {hit.id: hit for hit in hits}
        assert len(found) == len(hits), "a record was listed twice"
        return found

    def listed(self, user: UUID | None = None) -> list[tuple[UUID, int, bool]]:
        """What the index says it holds."""
        return list(self.index.ids(self.tenant_id, user))


def environment() -> dict[str, str]:
    """What a child process needs to import what this one imports."""
    root = Path(__file__).resolve().parent.parent
    paths = [str(root), str(root / "client" / "src"), str(root / "tests")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}

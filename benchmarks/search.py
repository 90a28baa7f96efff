"""Hybrid search in Weaviate and in the embedded index over the same rows: p50, p99, and recall@10 of the vector leg.

`python -m benchmarks.search --rows 10000,100000 --embedded-rows 1000000`. One user's question among 500 users of one
tenant. Weaviate is the server of the settings (AFTERTURN_INDEX=weaviate), else a node on loopback. All are asked in
turn, question by question, so that what else the machine does falls on all; and of those that ask Weaviate another one
begins each time, because whoever comes second finds what the first one had read. Exact search is float32 over all rows
of the user. Rows and questions are those of benchmarks/index.py.

Bare is the server's own client without an adapter, with the same filter for the same properties: `hybrid` is one call,
which answers `limit` rows with one fused score; `legs` are the three calls, side by side, whose raw scores the adapter
answers, and nothing is made of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.query import Filter, MetadataQuery
from weaviate.collections.classes.filters import FilterReturn

from benchmarks.index import NOW, TENANT, Corpus
from memory.terms import query_terms
from schemas.indexing import Hit, IndexQuery, IndexRow, Vector
from stores.embedded import EmbeddedIndex
from stores.index import Index
from stores.settings import load_settings
from stores.weaviate import Connection, Endpoint, WeaviateIndex, generations, shape
from workers.demo.production import weaviate_server

BATCH_ROWS = 256
DEPTH = 10
WARM_UP = 20
NOISE = 0.05
PROPERTIES = ["kind", "row_version"]


@dataclass(slots=True)
class Side:
    """One index, and what its searches took (seconds of wall and of our own CPU) and found."""

    name: str
    index: Index
    search: Callable[[IndexQuery], Awaitable[Sequence[Hit]]]
    insert_seconds: float = 0.0
    walls: list[float] = field(default_factory=list[float])
    cpus: list[float] = field(default_factory=list[float])
    recalls: list[float] = field(default_factory=list[float])

    def told(self, rows: int) -> dict[str, object]:
        """Its figures."""
        walls = sorted(self.walls)
        return {
            "benchmark": "search",
            "index": self.name,
            "rows": rows,
            "insert_per_second": round(rows / self.insert_seconds) if self.insert_seconds else None,
            "p50_ms": round(1000 * walls[len(walls) // 2], 2),
            "p99_ms": round(1000 * walls[min(len(walls) - 1, len(walls) * 99 // 100)], 2),
            "cpu_ms": round(1000 * sum(self.cpus) / len(self.cpus), 2),
            "recall_at_10": round(sum(self.recalls) / len(self.recalls), 4) if self.recalls else None,
        }


def main() -> None:
    """Measures every asked size, and prints a table with a JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="10000,100000", help="sizes for both")
    parser.add_argument("--embedded-rows", default="", help="sizes for the embedded index alone")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--limit", type=int, default=20)
    given = parser.parse_args()
    print(f"{'rows':>8}  {'index':<22}{'insert/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'our cpu ms':>12}{'recall@10':>11}")
    for rows in _numbers(given.rows):
        with _weaviate() as sides:
            measure(rows, given, sides)
    for rows in _numbers(given.embedded_rows):
        measure(rows, given, [])


def measure(rows: int, given: argparse.Namespace, others: Sequence[Side]) -> None:
    """All sides at one size."""
    folder = Path(tempfile.mkdtemp(prefix="at-"))
    corpus = Corpus(7, given.dimensions)
    try:
        with closing(EmbeddedIndex(folder, space="benchmark")) as embedded:
            embedded.open()
            cold, warm = (Side(f"embedded, {name}", embedded, _search(embedded)) for name in ("cold", "warm"))
            asked = {UUID(int=1000 + number % given.users) for number in range(given.queries + WARM_UP)}
            vectors = _load(corpus.rows(rows, given.users), [cold, *others[:1]], asked)
            warm.insert_seconds = cold.insert_seconds
            _ask_all(corpus, given, vectors, (cold, warm), others)
        for side in (cold, warm, *others):
            _show(side.told(rows))
    finally:
        shutil.rmtree(folder)


def _load(made: Iterator[IndexRow], sides: Sequence[Side], asked: set[UUID]) -> dict[UUID, tuple[list[UUID], Vector]]:
    """Writes all rows; the ids and vectors of the users that are asked about."""
    kept: dict[UUID, list[tuple[UUID, Vector]]] = {}
    batch: list[IndexRow] = []
    for row in made:
        batch.append(row)
        if row.user_ref in asked and row.vector is not None:
            kept.setdefault(row.user_ref, []).append((row.id, row.vector))
        if len(batch) == BATCH_ROWS:
            _write(batch, sides)
            batch = []
    _write(batch, sides)
    return {user: ([one for one, _ in rows], np.stack([vector for _, vector in rows])) for user, rows in kept.items()}


def _write(batch: Sequence[IndexRow], sides: Sequence[Side]) -> None:
    for side in sides:
        started = time.perf_counter()
        side.index.upsert(batch)
        side.insert_seconds += time.perf_counter() - started


def _ask_all(
    corpus: Corpus,
    given: argparse.Namespace,
    vectors: dict[UUID, tuple[list[UUID], Vector]],
    embedded: tuple[Side, Side],
    others: Sequence[Side],
) -> None:
    cold, warm = embedded
    noise = np.random.default_rng(11)
    with asyncio.Runner() as runner:
        for number in range(given.queries + WARM_UP):
            user = UUID(int=1000 + number % given.users)
            ids, held = vectors[user]
            vector = _near(held[number % len(held)], noise)
            query = IndexQuery(
                tenant_id=TENANT,
                users=[user],
                terms=" ".join(query_terms(corpus.text(number % 2, 8))),
                vector=vector,
                now=NOW,
                as_of=NOW,
                limit=given.limit,
            )
            cosines: Vector = np.dot(held, vector)
            exact = {ids[int(place)] for place in np.argsort(-cosines)[:DEPTH]}
            if isinstance(cold.index, EmbeddedIndex):
                cold.index.forget_cached()
            first = number % max(1, len(others))
            for side in (cold, warm, *others[first:], *others[:first]):
                _ask(runner, side, query, exact, counts=number >= WARM_UP)


def _near(vector: Vector, noise: np.random.Generator) -> Vector:
    """A unit vector near this one."""
    moved = vector + NOISE * noise.normal(size=vector.size).astype(np.float32)
    return (moved / np.linalg.norm(moved)).astype(np.float32)


def _ask(runner: asyncio.Runner, side: Side, query: IndexQuery, exact: set[UUID], *, counts: bool) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    hits = runner.run(_awaited(side, query))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if counts:
        side.walls.append(wall)
        side.cpus.append(cpu)
        if hits:
            side.recalls.append(len(exact & _nearest(hits)) / len(exact))


async def _awaited(side: Side, query: IndexQuery) -> Sequence[Hit]:
    return await side.search(query)


def _search(index: Index) -> Callable[[IndexQuery], Awaitable[Sequence[Hit]]]:
    return lambda query: index.search(query, timeout_seconds=30.0)


def _nearest(hits: Sequence[Hit]) -> set[UUID]:
    listed = sorted((hit for hit in hits if hit.cosine is not None), key=lambda hit: -(hit.cosine or 0.0))
    return {hit.id for hit in listed[:DEPTH]}


@contextmanager
def _weaviate() -> Generator[list[Side]]:
    """Our adapter, and beside it the client's own calls: what the adapter adds."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="at-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        server = stack.enter_context(weaviate_server(load_settings(), folder))
        key = None if server.api_key is None else server.api_key.get_secret_value()
        connection = Connection(Endpoint(server.url, server.grpc, key))
        stack.callback(connection.close)
        index = WeaviateIndex(
            Endpoint(server.url, server.grpc, key),
            space="benchmark",
            alias=server.alias,
            call_seconds=120,
            connection=connection,
        )
        index.open()
        place = index.place()
        yield [
            Side("weaviate", index, _search(index)),
            Side("weaviate, bare hybrid", index, _bare(connection, place, _hybrid)),
            Side("weaviate, bare legs", index, _bare(connection, place, _legs)),
        ]


def _bare(
    connection: Connection, name: str, call: Callable[[Any, IndexQuery], Awaitable[object]]
) -> Callable[[IndexQuery], Awaitable[Sequence[Hit]]]:
    @cache
    def part(client: Any) -> Any:
        return generations.tenant(client, name, TENANT, ConsistencyLevel.ONE).query

    async def ask(query: IndexQuery) -> Sequence[Hit]:
        await connection.ask(lambda client: call(part(client), query), seconds=30.0, doing="searching")
        return []

    return ask


async def _hybrid(asked: Any, query: IndexQuery) -> object:
    return await asked.hybrid(
        query.terms,
        alpha=0.25,
        vector=_listed(query),
        target_vector=shape.VECTOR,
        query_properties=[shape.OWN, shape.CONTEXT],
        filters=_visible(query),
        limit=query.limit,
        return_properties=PROPERTIES,
    )


async def _legs(asked: Any, query: IndexQuery) -> object:
    same: dict[str, Any] = {"filters": _visible(query), "limit": query.limit, "return_properties": PROPERTIES}
    near = asked.near_vector(
        _listed(query), target_vector=shape.VECTOR, return_metadata=MetadataQuery(distance=True), **same
    )
    words = (
        asked.bm25(query.terms, query_properties=[field], return_metadata=MetadataQuery(score=True), **same)
        for field in (shape.OWN, shape.CONTEXT)
    )
    return await asyncio.gather(near, *words)


def _listed(query: IndexQuery) -> list[float]:
    return [] if query.vector is None else query.vector.tolist()


def _visible(query: IndexQuery) -> FilterReturn:
    """What the adapter asks for a question of one user about the present, in the client's words."""
    by, now = Filter.by_property, shape.micros(query.now, 0)
    return Filter.all_of(
        [
            by("audience").contains_any([shape.ORGANIZATION, *(f"u{user.hex}" for user in query.users)]),
            by("valid_from").less_or_equal(now),
            by("valid_until").greater_than(now),
            by("expires").greater_than(now),
        ]
    )


def _show(told: dict[str, object]) -> None:
    print(
        f"{told['rows']:>8}  {told['index']:<22}{told['insert_per_second'] or '-':>9}{told['p50_ms']:>9}"
        f"{told['p99_ms']:>9}{told['cpu_ms']:>12}{told['recall_at_10'] or '-':>11}\n{json.dumps(told)}",
        flush=True,
    )


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",") if one]


if __name__ == "__main__":
    main()

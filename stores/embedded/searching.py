"""Reads of the embedded index: which rows a question may see, and the three legs that list them."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

from schemas.errors import BadInput
from schemas.indexing import Hit, IndexQuery, Vector
from stores.embedded import packing
from stores.embedded.keywords import CONTEXT, OWN, bm25
from stores.embedded.packing import Packed
from stores.embedded.writing import ALWAYS, NEVER, ORGANIZATION, TAG_MARK, micros, ticket_part, user_part, vector_length

CACHE_BYTES = 64 * 2**20

Mask = npt.NDArray[np.bool_]
Scores = dict[int, float]

_COLUMNS = (
    "rid, id, row_version, kind, agent, outcome, tags,"
    " created, valid_from, valid_until, expires, own_length, context_length"
)


@dataclass(frozen=True, slots=True)
class Part:
    """All rows of one part in memory, row by row in rid order, with the vectors of those that have one."""

    version: int
    rids: npt.NDArray[np.int64]
    ids: list[bytes]
    row_versions: list[int]
    kinds: npt.NDArray[np.object_]
    agents: npt.NDArray[np.object_]
    outcomes: npt.NDArray[np.object_]
    tags: list[str]
    times: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.float32]
    vectors: Packed

    @property
    def byte_count(self) -> int:
        """About how much memory it takes."""
        return 400 + len(self.rids) * 400 + self.vectors.codes.nbytes


Listed = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


class PartCache:
    """Parts by (tenant, part), as long as their version stands; the longest unused go first."""

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._parts: OrderedDict[tuple[UUID, int], Part] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[UUID, int], version: int, load: Callable[[], Part]) -> Part:
        """The part at this version, loaded when it is not here."""
        with self._lock:
            held = self._parts.get(key)
            if held is not None and held.version == version:
                self._parts.move_to_end(key)
                return held
        part = load()
        with self._lock:
            self._drop(key)
            self._parts[key] = part
            self._bytes += part.byte_count
            while self._bytes > self._limit and len(self._parts) > 1:
                self._drop(next(iter(self._parts)))
        return part

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._parts.clear()
            self._bytes = 0

    def _drop(self, key: tuple[UUID, int]) -> None:
        held = self._parts.pop(key, None)
        if held is not None:
            self._bytes -= held.byte_count


def search(
    connection: sqlite3.Connection,
    query: IndexQuery,
    cache: PartCache,
    check: Callable[[], None],
) -> list[Hit]:
    """The hits of all legs in one snapshot. `check` is called between the legs and may raise.

    Raises: BadInput for a vector of other dimensions than the file's.
    """
    dimensions = vector_length(connection)
    if query.vector is not None and dimensions not in (0, query.vector.size):
        raise BadInput("vector", f"has {query.vector.size} dimensions, this index holds {dimensions}")
    parts = _parts(connection, query, cache, dimensions)
    visible = {number: _visible(part, query) for number, part in parts.items()}
    check()
    cosines: Scores = {}
    if query.vector is not None:
        cosines = _best((_cosines(part, visible[number], query.vector) for number, part in parts.items()), query.limit)
    check()
    scores = bm25(
        connection, {number: (part.rids, part.lengths) for number, part in parts.items()}, query.terms.split()
    )
    own, context = (
        _best((_listed(parts[number], visible[number], scores[number][field]) for number in parts), query.limit)
        for field in (OWN, CONTEXT)
    )
    return [
        _hit(part, row, cosines, own, context)
        for part in parts.values()
        for row in _positions(part, {**cosines, **own, **context})
    ]


def _parts(connection: sqlite3.Connection, query: IndexQuery, cache: PartCache, dimensions: int) -> dict[int, Part]:
    names = [*map(user_part, query.users), ORGANIZATION]
    if query.ticket_id is not None:
        names.append(ticket_part(query.ticket_id))
    marks = ", ".join("?" * len(names))
    found = connection.execute(
        f"SELECT id, version FROM part WHERE name IN ({marks})",  # noqa: S608  marks only
        names,
    ).fetchall()
    return {
        part: cache.get((query.tenant_id, part), version, lambda p=part, v=version: _load(connection, p, v, dimensions))
        for part, version in found
    }


def _load(connection: sqlite3.Connection, part: int, version: int, dimensions: int) -> Part:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM doc WHERE part = ? ORDER BY rid",  # noqa: S608  a constant
        (part,),
    ).fetchall()
    columns: Sequence[Sequence[object]] = list(zip(*rows, strict=True)) or [()] * 13
    rids, ids, row_versions, kinds, agents, outcomes, tags, *numbers = columns
    return Part(
        version=version,
        rids=np.asarray(rids, dtype=np.int64),
        ids=list(ids),  # pyright: ignore[reportArgumentType]  the column is a BLOB
        row_versions=list(row_versions),  # pyright: ignore[reportArgumentType]  the column is an INTEGER
        kinds=np.asarray(kinds, dtype=object),
        agents=np.asarray(agents, dtype=object),
        outcomes=np.asarray(outcomes, dtype=object),
        tags=list(tags),  # pyright: ignore[reportArgumentType]  the column is TEXT
        times=np.asarray(numbers[:4], dtype=np.int64).reshape(4, len(rids)),
        lengths=np.asarray(numbers[4:], dtype=np.float32).reshape(2, len(rids)),
        vectors=packing.load(connection, part, dimensions),
    )


def _visible(part: Part, query: IndexQuery) -> Mask:
    """Which rows pass every filter of the question."""
    created, valid_from, valid_until, expires = part.times
    as_of, now = micros(query.as_of, NEVER), micros(query.now, ALWAYS)
    mask: Mask = (valid_from <= as_of) & (valid_until > as_of) & (expires > now)
    if query.between is not None:
        first, end = query.between
        mask &= (created >= micros(first, ALWAYS)) & (created < micros(end, NEVER))
    if query.kinds:
        mask &= np.isin(part.kinds, list(query.kinds))
    if query.outcome is not None:
        mask &= part.outcomes == query.outcome
    if query.agent_id is not None:
        mask &= part.agents == query.agent_id
    for tag in query.tags:
        wanted = TAG_MARK + tag + TAG_MARK
        mask &= np.fromiter((wanted in tags for tags in part.tags), dtype=np.bool_, count=len(part.tags))
    return mask


def _cosines(part: Part, visible: Mask, query: Vector) -> Listed:
    vectors = part.vectors.only(np.isin(part.vectors.rids, part.rids[visible]))
    return vectors.rids, vectors.cosines(query)


def _listed(part: Part, visible: Mask, scores: npt.NDArray[np.float32]) -> Listed:
    """The visible rows that a keyword leg found."""
    found = visible & (scores > 0.0)
    return part.rids[found], scores[found]


def _best(listed: Iterable[Listed], limit: int) -> Scores:
    """The highest `limit` of several parts' lists; equal scores in the order of writing."""
    pieces = list(listed)
    if not pieces:
        return {}
    rids = np.concatenate([rids for rids, _ in pieces])
    scores = np.concatenate([scores for _, scores in pieces])
    order = np.lexsort((rids, -scores))[:limit]
    return dict(zip(rids[order].tolist(), scores[order].tolist(), strict=True))


def _positions(part: Part, wanted: Iterable[int]) -> list[int]:
    rids = np.fromiter(wanted, dtype=np.int64)
    return np.flatnonzero(np.isin(part.rids, rids)).tolist()


def _hit(part: Part, row: int, cosines: Scores, own: Scores, context: Scores) -> Hit:
    rid = int(part.rids[row])
    return Hit(
        id=UUID(bytes=part.ids[row]),
        kind=str(part.kinds[row]),
        row_version=part.row_versions[row],
        cosine=cosines.get(rid),
        own_bm25=own.get(rid),
        context_bm25=context.get(rid),
    )

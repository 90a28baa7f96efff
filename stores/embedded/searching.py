"""Reads of the embedded index: which rows a question may see, and the three legs that list them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from uuid import UUID

import numpy as np
import numpy.typing as npt

from schemas.errors import BadInput
from schemas.indexing import Hit, IndexQuery, Vector
from stores.embedded.files import epoch_of
from stores.embedded.keywords import CONTEXT, OWN, bm25
from stores.embedded.parts import Mask, Part, PartCache, load
from stores.embedded.writing import (
    ALWAYS,
    NEVER,
    ORGANIZATION,
    TAG_MARK,
    micros,
    thread_part,
    ticket_part,
    user_part,
    vector_length,
)

Listed = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
Scores = dict[int, float]


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
    names = [*map(user_part, query.users), *map(thread_part, query.thread_ids), ORGANIZATION]
    if query.ticket_id is not None:
        names.append(ticket_part(query.ticket_id))
    marks = ", ".join("?" * len(names))
    # Numbers and versions begin anew in a new file: the file's own identity tells its parts from those of the last one.
    epoch = epoch_of(connection)
    found = connection.execute(
        f"SELECT id, version FROM part WHERE name IN ({marks})",  # noqa: S608  marks only
        names,
    ).fetchall()
    return {
        part: cache.get(
            (epoch, part),
            version,
            lambda held, part=part, version=version: load(connection, part, version, dimensions, held),
        )
        for part, version in found
    }


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
    if query.visible_agents is not None or query.hidden_agents:
        shown, hidden = query.visible_agents, set(query.hidden_agents)
        readable = (one is None or ((shown is None or one in shown) and one not in hidden) for one in part.agents)
        mask &= np.fromiter(readable, dtype=np.bool_, count=len(part.agents))
    for tag in query.tags:
        wanted = TAG_MARK + tag + TAG_MARK
        mask &= np.fromiter((wanted in tags for tags in part.tags), dtype=np.bool_, count=len(part.tags))
    return mask


def _cosines(part: Part, visible: Mask, query: Vector) -> Listed:
    shown = np.isin(part.vectors.rids, part.rids[visible])
    vectors = part.vectors if shown.all() else part.vectors.only(shown)
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
    if len(scores) > limit:
        # Only what can be among the best is sorted, with all that ties with the last of it.
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        rids, scores = rids[scores >= least], scores[scores >= least]
    order = np.lexsort((rids, -scores))[:limit]
    return dict(zip(rids[order].tolist(), scores[order].tolist(), strict=True))


def _positions(part: Part, wanted: Iterable[int]) -> list[int]:
    rids = np.fromiter(wanted, dtype=np.int64)
    return np.flatnonzero(np.isin(part.rids, rids)).tolist()


def _hit(part: Part, row: int, cosines: Scores, own: Scores, context: Scores) -> Hit:
    rid = int(part.rids[row])
    return Hit(
        id=UUID(bytes=part.labels[0, row]),
        kind=str(part.kinds[row]),
        row_version=int(part.numbers[0, row]),
        cosine=cosines.get(rid),
        own_bm25=own.get(rid),
        context_bm25=context.get(rid),
    )

"""Writes: what is refused before anything is sent, and deletion until nothing is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from schemas.errors import BadInput, StoreBusy
from schemas.indexing import IndexRow
from stores.weaviate.failures import translated
from stores.weaviate.generations import Collection

MAX_ROUNDS = 1_000


def check_vectors(rows: Sequence[IndexRow], dimensions: int | None) -> int | None:
    """How many dimensions all of them have; `dimensions` is what the index holds, None when that is not known.

    Raises: BadInput for one of others, without direction, or with a number that is none.
    """
    for vector in (row.vector for row in rows if row.vector is not None):
        dimensions = vector.size if dimensions is None else dimensions
        if vector.shape != (dimensions,):
            raise BadInput("vector", f"has shape {vector.shape}, the index holds {dimensions} dimensions")
        if not np.isfinite(vector).all() or not vector.any():
            raise BadInput("vector", "has no direction: all zero, or not finite")
    return dimensions


async def delete_all(part: Collection, where: Any) -> int:
    """Deletes all that passes a filter; answers how many rows still do. One request deletes 10 000 at the most."""
    with translated("deleting"):
        for _ in range(MAX_ROUNDS):
            answer = await part.data.delete_many(where=where)
            if answer.failed:
                # A read-only shard, most likely. Asked for its reasons the server fails on its own answer.
                raise StoreBusy("weaviate: some deletes failed", code="index_undeleted")
            if answer.matches <= answer.successful:
                break
        return (await part.data.delete_many(where=where, dry_run=True)).matches

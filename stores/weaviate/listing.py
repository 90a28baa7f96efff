"""What a tenant holds, with what its vector index really lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from weaviate.classes.query import Filter

from stores.weaviate import shape
from stores.weaviate.asking import MOST
from stores.weaviate.generations import Collection

PAGE_ROWS = 1_000

_ROW = ["row_version", "dimensions", "user_ref"]

Listed = tuple[UUID, int, bool]


class Row(NamedTuple):
    """A stored row, and how many dimensions its vector had when it was written (0: none)."""

    id: UUID
    row_version: int
    dimensions: int
    user_ref: UUID


async def page(part: Collection, after: UUID | None, limit: int) -> list[Row]:
    """The next rows of a tenant in id order, its mark among them."""
    found = await part.query.fetch_objects(limit=limit, after=after, return_properties=_ROW)
    return [_row(one) for one in found.objects]


async def some(part: Collection, filters: Any, limit: int = MOST) -> list[Row]:
    """Rows that pass a filter, in id order: the server knows no order and no place to go on from beside a filter."""
    found = await part.query.fetch_objects(limit=limit, filters=filters, return_properties=_ROW)
    return sorted(_row(one) for one in found.objects if one.uuid != shape.MARK_ID)


async def of_user(part: Collection, user_ref: UUID) -> list[Listed] | None:
    """Every row of a user, in id order; None when there may be more than one answer holds."""
    rows = await some(part, Filter.by_property("user_ref").equal(user_ref.hex))
    return await listed(part, rows) if len(rows) < MOST else None


async def held(part: Collection, ids: Sequence[UUID]) -> list[Listed]:
    """Those of the rows that are there."""
    return await listed(part, await some(part, Filter.by_id().contains_any(list(ids)), len(ids)))


async def dimensions(part: Collection) -> int | None:
    """How many dimensions the tenant's vectors have; None before the first one."""
    found = await some(part, Filter.by_property("dimensions").greater_than(0), 1)
    return found[0].dimensions if found else None


async def listed(part: Collection, rows: Sequence[Row]) -> list[Listed]:
    """(id, row_version, whether the vector index lists it) of rows.

    That a row was given a vector tells nothing: a server that was killed keeps the row and lacks the vector for good.
    Few rows are compared one by one, so that a question with any vector lists all that there are.
    """
    there: set[UUID] = set()
    for count in sorted({row.dimensions for row in rows if row.dimensions}):
        ids = [row.id for row in rows if row.dimensions == count]
        for start in range(0, len(ids), PAGE_ROWS):
            there |= await _in_vector_index(part, ids[start : start + PAGE_ROWS], count)
    return [(row.id, row.row_version, row.id in there) for row in rows]


async def _in_vector_index(part: Collection, ids: list[UUID], count: int) -> set[UUID]:
    found = await part.query.near_vector(
        [1.0] + [0.0] * (count - 1),
        target_vector=shape.VECTOR,
        filters=Filter.by_id().contains_any(ids),
        limit=len(ids),
        return_properties=[],
    )
    return {one.uuid for one in found.objects}


def _row(one: Any) -> Row:
    found = one.properties
    version, count = int(found.get("row_version") or 0), int(found.get("dimensions") or 0)
    return Row(one.uuid, version, count, UUID(str(found["user_ref"])))

"""How the audit reads: in batches, and as ids that break a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select
from sqlmodel import Session

T = TypeVar("T")

Checks = Mapping[str, Iterable[str]]
"""Rules by name; each is asked when it is read, and gives the ids of what breaks it."""

ROWS = 500


def batched(rows: Iterable[T], size: int = ROWS) -> Iterator[Sequence[T]]:
    """The rows in lists of at most `size`."""
    source = iter(rows)
    while batch := list(islice(source, size)):
        yield batch


def stream(session: Session, query: Any, size: int = ROWS) -> Iterator[tuple[Any, ...]]:
    """The rows of the query as tuples, never more than `size` of them in memory."""
    for row in session.connection().execute(query.execution_options(yield_per=size)):
        yield tuple(row)


def rows_of(session: Session, query: Any) -> Iterator[str]:
    """The columns of each row of the query as one text."""
    for row in stream(session, query):
        yield " ".join(str(value) for value in row)


def has_rows(session: Session, query: Any) -> bool:
    """Whether the query finds anything."""
    return session.connection().execute(query.limit(1)).first() is not None


def is_not(column: Any, *values: str) -> ColumnElement[bool]:
    """Null, or none of the values."""
    return or_(column.is_(None), column.not_in(values))


def present(session: Session, table_id: Any, wanted: Iterable[UUID]) -> set[UUID]:
    """Those of the wanted ids that are there."""
    there: set[UUID] = set()
    for ids in batched(wanted):
        there.update(row[0] for row in stream(session, select(table_id).where(table_id.in_(ids))))
    return there

"""Many rows of one table at the price of a few statements, for what every event costs. Nothing here knows a table.

SQLAlchemy renders every value of every row in Python, and psycopg sends every row by itself. Here the driver gets
SQLite's rows in one list, and PostgreSQL's columns as one array each; a value that all rows share travels once. What a
value becomes in the database is still the column type's word. Arrays are spelled here: psycopg looks at every item, at
several times the price. Source: PostgreSQL, 8.15.6, Array Input and Output Syntax.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Dialect, LargeBinary, Table, any_, bindparam
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine
from sqlmodel import Session, SQLModel

from schemas.columns import Json

Row = Mapping[str, Any]


class _Column(NamedTuple):
    """How a column travels: what makes its values the driver's, and its type in PostgreSQL, one by one and as array."""

    name: str
    bind: Callable[[Any], Any] | None
    kind: str
    array_kind: str


def insert(session: Session, model: type[SQLModel], rows: Sequence[Row]) -> None:
    """Inserts the rows that break no unique key. Every row names every column.

    They go in the order of the primary key, so that two writers of the same rows wait for each other instead of
    locking each other out.
    """
    if rows:
        _Insertion(session, model, rows).run()


def insert_new(session: Session, model: type[SQLModel], rows: Sequence[Row]) -> list[Row]:
    """As `insert`; answers the rows that were inserted."""
    return _Insertion(session, model, rows).run_and_tell() if rows else []


def update_known(session: Session, model: type[SQLModel], rows: Sequence[Row]) -> None:
    """Sets, in the rows that have these primary keys (one column), what else these rows name: all the same columns."""
    if not rows:
        return
    table, connection = _table(model), session.connection()
    key = next(iter(table.primary_key.columns)).name
    columns = [column for column in _columns(table, connection.dialect) if column.name in rows[0]]
    columns.sort(key=lambda column: column.name == key)
    values = [_bound(column, rows) for column in columns]
    is_sqlite = connection.dialect.name == "sqlite"
    changes = ", ".join(f"{one.name} = {'?' if is_sqlite else _cast(one)}" for one in columns[:-1])
    source, own = ("", "?") if is_sqlite else (f"FROM {_unnested(columns)}", f"v.{key}")
    connection.exec_driver_sql(
        f"UPDATE {table.name} SET {changes} {source} WHERE {table.name}.{key} = {own}",  # noqa: S608 - names of ours
        list(zip(*values, strict=True)) if is_sqlite else tuple(map(_array, values)),
    )


def among(session: Session, column: Any, values: Collection[Any]) -> ColumnElement[bool]:
    """That the column has one of these values. PostgreSQL gets one array: a list of any length is one statement."""
    target = cast("ColumnElement[Any]", column)
    if session.get_bind().dialect.name == "sqlite":
        return target.in_(values)
    return target == any_(bindparam(None, list(values), type_=ARRAY(target.type)))


class _Insertion:
    """Rows on their way into a table, in the order of its primary key."""

    def __init__(self, session: Session, model: type[SQLModel], rows: Sequence[Row]) -> None:
        self.table = _table(model)
        self.connection = session.connection()
        self.key = [column.name for column in self.table.primary_key.columns]
        self.rows = sorted(rows, key=lambda row: [row[name] for name in self.key])
        self.columns = _columns(self.table, self.connection.dialect)
        self.values = [_bound(column, self.rows) for column in self.columns]

    def run(self) -> int:
        """How many were inserted."""
        if self.connection.dialect.name == "sqlite":
            statement = _sqlite_insert(self.table)
            return self.connection.exec_driver_sql(statement, list(zip(*self.values, strict=True))).rowcount
        return len(self._run_postgres())

    def run_and_tell(self) -> list[Row]:
        """Those that were inserted."""
        if self.connection.dialect.name != "sqlite":
            return self._among(self._run_postgres())
        # RETURNING would double the price of every row, for what hardly ever happens: row ids only grow.
        last = self.connection.exec_driver_sql(f"SELECT coalesce(max(rowid), 0) FROM {self.table.name}").scalar_one()  # noqa: S608 - a name of ours
        if self.run() == len(self.rows):
            return self.rows
        keys = f"SELECT {', '.join(self.key)} FROM {self.table.name} WHERE rowid > ?"  # noqa: S608
        return self._among({tuple(row) for row in self.connection.exec_driver_sql(keys, (last,))})

    def _run_postgres(self) -> set[tuple[Any, ...]]:
        shared = tuple(_is_shared(many) for many in self.values)
        alone = [many[0] for many, is_shared in zip(self.values, shared, strict=True) if is_shared]
        arrays = [_array(many) for many, is_shared in zip(self.values, shared, strict=True) if not is_shared]
        statement = _postgres_insert(self.table, self.columns, shared)
        return {tuple(row) for row in self.connection.exec_driver_sql(statement, (*alone, *arrays))}

    def _among(self, made: set[tuple[Any, ...]]) -> list[Row]:
        """The rows whose keys, as the driver spells them, are these."""
        if len(made) == len(self.rows):
            return self.rows
        keys = (many for many, column in zip(self.values, self.columns, strict=True) if column.name in self.key)
        return [row for row, key in zip(self.rows, zip(*keys, strict=True), strict=True) if key in made]


def _array(values: Sequence[Any]) -> str:
    """An array as PostgreSQL reads it. All values are of one type, or None."""
    first = next((value for value in values if value is not None), 0)
    spell = next(spell for kind, spell in _SPELLED if isinstance(first, kind))
    return f"{{{','.join(['NULL' if value is None else spell(value) for value in values])}}}"


def _quoted(text: str) -> str:
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _hex(raw: bytes) -> str:
    return f'"\\\\x{raw.hex()}"'


_SPELLED: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (UUID, attrgetter("hex")),
    (str, _quoted),
    (bytes, _hex),
    (datetime, datetime.isoformat),
    (int, str),  # and bool
    (float, str),
)


def _bound(column: _Column, rows: Sequence[Row]) -> list[Any]:
    """The column's values as the driver takes them; one that stands in all rows is made once and is one object."""
    values = [row[column.name] for row in rows]
    if column.bind is None:
        return values
    if _is_shared(values):
        return [column.bind(values[0])] * len(values)
    return [column.bind(value) for value in values]


def _is_shared(values: list[Any]) -> bool:
    return values[0] is values[-1] and values.count(values[0]) == len(values)


@lru_cache(maxsize=64)
def _sqlite_insert(table: Table) -> str:
    return f"{_into(table)} VALUES ({', '.join('?' for _ in table.columns)}) ON CONFLICT DO NOTHING"


@lru_cache(maxsize=1024)
def _postgres_insert(table: Table, columns: tuple[_Column, ...], shared: tuple[bool, ...]) -> str:
    arrays = [column for column, is_shared in zip(columns, shared, strict=True) if not is_shared]
    chosen = [
        f"%s::{column.kind}" if is_shared else _cast(column) for column, is_shared in zip(columns, shared, strict=True)
    ]
    source = f" FROM {_unnested(arrays)}" if arrays else ""
    key = ", ".join(column.name for column in table.primary_key.columns)
    return f"{_into(table)} SELECT {', '.join(chosen)}{source} ON CONFLICT DO NOTHING RETURNING {key}"


def _into(table: Table) -> str:
    return f"INSERT INTO {table.name} ({', '.join(column.name for column in table.columns)})"


def _unnested(columns: Sequence[_Column]) -> str:
    """The rows v of these columns' arrays."""
    arrays = ", ".join(f"%s::{column.array_kind}[]" for column in columns)
    return f"unnest({arrays}) AS v({', '.join(column.name for column in columns)})"


def _cast(column: _Column) -> str:
    return f"v.{column.name}" if column.kind == column.array_kind else f"v.{column.name}::{column.kind}"


@lru_cache(maxsize=64)
def _columns(table: Table, dialect: Dialect) -> tuple[_Column, ...]:
    return tuple(_column(column.name, column.type, dialect) for column in table.columns)


def _column(name: str, kind: TypeEngine[Any], dialect: Dialect) -> _Column:
    spelled = kind.compile(dialect=dialect)
    if isinstance(kind, Json):
        # psycopg makes no array of lists: it goes as JSON text.
        return _Column(name, _json, spelled, "text")
    if isinstance(kind, LargeBinary):
        return _Column(name, None, spelled, spelled)  # Both drivers take bytes as they are.
    bind = kind.dialect_impl(dialect).bind_processor(dialect)
    return _Column(name, bind, spelled, spelled)


_encode = json.JSONEncoder().encode


def _json(value: Any) -> str:
    # Flags, of which a turn has hardly ever any.
    return "[]" if value == [] else _encode(value)


def _table(model: type[SQLModel]) -> Table:
    return cast("Table", cast("Any", model).__table__)

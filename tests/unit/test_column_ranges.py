"""What the contract lets through fits the columns that keep it, on both databases."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Union, cast, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from sqlalchemy import BigInteger, Column, Integer, SmallInteger
from sqlalchemy.dialects import postgresql, sqlite

from afterturn.events import Event
from schemas.tables import ProcedureVersion, Turn, metadata

#: Where each whole number of the contract is kept.
KEPT: dict[str, tuple[Column[Any], ...]] = {
    "seq": (cast("Any", Turn).__table__.c.seq,),
    "procedure.version": (
        cast("Any", Turn).__table__.c.procedure_version,
        cast("Any", ProcedureVersion).__table__.c.version,
    ),
}
#: Sums without a bound of their own: tokens of a large tenant's day.
UNBOUNDED = {
    "reservations": ("tokens", "spent_before", "used"),
    "spendings": ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"),
}


def _parts(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _parts(part)
    else:
        yield annotation


def _whole_numbers(model: type[BaseModel], under: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        for part in _parts(field.annotation):
            if part is int:
                yield under + name, field
            elif isinstance(part, type) and issubclass(part, BaseModel):
                yield from _whole_numbers(part, f"{under}{name}.")


def _bounds(field: FieldInfo) -> tuple[int, int]:
    lowest = [int(cast("Any", rule.ge)) for rule in field.metadata if isinstance(rule, Ge)]
    lowest += [int(cast("Any", rule.gt)) + 1 for rule in field.metadata if isinstance(rule, Gt)]
    highest = [int(cast("Any", rule.le)) for rule in field.metadata if isinstance(rule, Le)]
    highest += [int(cast("Any", rule.lt)) - 1 for rule in field.metadata if isinstance(rule, Lt)]
    (low,), (high,) = lowest, highest
    return low, high


def _holds(column: Column[Any]) -> tuple[int, int]:
    """What PostgreSQL's type of the column takes; SQLite's INTEGER takes 64 bits, whatever it is called."""
    kind = column.type.dialect_impl(postgresql.dialect())
    kind = getattr(kind, "impl", kind)
    bits = 64 if isinstance(kind, BigInteger) else 16 if isinstance(kind, SmallInteger) else 32
    assert isinstance(kind, Integer), column
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _found() -> dict[str, list[tuple[int, int]]]:
    events = get_args(Event)
    assert len(events) > 5
    found: dict[str, list[tuple[int, int]]] = {}
    for event in events:
        for name, field in _whole_numbers(event):
            found.setdefault(name, []).append(_bounds(field))
    return found


def test_no_whole_number_of_the_contract_is_forgotten():
    assert set(_found()) == set(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_its_column_holds_all_that_the_contract_takes(name: str):
    for low, high in _found()[name]:
        for column in KEPT[name]:
            least, most = _holds(column)
            assert least <= low, column
            assert high <= most, column


@pytest.mark.parametrize("table", UNBOUNDED)
def test_sums_of_tokens_are_wide(table: str):
    columns = metadata.tables[table].c

    assert all(_holds(columns[name])[1] == (1 << 63) - 1 for name in UNBOUNDED[table])


def test_sqlite_keeps_the_name_that_its_columns_were_made_with():
    wide = cast("Any", Turn).__table__.c.seq.type

    assert wide.compile(dialect=sqlite.dialect()) == "INTEGER"
    assert wide.compile(dialect=postgresql.dialect()) == "BIGINT"

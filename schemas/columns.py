"""Column types that every table shares: aware times, JSON and wide numbers, the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, TypeEngine


class UtcTime(TypeDecorator[datetime]):
    """Stores UTC, returns aware UTC, refuses naive times.

    SQLite keeps no zone: without this a time written with +08:00 comes back naive and eight hours wrong.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def bind_processor(  # pyright: ignore[reportIncompatibleMethodOverride] - SQLAlchemy's name for its type is private
        self, dialect: Dialect
    ) -> Callable[[datetime | None], Any] | None:
        """What the driver gets. Every event has five: SQLite's text costs a third of its dialect's."""
        return _sqlite_text if dialect.name == "sqlite" else super().bind_processor(dialect)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Aware time in, UTC out (naive UTC for SQLite, whose text then sorts by time)."""
        utc = _utc(value)
        if utc is None:
            return None
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Aware UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    if value.tzinfo is None:
        msg = "naive time refused: every time column holds aware UTC"
        raise ValueError(msg)
    return value if value.tzinfo is UTC else value.astimezone(UTC)


_ZONELESS_CHARS = len("2026-11-30 12:00:00.000000")


def _sqlite_text(value: datetime | None) -> str | None:
    utc = _utc(value)
    return None if utc is None else utc.isoformat(" ", "microseconds")[:_ZONELESS_CHARS]


class Json(TypeDecorator[Any]):
    """JSON on SQLite, JSONB on PostgreSQL."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The dialect's own JSON type."""
        return dialect.type_descriptor(JSONB() if dialect.name == "postgresql" else JSON())


class Wide(TypeDecorator[int]):
    """A whole number of 64 bits on both databases: PostgreSQL's INTEGER ends at 2,147,483,647, SQLite's does not."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """SQLite knows one kind of whole number, and that is how its columns were declared."""
        return dialect.type_descriptor(Integer() if dialect.name == "sqlite" else BigInteger())

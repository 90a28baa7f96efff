"""Every test has a database and so an engine of its own; what one engine has compiled, the next one uses.

SQLAlchemy keeps compiled statements under the dialect object of an engine, and a service has one engine for its life.
Tests have thousands, and compiling the same statements anew for each was a third of the CPU of the whole run.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import sqlalchemy.util
from sqlalchemy import Engine
from sqlalchemy.engine.default import DefaultDialect

from stores import sql

_STATEMENTS: Final = 5000


@cache
def share() -> None:
    """From here on, engines of one kind of database keep their compiled statements together. Repeat: harmless."""
    make = sql.create_engine
    compiled: sqlalchemy.util.LRUCache[Any, Any] = sqlalchemy.util.LRUCache(_STATEMENTS)

    def create_engine(*args: Any, **kwargs: Any) -> Engine:
        engine = make(*args, **kwargs)
        engine._compiled_cache = compiled  # pyright: ignore[reportPrivateUsage]  no option shares it
        return engine

    sql.create_engine = create_engine
    # All our engines are made with the same options, so that two dialects of one class compile alike.
    DefaultDialect.__eq__ = _same_class
    DefaultDialect.__hash__ = _by_class


def _same_class(self: DefaultDialect, other: object) -> bool:
    return type(self) is type(other)


def _by_class(self: DefaultDialect) -> int:
    return hash(type(self))

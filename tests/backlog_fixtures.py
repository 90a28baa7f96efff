"""What write transactions do, counted: statements and rows. Times say more of the machine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, event

from stores.sql import Database


@dataclass(slots=True)
class Written:
    """One write transaction that was committed."""

    statements: int = 0
    rows: int = 0


class _Counter:
    def __init__(self) -> None:
        self.done: list[Written] = []
        self._under_way: dict[int, Written] = {}

    def begin(self, connection: Connection) -> None:
        if connection.get_execution_options().get("afterturn_writes", True):
            self._under_way[id(connection)] = Written()

    def after_cursor_execute(self, connection: Connection, cursor: Any, statement: str, *_: object) -> None:
        written = self._under_way.get(id(connection))
        if written is None or statement.startswith(("PRAGMA", "BEGIN")):
            return
        written.statements += 1
        if not statement.lstrip().startswith("SELECT"):
            written.rows += max(0, int(cursor.rowcount))

    def commit(self, connection: Connection) -> None:
        written = self._under_way.pop(id(connection), None)
        if written is not None and written.statements:
            self.done.append(written)

    def rollback(self, connection: Connection) -> None:
        self._under_way.pop(id(connection), None)


@contextmanager
def counted(db: Database) -> Generator[list[Written]]:
    """The write transactions that are committed meanwhile, in order."""
    counter = _Counter()
    listeners = [(name, getattr(counter, name)) for name in ("begin", "after_cursor_execute", "commit", "rollback")]
    for name, listener in listeners:
        event.listen(db.engine, name, listener)
    try:
        yield counter.done
    finally:
        for name, listener in listeners:
            event.remove(db.engine, name, listener)

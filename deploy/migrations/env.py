"""How Alembic reaches the database: by the connection it is given, or by `-x url=...` on its own command line."""

from __future__ import annotations

from typing import Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import Connection

from schemas.columns import Json, UtcTime
from schemas.tables import metadata
from stores.sql import Database


def _render(kind: str, thing: object, autogen_context: AutogenContext) -> str | Literal[False]:
    """Writes our column types by name; leaves the rest to Alembic."""
    if kind == "type" and isinstance(thing, (UtcTime, Json)):
        name = type(thing).__name__
        autogen_context.imports.add(f"from schemas.columns import {name}")
        return f"{name}()"
    return False


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_item=_render,
        # SQLite cannot alter a column; there Alembic copies the table.
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    database = Database(context.get_x_argument(as_dictionary=True)["url"])
    with database.engine.begin() as opened:
        _run(opened)
    database.dispose()

"""The clock of leases, attempts and due times: the database's own, the same for every machine that works on it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from sqlalchemy import text
from sqlmodel import Session


def database_now(session: Session) -> datetime:
    """The database's clock, aware UTC, to the millisecond or better."""
    connection = session.connection()
    if connection.dialect.name == "sqlite":
        stamp = connection.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).scalar_one()
        return datetime.fromisoformat(cast("str", stamp)).replace(tzinfo=UTC)
    # now() is the transaction's start, which a wait for a lock leaves behind.
    stamp = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return cast("datetime", stamp).astimezone(UTC)

"""Databases under test: the same promises on SQLite and, where it is found, on PostgreSQL.

A test module makes its own fixtures of these, since an imported fixture looks like an unused name:

    @pytest.fixture(params=STORES)
    def db(request: pytest.FixtureRequest) -> Generator[Database]:
        yield from migrated(request)
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from schemas_ready import bring_up
from stores.sql import Database

STORES = ("sqlite", "postgresql")


def empty_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of the kind in `request.param`."""
    if request.param == "sqlite":
        home: Path = request.getfixturevalue("home")
        return f"sqlite:///{home / 'data' / 'afterturn.db'}"
    return str(request.getfixturevalue("postgres_url"))


def migrated(request: pytest.FixtureRequest) -> Generator[Database]:
    """A migrated database of that kind, closed afterwards."""
    url = empty_url(request)
    bring_up(url)
    database = Database(url)
    yield database
    database.dispose()

"""Upgrades from every earlier revision, with a row in every table, on both databases; and what `migrate` says."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, MetaData, insert, select
from sqlmodel import Session

from command_line import ROOT, run
from schemas.tables import Draft, Window, metadata
from store_fixtures import STORES, empty_url
from stores.sql import Database, current_revision, head_revision, upgrade

ONE = UUID("01900000-0000-7000-8000-000000000001")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _revisions() -> list[str]:
    """As Alembic reads them, the newest first."""
    config = Config()
    config.set_main_option("script_location", str(ROOT / "deploy" / "migrations"))
    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]


def test_the_newest_revision_is_the_one_alembic_names():
    assert head_revision() == _revisions()[0]
    assert sorted(_revisions(), reverse=True) == _revisions()


@pytest.fixture(params=STORES)
def database_url(request: pytest.FixtureRequest) -> str:
    return empty_url(request)


def _value(column: Column[Any]) -> Any:
    """A value of the column's type. Every id is the same one, so that every reference finds its row."""
    kind: type[Any] = column.type.python_type
    if kind is str and getattr(column.type, "length", None) == 32:
        return ONE.hex  # SQLite keeps ids as text
    known: dict[type[Any], Any] = {
        UUID: ONE,
        str: "text",
        int: 1,
        float: 0.5,
        bool: True,
        bytes: b"\0text",
        datetime: NOON,
        date: NOON.date(),
        dict: [],
        object: [],  # JSON
    }
    if kind is datetime and not getattr(column.type, "timezone", False):
        return NOON.replace(tzinfo=None)
    return known[kind]


def _fill(session: Session) -> dict[str, dict[str, Any]]:
    """One row in every table of the revision that the database is at; what was written, by table."""
    found, written = MetaData(), dict[str, dict[str, Any]]()
    found.reflect(session.connection())
    for table in found.sorted_tables:
        if table.name != "alembic_version":
            row = {column.name: _value(column) for column in table.columns}
            session.connection().execute(insert(table).values(row))
            written[table.name] = row
    return written


def _read(session: Session, names: list[str]) -> dict[str, dict[str, Any]]:
    connection, found = session.connection(), MetaData()
    found.reflect(connection, only=names)
    return {name: dict(connection.execute(select(found.tables[name])).mappings().one()) for name in names}


@pytest.mark.parametrize("revision", _revisions()[1:])
def test_an_upgrade_keeps_every_row_of_every_table(database_url: str, revision: str):
    assert upgrade(database_url, revision) == (None, revision)
    database = Database(database_url)
    try:
        written = database.write(_fill)
        assert len(written) > 20

        assert upgrade(database_url) == (revision, head_revision())

        with database.read() as session:
            kept = _read(session, list(written))
            differences = compare_metadata(MigrationContext.configure(session.connection()), metadata)
            window = session.get(Window, ONE)
            draft = session.get_one(Draft, ONE)
        assert {
            name: {column: value for column, value in kept[name].items() if column in row}
            for name, row in written.items()
        } == written
        assert differences == []
        assert window is not None
        assert window.crashes == written["windows"].get("crashes", 0)
        assert (draft.policy_version is None) == ("policy_version" not in written["drafts"])
    finally:
        database.dispose()


def test_an_upgrade_of_what_is_new_changes_nothing(database_url: str):
    assert upgrade(database_url) == (None, head_revision())
    assert upgrade(database_url) == (head_revision(), head_revision())


def test_migrate_says_from_where_to_where(home: Path):
    def migrate(*words: str) -> str:
        done = run(home, "migrate", *words)
        assert done.returncode == 0
        return done.stdout.strip()

    url = f"sqlite:///{home / 'afterturn.db'}"
    upgrade(url, "0001")

    told = {"revision": head_revision(), "from": "0001", "to": head_revision()}
    assert json.loads(migrate("--json")) == told
    assert migrate("--lang", "en") == f"the database is at {head_revision()} already."
    assert migrate("--lang", "zh") == f"数据库已是 {head_revision()}，无需升级。"
    assert current_revision(url) == head_revision()

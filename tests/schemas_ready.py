"""A migrated database in a few milliseconds: migrated once in each test process, and copied for every test.

Migrations themselves are what `test_migrations.py` is about; elsewhere they took a quarter of the whole run.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

import psycopg
from sqlalchemy import make_url

from services import postgres_replaced
from stores.settings import Settings
from stores.sql import upgrade


def bring_up(settings: Settings | str) -> None:
    """What `upgrade` makes of a database that does not exist yet, or is empty and in nobody's hands."""
    url = settings if isinstance(settings, str) else settings.database_url
    if url.startswith("sqlite"):
        _copy_file(Path(str(make_url(url).database)))
    else:
        _copy_database(url)


def _copy_file(target: Path) -> None:
    assert not target.exists(), "only a database that is not there yet can be brought up"
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    shutil.copyfile(_file(), target)
    target.chmod(0o600)


@lru_cache(maxsize=1)
def _file() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="at-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / "afterturn.db"
    upgrade(f"sqlite:///{made}")
    assert not made.with_name(made.name + "-wal").exists(), "a copy would lack what is in the log"
    return made


def _copy_database(url: str) -> None:
    postgres_replaced(url, _template(_in_cluster(url, "postgres")))


@lru_cache
def _template(cluster: str) -> str:
    name = f"at_{uuid4().hex}"
    with psycopg.connect(cluster, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}".encode())
    upgrade(_in_cluster(cluster, name).replace("postgresql://", "postgresql+psycopg://", 1))
    return name


def _in_cluster(url: str, database: str) -> str:
    given = make_url(url).set(drivername="postgresql", database=database)
    return given.render_as_string(hide_password=False)

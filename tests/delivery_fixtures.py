"""Builders for events and for a tenant with its keys, and a migrated database of either kind."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlmodel import Session

from afterturn.ids import uuid7
from schemas_ready import bring_up
from stores import tenancy
from stores.settings import load_settings
from stores.sql import Database
from stores.tenancy import KeyInfo
from tasks.ingest import BatchInfo
from tasks.intake import Intake, open_intake

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BATCH = BatchInfo(producer="producer-1")


@dataclass(frozen=True)
class World:
    """A database with one tenant, and keys of it that may publish and speak for the staff."""

    kit: Intake
    key: KeyInfo
    staff: KeyInfo
    credential: str

    @property
    def db(self) -> Database:
        """Its database."""
        return self.kit.db


def event(kind: str, number: float = 0, **fields: Any) -> dict[str, Any]:
    """An event of user u1 in session s1, `number` seconds after the start."""
    return {
        "kind": kind,
        "event_id": uuid7(),
        "user_id": "u1",
        "session_id": "s1",
        "at": START + timedelta(seconds=number),
        **fields,
    }


def turn(content: str = "I moved to Lyon yesterday.", number: float = 0, **fields: Any) -> dict[str, Any]:
    """A user's turn."""
    return event("turn", number, **{"role": "user", "content": content, **fields})


def ended(number: float = 100, **fields: Any) -> dict[str, Any]:
    """The end of session s1."""
    return event("session_ended", number, **{"outcome": "success", **fields})


def new_world(home: Path, database_url: str | None = None, **settings: Any) -> World:
    """A migrated database with one tenant."""
    given: dict[str, Any] = {"home": home, **settings}
    if database_url is not None:
        given["database_url"] = database_url
    loaded = load_settings(**given)
    bring_up(loaded)
    kit = open_intake(loaded)
    key, staff, credential = kit.db.write(_people)
    return World(kit, key, staff, credential)


def tenant_key(db: Database, name: str, *rights: str) -> KeyInfo:
    """A key of another tenant."""

    def make(session: Session) -> KeyInfo:
        tenant = tenancy.create_tenant(session, name)
        key, _ = tenancy.create_key(session, tenant, rights or ("publish",))
        return tenancy.key_info(session, key.id)

    return db.write(make)


def _people(session: Session) -> tuple[KeyInfo, KeyInfo, str]:
    tenant = tenancy.create_tenant(session, "acme")
    plain, credential = tenancy.create_key(session, tenant, ("publish", "recall"))
    staff, _ = tenancy.create_key(session, tenant, ("publish", "staff"))
    return tenancy.key_info(session, plain.id), tenancy.key_info(session, staff.id), credential


@pytest.fixture(params=["sqlite", "postgres"])
def world(request: pytest.FixtureRequest, home: Path) -> Generator[World]:
    """A tenant on SQLite, and the same on PostgreSQL where there is one."""
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    made = new_world(home, url)
    yield made
    made.db.dispose()


def ids(events: list[dict[str, Any]]) -> list[UUID]:
    """Their ids."""
    return [one["event_id"] for one in events]

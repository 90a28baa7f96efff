"""A whole shop in one process: events go in by ingest, windows are cut, digested and indexed, questions are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest
from pydantic import SecretStr
from sqlalchemy import update
from sqlmodel import Session, SQLModel, col, select

from afterturn.wire import Pack, RecallRequest
from delivery_fixtures import BATCH
from llm.face import Model
from schemas.envelopes import disclose
from schemas.tables import Draft, Episode, Evidence, Fact, Moment, OutboxRow, User, Window
from schemas_ready import bring_up
from scripted_model import ScriptedModel
from stores import clock, tenancy
from stores.kit import Kit, open_kit
from stores.projection import project
from stores.settings import EmbedSettings, LlmSettings, Settings, load_settings
from stores.tenancy import KeyInfo
from stores.windows import Claim
from tasks.consolidate import consolidate
from tasks.decay import decay
from tasks.digest import digest
from tasks.expire import expire
from tasks.index import index
from tasks.ingest import ingest_events
from tasks.recall import Guards, recall
from tasks.receipts import Receipt
from tasks.reconcile import reconcile
from tasks.sweep import Swept, sweep

Row = TypeVar("Row", bound=SQLModel)


class Silent:
    """No broker at all: hints go nowhere, and everything is found in SQL."""

    def queued(self, name: str) -> int:
        return 0

    def hint(self, name: str, count: int) -> bool:
        return False


@dataclass(slots=True)
class Shop:
    """An installation with one tenant, and what its processes would do, called by hand."""

    kit: Kit
    key: KeyInfo
    staff: KeyInfo

    def say(self, *events: dict[str, Any], key: KeyInfo | None = None) -> list[Receipt]:
        """What an agent publishes."""
        return ingest_events(self.kit, key or self.key, list(events), batch=BATCH)

    def cut(self) -> Swept:
        """One pulse of the beat."""
        return sweep(self.kit, Silent())

    def digest(self) -> Claim | None:
        """Cuts what is due and works on one window."""
        self.cut()
        return digest(self.kit)

    def settle(self) -> None:
        """Digests and indexes until nothing is due."""
        self.cut()
        while digest(self.kit) is not None:
            pass
        while index(self.kit):
            pass

    def advance(self, days: float) -> None:
        """Moves the world's clock, and runs the jobs that are due by then."""
        self.kit.db.write(lambda session: clock.advance(session, days * 86_400))
        for job in (decay, expire, consolidate, reconcile):
            job(self.kit)
        self.settle()

    def ask(self, query: str, **asked: Any) -> Pack:
        """A recall by the tenant's key."""
        request = RecallRequest.model_validate({"query": query, "user_id": "u1", "deadline_ms": 30_000, **asked})
        guards = Guards()
        try:
            return asyncio.run(recall(self.kit, self.key, request, guards=guards))
        finally:
            guards.close()

    def rows(self, table: type[Row], *where: Any) -> list[Row]:
        """Rows of a table in the order of their ids."""
        with self.kit.db.read() as session:
            return list(session.exec(select(table).where(*where).order_by(col(getattr(table, "id")))))  # noqa: B009

    def facts(self, *, key: str | None = None, user: str = "u1") -> list[str]:
        """The values of a user's current facts, signed."""
        ref = self.user(user).id
        return sorted(
            f"{row.polarity}{disclose(row.value)}"
            for row in self.rows(Fact, Fact.user_ref == ref)
            if is_current(row) and key in (None, row.key)
        )

    def past(self) -> list[str]:
        """The values of versions that hold no longer."""
        shown = [row for row in self.rows(Fact) if row.superseded_at is None and row.valid_until is not None]
        return sorted(disclose(row.value) for row in shown)

    def episodes(self) -> list[Episode]:
        """Live episodes."""
        return self.rows(Episode, col(Episode.deleted_at).is_(None))

    def summaries(self) -> list[str]:
        """Their words."""
        return [disclose(row.summary) for row in self.episodes()]

    def windows(self) -> list[Window]:
        """All windows."""
        return self.rows(Window)

    def window(self) -> Window:
        """The only window."""
        (row,) = self.windows()
        return row

    def decisions(self) -> list[tuple[str, tuple[str, ...]]]:
        """What became of each draft, and why."""
        return [(row.decision, tuple(row.reason_codes)) for row in self.rows(Draft)]

    def evidence(self) -> list[Evidence]:
        """All evidence."""
        return self.rows(Evidence)

    def owed(self) -> list[OutboxRow]:
        """What the index is owed."""
        return self.rows(OutboxRow)

    def user(self, user_id: str = "u1") -> User:
        """A user's row."""
        with self.kit.db.read() as session:
            found = tenancy.find_user(session, self.key, user_id)
        assert found is not None, user_id
        return found

    def indexed(self) -> dict[UUID, tuple[int, bool]]:
        """What the index lists: the version of each record, and whether it has a vector."""
        return {record: (version, has) for record, version, has in self.kit.index.ids(self.key.tenant_id)}

    def everything(self) -> dict[str, list[dict[str, Any]]]:
        """Every row that a repetition might double or change."""
        tables = (Window, Evidence, Fact, Episode, Draft, OutboxRow)
        return {table.__name__: [row.model_dump() for row in self.rows(table)] for table in tables}

    def due_now(self) -> None:
        """Lets every wait pass: what was postponed is due."""
        self.change(Window, next_try_at=datetime.fromisoformat("2020-01-01T00:00:00+00:00"))
        self.change(OutboxRow, next_try_at=datetime.fromisoformat("2020-01-01T00:00:00+00:00"))

    def lose_leases(self) -> None:
        """Lets every lease run out, as if its worker had died long ago."""
        self.change(Window, col(Window.lease_until).is_not(None), lease_until=_LONG_AGO)
        self.change(OutboxRow, col(OutboxRow.lease_until).is_not(None), lease_until=_LONG_AGO)

    def change(self, table: type[SQLModel], *where: Any, **values: Any) -> None:
        """Changes rows from outside."""

        def write(session: Session) -> None:
            session.connection().execute(update(table).where(*where).values(**values))

        self.kit.db.write(write)

    def with_model(self, model: Model) -> Shop:
        """The same shop with another model behind it."""
        return replace(self, kit=replace(self.kit, model=model))

    def with_windows(self, **policy: Any) -> Shop:
        """The same shop with other rules for its windows."""
        policies = self.kit.policies
        return replace(
            self, kit=replace(self.kit, policies=replace(policies, windows=replace(policies.windows, **policy)))
        )


_LONG_AGO = datetime.fromisoformat("2020-01-01T00:00:00+00:00")


def is_current(row: Fact) -> bool:
    """Whether a row is current as of now, whatever the world's clock says."""
    return row.superseded_at is None and row.deleted_at is None and row.valid_until is None


def told(shop: Shop) -> str:
    """Every word that the index is given."""
    kinds = (("episode", Episode), ("moment", Moment), ("fact", Fact))
    with shop.kit.db.read() as session:
        found = [project(session, kind, row.id) for kind, table in kinds for row in shop.rows(table)]
    return " ".join(" ".join((one.embed, one.row.own_terms)) for one in found if one is not None).casefold()


@contextmanager
def new_shop(home: Path, database_url: str | None = None, **given: Any) -> Generator[Shop]:
    """A shop on a folder. Sessions are due at once."""
    settings = shop_settings(home, database_url, **given)
    bring_up(settings)
    kit = open_kit(settings)
    try:
        key, staff = kit.db.write(_keys)
        yield Shop(kit, key, staff)
    finally:
        kit.close()


def shop_settings(home: Path, database_url: str | None = None, **given: Any) -> Settings:
    """Settings under which a session is due at once."""
    url = {} if database_url is None else {"database_url": database_url}
    return load_settings(**{"home": home, "window": {"idle_seconds": 0}, **url, **given})


def scripted(server: ScriptedModel, **llm: Any) -> dict[str, Any]:
    """Settings that put the scripted model behind a shop; embeddings stay offline."""
    return {
        "llm": LlmSettings(
            base_url=server.url, api_key=SecretStr("test"), model_small="scripted", model_large="scripted", **llm
        )
    }


def scripted_embeddings(server: ScriptedModel) -> dict[str, Any]:
    """Settings that put the scripted embeddings behind a shop."""
    return {"embed": EmbedSettings(base_url=server.url, api_key=SecretStr("test"), model="scripted")}


def _keys(session: Session) -> tuple[KeyInfo, KeyInfo]:
    tenant = tenancy.create_tenant(session, "acme")
    plain, _ = tenancy.create_key(session, tenant, ("publish", "recall", "admin"))
    staff, _ = tenancy.create_key(session, tenant, ("publish", "staff"))
    return tenancy.key_info(session, plain.id), tenancy.key_info(session, staff.id)


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, home: Path) -> Generator[Shop]:
    """A shop with the offline provider, on SQLite and on PostgreSQL where there is one."""
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with new_shop(home, url) as made:
        yield made


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    """A scripted model on a free port."""
    with ScriptedModel() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def model_shop(request: pytest.FixtureRequest, home: Path, server: ScriptedModel) -> Generator[Shop]:
    """A shop with the scripted model behind it."""
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with new_shop(home, url, **scripted(server)) as made:
        yield made

"""Two organisations on one installation: the same user id, session, ticket and texts; and what gives one away."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from pydantic import SecretStr
from sqlalchemy import Table, select
from sqlmodel import Session

from afterturn.ids import uuid7
from memory.knowledge import document
from recall_builders import NOON
from recall_fixtures import ALL_RIGHTS, House, another_key
from schemas.envelopes import enclose, enclose_json
from schemas.tables import (
    DeadLetter,
    Draft,
    Evidence,
    LedgerEntry,
    Operation,
    ProcedureOutcome,
    Review,
    Spending,
    Turn,
    Undo,
    Window,
    WorkingState,
    metadata,
)
from schemas_ready import bring_up
from services import scratch
from stores import dead, knowledge, ledger, requests, tenant_policies
from stores.kit import open_kit
from stores.ledger import Tally
from stores.settings import RecallSettings, WeaviateSettings, load_settings
from weaviate_node import Address

#: Stands in one organisation's texts alone.
CANARY = "zebrafish"
POLICY = "afterturn_policy: 1\n"


@dataclass(slots=True)
class Org:
    """One organisation, with the ids of what it has. `canary` is the word of its own."""

    house: House
    canary: str
    ids: dict[str, UUID] = field(default_factory=dict[str, UUID])
    slot: str = ""
    session_ref: UUID = field(default_factory=uuid7)

    def fill(self) -> None:
        """One of everything, all about user u1 in session s1, thread th1 and ticket T-1."""
        home, user = self.house, self.house.user("u1")
        told = f"I live in Lyon, near the station. {self.canary}"
        place: dict[str, Any] = {"thread_id": "th1", "ticket_id": "T-1"}
        turn = home.turn(user, told, **place)
        staff = home.turn(user, f"Refund approved. {self.canary}", role="staff", actor_id="s", **place)
        waiting = home.turn(user, f"My order is late. {self.canary}", digested=False, **place)
        home.turn(user, f"Is it lost? {self.canary}", digested=False, **place)
        fact = home.fact(user, "city", f"Lyon {self.canary}")
        episode = home.episode(user, f"Asked about Lyon. {self.canary}", turn_ids=[str(turn.event_id)])
        version = home.procedure("refund", f"A refund is asked. {self.canary}", [f"Ask. {self.canary}"])
        home.hold(staff, 0, 3)
        self.session_ref, self.slot = home.session(user), fact.slot_hash
        pending = home.fact(user, "payout", f"bank {self.canary}", write_status="pending_review")
        self.ids = {
            "event": turn.event_id,
            "staff": staff.event_id,
            "waiting": waiting.event_id,
            "fact": fact.id,
            "episode": episode.id,
            "procedure": version.id,
            "user": user.id,
            "evidence": UUID(pending.evidence_ids[0]),
        }
        self.ids["quoted"] = self.row("evidence", Evidence).event_id
        home.add(*self._more(turn, staff, user.id))
        home.kit.db.write(self._knows)
        home.catch_up()

    def _more(self, turn: Turn, staff: Turn, user_ref: UUID) -> Iterator[Any]:
        tenant_id = self.house.key.tenant_id
        self.ids |= {name: uuid7() for name in ("letter", "request", "undo", "draft", "window", "outcome")}
        for one in (turn, staff):
            yield LedgerEntry(
                tenant_id=tenant_id,
                event_id=one.event_id,
                kind="turn",
                state="stored",
                content_hash="h",
                received_at=NOON,
            )
        yield DeadLetter(
            id=self.ids["letter"],
            tenant_id=tenant_id,
            user_ref=user_ref,
            kind=dead.EVENT,
            key=f"{tenant_id}:{uuid7()}",
            payload=enclose_json({"key_id": self.house.key.key_id, "event": {"content": self.canary}}),
            error_code="KeyError",
            first_at=NOON,
            last_at=NOON,
        )
        yield Operation(
            id=self.ids["request"],
            tenant_id=tenant_id,
            kind=f"{requests.KIND}.erase",
            state="open",
            detail={"user_ref": str(user_ref), "event_id": str(turn.event_id), "due_at": NOON.isoformat()},
            created_at=NOON,
        )
        yield Undo(
            id=self.ids["undo"],
            tenant_id=tenant_id,
            kind="event",
            target=str(staff.event_id),
            until=NOON + timedelta(days=3 if self.canary == CANARY else 1),
            actor="cli:x",
            reason=enclose(self.canary),
            decided_at=NOON,
        )
        yield ProcedureOutcome(
            id=self.ids["outcome"],
            tenant_id=tenant_id,
            version_id=self.ids["procedure"],
            user_ref=user_ref,
            event_id=staff.event_id,
            session_ref=self.session_ref,
            succeeded=True,
            source="tool",
            event_source=self.canary,
            at=NOON,
        )
        yield from self._work(turn, user_ref)

    def _work(self, turn: Turn, user_ref: UUID) -> Iterator[Any]:
        tenant_id = self.house.key.tenant_id
        yield Draft(
            id=self.ids["draft"],
            tenant_id=tenant_id,
            user_ref=user_ref,
            window_id=self.ids["window"],
            ordinal=0,
            content=enclose_json({"quote": self.canary}),
            decision="dropped",
            recorded_at=NOON,
        )
        yield Window(
            id=self.ids["window"],
            tenant_id=tenant_id,
            user_ref=user_ref,
            session_ref=self.session_ref,
            turn_ids=[str(turn.event_id)],
            prompt_version="p",
            generation=0,
            next_try_at=NOON + timedelta(days=3650),
            created_at=NOON,
        )
        yield WorkingState(
            id=uuid7(),
            tenant_id=tenant_id,
            user_ref=user_ref,
            scope="ticket",
            scope_key="T-1",
            state=enclose_json({"intent": self.canary}),
            updated_at=NOON,
        )
        yield Review(
            id=uuid7(),
            tenant_id=tenant_id,
            user_ref=user_ref,
            evidence_id=uuid7(),
            verdict="reject",
            before="pending_review",
            after="rejected",
            content_hash="h",
            actor="cli:x",
            reason=enclose(self.canary),
            decided_at=NOON,
        )
        yield Spending(tenant_id=tenant_id, day=NOON.date(), stage="digest", model=self.canary, calls=1)

    def fill_more(self) -> None:
        """What makes its counts others than those of a tenant that has one of everything."""
        home = self.house
        given: dict[str, Any] = {"write_status": "pending_review", "slot_hash": "health"}
        fact = home.fact(home.user("u1"), "health", f"asthma {self.canary}", **given)
        late = LedgerEntry(
            tenant_id=home.key.tenant_id,
            event_id=uuid7(),
            kind="turn",
            state="dead",
            content_hash="h",
            received_at=NOON,
        )
        home.add(late)

        def change(session: Session) -> None:
            session.get_one(Evidence, UUID(fact.evidence_ids[0])).reason_codes = ["special_health"]
            ledger.count(session, home.key.tenant_id, NOON, {self.canary: Tally(stored=3)})

        home.kit.db.write(change)

    def _knows(self, session: Session) -> None:
        key = self.house.key
        given = document({"source": "rules", "version": "1"}, [["Lyon", "near", self.canary]], now=NOON)
        knowledge.add(session, key.tenant_id, given, hash_key=key.hash_key, by="test", now=NOON, new_id=uuid7)
        tenant_policies.put(
            session, key.tenant_id, text=POLICY, version=self.canary, policy_id=uuid7(), actor="cli:x", now=NOON
        )

    def row(self, name: str, table: type[Any]) -> Any:
        """One of its rows."""
        with self.house.kit.db.read() as session:
            return session.get_one(table, self.ids[name])

    def marks(self) -> set[str]:
        """Everything that gives it away: its word, and the ids of all its rows."""
        found = {self.canary, str(self.house.key.tenant_id), self.house.key.key_id}
        for name, row in self.rows():
            keys = [column.name for column in metadata.tables[name].primary_key.columns]
            found |= {str(row[key]) for key in keys if isinstance(row[key], UUID)}
        return found

    def rows(self) -> list[tuple[str, dict[str, Any]]]:
        """All that stands under its id, by table, but for the note of when a key was used."""
        found: list[tuple[str, dict[str, Any]]] = []
        with self.house.kit.db.read() as session:
            for table in metadata.sorted_tables:
                if "tenant_id" in table.c:
                    found += [(table.name, _plain(row)) for row in self._of(session, table)]
        return sorted(found, key=repr)

    def _of(self, session: Session, table: Table) -> Iterator[dict[str, Any]]:
        query = select(table).where(table.c.tenant_id == self.house.key.tenant_id)
        for row in session.connection().execute(query).mappings():
            yield dict(row)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "last_used_at"}


@contextmanager
def two_tenants(weaviate: tuple[str, Address] | None = None) -> Generator[tuple[Org, Org]]:
    """The one that is asked about, and the one that asks; on the embedded index, or on a server."""
    more: dict[str, Any] = {}
    if weaviate is not None:
        alias, address = weaviate
        secret = None if address.key is None else SecretStr(address.key)
        server = WeaviateSettings(url=address.url, grpc=address.grpc, api_key=secret, alias=alias)
        more = {"index": "weaviate", "weaviate": server}
    with scratch() as folder:
        settings = load_settings(home=folder, recall=RecallSettings(hot_cache=False), **more)
        bring_up(settings)
        kit = open_kit(settings)
        try:
            orgs = [
                Org(House(kit, *another_key(kit, name, ALL_RIGHTS)), word)
                for name, word in (("theirs", CANARY), ("ours", "sparrow"))
            ]
            for org in orgs:
                org.fill()
            orgs[0].fill_more()
            yield cast("tuple[Org, Org]", tuple(orgs))
        finally:
            kit.close()

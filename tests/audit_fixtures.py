"""A service whose work is all done, for the audit to look at, and ways to break one account of it at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import delete, update
from sqlmodel import Session, SQLModel, col, select

from afterturn.ids import uuid7
from delivery_fixtures import BATCH, START, ended, event, turn
from schemas.indexing import IndexRow
from schemas.tables import (
    DeadLetter,
    Episode,
    Evidence,
    Fact,
    LedgerEntry,
    Moment,
    OutboxRow,
    ProcedureOutcome,
    ProcedureVersion,
    Reception,
    Turn,
    Window,
)
from schemas.tables import Session as SessionRow
from schemas_ready import bring_up
from stores import tenancy
from stores.kit import Kit, open_kit
from stores.settings import load_settings
from stores.tenancy import KeyInfo
from tasks.digest import digest
from tasks.index import index
from tasks.ingest import ingest_events
from tasks.sweep import sweep


@dataclass(frozen=True)
class Books:
    """A kit with one tenant, whose events are digested and indexed."""

    kit: Kit
    key: KeyInfo

    def first(self, table: type[SQLModel], *where: Any) -> Any:
        """One row."""
        with self.kit.db.read() as session:
            return session.scalars(select(table).where(*where)).first()

    def change(self, *statements: Any) -> None:
        """Runs statements, as no code of ours would."""

        def run(session: Session) -> None:
            for statement in statements:
                session.connection().execute(statement)

        self.kit.db.write(run)

    def add(self, row: SQLModel) -> None:
        """Adds a row."""
        self.kit.db.write(lambda session: session.add(row))

    def again(self, row: SQLModel, **changes: Any) -> None:
        """Adds a copy of a row under a new id."""
        values = {name: getattr(row, name) for name in type(row).model_fields}
        self.add(type(row)(**{**values, "id": uuid7(), **changes}))


class _NoBroker:
    def queued(self, name: str) -> int:
        return 0

    def hint(self, name: str, count: int) -> bool:
        return True


def open_books(home: Path, key_id: str, url: str | None = None) -> Books:
    """The books of a folder that `write_books` has filled."""
    kit = open_kit(_settings(home, url))
    with kit.db.read() as session:
        return Books(kit, tenancy.key_info(session, key_id))


def write_books(home: Path, url: str | None = None) -> str:
    """Publishes, digests and indexes a few sessions; answers the id of the key."""
    settings = _settings(home, url)
    bring_up(settings)
    kit = open_kit(settings)
    try:
        key = kit.db.write(_key)
        for events in _story():
            ingest_events(kit, key, events, batch=BATCH)
            ingest_events(kit, key, events[:1], batch=BATCH)
        ingest_events(kit, key, [turn("", 0)], batch=BATCH)
        work(kit)
        return key.key_id
    finally:
        kit.close()


def work(kit: Kit) -> None:
    """Sweeps, digests and indexes until nothing is left."""
    sweep(kit, _NoBroker())
    while digest(kit) is not None:
        pass
    while index(kit):
        pass


def _settings(home: Path, url: str | None) -> Any:
    given: dict[str, Any] = {} if url is None else {"database_url": url}
    return load_settings(home=home, **given)


def _key(session: Session) -> KeyInfo:
    tenant = tenancy.create_tenant(session, "acme")
    key, _ = tenancy.create_key(session, tenant, ("publish", "recall"))
    return tenancy.key_info(session, key.id)


def _story() -> Sequence[list[dict[str, Any]]]:
    used = {"procedure": {"name": "exchange", "version": 1}}
    return [
        [
            turn("My name is Anna and I live in Lyon.", 0),
            turn("Nice to meet you, Anna.", 1, role="assistant"),
            turn("I like oolong tea.", 2),
            turn('{"status": "ok"}', 3, role="tool", tool={"name": "crm", "ok": True}, **used),
            event("procedure_outcome", 4, procedure={"name": "refund", "version": 1}, succeeded=True),
            event("procedure_outcome", 5, procedure={"name": "refund", "version": 1}, succeeded=False),
            ended(9),
        ],
        [turn("我住在杭州。", 20, user_id="u2", session_id="s2"), ended(29, user_id="u2", session_id="s2")],
        [turn("I like oolong tea.", 40, user_id="u3", session_id="s3"), ended(49, user_id="u3", session_id="s3")],
    ]


def _event_of(books: Books, **where: Any) -> Any:
    return books.first(LedgerEntry, *(getattr(LedgerEntry, name) == value for name, value in where.items()))


def _set(table: Any, key: Any, **values: Any) -> Any:
    name = "event_id" if table in (LedgerEntry, Turn) else "id"
    return update(table).where(getattr(table, name) == key).values(**values)


def _two_windows(books: Books) -> None:
    window, other = books.kit.db.write(lambda s: s.exec(select(Window).order_by(col(Window.id)).limit(2)).all())
    books.change(_set(Window, other.id, turn_ids=[*other.turn_ids, window.turn_ids[0]]))


def _unlisted(books: Books) -> None:
    window = books.first(Window, col(Window.token_count) > 5)
    books.change(_set(Window, window.id, turn_ids=window.turn_ids[1:]))


def _lost_turn(books: Books) -> None:
    entry = _event_of(books, kind="turn", state="digested")
    books.change(delete(Turn).where(col(Turn.event_id) == entry.event_id))


def _foreign_window(books: Books) -> None:
    said = books.first(Turn)
    books.change(_set(Turn, said.event_id, window_id=uuid7()))


def _dead_window(books: Books) -> None:
    books.change(_set(Window, books.first(Window).id, state="dead"))


def _index_row(books: Books, record_id: UUID, row_version: int = 1, *, has_vector: bool = True) -> None:
    size = books.kit.embedder.dimensions
    row = IndexRow(
        id=record_id,
        tenant_id=books.key.tenant_id,
        user_ref=uuid7(),
        kind="fact",
        scope="user",
        scope_key="x",
        own_terms="x",
        context_terms="x",
        row_version=row_version,
        created_at=START,
        vector=np.eye(1, size, dtype=np.float32)[0] if has_vector else None,
    )
    books.kit.index.upsert([row])


def _owe(books: Books, tenant_id: UUID) -> None:
    books.add(
        OutboxRow(
            id=uuid7(),
            tenant_id=tenant_id,
            user_ref=uuid7(),
            kind="fact",
            record_id=uuid7(),
            row_version=1,
            generation=0,
            next_try_at=START,
            created_at=START,
        )
    )


def _merged(books: Books) -> None:
    books.again(books.first(Episode), window_id=None, member_ids=[])


def _fact(books: Books) -> Any:
    return books.first(Fact, col(Fact.superseded_at).is_(None), col(Fact.deleted_at).is_(None))


def _kept(books: Books, **changes: Any) -> None:
    row = _event_of(books, kind="turn", state="digested")
    books.change(_set(LedgerEntry, row.event_id, **changes))


PLANTS: Mapping[str, Callable[[Books], None]] = {
    "receptions_stored": lambda b: b.change(update(Reception).values(stored=col(Reception.stored) + 1)),
    "receptions_rejected": lambda b: b.change(update(Reception).values(rejected=0)),
    "receptions_dead": lambda b: _kept(b, state="dead"),
    "unknown_state": lambda b: _kept(b, state="lost"),
    "event_without_turn": _lost_turn,
    "turn_without_event": lambda b: _kept(b, state="applied"),
    "event_state": lambda b: _kept(b, state="stored"),
    "event_window": lambda b: _kept(b, window_id=None),
    "session_counts": lambda b: b.change(update(SessionRow).values(undigested_count=1)),
    "session_without_due": lambda b: b.change(update(SessionRow).values(undigested_count=1, due_at=None)),
    "window_turns": _two_windows,
    "turn_window": _foreign_window,
    "window_episode": lambda b: b.change(delete(Episode).where(col(Episode.window_id).is_not(None))),
    "episode_turns": lambda b: b.change(update(Episode).values(turn_ids=[str(uuid7())])),
    "window_applied": lambda b: b.change(update(Window).values(lease_until=START + timedelta(days=1))),
    "window_letter": _dead_window,
    "turn_moment": lambda b: b.change(delete(Moment)),
    "moment_turn": lambda b: b.change(update(Window).values(state="waiting")),
    "duplicate_fact": lambda b: b.again(_fact(b), valid_from=START - timedelta(days=9)),
    "duplicate_evidence": lambda b: b.again(b.first(Evidence)),
    "evidence_window": lambda b: b.change(update(Evidence).values(window_id=uuid7())),
    "fact_evidence": lambda b: b.change(_set(Fact, _fact(b).id, evidence_ids=[str(uuid7())])),
    "duplicate_outcome": lambda b: b.again(b.first(ProcedureOutcome), version_id=uuid7()),
    "outcome_event": lambda b: b.change(update(ProcedureOutcome).values(event_id=uuid7()).where(_one(b))),
    "event_outcome": lambda b: b.change(delete(ProcedureOutcome)),
    "procedure_rates": lambda b: b.change(update(ProcedureVersion).values(successes=7.0)),
    "merged_episode": _merged,
    "index_missing": lambda b: b.kit.index.delete(b.key.tenant_id, [_fact(b).id]),
    "index_extra": lambda b: _index_row(b, uuid7()),
    "index_version": lambda b: _index_row(b, _fact(b).id, 99),
    "index_vector": lambda b: _index_row(b, _fact(b).id, _fact(b).row_version, has_vector=False),
    "outbox": lambda b: _owe(b, b.key.tenant_id),
    "foreign_row": lambda b: _owe(b, uuid7()),
}
"""For each rule one way to break it."""

MORE_PLANTS: Sequence[tuple[str, Callable[[Books], None]]] = (
    ("window_turns", _unlisted),
    ("window_turns", lambda b: b.change(_set(Window, b.first(Window).id, turn_ids=[]))),
    ("event_state", lambda b: _kept(b, state="dead_window")),
    ("turn_without_event", lambda b: b.change(delete(LedgerEntry).where(col(LedgerEntry.kind) == "turn"))),
    ("window_episode", lambda b: b.change(update(Window).values(state="answered"))),
    ("window_applied", lambda b: b.change(update(Window).values(applied_at=None))),
    ("duplicate_fact", lambda b: b.again(_fact(b))),
    ("merged_episode", lambda b: b.again(b.first(Episode), window_id=None, member_ids=[str(uuid7())] * 2)),
    ("index_extra", lambda b: b.change(_set(Fact, _fact(b).id, deleted_at=START))),
    ("index_missing", lambda b: b.again(b.first(Episode), window_id=None, member_ids=[str(b.first(Episode).id)])),
)
"""Other ways, for rules that can be broken on more than one side."""


def _one(books: Books) -> Any:
    return col(ProcedureOutcome.id) == books.first(ProcedureOutcome).id


def letter(books: Books, kind: str, key: str) -> None:
    """Plants a dead letter."""
    books.add(DeadLetter(id=uuid7(), kind=kind, key=key, error_code="planted", first_at=START, last_at=START))

"""Sessions as rows: made once, added to in one step per transaction, ended once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol, cast
from uuid import UUID, uuid5

from sqlalchemy import Table, update
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from memory.windows import WindowPolicy, due_at
from schemas.envelopes import enclose, keyed_hash
from schemas.tables import Session as SessionRow
from schemas.tables import Tenant
from stores.rows import among, insert_new, update_known
from stores.tenancy import KeyInfo

_ROWS = cast("Table", cast("Any", SessionRow).__table__)
_ADDED_TO = [
    _ROWS.c[name]
    for name in (
        *("id", "agent_id", "thread_id", "ticket_id", "turn_count", "undigested_count", "undigested_tokens"),
        *("first_undigested_at", "last_received_at", "last_turn_at", "ended_at", "outcome"),
    )
]


@dataclass(slots=True, kw_only=True)
class Arrivals:
    """All that one transaction adds to one session. `received_at` is the database's clock, the `last_turn_at` an `at`.

    `ended_at` is set when the session's end is among it.
    """

    tenant_id: UUID
    user_ref: UUID
    session_id: str
    session_hash: str
    received_at: datetime
    agent_id: str | None = None
    thread_id: str | None = None
    ticket_id: str | None = None
    turn_count: int = 0
    token_count: int = 0
    last_turn_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str | None = None
    session_ref: UUID = field(init=False)

    def __post_init__(self) -> None:
        """The row's id follows from the rest."""
        self.session_ref = session_ref(self.user_ref, self.session_hash)


def session_hash(tenant: Tenant | KeyInfo, session_id: str) -> str:
    """The tenant's keyed hash of a session's id, by which its row is found."""
    return _session_hash(tenant.hash_key, session_id)


@lru_cache(maxsize=4096)
def _session_hash(hash_key: bytes, session_id: str) -> str:
    return keyed_hash(hash_key, "session", session_id)


@lru_cache(maxsize=4096)
def session_ref(user_ref: UUID, session_hash: str) -> UUID:
    """The id of a user's session: it follows from its keyed hash, so that the ledger can name it before it exists."""
    return uuid5(user_ref, session_hash)


def find(session: Session, ref: UUID) -> SessionRow | None:
    """One session's row."""
    return session.exec(select(SessionRow).where(SessionRow.id == ref)).one_or_none()


def add(session: Session, arrivals: Iterable[Arrivals], policy: WindowPolicy) -> None:
    """Makes the sessions that are new and adds what arrived; one row and one lock per session, in id order.

    One arrival a session: the caller folds them first.
    """
    by_ref = {one.session_ref: one for one in arrivals}
    changed = _change_known(session, by_ref, policy)
    fresh = [_new(ref, one, policy) for ref, one in by_ref.items() if ref not in changed]
    made = {row["id"] for row in insert_new(session, SessionRow, fresh)}
    _change_known(session, {ref: one for ref, one in by_ref.items() if ref not in changed | made}, policy)


def is_over(ended_at: datetime | None, last_turn_at: datetime | None) -> bool:
    """Whether the session has ended and nothing was said after that; a late turn from before the end is no matter."""
    return ended_at is not None and (last_turn_at is None or last_turn_at <= ended_at)


def shared_threads(session: Session, tenant_id: UUID, thread_ids: Collection[str], user_ref: UUID) -> list[str]:
    """Those of the threads in which another user talks, too."""
    if not thread_ids:
        return []
    query = (
        select(SessionRow.thread_id)
        .where(
            SessionRow.tenant_id == tenant_id,
            col(SessionRow.thread_id).in_(thread_ids),
            SessionRow.user_ref != user_ref,
        )
        .distinct()
    )
    return sorted(thread_id for thread_id in session.exec(query) if thread_id is not None)


def due_now(session: Session, refs: Sequence[UUID], now: datetime) -> None:
    """Makes these sessions due at `now` when anything in them waits, whatever their idle time says."""
    statement = (
        update(SessionRow)
        .where(col(SessionRow.id).in_(list(refs)), col(SessionRow.first_undigested_at).is_not(None))
        .values(due_at=now)
    )
    session.connection().execute(statement)


def _change_known(session: Session, by_ref: Mapping[UUID, Arrivals], policy: WindowPolicy) -> set[UUID]:
    """Locks the sessions that are there, in id order, and adds to them; answers which those are."""
    if not by_ref:
        return set()
    known = among(session, _ROWS.c.id, by_ref)
    query = select_columns(*_ADDED_TO).where(known).order_by(_ROWS.c.id).with_for_update()
    rows = cast("Iterable[_Counted]", session.connection().execute(query).all())
    changes = {row.id: {"id": row.id, **_added(row, by_ref[row.id], policy)} for row in rows}
    update_known(session, SessionRow, list(changes.values()))
    return set(changes)


def _new(ref: UUID, one: Arrivals, policy: WindowPolicy) -> dict[str, Any]:
    """A mapping, not a model: a model costs more than its insert."""
    return {
        "id": ref,
        "tenant_id": one.tenant_id,
        "user_ref": one.user_ref,
        "session_hash": one.session_hash,
        "session_id": enclose(one.session_id),
        "last_received_at": one.received_at,
        "created_at": one.received_at,
        **_added(_Untouched(ref, one.received_at), one, policy),
    }


class _Counted(Protocol):
    """A session's row, as far as arrivals change it."""

    id: UUID
    agent_id: str | None
    thread_id: str | None
    ticket_id: str | None
    turn_count: int
    undigested_count: int
    undigested_tokens: int
    first_undigested_at: datetime | None
    last_received_at: datetime
    last_turn_at: datetime | None
    ended_at: datetime | None
    outcome: str | None


@dataclass(slots=True)
class _Untouched:
    """A session before its first arrivals."""

    id: UUID
    last_received_at: datetime
    agent_id: str | None = None
    thread_id: str | None = None
    ticket_id: str | None = None
    turn_count: int = 0
    undigested_count: int = 0
    undigested_tokens: int = 0
    first_undigested_at: datetime | None = None
    last_turn_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str | None = None


def _added(row: _Counted, one: Arrivals, policy: WindowPolicy) -> dict[str, object]:
    first = row.first_undigested_at or (one.received_at if one.turn_count else None)
    tokens = row.undigested_tokens + one.token_count
    last = max(row.last_received_at, one.received_at)
    ended = _latest(row.ended_at, one.ended_at)
    last_turn = _latest(row.last_turn_at, one.last_turn_at)
    due = due_at(
        first_undigested_at=first,
        last_received_at=last,
        undigested_tokens=tokens,
        has_ended=is_over(ended, last_turn),
        policy=policy,
    )
    return {
        "agent_id": one.agent_id or row.agent_id,
        "thread_id": one.thread_id or row.thread_id,
        "ticket_id": one.ticket_id or row.ticket_id,
        "turn_count": row.turn_count + one.turn_count,
        "undigested_count": row.undigested_count + one.turn_count,
        "undigested_tokens": tokens,
        "first_undigested_at": first,
        "last_received_at": last,
        "last_turn_at": last_turn,
        "due_at": due,
        "ended_at": ended,
        "outcome": one.outcome or row.outcome,
    }


def _latest(first: datetime | None, second: datetime | None) -> datetime | None:
    return max((at for at in (first, second) if at is not None), default=None)

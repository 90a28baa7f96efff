"""What SQL believes of each tenant's index: which one its records are in, and whether they all are.

The index is another store, which somebody may move, delete or restore. Its identity tells: it is made with the index,
and noted here with the first records that go into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, exists, or_, update
from sqlalchemy import select as pick
from sqlmodel import Session, col, select

from schemas.errors import ServiceError
from schemas.tables import IndexState, OutboxRow
from stores.generations import Opened
from stores.sql import database_now, insert_once

_BELIEVED = pick(col(IndexState.epoch), col(IndexState.is_whole), col(IndexState.generation)).where(
    col(IndexState.tenant_id) == bindparam("tenant")
)


@dataclass(frozen=True, slots=True)
class Lost:
    """A tenant whose records are not all in its index. `is_rebuilding`: they are owed again already."""

    tenant_id: UUID
    is_rebuilding: bool


def is_lost(session: Session, live: Opened, tenant_id: UUID) -> bool:
    """Whether a question of this tenant finds less than SQL knows: its index is gone, or not yet whole again.

    `live` is the generation that was asked, which another may have followed since: of that one nothing is said.
    """
    row = session.connection().execute(_BELIEVED, {"tenant": tenant_id}).first()
    if row is None or row.generation != live.number:
        return False
    try:
        return not row.is_whole or (row.epoch is not None and row.epoch != live.index.identity(tenant_id))
    except ServiceError:
        return True  # it cannot even say which one it is


def lost(session: Session, live: Opened, *, limit: int) -> list[Lost]:
    """Tenants whose index is gone or not whole, looking at the `limit` that changed last: a lost folder loses all."""
    rows = session.exec(
        select(IndexState).order_by(col(IndexState.is_whole), col(IndexState.changed_at).desc()).limit(limit)
    ).all()
    return [
        Lost(row.tenant_id, is_rebuilding=not _is_elsewhere(row, live))
        for row in rows
        if not row.is_whole or _is_elsewhere(row, live)
    ]


def gone(session: Session, live: Opened, *, after: UUID | None, limit: int) -> tuple[list[UUID], UUID | None]:
    """Of the next `limit` tenants in id order those whose index is another one now; and where to go on, or None."""
    query = select(IndexState).order_by(col(IndexState.tenant_id)).limit(limit)
    rows = session.exec(query if after is None else query.where(col(IndexState.tenant_id) > after)).all()
    found = [row.tenant_id for row in rows if _is_elsewhere(row, live)]
    return found, rows[-1].tenant_id if len(rows) == limit else None


def note(session: Session, tenant_id: UUID, identity: UUID, *, generation: int) -> bool:
    """Notes where records of a tenant have just been written. True when that is not where SQL believed them.

    `generation` is the live one, as of this transaction.
    """
    now = database_now(session)
    row = {"tenant_id": tenant_id, "epoch": identity, "is_whole": True, "walked_at": now, "changed_at": now}
    insert_once(session, IndexState, [{**row, "generation": generation, "walk": {}, "drift": {}}])
    found = session.connection().execute(_BELIEVED, {"tenant": tenant_id}).one()
    if found.generation != generation:
        # Noted for the generation before, as the switch came: that says nothing of this one.
        _change(session, tenant_id, generation=generation, epoch=identity, walked_at=None)
        return False
    if found.epoch == identity:
        return False
    if found.epoch is None:
        _change(session, tenant_id, epoch=identity)
        return False
    lose(session, tenant_id, identity, generation=generation)
    return True


def lose(
    session: Session, tenant_id: UUID, identity: UUID | None, *, generation: int, everything: bool = False
) -> None:
    """Has everything of a tenant owed again that the index does not hold, or, with `everything`, all of it.

    Nothing is changed where another `generation` has become the live one since. Repeat: begins anew.
    """
    now = database_now(session)
    row: dict[str, Any] = {"tenant_id": tenant_id, "generation": generation, "is_whole": True, "walk": {}, "drift": {}}
    insert_once(session, IndexState, [{**row, "changed_at": now}])
    same = (col(IndexState.tenant_id) == tenant_id, col(IndexState.generation) == generation)
    walk = {"all": True} if everything else {}
    session.connection().execute(
        update(IndexState)
        .where(*same)
        .values(epoch=identity, is_whole=False, walked_at=None, walk=walk, changed_at=now)
    )


def doubt(session: Session, incarnation: str, *, limit: int) -> int:
    """Has up to `limit` tenants compared again whose index was last doubted under another run of its server.

    Answers how many; the caller goes on until none is left. Nobody is told that anything is missing: it may not be.
    """
    query = select(IndexState).where(
        or_(col(IndexState.incarnation).is_(None), col(IndexState.incarnation) != incarnation)
    )
    rows = session.exec(query.order_by(col(IndexState.tenant_id)).limit(limit)).all()
    now = database_now(session)
    for row in rows:
        walk = {"all": True} if row.walk.get("all") else {}
        _change(session, row.tenant_id, incarnation=incarnation, walked_at=None, walk=walk, changed_at=now)
    return len(rows)


def next_walk(session: Session, *, every_seconds: float) -> IndexState | None:
    """The tenant to compare next: one whose index was lost, else the one not compared for longest, if that is long."""
    before = database_now(session) - timedelta(seconds=every_seconds)
    is_due = or_(col(IndexState.walked_at).is_(None), col(IndexState.walked_at) <= before)
    query = (
        select(IndexState)
        .where(is_due)
        .order_by(col(IndexState.is_whole), col(IndexState.walked_at).nulls_first(), col(IndexState.tenant_id))
        .limit(1)
    )
    return session.exec(query).first()


def keep_place(session: Session, state: IndexState, walk: dict[str, Any]) -> None:
    """Says where a walk stands, unless the tenant's index was lost meanwhile: then it begins anew."""
    _change_of(session, state, walk=walk)


def walked(session: Session, state: IndexState, drift: dict[str, int]) -> None:
    """A walk has come to its end."""
    _change_of(session, state, walk={}, drift=drift, walked_at=database_now(session))


def settle(session: Session) -> int:
    """Calls whole again what has nothing owed any more since its walk, but for what failed; answers how many."""
    waits = exists().where(
        col(OutboxRow.tenant_id) == col(IndexState.tenant_id),
        col(OutboxRow.created_at) <= col(IndexState.walked_at),
        col(OutboxRow.error_code).is_(None),
    )
    done = (
        update(IndexState)
        .where(col(IndexState.is_whole).is_(False), col(IndexState.walked_at).is_not(None), ~waits)
        .values(is_whole=True, changed_at=database_now(session))
    )
    return session.connection().execute(done).rowcount


def has_rebuilt(session: Session) -> bool:
    """Whether anything may be there for `settle`."""
    query = select(IndexState.tenant_id).where(
        col(IndexState.is_whole).is_(False), col(IndexState.walked_at).is_not(None)
    )
    return session.exec(query.limit(1)).first() is not None


def drift(session: Session) -> dict[str, int]:
    """What the last walks found, added up by kind."""
    added: dict[str, int] = {}
    for row in session.exec(select(IndexState)):
        for kind, count in row.drift.items():
            added[kind] = added.get(kind, 0) + int(count)
    return added


def _is_elsewhere(row: IndexState, live: Opened) -> bool:
    if row.epoch is None or row.generation != live.number:
        return False
    return row.epoch != live.index.identity(row.tenant_id)


def _change(session: Session, tenant_id: UUID, **values: object) -> None:
    session.connection().execute(update(IndexState).where(col(IndexState.tenant_id) == tenant_id).values(**values))


def _change_of(session: Session, state: IndexState, **values: object) -> None:
    same: datetime = state.changed_at
    statement = update(IndexState).where(
        col(IndexState.tenant_id) == state.tenant_id, col(IndexState.changed_at) == same
    )
    session.connection().execute(statement.values(**values))

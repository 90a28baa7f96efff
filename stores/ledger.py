"""The ledger: one row per event of a tenant, whatever became of it, and how often each producer's events arrived.

It is written before anything else of an event, so that its primary key, not a check, decides what is new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypedDict
from uuid import UUID

import sqlalchemy
from sqlalchemy import func, update
from sqlmodel import Session, col, select

from schemas.delivery import EventState
from schemas.tables import LedgerEntry, Reception, Turn
from stores.rows import among, insert_new
from stores.sql import upsert

_IDS_PER_QUERY = 500
_RECEPTION_KEY = ("tenant_id", "producer", "day")


class Entry(TypedDict):
    """A new row of the ledger. A mapping, not a model: a model costs more than its insert."""

    tenant_id: UUID
    event_id: UUID
    kind: str
    state: str
    reason: str | None
    content_hash: str
    producer: str | None
    session_ref: UUID | None
    window_id: UUID | None
    received_at: datetime


class Known(NamedTuple):
    """What the ledger already says about an event."""

    content_hash: str
    state: str
    reason: str | None


class Tally(NamedTuple):
    """How many events of a batch ended how."""

    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    dead: int = 0


def enter(session: Session, tenant_id: UUID, entries: Sequence[Entry]) -> dict[UUID, Known]:
    """Enters events of a tenant once; answers those that were there before, as they stand, by id.

    A row that only says `rejected` is no obstacle: the event is entered in its place and counts as new.
    """
    fresh = insert_new(session, LedgerEntry, entries)
    if len(fresh) == len(entries):
        return {}
    inserted = {row["event_id"] for row in fresh}
    missed = [entry for entry in entries if entry["event_id"] not in inserted]
    known = look_up(session, tenant_id, [entry["event_id"] for entry in missed])
    for entry in missed:
        if known[entry["event_id"]].state == EventState.REJECTED and entry["state"] != EventState.REJECTED:
            _replace(session, entry)
            del known[entry["event_id"]]
    return known


def look_up(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> dict[UUID, Known]:
    """What the ledger says of these events, by id; unknown ones are left out."""
    found: dict[UUID, Known] = {}
    for start in range(0, len(event_ids), _IDS_PER_QUERY):
        query = select(LedgerEntry.event_id, LedgerEntry.content_hash, LedgerEntry.state, LedgerEntry.reason).where(
            LedgerEntry.tenant_id == tenant_id,
            among(session, LedgerEntry.event_id, event_ids[start : start + _IDS_PER_QUERY]),
        )
        found.update({row[0]: Known(row[1], row[2], row[3]) for row in session.exec(query)})
    return found


def mark(
    session: Session, tenant_id: UUID, event_ids: Sequence[UUID], state: EventState, reason: str | None = None
) -> None:
    """Moves events to a state."""
    for start in range(0, len(event_ids), _IDS_PER_QUERY):
        statement = (
            update(LedgerEntry)
            .where(
                col(LedgerEntry.tenant_id) == tenant_id,
                col(LedgerEntry.event_id).in_(event_ids[start : start + _IDS_PER_QUERY]),
            )
            .values(state=state.value, reason=reason)
        )
        session.connection().execute(statement)


def enter_window(session: Session, tenant_id: UUID, window_id: UUID) -> None:
    """Notes the window of the events whose turns went into it."""
    of_window = sqlalchemy.select(col(Turn.event_id)).where(col(Turn.window_id) == window_id)
    statement = (
        update(LedgerEntry)
        .where(col(LedgerEntry.tenant_id) == tenant_id, col(LedgerEntry.event_id).in_(of_window))
        .values(window_id=window_id)
    )
    session.connection().execute(statement)


def close_window(session: Session, window_id: UUID, state: EventState) -> None:
    """Moves the stored events of a window to `digested` or `dead_window`; erased and purged ones stay so."""
    _move_window(session, window_id, EventState.STORED, state)


def reopen_window(session: Session, window_id: UUID) -> None:
    """Takes the events of a dead window back to `stored`."""
    _move_window(session, window_id, EventState.DEAD_WINDOW, EventState.STORED)


def count(session: Session, tenant_id: UUID, day: datetime, tallies: Mapping[str, Tally]) -> None:
    """Adds a batch's receptions, by producer, to the UTC day of `day`."""
    rows = [
        {"tenant_id": tenant_id, "producer": producer, "day": day.date(), **tally._asdict()}
        for producer, tally in tallies.items()
    ]
    upsert(session, Reception, rows, key=_RECEPTION_KEY, add=Tally._fields)


def states(session: Session, tenant_id: UUID | None = None) -> dict[str, int]:
    """How many events stand in each state; of every tenant when none is given."""
    query = select(LedgerEntry.state, func.count()).group_by(col(LedgerEntry.state))
    if tenant_id is not None:
        query = query.where(LedgerEntry.tenant_id == tenant_id)
    return {row[0]: row[1] for row in session.exec(query)}


def receptions(session: Session, tenant_id: UUID | None = None) -> Tally:
    """All receptions, added up; of every tenant when none is given."""
    query = sqlalchemy.select(*(func.coalesce(func.sum(col(getattr(Reception, name))), 0) for name in Tally._fields))
    if tenant_id is not None:
        query = query.where(col(Reception.tenant_id) == tenant_id)
    return Tally(*map(int, session.connection().execute(query).one()))


def _replace(session: Session, entry: Entry) -> None:
    statement = (
        update(LedgerEntry)
        .where(
            col(LedgerEntry.tenant_id) == entry["tenant_id"],
            col(LedgerEntry.event_id) == entry["event_id"],
            col(LedgerEntry.state) == EventState.REJECTED.value,
        )
        .values(**{name: value for name, value in entry.items() if name not in ("tenant_id", "event_id")})
    )
    session.connection().execute(statement)


def _move_window(session: Session, window_id: UUID, before: EventState, after: EventState) -> None:
    statement = (
        update(LedgerEntry)
        .where(col(LedgerEntry.window_id) == window_id, col(LedgerEntry.state) == before.value)
        .values(state=after.value)
    )
    session.connection().execute(statement)

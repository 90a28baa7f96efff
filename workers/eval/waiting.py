"""What still waits, by tenant, in one snapshot: arrivals, undigested turns, open windows, owed index writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func
from sqlmodel import Session, col, select

from schemas.delivery import WindowState
from schemas.tables import DeadLetter, OutboxRow, Reception, Turn, Window
from schemas.tables import Session as SessionRow
from stores import jobs
from stores.sql import Database, database_now

POLL_SECONDS = 0.05
_OPEN = (WindowState.WAITING.value, WindowState.ANSWERED.value)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Counts of one tenant."""

    arrived: int = 0
    undigested: int = 0
    due: int = 0
    windows: int = 0
    owed: int = 0

    @property
    def is_quiet(self) -> bool:
        """Everything that was said is digested and indexed."""
        return not (self.undigested or self.windows or self.owed)

    @property
    def is_done_with_due(self) -> bool:
        """Whatever was due is digested and indexed; the rest may wait."""
        return not (self.due or self.windows or self.owed)


def look(session: Session, tenants: Collection[UUID]) -> dict[UUID, Waiting]:
    """The counts of these tenants."""
    received = col(Reception.stored) + col(Reception.duplicate) + col(Reception.rejected) + col(Reception.dead)
    arrived = dict(
        session.exec(
            select(Reception.tenant_id, func.sum(received))
            .where(col(Reception.tenant_id).in_(tenants))
            .group_by(col(Reception.tenant_id))
        ).all()
    )
    undigested = _by_tenant(session, Turn, tenants, col(Turn.window_id).is_(None))
    due = _by_tenant(session, SessionRow, tenants, col(SessionRow.due_at) <= database_now(session))
    windows = _by_tenant(session, Window, tenants, col(Window.state).in_(_OPEN))
    owed = _by_tenant(session, OutboxRow, tenants)
    return {
        one: Waiting(
            arrived.get(one, 0), undigested.get(one, 0), due.get(one, 0), windows.get(one, 0), owed.get(one, 0)
        )
        for one in tenants
    }


def lost(session: Session, tenant_id: UUID) -> list[str]:
    """The codes of this tenant's dead letters, and of windows that were put off."""
    dead = session.exec(select(DeadLetter.kind, DeadLetter.error_code).where(DeadLetter.tenant_id == tenant_id)).all()
    late = session.exec(
        select(Window.error_code).where(Window.tenant_id == tenant_id, col(Window.state).in_(_OPEN))
    ).all()
    return [f"dead {kind}: {code}" for kind, code in dead] + [f"a window waits: {code or 'in work'}" for code in late]


def until(
    db: Database, tenants: Sequence[UUID], is_ready: Callable[[UUID, Waiting], bool], *, timeout_seconds: float
) -> list[UUID]:
    """Waits until every tenant is ready; answers those that are not when for so long nothing has moved at all.

    How much work a day holds is the file's choice, so that only a standstill is a fault.
    """
    left, before = list(tenants), dict[UUID, Waiting]()
    deadline = time.monotonic() + timeout_seconds
    while left:
        with db.read() as session:
            found = look(session, left)
        if found != before:
            before, deadline = found, time.monotonic() + timeout_seconds
        elif time.monotonic() > deadline:
            return left
        left = [one for one in left if not is_ready(one, found[one])]
        if left:
            time.sleep(POLL_SECONDS)
    return []


def job_done(db: Database, name: str, *, since: datetime | None, timeout_seconds: float) -> bool:
    """Waits until a beat job has succeeded after `since`, its time of success before."""
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        with db.read() as session:
            row = jobs.current(session, name)
        if row is not None and row.last_success_at is not None and row.last_success_at != since:
            return True
        time.sleep(POLL_SECONDS)
    return False


def last_success(db: Database, name: str) -> datetime | None:
    """When a beat job last succeeded."""
    with db.read() as session:
        row = jobs.current(session, name)
        return None if row is None else row.last_success_at


def _by_tenant(
    session: Session,
    table: type[Turn] | type[SessionRow] | type[Window] | type[OutboxRow],
    tenants: Collection[UUID],
    *where: object,
) -> dict[UUID, int]:
    found = session.exec(
        select(col(table.tenant_id), func.count())
        .where(col(table.tenant_id).in_(tenants), *where)  # pyright: ignore[reportArgumentType]  any condition
        .group_by(col(table.tenant_id))
    )
    return {tenant_id: count for tenant_id, count in found.all()}

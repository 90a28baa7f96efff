"""Windows as rows: claimed in fair tenant order, finished by whoever holds the epoch, buried or revived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, literal, or_, update
from sqlmodel import Session, col, select

from schemas.delivery import EventState, WindowState
from schemas.errors import StaleClaim
from schemas.tables import Session as SessionRow
from schemas.tables import Tenant, User, Window
from stores import dead, ledger
from stores.sql import Database, database_now

# Written into the statement as they stand: a parameter would hide from the planner that a partial index fits.
_ANSWERED = literal(WindowState.ANSWERED.value, literal_execute=True)
OPEN = (literal(WindowState.WAITING.value, literal_execute=True), _ANSWERED)
_TENANTS_PER_CLAIM = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A window that is ours until the lease ends. `answer` is the stored one, when a worker before us got that far.

    `attempts` counts claims, this one included, but for those that were given back without blame. `turn_ids` are in
    conversation order. `waited_seconds` is the window's age when it was claimed, by the database's clock.
    `is_answered`: the stored answer is whole. `is_suspect`: a worker was lost over it, so it must run alone; `crashes`
    counts the runs alone without an outcome, this one included.
    """

    window_id: UUID
    epoch: int
    tenant_id: UUID
    user_ref: UUID
    session_ref: UUID
    turn_ids: tuple[UUID, ...]
    generation: int
    prompt_version: str
    answer: bytes | None
    attempts: int
    waited_seconds: float = 0.0
    is_answered: bool = False
    is_suspect: bool = False
    crashes: int = 0


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits: windows that could be claimed now, windows that are claimed, sessions that could be cut now."""

    due: int
    running: int
    due_sessions: int


def claim_next(
    db: Database,
    *,
    lease_seconds: float,
    with_suspects: bool = True,
    answered_only: bool = False,
    max_crashes: int | None = None,
) -> Claim | None:
    """The next due window, ours for `lease_seconds`, committed; None when nothing is due or somebody was faster.

    Fair: among tenants with due work, the one with the fewest running claims, then the one served least recently.
    Inside a tenant the window that has been due longest. A suspect window is given out only to who can run it alone,
    and one that took `max_crashes` processes with it to nobody: it waits to be buried.
    """
    return db.write(
        lambda session: claim(
            session,
            lease_seconds=lease_seconds,
            with_suspects=with_suspects,
            answered_only=answered_only,
            max_crashes=max_crashes,
        )
    )


def claim(
    session: Session,
    *,
    lease_seconds: float,
    with_suspects: bool = True,
    answered_only: bool = False,
    max_crashes: int | None = None,
) -> Claim | None:
    """`claim_next` inside the caller's transaction, which must commit before the work begins."""
    wanted = _Wanted(with_suspects=with_suspects, answered_only=answered_only, max_crashes=max_crashes)
    now = database_now(session)
    for tenant_id in _tenants_in_turn(session, now, wanted):
        row = session.exec(
            select(Window)
            .where(Window.tenant_id == tenant_id, wanted.is_due(now))
            .order_by(col(Window.next_try_at), col(Window.id))
            .limit(1)
            .with_for_update(skip_locked=True)
        ).first()
        if row is not None and (taken := _take(session, row, now, lease_seconds, wanted)) is not None:
            served = update(Tenant).where(col(Tenant.id) == tenant_id).values(served_at=now)
            session.connection().execute(served)
            return taken
    return None


def claim_of(row: Window, now: datetime) -> Claim:
    """The claim on a row as it stands now."""
    return Claim(
        window_id=row.id,
        epoch=row.epoch,
        tenant_id=row.tenant_id,
        user_ref=row.user_ref,
        session_ref=row.session_ref,
        turn_ids=tuple(UUID(event_id) for event_id in row.turn_ids),
        generation=row.generation,
        prompt_version=row.prompt_version,
        answer=row.answer,
        attempts=row.attempts,
        waited_seconds=max(0.0, (now - row.created_at).total_seconds()),
        is_answered=row.state == WindowState.ANSWERED,
        crashes=row.crashes,
    )


def hold(session: Session, claim: Claim) -> None:
    """Keeps the window, and its user's generation, as they are until the transaction ends.

    Raises: StaleClaim when the lease has run out, somebody else has the window, or the user was erased.
    """
    _hold(session, claim)


def save_part(session: Session, claim: Claim, answer: bytes, *, lease_seconds: float) -> None:
    """Keeps the steps of an unfinished answer, and holds the window for another lease. Raises: StaleClaim."""
    _hold(session, claim)
    until = database_now(session) + timedelta(seconds=lease_seconds)
    _change(session, claim, answer=answer, lease_until=until)


def save_answer(session: Session, claim: Claim, answer: bytes, usage: dict[str, Any] | None = None) -> None:
    """Keeps the model's answer, so that a worker that dies from here on pays nothing again. Raises: StaleClaim.

    `usage` of None leaves what was charged call by call.
    """
    _hold(session, claim)
    spent = {} if usage is None else {"usage": usage}
    _change(session, claim, state=WindowState.ANSWERED.value, answer=answer, **spent)


def finish(session: Session, claim: Claim) -> None:
    """The window is applied and its turns are digested. Raises: StaleClaim."""
    _hold(session, claim)
    _change(
        session,
        claim,
        state=WindowState.APPLIED.value,
        applied_at=database_now(session),
        lease_until=None,
        crashes=0,
        error_code=None,
    )
    ledger.close_window(session, claim.window_id, EventState.DIGESTED)


def postpone(session: Session, claim: Claim, error_code: str, delay_seconds: float, *, is_blamed: bool = True) -> None:
    """Gives the window back, not to be tried again for `delay_seconds`; without blame the attempt does not count.

    A suspect that was not even tried stays one: a model that is away says nothing about what the window does to a
    process. Raises: StaleClaim.
    """
    _hold(session, claim)
    now = database_now(session)
    attempts = claim.attempts if is_blamed else claim.attempts - 1
    changes: dict[str, Any] = {"lease_until": None, "crashes": 0, "attempts": attempts}
    if claim.is_suspect and not is_blamed:
        # The epoch moves on, so that whoever waits for its process sees an outcome.
        changes = {"lease_until": now, "crashes": col(Window.crashes) - 1, "epoch": claim.epoch + 1}
    _change(session, claim, next_try_at=now + timedelta(seconds=delay_seconds), error_code=error_code, **changes)


def bury(session: Session, claim: Claim, error_code: str) -> None:
    """The window becomes a dead letter (its key is the window's id), its turns `dead_window`. Raises: StaleClaim."""
    _hold(session, claim)
    _bury(session, claim.window_id, claim.tenant_id, user_ref=claim.user_ref, attempts=claim.attempts, code=error_code)


def bury_lost(session: Session, *, max_crashes: int, limit: int = 100) -> int:
    """Buries windows over which `max_crashes` processes of their own died; answers how many."""
    now = database_now(session)
    lost = session.exec(
        select(Window)
        .where(
            col(Window.lease_until) <= now,
            col(Window.state).in_(OPEN),
            col(Window.crashes) >= max_crashes,
        )
        # By their leases: in the order of ids SQLite reads every window there is.
        .order_by(col(Window.lease_until), col(Window.id))
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    for row in lost:
        _bury(session, row.id, row.tenant_id, user_ref=row.user_ref, attempts=row.crashes, code="worker_lost")
    return len(lost)


def revive(session: Session, window_id: UUID) -> bool:
    """Makes a dead window due again, with no attempts and the answer it had.

    False when it is not dead, or its user was erased since: then nothing of it may come back.
    """
    row = session.exec(select(Window).where(Window.id == window_id).with_for_update()).one_or_none()
    if row is None or row.state != WindowState.DEAD:
        return False
    if session.exec(select(User.generation).where(User.id == row.user_ref)).one_or_none() != row.generation:
        return False
    statement = (
        update(Window)
        .where(col(Window.id) == window_id)
        .values(
            state=(WindowState.WAITING if row.answer is None else WindowState.ANSWERED).value,
            epoch=row.epoch + 1,
            attempts=0,
            crashes=0,
            lease_until=None,
            next_try_at=database_now(session),
            error_code=None,
        )
    )
    session.connection().execute(statement)
    ledger.reopen_window(session, window_id)
    return True


def backlog(session: Session, *, answered_only: bool = False) -> Backlog:
    """What waits now, by the database's clock. `answered_only`: of due windows, those that need no model any more."""
    now = database_now(session)
    is_due = _Wanted(answered_only=answered_only).is_due(now)
    due = session.exec(select(func.count()).select_from(Window).where(is_due)).one()
    running = session.exec(select(func.count()).select_from(Window).where(col(Window.lease_until) > now)).one()
    sessions = session.exec(select(func.count()).select_from(SessionRow).where(col(SessionRow.due_at) <= now)).one()
    return Backlog(due, running, sessions)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which due windows a worker takes."""

    with_suspects: bool = True
    answered_only: bool = False
    max_crashes: int | None = None

    def is_due(self, now: datetime) -> ColumnElement[bool]:
        is_free = col(Window.lease_until).is_(None)
        return and_(
            col(Window.state).in_(OPEN),
            *((col(Window.state) == _ANSWERED,) if self.answered_only else ()),
            col(Window.next_try_at) <= now,
            or_(is_free, self._is_suspect(now)) if self.with_suspects else is_free,
        )

    def _is_suspect(self, now: datetime) -> ColumnElement[bool]:
        is_lost = col(Window.lease_until) <= now
        return is_lost if self.max_crashes is None else and_(is_lost, col(Window.crashes) < self.max_crashes)


def _take(session: Session, row: Window, now: datetime, lease_seconds: float, wanted: _Wanted) -> Claim | None:
    """The claim, unless somebody was faster. A suspect's attempt takes the place of the lost one, which is no fault."""
    is_suspect = row.lease_until is not None
    epoch, attempts = row.epoch + 1, row.attempts + (0 if is_suspect else 1)
    taken = (
        update(Window)
        .where(col(Window.id) == row.id, col(Window.epoch) == row.epoch, wanted.is_due(now))
        .values(
            epoch=epoch,
            attempts=attempts,
            crashes=row.crashes + (1 if is_suspect else 0),
            lease_until=now + timedelta(seconds=lease_seconds),
        )
    )
    if session.connection().execute(taken).rowcount != 1:
        return None
    session.refresh(row)
    return replace(claim_of(row, now), is_suspect=is_suspect)


def _tenants_in_turn(session: Session, now: datetime, wanted: _Wanted) -> Sequence[UUID]:
    running = (
        select(col(Window.tenant_id), func.count().label("claims"))
        .where(col(Window.lease_until) > now)
        .group_by(col(Window.tenant_id))
        .subquery()
    )
    has_due = select(Window.id).where(col(Window.tenant_id) == col(Tenant.id), wanted.is_due(now)).exists()
    query = (
        select(Tenant.id)
        .outerjoin(running, running.c.tenant_id == col(Tenant.id))
        .where(has_due)
        .order_by(func.coalesce(running.c.claims, 0), col(Tenant.served_at).asc().nulls_first(), col(Tenant.id))
        .limit(_TENANTS_PER_CLAIM)
    )
    return session.exec(query).all()


def _hold(session: Session, claim: Claim) -> None:
    # The user's row first, as everywhere: an erasure that holds it is waited for, and then seen.
    generation = session.exec(
        select(User.generation).where(User.id == claim.user_ref).with_for_update(read=True)
    ).one_or_none()
    # A lease that has run out is over, even while nobody else has taken the window yet.
    epoch = session.exec(
        select(Window.epoch)
        .where(
            Window.id == claim.window_id,
            col(Window.state).in_(OPEN),
            col(Window.lease_until) > database_now(session),
        )
        .with_for_update()
    ).one_or_none()
    if generation != claim.generation or epoch != claim.epoch:
        msg = f"window {claim.window_id}: claim {claim.epoch} no longer stands"
        raise StaleClaim(msg)


def _change(session: Session, claim: Claim, **values: object) -> None:
    statement = update(Window).where(col(Window.id) == claim.window_id).values(**values)
    session.connection().execute(statement)


def _bury(session: Session, window_id: UUID, tenant_id: UUID, *, user_ref: UUID, attempts: int, code: str) -> None:
    statement = (
        update(Window)
        .where(col(Window.id) == window_id)
        .values(state=WindowState.DEAD.value, lease_until=None, error_code=code, epoch=col(Window.epoch) + 1)
    )
    session.connection().execute(statement)
    dead.put(
        session,
        kind=dead.WINDOW,
        key=str(window_id),
        error_code=code,
        tenant_id=tenant_id,
        user_ref=user_ref,
        attempts=attempts,
    )
    ledger.close_window(session, window_id, EventState.DEAD_WINDOW)

"""Windows as rows: cut under the session's lock, claimed in fair tenant order, finished by whoever holds the epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, update
from sqlmodel import Session, col, select

from memory.windows import WindowPolicy, cut, due_at
from schemas.delivery import EventState, WindowState
from schemas.errors import StaleClaim
from schemas.tables import Session as SessionRow
from schemas.tables import Tenant, Turn, User, Window
from stores import dead, ledger, sessions, turns
from stores.sql import Database, database_now, insert_once

_OPEN = (WindowState.WAITING.value, WindowState.ANSWERED.value)
_TENANTS_PER_CLAIM = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A window that is ours until the lease ends. `answer` is the stored one, when a worker before us got that far.

    `attempts` counts claims, this one included, but for those that were given back without blame. `turn_ids` are in
    conversation order. `waited_seconds` is the window's age when it was claimed, by the database's clock.
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


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits: windows that could be claimed now, windows that are claimed, sessions that could be cut now."""

    due: int
    running: int
    due_sessions: int


def cut_due(
    session: Session,
    *,
    policy: WindowPolicy,
    limit: int,
    new_id: Callable[[], UUID],
    prompt_version: str,
) -> int:
    """Cuts the undigested turns of up to `limit` due sessions into windows; answers how many sessions it looked at.

    Each session's row is locked meanwhile, and one that somebody else holds is left to them. A session that goes on
    keeps the turns of a last window that still has room; late turns become windows of their own.
    """
    now = database_now(session)
    due = session.exec(
        select(SessionRow)
        .where(col(SessionRow.due_at) <= now)
        .order_by(col(SessionRow.due_at), col(SessionRow.id))
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    for row in due:
        _cut_session(session, row, policy=policy, now=now, new_id=new_id, prompt_version=prompt_version)
    return len(due)


def claim_next(db: Database, *, lease_seconds: float) -> Claim | None:
    """The next due window, ours for `lease_seconds`, committed; None when nothing is due or somebody was faster.

    Fair: among tenants with due work, the one with the fewest running claims, then the one served least recently.
    Inside a tenant the window that has been due longest.
    """
    return db.write(lambda session: _claim(session, lease_seconds))


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
        error_code=None,
    )
    ledger.close_window(session, claim.window_id, EventState.DIGESTED)


def postpone(session: Session, claim: Claim, error_code: str, delay_seconds: float, *, is_blamed: bool = True) -> None:
    """Gives the window back, not to be tried again for `delay_seconds`; without blame the attempt does not count.

    Raises: StaleClaim.
    """
    _hold(session, claim)
    at = database_now(session) + timedelta(seconds=delay_seconds)
    attempts = claim.attempts if is_blamed else claim.attempts - 1
    _change(session, claim, lease_until=None, next_try_at=at, error_code=error_code, attempts=attempts)


def bury(session: Session, claim: Claim, error_code: str) -> None:
    """The window becomes a dead letter (its key is the window's id), its turns `dead_window`. Raises: StaleClaim."""
    _hold(session, claim)
    _bury(session, claim.window_id, claim.tenant_id, user_ref=claim.user_ref, attempts=claim.attempts, code=error_code)


def bury_lost(session: Session, *, max_attempts: int, limit: int = 100) -> int:
    """Buries windows whose workers were lost `max_attempts` times, without any outcome; answers how many."""
    now = database_now(session)
    lost = session.exec(
        select(Window)
        .where(
            col(Window.lease_until) <= now,
            col(Window.state).in_(_OPEN),
            col(Window.attempts) >= max_attempts,
        )
        .order_by(col(Window.id))
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    for row in lost:
        _bury(session, row.id, row.tenant_id, user_ref=row.user_ref, attempts=row.attempts, code="worker_lost")
    return len(lost)


def revive(session: Session, window_id: UUID) -> bool:
    """Makes a dead window due again, with no attempts and the answer it had. False when it is not dead."""
    row = session.exec(select(Window).where(Window.id == window_id).with_for_update()).one_or_none()
    if row is None or row.state != WindowState.DEAD:
        return False
    statement = (
        update(Window)
        .where(col(Window.id) == window_id)
        .values(
            state=(WindowState.WAITING if row.answer is None else WindowState.ANSWERED).value,
            epoch=row.epoch + 1,
            attempts=0,
            lease_until=None,
            next_try_at=database_now(session),
            error_code=None,
        )
    )
    session.connection().execute(statement)
    ledger.reopen_window(session, window_id)
    return True


def backlog(session: Session) -> Backlog:
    """What waits now, by the database's clock."""
    now = database_now(session)
    due = session.exec(select(func.count()).select_from(Window).where(_is_due(now))).one()
    running = session.exec(select(func.count()).select_from(Window).where(col(Window.lease_until) > now)).one()
    sessions = session.exec(select(func.count()).select_from(SessionRow).where(col(SessionRow.due_at) <= now)).one()
    return Backlog(due, running, sessions)


def _cut_session(
    session: Session,
    row: SessionRow,
    *,
    policy: WindowPolicy,
    now: datetime,
    new_id: Callable[[], UUID],
    prompt_version: str,
) -> None:
    waiting = turns.undigested(session, row.id)
    idle = due_at(
        first_undigested_at=row.first_undigested_at,
        last_received_at=row.last_received_at,
        undigested_tokens=0,
        has_ended=sessions.is_over(row.ended_at, row.last_turn_at),
        policy=policy,
    )
    is_over = idle is None or idle <= now
    generation = session.exec(select(User.generation).where(User.id == row.user_ref)).one()
    by_id = {turn.event_id: turn for turn in waiting}
    for ids in cut(turns.sizes(waiting), policy, only_full=not is_over):
        window_id = new_id()
        window = Window(
            id=window_id,
            tenant_id=row.tenant_id,
            user_ref=row.user_ref,
            session_ref=row.id,
            turn_ids=[str(event_id) for event_id in ids],
            token_count=sum(by_id[event_id].token_count for event_id in ids),
            prompt_version=prompt_version,
            generation=generation,
            next_try_at=now,
            created_at=now,
        )
        insert_once(session, Window, [window])
        turns.assign(session, row.tenant_id, ids, window_id)
        ledger.enter_window(session, row.tenant_id, ids, window_id)
        for event_id in ids:
            del by_id[event_id]
    _settle(session, row, list(by_id.values()), policy)


def _settle(session: Session, row: SessionRow, left: Sequence[Turn], policy: WindowPolicy) -> None:
    first = min((turn.received_at for turn in left), default=None)
    tokens = sum(turn.token_count for turn in left)
    statement = (
        update(SessionRow)
        .where(col(SessionRow.id) == row.id)
        .values(
            undigested_count=len(left),
            undigested_tokens=tokens,
            first_undigested_at=first,
            due_at=due_at(
                first_undigested_at=first,
                last_received_at=row.last_received_at,
                undigested_tokens=tokens,
                has_ended=sessions.is_over(row.ended_at, row.last_turn_at),
                policy=policy,
            ),
        )
    )
    session.connection().execute(statement)


def _claim(session: Session, lease_seconds: float) -> Claim | None:
    now = database_now(session)
    for tenant_id in _tenants_in_turn(session, now):
        row = session.exec(
            select(Window)
            .where(Window.tenant_id == tenant_id, _is_due(now))
            .order_by(col(Window.next_try_at), col(Window.id))
            .limit(1)
            .with_for_update(skip_locked=True)
        ).first()
        if row is None:
            continue
        taken = (
            update(Window)
            .where(col(Window.id) == row.id, col(Window.epoch) == row.epoch, _is_due(now))
            .values(
                epoch=row.epoch + 1,
                attempts=row.attempts + 1,
                lease_until=now + timedelta(seconds=lease_seconds),
            )
        )
        if session.connection().execute(taken).rowcount == 1:
            served = update(Tenant).where(col(Tenant.id) == tenant_id).values(served_at=now)
            session.connection().execute(served)
            return _as_claim(row, now)
    return None


def _tenants_in_turn(session: Session, now: datetime) -> Sequence[UUID]:
    running = (
        select(col(Window.tenant_id), func.count().label("claims"))
        .where(col(Window.lease_until) > now)
        .group_by(col(Window.tenant_id))
        .subquery()
    )
    has_due = select(Window.id).where(col(Window.tenant_id) == col(Tenant.id), _is_due(now)).exists()
    query = (
        select(Tenant.id)
        .outerjoin(running, running.c.tenant_id == col(Tenant.id))
        .where(has_due)
        .order_by(func.coalesce(running.c.claims, 0), col(Tenant.served_at).asc().nulls_first(), col(Tenant.id))
        .limit(_TENANTS_PER_CLAIM)
    )
    return session.exec(query).all()


def _is_due(now: datetime) -> ColumnElement[bool]:
    return and_(
        col(Window.state).in_(_OPEN),
        col(Window.next_try_at) <= now,
        or_(col(Window.lease_until).is_(None), col(Window.lease_until) <= now),
    )


def _as_claim(row: Window, now: datetime) -> Claim:
    return Claim(
        window_id=row.id,
        epoch=row.epoch + 1,
        tenant_id=row.tenant_id,
        user_ref=row.user_ref,
        session_ref=row.session_ref,
        turn_ids=tuple(UUID(event_id) for event_id in row.turn_ids),
        generation=row.generation,
        prompt_version=row.prompt_version,
        answer=row.answer,
        attempts=row.attempts + 1,
        waited_seconds=max(0.0, (now - row.created_at).total_seconds()),
    )


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
            col(Window.state).in_(_OPEN),
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

"""Working states as rows: every patch stays in a log, and a state is the fold of its log in the order of events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID, uuid5

from sqlalchemy import update
from sqlmodel import Session, col, select

from memory.working import PatchView, fold
from schemas.envelopes import disclose_json, enclose_json
from schemas.tables import StatePatch, WorkingState
from stores.sql import insert_once

SESSION, THREAD, TICKET = "session", "thread", "ticket"


def patch(session: Session, patches: Sequence[StatePatch]) -> None:
    """Keeps patches and folds each state that they touch again. Repeat: a patch that is there changes nothing.

    A patch that arrives late finds its place in the log, so that the order of arrival cannot matter.
    """
    insert_once(session, StatePatch, patches)
    touched: dict[tuple[UUID, str, str], StatePatch] = {}
    for one in patches:
        touched[one.tenant_id, one.scope, one.scope_key] = one
    for (tenant_id, scope, scope_key), one in sorted(touched.items(), key=lambda item: item[0][1:]):
        _refold(session, tenant_id, scope, scope_key, user_ref=one.user_ref)


def read(session: Session, tenant_id: UUID, scope: str, scope_key: str) -> dict[str, Any] | None:
    """The state as it stands; None where nobody has set one."""
    row = find(session, tenant_id, scope, scope_key)
    return None if row is None else cast("dict[str, Any]", disclose_json(row.state))


def find(session: Session, tenant_id: UUID, scope: str, scope_key: str) -> WorkingState | None:
    """The state's row."""
    return session.exec(
        select(WorkingState).where(
            WorkingState.tenant_id == tenant_id, WorkingState.scope == scope, WorkingState.scope_key == scope_key
        )
    ).one_or_none()


def checkpoint(session: Session, tenant_id: UUID, session_ref: UUID, at: datetime) -> None:
    """Notes that the session ended with its state as it is."""
    _stamp(session, tenant_id, SESSION, str(session_ref), checkpointed_at=at)


def end_ticket(session: Session, tenant_id: UUID, ticket_id: str, at: datetime) -> None:
    """Ends a ticket's state: it is no longer live."""
    _stamp(session, tenant_id, TICKET, ticket_id, ended_at=at)


def _stamp(session: Session, tenant_id: UUID, scope: str, scope_key: str, **values: datetime) -> None:
    statement = (
        update(WorkingState)
        .where(
            col(WorkingState.tenant_id) == tenant_id,
            col(WorkingState.scope) == scope,
            col(WorkingState.scope_key) == scope_key,
        )
        .values(**values, row_version=col(WorkingState.row_version) + 1)
    )
    session.connection().execute(statement)


def _refold(session: Session, tenant_id: UUID, scope: str, scope_key: str, *, user_ref: UUID) -> None:
    # A state is named by its scope, so its id follows from it.
    state_id = uuid5(tenant_id, f"state:{scope}:{scope_key}")
    empty = WorkingState(
        id=state_id,
        tenant_id=tenant_id,
        user_ref=user_ref,
        scope=scope,
        scope_key=scope_key,
        state=enclose_json({}),
        updated_at=datetime.min.replace(tzinfo=UTC),
        row_version=0,
    )
    insert_once(session, WorkingState, [empty])
    # Locked before the log is read: whoever writes the same ticket at the same time folds after us, with our patches.
    session.exec(select(WorkingState.id).where(WorkingState.id == state_id).with_for_update()).one()
    log = session.exec(
        select(StatePatch.event_id, StatePatch.at, StatePatch.patch)
        .where(StatePatch.tenant_id == tenant_id, StatePatch.scope == scope, StatePatch.scope_key == scope_key)
        .order_by(col(StatePatch.at), col(StatePatch.event_id))
    ).all()
    statement = (
        update(WorkingState)
        .where(col(WorkingState.id) == state_id)
        .values(
            state=enclose_json(
                fold([PatchView(event_id=one[0], at=one[1], patch=disclose_json(one[2])) for one in log])
            ),
            updated_at=log[-1][1],
            row_version=col(WorkingState.row_version) + 1,
        )
    )
    session.connection().execute(statement)

"""Whether the model may be asked now, as one row that every worker shares. Nobody sleeps over it."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import update
from sqlmodel import Session, col, select

from memory.circuit import CircuitPolicy, CircuitState, after_failure
from schemas.tables import Circuit
from stores.sql import database_now, insert_once

MODEL = "model"


def look(session: Session, name: str = MODEL) -> CircuitState:
    """The circuit as it stands."""
    row = session.exec(select(Circuit).where(Circuit.name == name)).one_or_none()
    return CircuitState() if row is None else _state(row)


def wait_seconds(session: Session, name: str = MODEL) -> float:
    """Seconds for which nobody may ask; 0.0 when somebody may now."""
    state = look(session, name)
    return 0.0 if state.is_closed else state.wait_seconds(database_now(session))


def last_error(session: Session, name: str = MODEL) -> str | None:
    """The code of the failure that came last, while it has not been made good."""
    return session.exec(select(Circuit.error_code).where(Circuit.name == name, col(Circuit.failures) > 0)).one_or_none()


def take_probe(session: Session, deadline_seconds: float, name: str = MODEL) -> bool:
    """Whether this caller is the one that tries an open circuit that has rested. A lost probe makes way in time."""
    now = database_now(session)
    statement = (
        update(Circuit)
        .where(
            col(Circuit.name) == name,
            col(Circuit.opened_until) <= now,
            col(Circuit.probe_until).is_(None) | (col(Circuit.probe_until) <= now),
        )
        .values(probe_until=now + timedelta(seconds=deadline_seconds), changed_at=now)
    )
    return session.connection().execute(statement).rowcount == 1


def failed(
    session: Session,
    code: str,
    retry_after_seconds: float | None,
    policy: CircuitPolicy,
    *,
    name: str = MODEL,
) -> CircuitState:
    """Counts a failure; the circuit afterwards."""
    now = database_now(session)
    insert_once(session, Circuit, [_new(name, now)])
    row = session.exec(select(Circuit).where(Circuit.name == name).with_for_update()).one()
    state = after_failure(_state(row), now, retry_after_seconds, policy)
    _write(session, name, state, now, code)
    return state


def succeeded(session: Session, *, name: str = MODEL) -> None:
    """Closes the circuit and forgets its failures. Repeat: harmless."""
    _write(session, name, CircuitState(), database_now(session), None)


def _new(name: str, now: datetime) -> Circuit:
    return Circuit(name=name, changed_at=now)


def _state(row: Circuit) -> CircuitState:
    return CircuitState(
        failures=row.failures, openings=row.openings, opened_until=row.opened_until, probe_until=row.probe_until
    )


def _write(session: Session, name: str, state: CircuitState, now: datetime, code: str | None) -> None:
    statement = (
        update(Circuit)
        .where(col(Circuit.name) == name)
        .values(
            failures=state.failures,
            openings=state.openings,
            opened_until=state.opened_until,
            probe_until=state.probe_until,
            error_code=code,
            changed_at=now,
        )
    )
    session.connection().execute(statement)

"""The audit's rules of one tenant's ledger, turns and sessions: what arrived is there, and where it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, label, or_, select
from sqlmodel import Session, col

from schemas.delivery import EventState, WindowState
from schemas.tables import DeadLetter, LedgerEntry, Turn, Window
from schemas.tables import Session as SessionRow
from stores import dead
from stores.auditing.reading import batched, is_not, rows_of, stream

_OPEN = (WindowState.WAITING.value, WindowState.ANSWERED.value)
# Events in these states still have their turn, if they ever had one.
_HAVE_TURNS = (EventState.STORED.value, EventState.DIGESTED.value, EventState.DEAD_WINDOW.value)


def ledger_checks(session: Session, tenant_id: UUID) -> dict[str, Iterable[str]]:
    """Every rule by name."""
    return {
        "unknown_state": _unknown_states(session, tenant_id),
        "event_without_turn": _events_without_turn(session, tenant_id),
        "turn_without_event": _turns_without_event(session, tenant_id),
        "event_state": _wrong_states(session, tenant_id),
        "event_window": _wrong_windows(session, tenant_id),
        "session_counts": _wrong_sessions(session, tenant_id),
        "session_without_due": _forgotten_sessions(session, tenant_id),
    }


def _unknown_states(session: Session, tenant_id: UUID) -> Iterator[str]:
    known = [state.value for state in EventState]
    return rows_of(
        session,
        select(col(LedgerEntry.event_id), col(LedgerEntry.state)).where(
            col(LedgerEntry.tenant_id) == tenant_id, col(LedgerEntry.state).not_in(known)
        ),
    )


def _events_without_turn(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Kept events whose turn is not there. One of a newer version has none until somebody can read it."""
    query = (
        select(col(LedgerEntry.event_id), col(LedgerEntry.state))
        .outerjoin(Turn, _is_turn_of(tenant_id))
        .where(
            col(LedgerEntry.tenant_id) == tenant_id,
            col(LedgerEntry.state).in_(_HAVE_TURNS),
            col(Turn.event_id).is_(None),
        )
    )
    for batch in batched(stream(session, query)):
        parked = _parked(session, tenant_id, [row[0] for row in batch])
        yield from (f"{event_id} {state}" for event_id, state in batch if event_id not in parked)


def _parked(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> set[UUID]:
    keys = [f"{tenant_id}:{event_id}" for event_id in event_ids]
    query = select(col(DeadLetter.key)).where(
        col(DeadLetter.kind) == dead.PARKED, col(DeadLetter.key).in_(keys), col(DeadLetter.resolved_at).is_(None)
    )
    return {UUID(key.rpartition(":")[2]) for key in rows_of(session, query)}


def _turns_without_event(session: Session, tenant_id: UUID) -> Iterator[str]:
    return rows_of(
        session,
        select(col(Turn.event_id), col(LedgerEntry.state))
        .outerjoin(
            LedgerEntry,
            and_(col(LedgerEntry.tenant_id) == tenant_id, col(LedgerEntry.event_id) == col(Turn.event_id)),
        )
        .where(
            col(Turn.tenant_id) == tenant_id,
            or_(col(LedgerEntry.event_id).is_(None), col(LedgerEntry.state).not_in(_HAVE_TURNS)),
        ),
    )


def _wrong_states(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Events that say something else than their turn's window."""
    state, window = col(LedgerEntry.state), col(Window.state)
    wrong = or_(
        and_(state == EventState.STORED.value, col(Turn.window_id).is_not(None), is_not(window, *_OPEN)),
        and_(state == EventState.DIGESTED.value, is_not(window, WindowState.APPLIED.value)),
        and_(state == EventState.DEAD_WINDOW.value, is_not(window, WindowState.DEAD.value)),
    )
    return rows_of(
        session,
        select(col(LedgerEntry.event_id), col(LedgerEntry.state), col(Window.state))
        .join(Turn, _is_turn_of(tenant_id))
        .outerjoin(Window, col(Window.id) == col(Turn.window_id))
        .where(col(LedgerEntry.tenant_id) == tenant_id, wrong),
    )


def _wrong_windows(session: Session, tenant_id: UUID) -> Iterator[str]:
    return rows_of(
        session,
        select(col(LedgerEntry.event_id), col(LedgerEntry.window_id), col(Turn.window_id))
        .join(Turn, _is_turn_of(tenant_id))
        .where(
            col(LedgerEntry.tenant_id) == tenant_id, col(LedgerEntry.window_id).is_distinct_from(col(Turn.window_id))
        ),
    )


def _wrong_sessions(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Sessions whose counts of undigested turns are not what lies there, or that count fewer turns than they have."""
    waiting = col(Turn.window_id).is_(None)
    held = (
        select(
            label("ref", col(Turn.session_ref)),
            func.count().label("turns"),
            func.count().filter(waiting).label("undigested"),
            func.coalesce(func.sum(col(Turn.token_count)).filter(waiting), 0).label("tokens"),
        )
        .where(col(Turn.tenant_id) == tenant_id)
        .group_by(col(Turn.session_ref))
        .subquery()
    )
    wrong = or_(
        func.coalesce(held.c.undigested, 0) != col(SessionRow.undigested_count),
        func.coalesce(held.c.tokens, 0) != col(SessionRow.undigested_tokens),
        func.coalesce(held.c.turns, 0) > col(SessionRow.turn_count),
    )
    orphans = (
        select(held.c.ref).outerjoin(SessionRow, col(SessionRow.id) == held.c.ref).where(col(SessionRow.id).is_(None))
    )
    yield from rows_of(
        session,
        select(col(SessionRow.id))
        .outerjoin(held, held.c.ref == col(SessionRow.id))
        .where(col(SessionRow.tenant_id) == tenant_id, wrong),
    )
    yield from rows_of(session, orphans)


def _forgotten_sessions(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Sessions with waiting turns that no sweep will ever find."""
    return rows_of(
        session,
        select(col(SessionRow.id)).where(
            col(SessionRow.tenant_id) == tenant_id,
            col(SessionRow.undigested_count) > 0,
            col(SessionRow.due_at).is_(None),
        ),
    )


def _is_turn_of(tenant_id: UUID) -> ColumnElement[bool]:
    return and_(col(Turn.tenant_id) == tenant_id, col(Turn.event_id) == col(LedgerEntry.event_id))

"""The audit's rules of one tenant's windows: each turn in exactly one, each applied once, into one episode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select
from sqlmodel import Session, col

from schemas.delivery import EventState, WindowState
from schemas.tables import DeadLetter, Episode, LedgerEntry, Moment, Turn, Window
from stores import dead
from stores.auditing.reading import batched, has_rows, rows_of, stream

WINDOWS = 100
_SPOKEN = ("user", "assistant", "staff")


def window_checks(session: Session, tenant_id: UUID) -> dict[str, Iterable[str]]:
    """Every rule by name."""
    return {
        "window_turns": _wrong_turns(session, tenant_id),
        "turn_window": _lost_windows(session, tenant_id),
        "window_episode": _wrong_episodes(session, tenant_id),
        "episode_turns": _foreign_turns(session, tenant_id),
        "window_applied": _half_applied(session, tenant_id),
        "window_letter": _without_letter(session, tenant_id),
        "turn_moment": _without_moment(session, tenant_id),
        "moment_turn": _moments_of_undigested(session, tenant_id),
    }


def _wrong_turns(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Windows whose list is not exactly the turns that say they are in it. Erased and purged turns have no row."""
    query = (
        select(col(Window.id), col(Window.turn_ids)).where(col(Window.tenant_id) == tenant_id).order_by(col(Window.id))
    )
    for batch in batched(stream(session, query, WINDOWS), WINDOWS):
        held = _turns_of(session, tenant_id, [window_id for window_id, _ in batch])
        for window_id, listed in batch:
            ids = [UUID(event_id) for event_id in listed]
            missing = set(ids) - held[window_id]
            is_exact = len(set(ids)) == len(ids) and held[window_id] <= set(ids)
            if not is_exact or (missing and not _are_gone(session, tenant_id, missing)):
                yield str(window_id)


def _turns_of(session: Session, tenant_id: UUID, window_ids: Sequence[UUID]) -> Mapping[UUID, set[UUID]]:
    held: dict[UUID, set[UUID]] = {window_id: set() for window_id in window_ids}
    query = select(col(Turn.window_id), col(Turn.event_id)).where(
        col(Turn.tenant_id) == tenant_id, col(Turn.window_id).in_(window_ids)
    )
    for window_id, event_id in stream(session, query):
        held[window_id].add(event_id)
    return held


def _are_gone(session: Session, tenant_id: UUID, event_ids: Iterable[UUID]) -> bool:
    """Whether the ledger knows all of these as erased or purged, or has itself forgotten them."""
    gone = (EventState.ERASED.value, EventState.PURGED.value)
    for ids in batched(event_ids):
        still_there = select(col(LedgerEntry.event_id)).where(
            col(LedgerEntry.tenant_id) == tenant_id,
            col(LedgerEntry.event_id).in_(ids),
            col(LedgerEntry.state).not_in(gone),
        )
        if has_rows(session, still_there):
            return False
    return True


def _lost_windows(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Turns in a window that is not there, or is of another session."""
    return rows_of(
        session,
        select(col(Turn.event_id), col(Turn.window_id))
        .outerjoin(Window, col(Window.id) == col(Turn.window_id))
        .where(
            col(Turn.tenant_id) == tenant_id,
            col(Turn.window_id).is_not(None),
            or_(col(Window.id).is_(None), col(Window.session_ref) != col(Turn.session_ref)),
        ),
    )


def _wrong_episodes(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Applied windows without an episode (a unique key keeps the second one out), and episodes of unapplied ones."""
    is_applied = col(Window.state) == WindowState.APPLIED.value
    has_none = and_(is_applied, col(Episode.id).is_(None))
    has_one = and_(~is_applied, col(Episode.id).is_not(None))
    yield from rows_of(
        session,
        select(col(Window.id), col(Window.state))
        .outerjoin(Episode, col(Episode.window_id) == col(Window.id))
        .where(col(Window.tenant_id) == tenant_id, or_(has_none, has_one)),
    )
    yield from rows_of(
        session,
        select(col(Episode.id))
        .outerjoin(Window, col(Window.id) == col(Episode.window_id))
        .where(col(Episode.tenant_id) == tenant_id, col(Episode.window_id).is_not(None), col(Window.id).is_(None)),
    )


def _foreign_turns(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Episodes that tell of turns outside of their window."""
    query = (
        select(col(Episode.id), col(Episode.turn_ids), col(Window.turn_ids))
        .join(Window, col(Window.id) == col(Episode.window_id))
        .where(col(Episode.tenant_id) == tenant_id)
    )
    for episode_id, told, listed in stream(session, query, WINDOWS):
        if not set(told) <= set(listed):
            yield str(episode_id)


def _half_applied(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Windows whose state and marks disagree: applied without a time or still leased, open with a time."""
    is_applied = col(Window.state) == WindowState.APPLIED.value
    wrong = or_(
        and_(is_applied, or_(col(Window.applied_at).is_(None), col(Window.lease_until).is_not(None))),
        and_(~is_applied, col(Window.applied_at).is_not(None)),
        and_(col(Window.state) == WindowState.ANSWERED.value, col(Window.answer).is_(None)),
    )
    return rows_of(session, select(col(Window.id), col(Window.state)).where(col(Window.tenant_id) == tenant_id, wrong))


def _without_letter(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Dead windows that nobody is told of."""
    query = select(col(Window.id)).where(
        col(Window.tenant_id) == tenant_id, col(Window.state) == WindowState.DEAD.value
    )
    for ids in batched(rows_of(session, query), WINDOWS):
        letters = select(col(DeadLetter.key)).where(col(DeadLetter.kind) == dead.WINDOW, col(DeadLetter.key).in_(ids))
        told = set(rows_of(session, letters))
        yield from (window_id for window_id in ids if window_id not in told)


def _without_moment(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Spoken turns of applied windows that no search can find. An empty turn has nothing to find."""
    return rows_of(
        session,
        select(col(Turn.event_id))
        .join(Window, col(Window.id) == col(Turn.window_id))
        .outerjoin(Moment, _same_event())
        .where(
            col(Turn.tenant_id) == tenant_id,
            col(Window.state) == WindowState.APPLIED.value,
            col(Turn.role).in_(_SPOKEN),
            col(Turn.token_count) > 1,
            col(Moment.id).is_(None),
        ),
    )


def _moments_of_undigested(session: Session, tenant_id: UUID) -> Iterator[str]:
    """Moments of turns whose window is not applied. One of a turn that is gone was left behind by its removal."""
    return rows_of(
        session,
        select(col(Moment.id), col(Moment.event_id))
        .outerjoin(Turn, _same_event())
        .outerjoin(Window, col(Window.id) == col(Turn.window_id))
        .where(
            col(Moment.tenant_id) == tenant_id,
            col(Moment.deleted_at).is_(None),
            or_(col(Window.state).is_(None), col(Window.state) != WindowState.APPLIED.value),
        ),
    )


def _same_event() -> ColumnElement[bool]:
    return and_(col(Moment.tenant_id) == col(Turn.tenant_id), col(Moment.event_id) == col(Turn.event_id))

"""What became of one event: its place in the ledger, its window, what was made of it. Ids and states, no content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlmodel import Session, col, select

from schemas.delivery import EventState
from schemas.tables import Draft, Episode, Evidence, Fact, LedgerEntry, Turn, Window
from schemas.tables import Session as SessionRow
from stores import dead


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """One event of a tenant. Times are aware UTC.

    `waits_until` is when something is to happen next, as far as it is known. `letter_id` names an open dead letter.
    `window_state` is waiting, answered, running, applied or dead. `is_final`: nothing changes any more by itself.
    """

    event_id: UUID
    kind: str
    state: str
    reason: str | None
    received_at: datetime
    producer: str | None
    at: datetime | None = None
    waits_until: datetime | None = None
    window_id: UUID | None = None
    window_state: str | None = None
    attempts: int = 0
    error_code: str | None = None
    applied_at: datetime | None = None
    letter_id: UUID | None = None
    episode_ids: tuple[UUID, ...] = ()
    fact_ids: tuple[UUID, ...] = ()
    pending_count: int = 0
    refused_count: int = 0

    @property
    def is_final(self) -> bool:
        """Only an operator or a retention term moves it from here."""
        return self.state != EventState.STORED


def fate(session: Session, tenant_id: UUID, event_id: UUID) -> Fate | None:
    """What became of an event; None when the tenant's ledger does not know it."""
    entry = session.get(LedgerEntry, (tenant_id, event_id))
    if entry is None:
        return None
    turn = session.get(Turn, (tenant_id, event_id))
    window = None if entry.window_id is None else session.get(Window, entry.window_id)
    letter = _letter(session, entry)
    return Fate(
        event_id=event_id,
        kind=entry.kind,
        state=entry.state,
        reason=entry.reason,
        received_at=entry.received_at,
        producer=entry.producer,
        at=None if turn is None else turn.at,
        waits_until=_waits_until(session, entry, window),
        window_id=entry.window_id,
        window_state=None if window is None else _window_state(window),
        attempts=0 if window is None else window.attempts,
        error_code=None if window is None else window.error_code,
        applied_at=None if window is None else window.applied_at,
        letter_id=letter,
        episode_ids=_episodes(session, entry),
        fact_ids=_facts(session, entry),
        pending_count=_verdicts(session, entry, "pending_review"),
        refused_count=_verdicts(session, entry, "rejected"),
    )


def _waits_until(session: Session, entry: LedgerEntry, window: Window | None) -> datetime | None:
    if entry.state != EventState.STORED:
        return None
    if window is not None:
        return window.lease_until or window.next_try_at
    owner = None if entry.session_ref is None else session.get(SessionRow, entry.session_ref)
    return None if owner is None else owner.due_at


def _window_state(window: Window) -> str:
    return "running" if window.lease_until is not None else window.state


def _letter(session: Session, entry: LedgerEntry) -> UUID | None:
    """The open letter of the event itself, or of its window."""
    keys = [(dead.EVENT, f"{entry.tenant_id}:{entry.event_id}"), (dead.PARKED, f"{entry.tenant_id}:{entry.event_id}")]
    if entry.window_id is not None:
        keys.append((dead.WINDOW, str(entry.window_id)))
    found = (dead.find(session, kind, key) for kind, key in keys)
    return next((letter.id for letter in found if letter is not None and letter.resolved_at is None), None)


def _episodes(session: Session, entry: LedgerEntry) -> tuple[UUID, ...]:
    if entry.window_id is None:
        return ()
    query = select(Episode.id).where(Episode.window_id == entry.window_id, col(Episode.deleted_at).is_(None))
    return tuple(session.exec(query.order_by(col(Episode.id))))


def _facts(session: Session, entry: LedgerEntry) -> tuple[UUID, ...]:
    """The current facts that rest on what this event said."""
    of_event = select(Evidence.id, Evidence.slot_hash).where(
        Evidence.tenant_id == entry.tenant_id, Evidence.event_id == entry.event_id
    )
    stated = session.exec(of_event).all()
    query = select(Fact).where(
        Fact.tenant_id == entry.tenant_id,
        col(Fact.slot_hash).in_({slot for _, slot in stated}),
        col(Fact.superseded_at).is_(None),
        col(Fact.deleted_at).is_(None),
    )
    mine = {str(evidence_id) for evidence_id, _ in stated}
    return tuple(fact.id for fact in session.exec(query.order_by(col(Fact.id))) if mine & set(fact.evidence_ids))


def _verdicts(session: Session, entry: LedgerEntry, verdict: str) -> int:
    """How many statements of this event's window the gate put aside or refused."""
    if entry.window_id is None:
        return 0
    query = select(Draft.id).where(Draft.window_id == entry.window_id, Draft.decision == verdict)
    return len(session.exec(query).all())

"""The rows of one ingest transaction: collected event by event, written table by table, each table in key order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast
from uuid import UUID

from sqlmodel import Session

from afterturn.events import (
    AccessedEvent,
    FeedbackEvent,
    ProcedureOutcomeEvent,
    SessionEndedEvent,
    StateEvent,
    TicketClosedEvent,
)
from afterturn.ids import uuid7
from afterturn.masking import mask_json
from memory.episodes import EpisodePolicy
from schemas.delivery import EventState
from schemas.drafts import Outcome
from schemas.envelopes import enclose_json
from schemas.tables import StatePatch
from stores import episodes, hot, judgements, procedures, sessions, spans, turns, undos, upkeep, working
from stores.hot import HotKey
from stores.policies import Policies
from stores.sessions import Arrivals
from stores.tenancy import KeyInfo, KnownUser
from tasks import outcomes
from tasks.arrivals import Kept, Placed, Row, observation_row, turn_row
from tasks.holding import whole


def first_state(kept: Kept, user: KnownUser) -> EventState:
    """Where a new event stands: `stored` waits for its window, `applied` needs none, `erased` came too late."""
    if was_erased(kept, user):
        return EventState.ERASED
    return EventState.STORED if kept.turn is not None else EventState.APPLIED


def was_erased(kept: Kept, user: KnownUser) -> bool:
    """Whether the event was said before its user was erased, and only arrives now."""
    return user.erased_at is not None and (kept.event.published_at or kept.event.at) <= user.erased_at


@dataclass(slots=True, kw_only=True)
class Keeping:
    """Collects what new events need kept, then writes it. Belongs to one transaction."""

    session: Session
    key: KeyInfo
    received_at: datetime
    policies: Policies
    observation_days: float
    has_ended_session: bool = False
    _turns: list[Row] = field(default_factory=list[Row])
    _observations: list[Row] = field(default_factory=list[Row])
    _patches: list[StatePatch] = field(default_factory=list[StatePatch])
    _arrivals: dict[UUID, Arrivals] = field(default_factory=dict[UUID, Arrivals])
    _cited: Counter[UUID] = field(default_factory=Counter[UUID])
    _outcomes: list[tuple[ProcedureOutcomeEvent, Placed, UUID, UUID]] = field(
        default_factory=list[tuple[ProcedureOutcomeEvent, Placed, UUID, UUID]]
    )
    _feedback: list[tuple[FeedbackEvent, UUID]] = field(default_factory=list[tuple[FeedbackEvent, UUID]])
    _closed_tickets: dict[str, datetime] = field(default_factory=dict[str, datetime])

    def take(self, kept: Kept, placed: Placed, user: KnownUser) -> None:
        """Notes all that one new event needs kept."""
        if was_erased(kept, user):
            return
        event = kept.event
        arrivals = self._session_of(kept, user)
        if kept.turn is not None:
            self._take_turn(kept.turn, kept.payload, placed, arrivals)
        match event:
            case SessionEndedEvent():
                arrivals.ended_at = max(placed.at, arrivals.ended_at or placed.at)
                arrivals.outcome = event.outcome
                self.has_ended_session = True
            case StateEvent() if not event.no_store:
                self._patches.append(self._patch(event, placed, user, arrivals))
            case TicketClosedEvent() if event.ticket_id is not None:
                self._closed_tickets[event.ticket_id] = placed.at
            case ProcedureOutcomeEvent():
                self._outcomes.append((event, placed, user.id, arrivals.session_ref))
            case AccessedEvent():
                self._cited.update(memory_id for text in event.memory_ids if (memory_id := as_uuid(text)) is not None)
            case FeedbackEvent():
                self._feedback.append((event, user.id))
            case _:
                pass

    def save(self) -> None:
        """Writes everything, turns first."""
        turns.add(self.session, self._turns, self._observations)
        self._hold_undone()
        sessions.add(self.session, self._arrivals.values(), self.policies.windows)
        working.patch(self.session, self._patches)
        for arrivals in self._arrivals.values():
            if arrivals.ended_at is not None:
                working.checkpoint(self.session, self.key.tenant_id, arrivals.session_ref, arrivals.ended_at)
                self._conclude(arrivals)
        for ticket_id, at in sorted(self._closed_tickets.items()):
            working.end_ticket(self.session, self.key.tenant_id, ticket_id, at)
        for event, placed, user_ref, session_ref in self._outcomes:
            self._count_outcome(event, placed, user_ref, session_ref)
        judgements.cite(self.session, self.key.tenant_id, self._cited, self.received_at)
        for event, user_ref in self._feedback:
            judgements.note(
                self.session,
                self.key.tenant_id,
                memory_id=as_uuid(event.memory_id),
                event_id=event.event_id,
                user_ref=user_ref,
                verdict=event.verdict,
                now=self.received_at,
            )

    def marks(self) -> list[HotKey]:
        """What of recall's cache these events make old: the conversations that they belong to."""
        arrived = self._arrivals.values()
        return hot.marks_of(
            self.key.tenant_id,
            (one.user_ref for one in arrived),
            threads=[one.thread_id for one in arrived],
            tickets=[*(one.ticket_id for one in arrived), *self._closed_tickets],
            what=[hot.TALK],
        )

    def _hold_undone(self) -> None:
        """What was taken back before it arrived is in no tail either, until its window is applied."""
        first = min((row["at"] for row in self._turns), default=None)
        if first is None or not undos.reaches(self.session, self.key.tenant_id, first):
            return
        rows = turns.plain(self.session, self.key.tenant_id, [row["event_id"] for row in self._turns])
        asked = [(turns.view(row), row.user_ref, row.session_ref) for row in rows]
        undone = undos.covering(self.session, self.key.tenant_id, asked)
        for view, user_ref, _ in asked:
            if view.event_id in undone:
                spans.hold(self.session, self.key.tenant_id, user_ref, [whole(view)])

    def _conclude(self, arrivals: Arrivals) -> None:
        """An end that comes after the last window was digested still decides how its episode ended."""
        if arrivals.outcome not in ("success", "failure"):
            return
        gain = EpisodePolicy().failure
        outcome = cast("Outcome", arrivals.outcome)
        changed = episodes.conclude(self.session, arrivals.session_ref, outcome, failure_gain=gain)
        upkeep.owe(self.session, "episode", changed)

    def _session_of(self, kept: Kept, user: KnownUser) -> Arrivals:
        event = kept.event
        session_hash = sessions.session_hash(self.key, event.session_id)
        ref = sessions.session_ref(user.id, session_hash)
        if ref not in self._arrivals:
            self._arrivals[ref] = Arrivals(
                tenant_id=self.key.tenant_id,
                user_ref=user.id,
                session_id=event.session_id,
                session_hash=session_hash,
                received_at=self.received_at,
            )
        arrivals = self._arrivals[ref]
        arrivals.agent_id = event.agent_id or self.key.agent_id or arrivals.agent_id
        arrivals.thread_id = event.thread_id or arrivals.thread_id
        arrivals.ticket_id = event.ticket_id or arrivals.ticket_id
        return arrivals

    def _take_turn(self, turn: Row, payload: bytes | None, placed: Placed, arrivals: Arrivals) -> None:
        row = turn_row(
            turn,
            placed,
            tenant_id=self.key.tenant_id,
            user_ref=arrivals.user_ref,
            session_ref=arrivals.session_ref,
            received_at=self.received_at,
        )
        self._turns.append(row)
        if payload is not None:
            self._observations.append(observation_row(row, payload, self.observation_days))
        arrivals.turn_count += 1
        arrivals.token_count += row["token_count"]
        arrivals.last_turn_at = max(placed.at, arrivals.last_turn_at or placed.at)

    def _patch(self, event: StateEvent, placed: Placed, user: KnownUser, arrivals: Arrivals) -> StatePatch:
        keys = {
            working.SESSION: str(arrivals.session_ref),
            working.THREAD: event.thread_id,
            working.TICKET: event.ticket_id,
        }
        return StatePatch(
            tenant_id=self.key.tenant_id,
            event_id=event.event_id,
            user_ref=user.id,
            scope=event.scope,
            scope_key=keys[event.scope] or "",
            at=placed.at,
            patch=enclose_json(mask_json(event.patch)[0]),
        )

    def _count_outcome(self, event: ProcedureOutcomeEvent, placed: Placed, user_ref: UUID, session_ref: UUID) -> None:
        version = procedures.named(
            self.session,
            self.key.tenant_id,
            event.procedure.name,
            event.procedure.version,
            new_id=uuid7,
            now=self.received_at,
        )
        outcome = procedures.Outcome(
            event_id=event.event_id,
            user_ref=user_ref,
            session_ref=session_ref,
            succeeded=event.succeeded,
            source=procedures.REPORTED,
            weight=1.0,
            at=placed.at,
            event_source=event.source,
        )
        outcomes.note(self.session, version, outcome, policy=self.policies.procedures, new_id=uuid7)


def as_uuid(text: str) -> UUID | None:
    """The id that the text spells, if it spells one."""
    try:
        return UUID(text)
    except ValueError:
        return None

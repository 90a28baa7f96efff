"""Remembered things as recall sees them: values, opened, with what is held back already named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from uuid import UUID

from afterturn.wire import EvidenceRef
from memory import precision
from memory.agents import AgentPolicy
from memory.moments import Cut
from memory.turns import TurnView


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one question may see. `as_of` is world time, `known_at` system time (None: now).

    `past` restores superseded words, `closed` shows versions that no longer hold, `between` filters by world time,
    empty `scopes` mean all. `shared_threads` are those in which the user talks with other users: whoever is in one may
    see what was said there, whoever said it. Times of `between` are [start, end).
    `agent_id` is who asks, `agents` whose learnings that agent may read.
    """

    tenant_id: UUID
    users: tuple[UUID, ...]
    now: datetime
    as_of: datetime
    known_at: datetime | None = None
    past: bool = False
    closed: bool = False
    between: tuple[datetime, datetime] | None = None
    scopes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    outcome: str | None = None
    session_ref: UUID | None = None
    thread_id: str | None = None
    shared_threads: tuple[str, ...] = ()
    ticket_id: str | None = None
    agent_id: str | None = None
    agents: AgentPolicy = field(default_factory=AgentPolicy)

    @property
    def is_plain(self) -> bool:
        """Whether it sees the present as it is: nothing about the past, nothing narrowed."""
        moved = self.as_of != self.now or self.known_at is not None or self.between is not None
        return not (moved or self.past or self.closed or self.scopes)

    def reads(self, learnt_by: str | None) -> bool:
        """Whether who asks may read what this agent learned."""
        return self.agents.may_read(self.agent_id, learnt_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRecord:
    """One version of a fact with the words it rests on, newest first."""

    id: UUID
    slot: str
    scope: str
    subject: str
    key: str
    object: str | None
    polarity: str
    value: str
    canonical: str
    language: str
    valid_from: datetime | None
    valid_until: datetime | None
    precision: str
    tz: str | None
    said_at: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    confidence: float
    importance: float
    volatile: bool
    contested: bool
    write_status: str
    evidence: tuple[EvidenceRef, ...] = ()
    agent_id: str | None = None

    @property
    def at(self) -> datetime:
        """When it was last said, else when it was recorded."""
        return self.said_at or max((ref.at for ref in self.evidence if ref.at), default=self.recorded_at)

    def zone(self) -> tzinfo:
        """The zone in which its times were meant."""
        return zone_of(self.tz)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRecord:
    """What happened in one window, without what is held back of its turns."""

    id: UUID
    summary: str
    outcome: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    procedure_name: str | None
    turn_ids: tuple[str, ...]
    started_at: datetime
    ended_at: datetime
    importance: float
    confidence: float
    session_ref: UUID | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureRecord:
    """The newest usable version of a procedure with its statistics."""

    id: UUID
    name: str
    version: int
    trigger: str
    steps: tuple[str, ...]
    successes: float
    failures: float
    ema: float
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRecord:
    """One turn and the parts of it that must not come back. `restored` says that superseded words are shown."""

    id: UUID
    turn: TurnView
    cuts: tuple[Cut, ...] = ()
    restored: bool = False
    undigested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What is known beside the index: the conversation's end, its state, questions to confirm, and the lag."""

    tail: tuple[MomentRecord, ...] = ()
    states: tuple[tuple[str, Mapping[str, Any], datetime], ...] = ()
    to_confirm: tuple[PendingRecord, ...] = ()
    undigested_turns: int = 0
    oldest_undigested_at: datetime | None = None
    unindexed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRecord:
    """Something that waits for the user's word. Its value is not here on purpose."""

    id: UUID
    key: str
    at: datetime
    reason_codes: tuple[str, ...] = field(default=())


def zone_of(name: str | None, utc_offset_minutes: int = 0) -> tzinfo:
    """A zone by its name (IANA, or an offset such as +08:00), else a fixed offset, else UTC."""
    if name:
        return precision.zone_of(name)
    return timezone(timedelta(minutes=utc_offset_minutes)) if utc_offset_minutes else UTC

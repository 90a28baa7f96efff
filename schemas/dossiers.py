"""What a person is shown of a statement: new and old words side by side, why it waits, and what was said of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel


class Side(BaseModel):
    """One version that holds now in the slot where a statement would go, with the words that it rests on."""

    fact_id: UUID
    value: str
    polarity: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    said_at: datetime
    confidence: float
    write_status: str
    quotes: tuple[str, ...] = ()


class VerdictView(BaseModel):
    """What somebody said of a statement. `actor` is the key or account, `reviewer` the person that it named."""

    verdict: str
    before: str
    after: str
    actor: str
    reviewer: str | None = None
    reason: str | None = None
    has_user_consent: bool = False
    content_hash: str
    replaced_by: UUID | None = None
    event_id: UUID | None = None
    undo_id: UUID | None = None
    decided_at: datetime
    evidence_id: UUID


class ReviewItem(BaseModel):
    """A statement that waits for a person: new words, what they would meet (`old`), and what they would do (`effect`).

    `content_hash` names these bytes: approving and editing need it. `confirm_by` is `user` for a special category that
    its user has not confirmed.
    """

    id: UUID
    user_id: str
    key: str
    title: str
    type: str
    scope: str
    subject: str
    object: str | None = None
    op: str
    value: str
    language: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    precision: str
    quote: str
    event_id: UUID
    at: datetime
    role: str
    source: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    confidence: float
    sensitivity: str
    write_status: str
    reason_codes: tuple[str, ...]
    reasons: tuple[str, ...]
    guard_flags: tuple[str, ...]
    confirm_by: str
    policy_version: str
    recorded_at: datetime
    content_hash: str
    old: tuple[Side, ...] = ()
    effect: tuple[str, ...] = ()
    verdicts: tuple[VerdictView, ...] = ()


class ReviewPage(BaseModel):
    """A page of the queue, oldest first, and how many wait in all."""

    items: tuple[ReviewItem, ...]
    waiting: int
    next_cursor: str | None = None


class VerdictPage(BaseModel):
    """A page of what was decided, newest first."""

    items: tuple[VerdictView, ...]
    next_cursor: str | None = None


class SaidView(BaseModel):
    """One statement of a story: what was said, by whom, and where it stands now."""

    evidence_id: UUID | None = None
    event_id: UUID
    role: str
    user_id: str | None = None
    at: datetime
    quote: str
    op: str | None = None
    key: str | None = None
    value: str | None = None
    source: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    ticket_id: str | None = None
    state: str | None = None
    write_status: str | None = None
    confidence: float | None = None


class Step(BaseModel):
    """One decision: by the gate, by a person, or by the fold of a slot. `rule_id` and `inputs` let it be replayed."""

    at: datetime
    by: str
    op: str
    rule_id: str | None = None
    why: str = ""
    inputs: dict[str, Any] = {}
    policy_version: str | None = None
    evidence_id: UUID | None = None
    fact_id: UUID | None = None
    replaced_ids: tuple[UUID, ...] = ()
    actor: str | None = None


class VersionView(BaseModel):
    """One version of the same slot, on both time axes."""

    fact_id: UUID
    value: str
    polarity: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    recorded_at: datetime
    superseded_at: datetime | None = None
    rule_id: str
    write_status: str
    contested: bool = False


class Explanation(BaseModel):
    """Why a memory is as it is: what was said, what was decided when and why, what it replaced, what replaced it."""

    id: UUID
    kind: str
    title: str
    status: str
    said: tuple[SaidView, ...] = ()
    steps: tuple[Step, ...] = ()
    versions: tuple[VersionView, ...] = ()
    replaced: tuple[UUID, ...] = ()
    replaced_by: tuple[UUID, ...] = ()
    facts: dict[str, Any] = {}


class UndoView(BaseModel):
    """Something that was taken back as a whole. One that `withdraws` another gave that one's statements back.

    `name` is a session's id as agents give it, a source's name, the id of an event or of a summary; None for a session
    that is there no more. `target` is the same, but of a session the service's own id.
    """

    id: UUID
    kind: str
    target: str
    name: str | None = None
    user_id: str | None = None
    until: datetime
    withdraws: UUID | None = None
    actor: str
    reviewer: str | None = None
    reason: str | None = None
    decided_at: datetime


class UndoneView(BaseModel):
    """What an undo, or its withdrawal, touched."""

    undo_id: UUID
    statements: int
    turns: int
    episodes: int
    outcomes: int


class RequestView(BaseModel):
    """A privacy request that a user made in a conversation: `kind` is erase, access, correct, object or no_store.

    `state` is open, done or refused; `note` and `answered_by` are those of whoever answered it.
    """

    id: UUID
    kind: str
    state: str
    user_id: str | None = None
    event_id: UUID | None = None
    asked_at: datetime
    due_at: datetime
    is_overdue: bool
    answered_at: datetime | None = None
    answered_by: str | None = None
    note: str | None = None


class AliasView(BaseModel):
    """One id of a person; the root was joined to nobody."""

    user_id: str
    joined_to: str | None = None
    joined_at: datetime | None = None


class AliasSet(BaseModel):
    """Everyone that a user is, the user included."""

    user_id: str
    root: str
    members: tuple[AliasView, ...]

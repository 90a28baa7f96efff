"""One window in the course of being applied: what every step of `apply` is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlmodel import Session

from memory.turns import TurnView
from schemas.decisions import Decision, Flag, Verified
from schemas.tables import Tenant, User
from stores.kit import Kit
from stores.windows import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The transaction, whose window it is, and what was said in it.

    `touched` collects turns whose held-back text changed: their moments, and those next to them, are indexed anew.
    """

    session: Session
    kit: Kit
    claim: Claim
    tenant: Tenant
    user: User
    said: Sequence[TurnView]
    context: Sequence[TurnView]
    now: datetime
    flags: dict[UUID, tuple[Flag, ...]]
    touched: set[UUID] = field(default_factory=set[UUID])

    def turn(self, event_id: UUID) -> TurnView | None:
        """The turn of this window or its context with this id."""
        return next((turn for turn in (*self.said, *self.context) if turn.event_id == event_id), None)


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement with its evidence, and what the gate says of it."""

    verified: Verified
    decision: Decision

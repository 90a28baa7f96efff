"""What folding stands on, and one window at work: what was said in it, and what every step of `apply` is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlmodel import Session

from memory.gate import NOTHING_YET, Counts
from memory.policy import GatePolicy
from memory.spans import cut
from memory.turns import TurnView
from schemas.decisions import Decision, Flag, Verified
from schemas.tables import Tenant, Undo, User
from stores import spans, turns
from stores.kit import Kit
from stores.policies import Policies
from stores.windows import Claim


@dataclass(frozen=True, slots=True)
class Heard:
    """The turns of a window, and those before it as read-only context."""

    said: Sequence[TurnView]
    context: Sequence[TurnView]


def hear(session: Session, claim: Claim, *, context_turns: int) -> Heard:
    """What was said in a window and right before it. What is held back is no context: a summary would tell it again."""
    said = turns.views(session, claim.tenant_id, claim.turn_ids)
    before = turns.before(session, claim.tenant_id, claim.turn_ids, context_turns)
    held = spans.held(session, claim.tenant_id, [turn.event_id for turn in before])
    return Heard(said, [replace(turn, content=cut(turn.content, held.get(turn.event_id, ()))) for turn in before])


class Tools(Protocol):
    """What folding needs of a kit: no index and no model."""

    @property
    def policies(self) -> Policies:
        """The rules' knobs."""
        ...

    @property
    def new_id(self) -> Callable[[], UUID]:
        """UUIDv7."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What slots are folded on: the transaction, the rules, the tenant and the world's time.

    `touched` collects turns whose held-back text changed: their moments, and those next to them, are indexed anew.
    """

    session: Session
    kit: Tools
    tenant: Tenant
    now: datetime
    touched: set[UUID] = field(default_factory=set[UUID])


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Ground):
    """The ground, whose window it is, and what was said in it. `undone` are turns that were taken back before.

    `users` are all ids of the person, `user` among them: locked, so that quotas count what others keep meanwhile.
    """

    kit: Kit
    claim: Claim
    user: User
    users: frozenset[UUID]
    said: Sequence[TurnView]
    context: Sequence[TurnView]
    flags: dict[UUID, tuple[Flag, ...]]
    gate: GatePolicy
    undone: Mapping[UUID, Undo]

    def turn(self, event_id: UUID) -> TurnView | None:
        """The turn of this window or its context with this id."""
        return next((turn for turn in (*self.said, *self.context) if turn.event_id == event_id), None)


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement with its evidence, what the gate says of it, and what the quotas had counted then."""

    verified: Verified
    decision: Decision
    counts: Counts = NOTHING_YET

"""What is held back in a question's sight: parts of turns, and words that summaries must not repeat. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select
from sqlmodel import Session, col

from memory.moments import Part
from memory.records import Sight
from memory.spans import RESTORED_BY_PAST, held_values
from schemas.envelopes import disclose
from schemas.tables import Evidence, Span, Turn
from stores.sights import given, pick, several

_IDS_PER_QUERY = 500


@dataclass(frozen=True, slots=True)
class Held:
    """Parts to cut by event, the evidence that they come from, and the events whose superseded words are shown."""

    cuts: Mapping[UUID, list[Part]] = field(default_factory=dict[UUID, list[Part]])
    evidence: Mapping[UUID, list[UUID]] = field(default_factory=dict[UUID, list[UUID]])
    restored: frozenset[UUID] = frozenset()

    def touches(self, event_id: UUID, start: int, end: int) -> bool:
        """Whether any of the characters [start, end) of a turn is held back."""
        return any(start < part.end and part.start < end for part in self.cuts.get(event_id, ()))


def held_back(session: Session, sight: Sight, foreign: Sequence[UUID] = ()) -> Held:
    """What is held back of the asker's own turns, and of these turns of others."""
    found = [*_own(session, sight), *_named(session, sight, foreign)]
    cuts: dict[UUID, list[Part]] = {}
    evidence: dict[UUID, list[UUID]] = {}
    restored: set[UUID] = set()
    for event_id, start, end, reason, evidence_id in found:
        if sight.past and reason in RESTORED_BY_PAST:
            restored.add(event_id)
            continue
        cuts.setdefault(event_id, []).append(Part(start, end))
        if evidence_id is not None:
            evidence.setdefault(event_id, []).append(evidence_id)
    return Held(cuts, evidence, frozenset(restored))


def held_words(session: Session, sight: Sight, held: Held, event_ids: Iterable[UUID]) -> dict[UUID, tuple[str, ...]]:
    """By turn, what must not be told of it in other words: the held-back words, and the values they were about."""
    touched = [event_id for event_id in dict.fromkeys(event_ids) if event_id in held.cuts]
    words: dict[UUID, tuple[str, ...]] = {}
    for chunk in chunks(touched):
        query = select(col(Turn.event_id), col(Turn.content)).where(
            col(Turn.tenant_id) == sight.tenant_id, col(Turn.event_id).in_(chunk)
        )
        for event_id, content in session.connection().execute(query):
            words[event_id] = held_values(disclose(content), held.cuts[event_id])
    owners = {one: event_id for event_id in touched for one in held.evidence.get(event_id, ())}
    for chunk in chunks(list(owners)):
        values = select(col(Evidence.id), col(Evidence.value)).where(col(Evidence.id).in_(chunk))
        for evidence_id, value in session.connection().execute(values):
            event_id = owners[evidence_id]
            words[event_id] = (*words.get(event_id, ()), disclose(value))
    return words


def staff_words(session: Session, sight: Sight, event_ids: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
    """By turn, what staff said in other tickets than the asker's: it belongs to its ticket, and to no summary."""
    words: dict[UUID, tuple[str, ...]] = {}
    for chunk in chunks(event_ids):
        query = select(col(Turn.event_id), col(Turn.ticket_id), col(Turn.content)).where(
            col(Turn.tenant_id) == sight.tenant_id, col(Turn.event_id).in_(chunk), col(Turn.role) == "staff"
        )
        for event_id, ticket_id, content in session.connection().execute(query):
            if sight.ticket_id is None or ticket_id != sight.ticket_id:
                words[event_id] = (disclose(content),)
    return words


def chunks(ids: Sequence[UUID]) -> Iterable[Sequence[UUID]]:
    """Ids in portions that a statement takes."""
    for start in range(0, len(ids), _IDS_PER_QUERY):
        yield ids[start : start + _IDS_PER_QUERY]


def _own(session: Session, sight: Sight) -> Iterable[Any]:
    """All of one user's spans in one read: few have any, and it spares naming every turn that may be shown."""
    return session.connection().execute(_spans_of_users(), {"tenant": sight.tenant_id, "users": sight.users})


def _named(session: Session, sight: Sight, event_ids: Sequence[UUID]) -> Iterable[Any]:
    for chunk in chunks(event_ids):
        yield from session.connection().execute(_spans_of_turns(), {"tenant": sight.tenant_id, "ids": chunk})


@cache
def _spans_of_users() -> Select[Any]:
    return _spans().where(col(Span.user_ref).in_(several("users")))


@cache
def _spans_of_turns() -> Select[Any]:
    return _spans().where(col(Span.event_id).in_(several("ids")))


def _spans() -> Select[Any]:
    return pick(Span.event_id, Span.start, Span.end, Span.reason, Span.evidence_id).where(
        col(Span.tenant_id) == given("tenant"), col(Span.released_at).is_(None)
    )

"""What is held back in a question's sight: parts of turns, and words that summaries must not repeat. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlmodel import Session, col, select

from memory.moments import Part
from memory.records import Sight
from memory.spans import RESTORED_BY_PAST, held_values
from schemas.envelopes import disclose
from schemas.tables import Episode, Evidence, Span, Turn

_IDS_PER_QUERY = 500


def held_back(session: Session, sight: Sight, event_ids: Sequence[UUID]) -> tuple[dict[UUID, list[Part]], set[UUID]]:
    """Parts to cut by event, and the events of which superseded words are shown because the past was asked for."""
    cuts: dict[UUID, list[Part]] = {}
    restored: set[UUID] = set()
    for chunk in _chunks(event_ids):
        rows = session.exec(
            select(Span).where(
                col(Span.tenant_id) == sight.tenant_id,
                col(Span.event_id).in_(chunk),
                col(Span.released_at).is_(None),
            )
        )
        for row in rows:
            if sight.past and row.reason in RESTORED_BY_PAST:
                restored.add(row.event_id)
            else:
                cuts.setdefault(row.event_id, []).append(Part(row.start, row.end))
    return cuts, restored


def held_words(session: Session, sight: Sight, rows: Sequence[Episode]) -> dict[UUID, tuple[str, ...]]:
    """What is held back in the turns of each episode, and so in what was told of them.

    What a member of staff said belongs to its ticket: outside of it the whole turn is held back.
    """
    event_ids = {row.id: [UUID(one) for one in row.turn_ids] for row in rows}
    everything = [one for ids in event_ids.values() for one in ids]
    cuts, _ = held_back(session, sight, everything)
    words = _of_other_tickets(session, sight, everything)
    for chunk in _chunks(list(cuts)):
        said = session.exec(select(Turn).where(col(Turn.tenant_id) == sight.tenant_id, col(Turn.event_id).in_(chunk)))
        for turn in said:
            held = held_values(disclose(turn.content), cuts[turn.event_id])
            words[turn.event_id] = (*words.get(turn.event_id, ()), *held)
    for event_id, values in _values(session, sight, list(cuts)).items():
        words[event_id] = (*words.get(event_id, ()), *values)
    return {row_id: tuple(word for one in ids for word in words.get(one, ())) for row_id, ids in event_ids.items()}


def _of_other_tickets(session: Session, sight: Sight, event_ids: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
    found: dict[UUID, tuple[str, ...]] = {}
    for chunk in _chunks(event_ids):
        said = session.exec(
            select(Turn).where(
                col(Turn.tenant_id) == sight.tenant_id, col(Turn.event_id).in_(chunk), col(Turn.role) == "staff"
            )
        )
        for turn in said:
            if sight.ticket_id is None or turn.ticket_id != sight.ticket_id:
                found[turn.event_id] = (disclose(turn.content),)
    return found


def _values(session: Session, sight: Sight, event_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """The values that held-back statements of these turns were about: a summary says them in other words."""
    found: dict[UUID, list[str]] = {}
    for chunk in _chunks(event_ids):
        rows = session.exec(
            select(col(Span.event_id), Evidence)
            .join(Evidence, col(Evidence.id) == col(Span.evidence_id))
            .where(
                col(Span.tenant_id) == sight.tenant_id,
                col(Span.event_id).in_(chunk),
                col(Span.released_at).is_(None),
                col(Span.reason).not_in(RESTORED_BY_PAST if sight.past else ()),
            )
        )
        for event_id, row in rows:
            found.setdefault(event_id, []).append(disclose(row.value))
    return found


def _chunks(ids: Sequence[UUID]) -> Iterable[Sequence[UUID]]:
    for start in range(0, len(ids), _IDS_PER_QUERY):
        yield ids[start : start + _IDS_PER_QUERY]

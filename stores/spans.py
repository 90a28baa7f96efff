"""Held-back parts of turns as rows: written and released with the evidence that they come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid5

from sqlalchemy import ColumnElement, bindparam, update
from sqlalchemy import select as pick
from sqlmodel import Session, col, select

from schemas.decisions import HeldSpan
from schemas.envelopes import disclose
from schemas.tables import Evidence, Span, Turn
from stores import turns
from stores.sql import insert_once

_VALUES = pick(col(Evidence.id), col(Evidence.value)).where(col(Evidence.id).in_(bindparam("ids", expanding=True)))
_HELD = pick(col(Span.event_id), col(Span.start), col(Span.end), col(Span.reason), col(Span.evidence_id)).where(
    col(Span.tenant_id) == bindparam("tenant"),
    col(Span.event_id).in_(bindparam("ids", expanding=True)),
    col(Span.released_at).is_(None),
)


def hold(session: Session, tenant_id: UUID, user_ref: UUID, spans: Sequence[HeldSpan]) -> set[UUID]:
    """Holds spans back, also such as were given back; answers the turns that lost something. Repeat: harmless.

    A span is that of the user whose turn it is; of `user_ref` when the turn is gone.
    """
    owners = _owners(session, tenant_id, {span.event_id for span in spans})
    rows = [
        Span(
            id=_id(span),
            tenant_id=tenant_id,
            user_ref=owners.get(span.event_id, user_ref),
            event_id=span.event_id,
            start=span.start,
            end=span.end,
            reason=span.reason,
            evidence_id=span.evidence_id,
        )
        for span in spans
    ]
    fresh = {key[0] for key in insert_once(session, Span, rows)}
    there = [row.id for row in rows if row.id not in fresh]
    again = _set_released(session, tenant_id, there, col(Span.released_at).is_not(None), None)
    return {row.event_id for row in rows if row.id in fresh} | again


def release(session: Session, tenant_id: UUID, spans: Sequence[HeldSpan], *, now: datetime) -> set[UUID]:
    """Gives these spans back; answers the turns that gained something by it. Repeat: harmless."""
    return _set_released(session, tenant_id, [_id(span) for span in spans], col(Span.released_at).is_(None), now)


def settle(
    session: Session,
    tenant_id: UUID,
    user_ref: UUID,
    evidence_ids: Sequence[UUID],
    spans: Sequence[HeldSpan],
    *,
    now: datetime,
) -> set[UUID]:
    """Makes `spans` all that these pieces of evidence hold back; answers the turns whose text changed by it."""
    if not evidence_ids:
        return hold(session, tenant_id, user_ref, spans)
    wanted = {_id(span) for span in spans}
    there = session.exec(select(Span).where(Span.tenant_id == tenant_id, col(Span.evidence_id).in_(evidence_ids))).all()
    touched: set[UUID] = set()
    for row in there:
        is_wanted = row.id in wanted
        if is_wanted != (row.released_at is None):
            released_at = None if is_wanted else now
            session.connection().execute(update(Span).where(col(Span.id) == row.id).values(released_at=released_at))
            touched.add(row.event_id)
    return touched | hold(session, tenant_id, user_ref, spans)


def cuts(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> dict[UUID, list[tuple[int, int]]]:
    """The characters [start, end) of each turn that are held back now; turns without any are left out."""
    return {
        event_id: [(span.start, span.end) for span in found]
        for event_id, found in held(session, tenant_id, event_ids).items()
    }


def held(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> dict[UUID, list[HeldSpan]]:
    """What is held back of each turn now, and why; turns without any are left out."""
    found: dict[UUID, list[HeldSpan]] = {}
    for start in range(0, len(event_ids), 500):
        rows = session.connection().execute(_HELD, {"tenant": tenant_id, "ids": event_ids[start : start + 500]})
        for span in (HeldSpan(*row) for row in rows):
            found.setdefault(span.event_id, []).append(span)
    return found


def words(session: Session, tenant_id: UUID, event_ids: Sequence[UUID]) -> tuple[str, ...]:
    """What these turns must not tell, in words: values of held-back statements, and whole sentences that were flagged.

    For texts that were made of the turns (a summary, its tags): whatever repeats one of them is left out.
    """
    return words_of(session, tenant_id, [event_ids])[0]


def words_of(session: Session, tenant_id: UUID, groups: Sequence[Sequence[UUID]]) -> list[tuple[str, ...]]:
    """`words` for each group of turns, in their order."""
    found = held(session, tenant_id, list(dict.fromkeys(event_id for group in groups for event_id in group)))
    if not found:
        return [() for _ in groups]
    ids = {span.evidence_id for spans in found.values() for span in spans if span.evidence_id is not None}
    values = _values(session, sorted(ids))
    flagged = [event_id for event_id, spans in found.items() if any(span.evidence_id is None for span in spans)]
    contents = {row.event_id: disclose(row.content) for row in turns.plain(session, tenant_id, flagged)}
    return [
        tuple(
            dict.fromkeys(
                [
                    *(text for event_id in group for text in _stated(found.get(event_id, ()), values)),
                    *(text for event_id in group for text in _flagged(found.get(event_id, ()), contents)),
                ]
            )
        )
        for group in groups
    ]


def _owners(session: Session, tenant_id: UUID, event_ids: Collection[UUID]) -> dict[UUID, UUID]:
    found: dict[UUID, UUID] = {}
    ids = sorted(event_ids)
    for start in range(0, len(ids), 500):
        query = select(Turn.event_id, Turn.user_ref).where(
            Turn.tenant_id == tenant_id, col(Turn.event_id).in_(ids[start : start + 500])
        )
        found.update(session.exec(query).all())
    return found


def _set_released(
    session: Session, tenant_id: UUID, ids: Sequence[UUID], where: ColumnElement[bool], released_at: datetime | None
) -> set[UUID]:
    """The turns of those of these spans that changed by it."""
    if not ids:
        return set()
    changed = select(Span).where(Span.tenant_id == tenant_id, col(Span.id).in_(ids), where)
    events = {row.id: row.event_id for row in session.exec(changed)}
    statement = update(Span).where(col(Span.id).in_(list(events))).values(released_at=released_at)
    session.connection().execute(statement)
    return set(events.values())


def _values(session: Session, evidence_ids: Sequence[UUID]) -> dict[UUID, str]:
    values: dict[UUID, str] = {}
    for start in range(0, len(evidence_ids), 500):
        rows = session.connection().execute(_VALUES, {"ids": evidence_ids[start : start + 500]})
        values.update((row.id, disclose(row.value)) for row in rows)
    return values


def _stated(spans: Sequence[HeldSpan], values: Mapping[UUID, str]) -> list[str]:
    return [values[one] for one in (span.evidence_id for span in spans) if one is not None and one in values]


def _flagged(spans: Sequence[HeldSpan], contents: Mapping[UUID, str]) -> list[str]:
    cut = (contents.get(span.event_id, "")[span.start : span.end].strip() for span in spans if span.evidence_id is None)
    return [text for text in cut if text]


def _id(span: HeldSpan) -> UUID:
    return uuid5(span.event_id, f"{span.start}:{span.end}:{span.reason}:{span.evidence_id}")

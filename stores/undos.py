"""Undos as rows: which sessions, sources and events count no more, and what of each is there. Rows are only added.

An undo stands from its moment on: what was said up to `until` and comes to be applied later is under it as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, and_, false, or_, update
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from memory.turns import TurnView
from schemas.tables import Episode, Evidence, ProcedureOutcome, Turn, Undo
from stores.sql import insert_once

SESSION, SOURCE, EVENT, SUMMARY = "session", "source", "event", "summary"
MAX_SOURCES = 20
_NEWEST = 10_000
COUNTING = ("auto", "approved", "pending_review")


def add(session: Session, row: Undo) -> bool:
    """Appends an undo, or the withdrawal of one. False when it was withdrawn before."""
    return bool(insert_once(session, Undo, [row]))


def find(session: Session, tenant_id: UUID, undo_id: UUID) -> Undo | None:
    """One undo of this tenant."""
    row = session.get(Undo, undo_id)
    return row if row is not None and row.tenant_id == tenant_id else None


def listed(session: Session, tenant_id: UUID, *, limit: int = 100) -> Sequence[Undo]:
    """All of a tenant, withdrawals among them, the newest first."""
    order = (col(Undo.decided_at).desc(), col(Undo.id).desc())
    return session.exec(select(Undo).where(Undo.tenant_id == tenant_id).order_by(*order).limit(limit)).all()


def covering(session: Session, tenant_id: UUID, turns: Iterable[tuple[TurnView, UUID, UUID]]) -> dict[UUID, Undo]:
    """The undo that each of these turns is under, the oldest first; those under none are left out.

    Shape: (turn, its user, its session).
    """
    asked = list(turns)
    by_kind: dict[str, set[str]] = {
        SESSION: {str(session_ref) for _, _, session_ref in asked},
        SOURCE: {turn.source for turn, _, _ in asked if turn.source is not None},
        EVENT: {str(turn.event_id) for turn, _, _ in asked},
    }
    rows = _standing(session, tenant_id, by_kind)
    found: dict[UUID, Undo] = {}
    for turn, user_ref, session_ref in asked:
        names = {SESSION: str(session_ref), SOURCE: turn.source, EVENT: str(turn.event_id)}
        fitting = (
            row
            for row in rows
            if names.get(row.kind) == row.target and row.user_ref in {None, user_ref} and turn.at <= row.until
        )
        first = next(fitting, None)
        if first is not None:
            found[turn.event_id] = first
    return found


def covering_outcomes(session: Session, tenant_id: UUID, rows: Sequence[ProcedureOutcome]) -> dict[UUID, Undo]:
    """The undo that each of these outcomes is under, by the outcome's id; those under none are left out."""
    standing = _standing(session, tenant_id, None) if rows else ()
    found: dict[UUID, Undo] = {}
    for row in rows:
        names = {SESSION: str(row.session_ref), SOURCE: row.event_source, EVENT: str(row.event_id)}
        first = next((one for one in standing if _is_under(one, names, row)), None)
        if first is not None:
            found[row.id] = first
    return found


def outcomes(session: Session, undo: Undo) -> list[ProcedureOutcome]:
    """The outcomes of procedures that an undo, or its withdrawal, is about."""
    if undo.kind == SUMMARY:
        return []
    where = [col(ProcedureOutcome.tenant_id) == undo.tenant_id, *_of(undo, ProcedureOutcome)]
    return list(session.exec(select(ProcedureOutcome).where(*where).order_by(col(ProcedureOutcome.id))))


def about_turns(
    session: Session, tenant_id: UUID, user_ref: UUID, session_ref: UUID | None, turns: Sequence[TurnView]
) -> list[Undo]:
    """Every undo and withdrawal that one of these turns of a session was ever under, the oldest first."""
    by_kind: dict[str, set[str]] = {
        SESSION: set() if session_ref is None else {str(session_ref)},
        SOURCE: {turn.source for turn in turns if turn.source is not None},
        EVENT: {str(turn.event_id) for turn in turns},
    }
    first = min((turn.at for turn in turns), default=None)
    found = of_target(session, tenant_id, by_kind)
    return [one for one in found if first is not None and first <= one.until and one.user_ref in {None, user_ref}]


def about_outcomes(session: Session, tenant_id: UUID, rows: Sequence[ProcedureOutcome]) -> list[Undo]:
    """Every undo and withdrawal that one of these outcomes was ever under, the oldest first."""
    every = session.exec(select(Undo).where(Undo.tenant_id == tenant_id)).all() if rows else ()
    named = [({SESSION: str(row.session_ref), SOURCE: row.event_source, EVENT: str(row.event_id)}, row) for row in rows]
    found = [one for one in every if any(_is_under(one, names, row) for names, row in named)]
    return sorted(found, key=lambda one: (one.decided_at, one.id))


def of_target(session: Session, tenant_id: UUID, by_kind: dict[str, set[str]]) -> list[Undo]:
    """All undos of these targets and their withdrawals, the oldest first. Shape: kind to names as rows hold them."""
    query = select(Undo).where(Undo.tenant_id == tenant_id, _named(by_kind))
    return list(session.exec(query.order_by(col(Undo.decided_at), col(Undo.id))))


def reaches(session: Session, tenant_id: UUID, at: datetime) -> bool:
    """Whether any undo of this tenant holds for what was said at that time or later."""
    query = select(Undo.id).where(Undo.tenant_id == tenant_id, col(Undo.until) >= at)
    return session.exec(query.limit(1)).first() is not None


def covering_evidence(session: Session, row: Evidence) -> Undo | None:
    """The undo that a statement is under, by what it says of itself: its turn may be gone."""
    by_kind: dict[str, set[str]] = {
        SESSION: set() if row.session_ref is None else {str(row.session_ref)},
        SOURCE: set() if row.source is None else {row.source},
        EVENT: {str(row.event_id)},
    }
    rows = _standing(session, row.tenant_id, by_kind)
    return next((one for one in rows if one.user_ref in {None, row.user_ref} and row.at <= one.until), None)


def holds(session: Session, undo: Undo) -> bool:
    """Whether anything at all is of its session, source or event, whatever became of it."""
    tables = (Turn, Evidence, ProcedureOutcome)
    asked = (select(table.tenant_id).where(table.tenant_id == undo.tenant_id, *_of(undo, table)) for table in tables)
    return any(session.exec(one.limit(1)).first() is not None for one in asked)


def sources(session: Session, tenant_id: UUID) -> list[str]:
    """The sources that the newest turns and outcomes of a tenant came by, sorted, MAX_SOURCES at the most."""
    found: set[str] = set()
    for of, order, source in (
        (col(Turn.tenant_id), col(Turn.event_id), col(Turn.source)),
        (col(ProcedureOutcome.tenant_id), col(ProcedureOutcome.id), col(ProcedureOutcome.event_source)),
    ):
        newest = select(source).where(of == tenant_id).order_by(order.desc()).limit(_NEWEST)
        found.update(name for name in session.exec(newest) if name is not None)
    return sorted(found)[:MAX_SOURCES]


def evidence(session: Session, undo: Undo, *, limit: int) -> list[Evidence]:
    """Statements under an undo that still count or wait, in id order."""
    where = [col(Evidence.tenant_id) == undo.tenant_id, col(Evidence.write_status).in_(COUNTING)]
    where += _of(undo, Evidence)
    query = select(Evidence).where(*where).order_by(col(Evidence.id)).limit(limit)
    return list(session.exec(query.execution_options(populate_existing=True)))


def turns_after(session: Session, undo: Undo, after: UUID | None, *, limit: int) -> list[Turn]:
    """Turns under an undo in the order of their ids, from after one on."""
    where = [col(Turn.tenant_id) == undo.tenant_id, *_of(undo, Turn)]
    if after is not None:
        where.append(col(Turn.event_id) > after)
    return list(session.exec(select(Turn).where(*where).order_by(col(Turn.event_id)).limit(limit)))


def episodes_of(session: Session, tenant_id: UUID, turns: Sequence[Turn]) -> list[Episode]:
    """The live episodes of the windows of these turns."""
    windows = {turn.window_id for turn in turns if turn.window_id is not None}
    if not windows:
        return []
    query = select(Episode).where(Episode.tenant_id == tenant_id, col(Episode.window_id).in_(windows))
    return list(session.exec(query.order_by(col(Episode.id))))


def set_episode_status(session: Session, episode_ids: Sequence[UUID], status: str) -> list[Episode]:
    """Takes episodes out of every sight, or puts them back; the rows that changed."""
    changing = select(Episode.id).where(col(Episode.id).in_(episode_ids), Episode.write_status != status)
    ids = list(session.exec(changing)) if episode_ids else []
    if not ids:
        return []
    statement = update(Episode).where(col(Episode.id).in_(ids))
    session.connection().execute(statement.values(write_status=status, row_version=col(Episode.row_version) + 1))
    anew = select(Episode).where(col(Episode.id).in_(ids)).execution_options(populate_existing=True)
    return list(session.exec(anew))


def _is_under(undo: Undo, names: Mapping[str, str | None], row: ProcedureOutcome) -> bool:
    fits = names.get(undo.kind) == undo.target and undo.user_ref in {None, row.user_ref}
    return fits and row.at <= undo.until


def _standing(session: Session, tenant_id: UUID, by_kind: dict[str, set[str]] | None) -> Sequence[Undo]:
    """The undos of these targets, or all, that nobody withdrew."""
    withdrawn = select(Undo.withdraws).where(Undo.tenant_id == tenant_id, col(Undo.withdraws).is_not(None))
    query = select(Undo).where(
        Undo.tenant_id == tenant_id,
        col(Undo.withdraws).is_(None),
        col(Undo.id).not_in(withdrawn),
    )
    if by_kind is not None:
        query = query.where(_named(by_kind))
    return session.exec(query.order_by(col(Undo.decided_at), col(Undo.id))).all()


def _named(by_kind: dict[str, set[str]]) -> ColumnElement[bool]:
    named = [
        and_(col(Undo.kind) == kind, col(Undo.target).in_(targets)) for kind, targets in by_kind.items() if targets
    ]
    return or_(*named) if named else false()


def _of(undo: Undo, table: type[Evidence] | type[Turn] | type[ProcedureOutcome]) -> list[ColumnElement[bool]]:
    source = col(table.event_source) if table is ProcedureOutcome else col(table.source)
    names: dict[str, Mapped[object]] = {
        SESSION: col(table.session_ref),  # pyright: ignore[reportAssignmentType]  columns of several types
        SOURCE: source,  # pyright: ignore[reportAssignmentType]
        EVENT: col(table.event_id),  # pyright: ignore[reportAssignmentType]
    }
    target: object = undo.target if undo.kind == SOURCE else UUID(undo.target)
    where: list[ColumnElement[bool]] = [names[undo.kind] == target, col(table.at) <= undo.until]
    if undo.user_ref is not None:
        where.append(col(table.user_ref) == undo.user_ref)
    return where

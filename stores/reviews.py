"""The review queue as rows: what waits, what was said of it, and by whom. Verdicts are only ever added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, update
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from memory.review import SHOWN, needs_user, shown_parts
from schemas.envelopes import disclose, keyed_hash
from schemas.tables import Evidence, Review
from stores.catalogue import Place
from stores.sql import insert_once

_OPEN = frozenset({"object", "subject", "value", "canonical", "quote"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which waiting statements: of users, of a key, held for a reason. None means any."""

    users: Sequence[UUID] | None = None
    key: str | None = None
    source: str | None = None


def waiting(session: Session, tenant_id: UUID, wanted: Wanted, *, after: Place | None, limit: int) -> list[Evidence]:
    """Statements that wait for a person, oldest first; `after` is the place where the page before ended."""
    conditions = [*_waiting(tenant_id, wanted)]
    if after is not None:
        conditions.append(_newer(col(Evidence.recorded_at), col(Evidence.id), after))
    query = select(Evidence).where(*conditions).order_by(col(Evidence.recorded_at), col(Evidence.id)).limit(limit)
    return list(session.exec(query))


def waiting_for_user(session: Session, tenant_id: UUID, users: Sequence[UUID], *, before: datetime) -> list[Evidence]:
    """Statements said by then that wait and have a special category which their user has not confirmed, in id order."""
    confirmed = select(Review.id).where(col(Review.evidence_id) == col(Evidence.id), Review.verdict == "confirm")
    query = select(Evidence).where(
        Evidence.tenant_id == tenant_id,
        col(Evidence.user_ref).in_(users),
        Evidence.write_status == "pending_review",
        col(Evidence.at) <= before,
        ~confirmed.exists(),
    )
    rows = session.exec(query.order_by(col(Evidence.id)).execution_options(populate_existing=True))
    return [row for row in rows if needs_user(row.reason_codes, ())]


def count_waiting(session: Session, tenant_id: UUID, wanted: Wanted) -> int:
    """How many wait."""
    return session.exec(select(func.count()).select_from(Evidence).where(*_waiting(tenant_id, wanted))).one()


def find(session: Session, tenant_id: UUID, evidence_id: UUID) -> Evidence | None:
    """One statement of this tenant, read anew, whatever became of it."""
    row = session.get(Evidence, evidence_id, populate_existing=True)
    return row if row is not None and row.tenant_id == tenant_id else None


def content_hash(hash_key: bytes, row: Evidence) -> str:
    """The keyed hash of what a reviewer is shown of a statement: an approval names it, and so approves these bytes."""
    fields: dict[str, object] = {}
    for name in SHOWN:
        value: object = getattr(row, name)
        if name in _OPEN and isinstance(value, bytes):
            value = disclose(value)
        fields[name] = value.isoformat() if isinstance(value, datetime) else value
    return keyed_hash(hash_key, "review", *shown_parts(fields))


def set_status(session: Session, row: Evidence, after: str) -> bool:
    """Moves a statement's write status on, the row with it; False when it is not any more what the row says."""
    statement = (
        update(Evidence)
        .where(col(Evidence.id) == row.id, col(Evidence.write_status) == row.write_status)
        .values(write_status=after)
    )
    is_moved = session.connection().execute(statement).rowcount == 1
    session.refresh(row)
    return is_moved


def add(session: Session, rows: Sequence[Review]) -> None:
    """Appends verdicts."""
    insert_once(session, Review, rows)


def of_evidence(session: Session, evidence_ids: Iterable[UUID]) -> dict[UUID, list[Review]]:
    """What was said of each of these statements, oldest first; those of which nobody spoke are left out."""
    found: dict[UUID, list[Review]] = {}
    ids = list(evidence_ids)
    for start in range(0, len(ids), 500):
        query = select(Review).where(col(Review.evidence_id).in_(ids[start : start + 500]))
        for row in session.exec(query.order_by(col(Review.decided_at), col(Review.id))):
            found.setdefault(row.evidence_id, []).append(row)
    return found


def of_undo(session: Session, undo_id: UUID) -> list[Review]:
    """What an undo took back, in id order."""
    query = select(Review).where(Review.undo_id == undo_id, Review.verdict == "undo")
    return list(session.exec(query.order_by(col(Review.id))))


def log(session: Session, tenant_id: UUID, *, after: Place | None, limit: int) -> list[Review]:
    """Every verdict of a tenant, newest first."""
    conditions: list[ColumnElement[bool]] = [col(Review.tenant_id) == tenant_id]
    if after is not None:
        older = and_(col(Review.decided_at) == after.at, col(Review.id) < after.id)
        conditions.append(or_(col(Review.decided_at) < after.at, older))
    order = (col(Review.decided_at).desc(), col(Review.id).desc())
    return list(session.exec(select(Review).where(*conditions).order_by(*order).limit(limit)))


def _waiting(tenant_id: UUID, wanted: Wanted) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [
        col(Evidence.tenant_id) == tenant_id,
        col(Evidence.write_status) == "pending_review",
    ]
    if wanted.users is not None:
        conditions.append(col(Evidence.user_ref).in_(wanted.users))
    if wanted.key is not None:
        conditions.append(col(Evidence.key) == wanted.key)
    if wanted.source is not None:
        conditions.append(col(Evidence.source) == wanted.source)
    return conditions


def _newer(at: Mapped[datetime], row_id: Mapped[UUID], place: Place) -> ColumnElement[bool]:
    return or_(at > place.at, and_(at == place.at, row_id > place.id))

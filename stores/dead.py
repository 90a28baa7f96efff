"""Dead letters: what could not be processed, enclosed as it came, until somebody decides.

Three kinds are no deaths and stay out of `waiting`: `parked` events of a newer contract, and attempts that were begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import delete, func, update
from sqlmodel import Session, col, select

from schemas.tables import DeadLetter
from stores.sql import database_now, insert_once

# A letter is named by (kind, key), so its id follows from them.
_LETTERS = UUID("7f1c8f0e-52d4-4d5e-9b1c-0a6a4f0f5f11")

BATCH, EVENT, WINDOW = "batch", "event", "window"
KINDS = (BATCH, EVENT, WINDOW)
PARKED = "parked"
ATTEMPT = "attempt"


def put(
    session: Session,
    *,
    kind: str,
    key: str,
    error_code: str,
    payload: bytes | None = None,
    tenant_id: UUID | None = None,
    user_ref: UUID | None = None,
    attempts: int = 1,
) -> None:
    """Keeps one dead letter. Repeat: the same (kind, key) is one letter, with its code, time and count moved on.

    One that was dealt with is open again, with the payload that it had lost then.
    """
    now = database_now(session)
    row: dict[str, Any] = {
        "id": uuid5(_LETTERS, f"{kind}:{key}"),
        "tenant_id": tenant_id,
        "user_ref": user_ref,
        "kind": kind,
        "key": key,
        "payload": payload,
        "error_code": error_code,
        "attempts": attempts,
        "first_at": now,
        "last_at": now,
        "resolved_at": None,
    }
    if insert_once(session, DeadLetter, [row]):
        return
    statement = (
        update(DeadLetter)
        .where(col(DeadLetter.kind) == kind, col(DeadLetter.key) == key)
        .values(
            error_code=error_code,
            last_at=now,
            attempts=col(DeadLetter.attempts) + 1,
            resolved_at=None,
            payload=func.coalesce(col(DeadLetter.payload), payload),
        )
    )
    session.connection().execute(statement)


def begin_attempt(session: Session, key: str, *, tenant_id: UUID | None = None) -> int:
    """How often `key` has been begun and not ended, this time included. Commit before the attempt itself."""
    put(session, kind=ATTEMPT, key=key, error_code="begun", tenant_id=tenant_id)
    return session.exec(select(DeadLetter.attempts).where(DeadLetter.kind == ATTEMPT, DeadLetter.key == key)).one()


def has_attempt(session: Session, keys: Sequence[str]) -> bool:
    """Whether any of these was begun and did not end."""
    for start in range(0, len(keys), 500):
        chunk = keys[start : start + 500]
        query = select(DeadLetter.id).where(DeadLetter.kind == ATTEMPT, col(DeadLetter.key).in_(chunk)).limit(1)
        if session.exec(query).first() is not None:
            return True
    return False


def end_attempt(session: Session, keys: Sequence[str]) -> None:
    """Forgets attempts that came to an end, good or bad. Repeat: harmless."""
    statement = delete(DeadLetter).where(col(DeadLetter.kind) == ATTEMPT, col(DeadLetter.key).in_(list(keys)))
    session.connection().execute(statement)


def waiting(
    session: Session,
    tenant_id: UUID | None = None,
    *,
    limit: int = 100,
    kind: str | None = None,
) -> list[DeadLetter]:
    """Unresolved letters, oldest first; of every tenant when none is given."""
    query = select(DeadLetter).where(
        col(DeadLetter.kind).in_(KINDS if kind is None else (kind,)), col(DeadLetter.resolved_at).is_(None)
    )
    if tenant_id is not None:
        query = query.where(DeadLetter.tenant_id == tenant_id)
    return list(session.exec(query.order_by(col(DeadLetter.first_at), col(DeadLetter.id)).limit(limit)))


def count_waiting(session: Session) -> dict[str, int]:
    """How many unresolved letters there are of each kind; kinds without any are left out."""
    query = (
        select(DeadLetter.kind, func.count())
        .where(col(DeadLetter.kind).in_(KINDS), col(DeadLetter.resolved_at).is_(None))
        .group_by(col(DeadLetter.kind))
    )
    return {row[0]: row[1] for row in session.exec(query)}


def parked(session: Session, *, limit: int = 100, after: datetime | None = None) -> list[DeadLetter]:
    """Events of a newer contract that wait for an upgrade, oldest first; with `after`, those that were parked since."""
    query = select(DeadLetter).where(DeadLetter.kind == PARKED, col(DeadLetter.resolved_at).is_(None))
    if after is not None:
        query = query.where(DeadLetter.first_at > after)
    return list(session.exec(query.order_by(col(DeadLetter.first_at), col(DeadLetter.id)).limit(limit)))


def get(session: Session, letter_id: UUID) -> DeadLetter | None:
    """One letter."""
    return session.exec(select(DeadLetter).where(DeadLetter.id == letter_id)).one_or_none()


def resolve(session: Session, letter_id: UUID, now: datetime | None = None) -> bool:
    """Marks a letter as dealt with, and drops its payload. False when it was already, or is not there."""
    statement = (
        update(DeadLetter)
        .where(col(DeadLetter.id) == letter_id, col(DeadLetter.resolved_at).is_(None))
        .values(resolved_at=now or database_now(session), payload=None)
    )
    return session.connection().execute(statement).rowcount == 1


def find(session: Session, kind: str, key: str) -> DeadLetter | None:
    """The letter of that name."""
    return session.exec(select(DeadLetter).where(DeadLetter.kind == kind, DeadLetter.key == key)).one_or_none()

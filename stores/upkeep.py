"""What beat jobs read and write: live memories in bounded batches, in id order, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, literal, or_, update
from sqlmodel import Session, col, select

from memory.strength import StrengthView
from schemas.tables import Episode, Evidence, Fact, Moment, OutboxRow, User, Window
from schemas.tables import Session as SessionRow
from stores import outbox, tenancy

Aged = Fact | Episode
# Written into the statement as it stands: a parameter would hide from the planner that a partial index fits.
_VOLATILE = literal("volatile", literal_execute=True)


def facts_after(session: Session, after: str, limit: int) -> list[Fact]:
    """The next live facts in id order; `after` is the last id seen, or ""."""
    query = (
        select(Fact)
        .where(col(Fact.superseded_at).is_(None), col(Fact.deleted_at).is_(None))
        .order_by(col(Fact.id))
        .limit(limit)
    )
    return list(session.exec(query.where(col(Fact.id) > UUID(after)) if after else query))


def episodes_after(session: Session, after: str, limit: int) -> list[Episode]:
    """The next live episodes in id order; `after` is the last id seen, or ""."""
    query = select(Episode).where(col(Episode.deleted_at).is_(None)).order_by(col(Episode.id)).limit(limit)
    return list(session.exec(query.where(col(Episode.id) > UUID(after)) if after else query))


def due_facts(session: Session, now: datetime, limit: int) -> list[Fact]:
    """Live facts whose time is up, oldest due first."""
    query = (
        select(Fact)
        .where(col(Fact.expires_at) <= now, col(Fact.superseded_at).is_(None), col(Fact.deleted_at).is_(None))
        .order_by(col(Fact.expires_at), col(Fact.id))
        .limit(limit)
    )
    return list(session.exec(query))


def due_episodes(session: Session, now: datetime, limit: int) -> list[Episode]:
    """Live episodes whose time is up, oldest due first."""
    query = (
        select(Episode)
        .where(col(Episode.expires_at) <= now, col(Episode.deleted_at).is_(None))
        .order_by(col(Episode.expires_at), col(Episode.id))
        .limit(limit)
    )
    return list(session.exec(query))


def outlived_volatile(session: Session, quiet_since: datetime, limit: int) -> list[Fact]:
    """Live volatile facts that were stated in no session that still goes on: they never outlive their session.

    A session is over once it has ended and is digested, or when nothing was said in it after `quiet_since`.
    """
    has_work = (
        select(Window.id)
        .where(col(Window.session_ref) == col(SessionRow.id), col(Window.state).in_(("waiting", "answered")))
        .exists()
    )
    goes_on = and_(
        or_(col(SessionRow.last_turn_at).is_(None), col(SessionRow.last_turn_at) > quiet_since),
        or_(col(SessionRow.ended_at).is_(None), col(SessionRow.undigested_count) > 0, has_work),
    )
    is_stated = (
        select(Evidence.id)
        .join(SessionRow, col(SessionRow.id) == col(Evidence.session_ref))
        .where(
            col(Evidence.tenant_id) == col(Fact.tenant_id),
            col(Evidence.slot_hash) == col(Fact.slot_hash),
            col(Evidence.value_hash) == col(Fact.value_hash),
            goes_on,
        )
        .exists()
    )
    query = (
        select(Fact)
        .where(
            col(Fact.volatility) == _VOLATILE,
            col(Fact.superseded_at).is_(None),
            col(Fact.deleted_at).is_(None),
            ~is_stated,
        )
        .order_by(col(Fact.id))
        .limit(limit)
    )
    return list(session.exec(query))


def strength_view(row: Aged) -> StrengthView:
    """A row as the rules of decay and expiry read it."""
    is_fact = isinstance(row, Fact)
    return StrengthView(
        kind="fact" if is_fact else "episode",
        base_importance=row.importance,
        at=row.said_at if is_fact else row.ended_at,
        recorded_at=row.recorded_at,
        last_used_at=row.last_accessed_at,
        uses=row.access_count,
        extensions=row.extensions,
        expires_at=row.expires_at,
        key=row.key if is_fact else None,
        type=row.type if is_fact else None,
    )


def set_strength(session: Session, row: Aged, strength: float) -> None:
    """Keeps the effective importance as computed; the index holds none, so nothing is owed."""
    table = type(row)
    session.connection().execute(update(table).where(col(table.id) == row.id).values(strength=strength))


def redate(session: Session, row: Aged, until: datetime, *, extended: bool) -> None:
    """Moves the day on which a row is due again; an extension is counted."""
    _move(session, row, expires_at=until, extensions=row.extensions + (1 if extended else 0))


def exempt(session: Session, row: Aged) -> None:
    """Takes the date off a row that never expires by age."""
    _move(session, row, expires_at=None)


def soft_delete(session: Session, row: Aged, *, now: datetime) -> None:
    """Ends a row; it stays for its grace and is gone from recall at once. The index is owed its removal."""
    _move(session, row, deleted_at=now)


def owe(session: Session, kind: str, rows: Sequence[Aged | Moment]) -> None:
    """Notes that the index must be told about rows, each under its user's generation."""
    if not rows:
        return
    generations = tenancy.generations(session, sorted({row.user_ref for row in rows}))
    by_generation: dict[int, list[dict[str, object]]] = {}
    for row in rows:
        by_generation.setdefault(generations.get(row.user_ref, 0), []).append(
            {
                "tenant_id": row.tenant_id,
                "user_ref": row.user_ref,
                "kind": kind,
                "record_id": row.id,
                "row_version": row.row_version,
            }
        )
    for generation, records in by_generation.items():
        outbox.owe_all(session, records, generation=generation)


def next_user_with_episodes(session: Session, after: str) -> tuple[UUID, UUID] | None:
    """The next (tenant, user) with live episodes, in user order; `after` is the last user seen, or ""."""
    query = (
        select(Episode.tenant_id, Episode.user_ref)
        .where(col(Episode.deleted_at).is_(None))
        .order_by(col(Episode.user_ref))
        .limit(1)
    )
    return session.exec(query.where(col(Episode.user_ref) > UUID(after)) if after else query).first()


def compared(session: Session, tenant_id: UUID, user_ref: UUID) -> str | None:
    """What tells which of a user's episodes were last compared to no end; None when none were."""
    query = select(User.compared_hash).where(User.tenant_id == tenant_id, User.id == user_ref)
    return session.exec(query).first()


def owed_episode_ids(session: Session, user_ref: UUID) -> set[UUID]:
    """The episodes of a user that the index has not taken yet."""
    query = select(OutboxRow.record_id).where(OutboxRow.user_ref == user_ref, OutboxRow.kind == "episode")
    return set(session.exec(query))


def _move(session: Session, row: Aged, **values: object) -> None:
    table = type(row)
    statement = update(table).where(col(table.id) == row.id).values(**values, row_version=col(table.row_version) + 1)
    session.connection().execute(statement)
    session.refresh(row)

"""What SQL has of records that belong into the index, page by page, for a comparison with what stands there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Integer, and_, bindparam, literal, union_all
from sqlalchemy import select as pick
from sqlmodel import Session, col, select

from schemas.tables import OutboxRow, Tenant, User
from stores import outbox, tenancy
from stores.held import chunks
from stores.projection import KINDS, is_shown, owner, table_of


class Record(NamedTuple):
    """A record of one owner: a user, or the tenant for what belongs to nobody."""

    id: UUID
    kind: str
    row_version: int
    user_ref: UUID


def tenants_after(session: Session, last: UUID | None, limit: int) -> Sequence[UUID]:
    """The next tenants in id order."""
    query = select(Tenant.id).order_by(col(Tenant.id)).limit(limit)
    return session.exec(query if last is None else query.where(col(Tenant.id) > last)).all()


def owners_after(session: Session, tenant_id: UUID, last: UUID | None, limit: int) -> list[UUID]:
    """The next owners of records in id order: the tenant's users, and the tenant itself, which comes first."""
    query = select(User.id).where(User.tenant_id == tenant_id).order_by(col(User.id)).limit(limit)
    if last is None:
        return [tenant_id, *session.exec(query.limit(limit - 1))]
    return list(session.exec(query if last == tenant_id else query.where(col(User.id) > last)))


def records_after(session: Session, tenant_id: UUID, user_ref: UUID, last: UUID | None, limit: int) -> list[Record]:
    """The next records of an owner that may stand in the index, in id order, of every kind."""
    bound = {"tenant": tenant_id, "owner": user_ref, "last": last or UUID(int=0), "limit": limit}
    return [Record(*row) for row in session.connection().execute(_records(), bound)]


def owners_of(session: Session, record_ids: Sequence[UUID]) -> dict[UUID, Record]:
    """Those of the records that SQL has in any state, deleted and held back ones too."""
    found: dict[UUID, Record] = {}
    for kind in KINDS:
        for chunk in chunks(record_ids):
            query = _columns(kind).where(table_of(kind).c.id.in_(chunk))
            found.update((row[0], Record(*row)) for row in session.connection().execute(query))
    return found


def shown(session: Session, record_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the records that may stand in the index."""
    found: set[UUID] = set()
    for kind in KINDS:
        for chunk in chunks(record_ids):
            columns = table_of(kind).c
            query = pick(columns.id).where(columns.id.in_(chunk), *is_shown(kind))
            found.update(session.connection().execute(query).scalars())
    return found


def owed(session: Session, record_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the records that the index is owed already."""
    found: set[UUID] = set()
    for chunk in chunks(record_ids):
        # The kinds are there for the planner: the key that finds a record begins with its kind.
        of_these = and_(col(OutboxRow.kind).in_(KINDS), col(OutboxRow.record_id).in_(chunk))
        found.update(session.exec(select(OutboxRow.record_id).where(of_these)))
    return found


def owe(session: Session, tenant_id: UUID, records: Sequence[Record]) -> None:
    """Notes that the index must be told about these, each under its owner's generation."""
    generations = tenancy.generations(session, sorted({record.user_ref for record in records}))
    by_generation: dict[int, list[dict[str, Any]]] = {}
    for record in records:
        by_generation.setdefault(generations.get(record.user_ref, 0), []).append(
            {
                "tenant_id": tenant_id,
                "user_ref": record.user_ref,
                "kind": record.kind,
                "record_id": record.id,
                "row_version": record.row_version,
            }
        )
    for generation, rows in by_generation.items():
        outbox.owe_all(session, rows, generation=generation)


def _columns(kind: str) -> Any:
    columns = table_of(kind).c
    return pick(columns.id, literal(kind).label("kind"), columns.row_version, owner(kind).label("user_ref"))


@cache
def _records() -> Any:
    """Made once: a walk asks it of every user."""
    parts = [pick(_of_kind(kind).subquery()) for kind in KINDS]
    records = union_all(*parts).subquery()
    return pick(records).order_by(records.c.id).limit(bindparam("limit", type_=Integer))


def _of_kind(kind: str) -> Any:
    columns = table_of(kind).c
    where = (columns.tenant_id == bindparam("tenant"), owner(kind) == bindparam("owner"), *is_shown(kind))
    limit = bindparam("limit", type_=Integer)
    return _columns(kind).where(*where, columns.id > bindparam("last")).order_by(columns.id).limit(limit)

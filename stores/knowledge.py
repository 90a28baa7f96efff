"""An organisation's knowledge as rows: versions of documents and their triples. Agents only read; people import.

Of each document the version in force at a time is read: the one that began last and was not withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import or_, update
from sqlmodel import Session, col, select

from memory.edges import TripleView
from memory.entities import Entity, entity_of
from memory.knowledge import Document
from schemas.envelopes import disclose, enclose, keyed_hash
from schemas.errors import BadInput, NotFound
from schemas.knowledge import KnowledgeVersion, Triple
from stores.rows import insert
from stores.sql import insert_once

MAX_TRIPLES_READ = 4_000
_HASHES_PER_QUERY = 400
_ROWS_PER_INSERT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did. `is_new` False: the version was there already, word for word."""

    version_id: UUID
    triple_count: int
    is_new: bool


def add(
    session: Session,
    tenant_id: UUID,
    given: Document,
    *,
    hash_key: bytes,
    by: str,
    now: datetime,
    new_id: Callable[[], UUID],
) -> Imported:
    """Keeps one version of a document.

    Repeat: the same version with the same triples changes nothing. Raises: BadInput when it is there with others.
    """
    row = KnowledgeVersion(
        id=new_id(),
        tenant_id=tenant_id,
        name=given.name,
        version=given.version,
        valid_from=given.valid_from,
        content_hash=given.content_hash,
        triple_count=len(given.triples),
        imported_by=by,
        recorded_at=now,
    )
    if not insert_once(session, KnowledgeVersion, [row], key=("tenant_id", "name", "version")):
        return _again(session, tenant_id, given)
    triples = [
        {
            "id": new_id(),
            "tenant_id": tenant_id,
            "version_id": row.id,
            "ordinal": ordinal,
            "subject": enclose(one.subject),
            "predicate": enclose(one.predicate),
            "object": enclose(one.object),
            "is_negative": one.is_negative,
            "subject_hash": _hash(hash_key, entity_of(one.subject)),
            "object_hash": _hash(hash_key, entity_of(one.object)),
        }
        for ordinal, one in enumerate(given.triples)
    ]
    for start in range(0, len(triples), _ROWS_PER_INSERT):
        insert(session, Triple, triples[start : start + _ROWS_PER_INSERT])
    return Imported(version_id=row.id, triple_count=len(triples), is_new=True)


def withdraw(session: Session, tenant_id: UUID, name: str, version: str, *, now: datetime) -> None:
    """Ends a version on the system axis: it was wrong, and is in force at no time. Raises: NotFound."""
    statement = (
        update(KnowledgeVersion)
        .where(
            col(KnowledgeVersion.tenant_id) == tenant_id,
            col(KnowledgeVersion.name) == name,
            col(KnowledgeVersion.version) == version,
            col(KnowledgeVersion.withdrawn_at).is_(None),
        )
        .values(withdrawn_at=now)
        .returning(col(KnowledgeVersion.id))
    )
    if session.connection().execute(statement).first() is None:
        raise NotFound(told=f"there is no version {version} of {name}, or it was withdrawn before")


def versions(session: Session, tenant_id: UUID) -> Sequence[KnowledgeVersion]:
    """Every version, by name, the newest first."""
    query = (
        select(KnowledgeVersion)
        .where(KnowledgeVersion.tenant_id == tenant_id)
        .order_by(col(KnowledgeVersion.name), col(KnowledgeVersion.valid_from).desc(), col(KnowledgeVersion.id).desc())
    )
    return session.exec(query).all()


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The versions that one question reads, by id, each with when the next one of its name begins."""

    tenant_id: UUID
    versions: dict[UUID, tuple[KnowledgeVersion, datetime | None]]


def in_force(session: Session, tenant_id: UUID, *, as_of: datetime, known_at: datetime | None) -> InForce:
    """Of each document the version in force at `as_of`, as far as it was known at `known_at` (None: now)."""
    found: dict[UUID, tuple[KnowledgeVersion, datetime | None]] = {}
    following: dict[str, datetime] = {}
    seen: set[str] = set()
    for row in versions(session, tenant_id):
        is_gone = row.withdrawn_at is not None and (known_at is None or row.withdrawn_at <= known_at)
        if is_gone or (known_at is not None and row.recorded_at > known_at) or row.name in seen:
            continue
        if row.valid_from > as_of:
            following[row.name] = row.valid_from
            continue
        seen.add(row.name)
        found[row.id] = (row, following.get(row.name))
    return InForce(tenant_id=tenant_id, versions=found)


def around(
    session: Session, force: InForce, entities: Iterable[Entity], *, hash_key: bytes, limit: int = MAX_TRIPLES_READ
) -> list[TripleView]:
    """The triples in force that name any of these entities, in the order of their documents; at most `limit`."""
    hashes = [_hash(hash_key, one) for one in sorted(set(entities))]
    found: dict[UUID, Triple] = {}
    for start in range(0, len(hashes), _HASHES_PER_QUERY):
        chunk = hashes[start : start + _HASHES_PER_QUERY]
        query = (
            select(Triple)
            .where(
                Triple.tenant_id == force.tenant_id,
                col(Triple.version_id).in_(list(force.versions)),
                or_(col(Triple.subject_hash).in_(chunk), col(Triple.object_hash).in_(chunk)),
            )
            .order_by(col(Triple.version_id), col(Triple.ordinal))
            .limit(limit)
        )
        found.update((row.id, row) for row in session.exec(query))
    return [_view(row, *force.versions[row.version_id]) for row in list(found.values())[:limit]]


def _view(row: Triple, version: KnowledgeVersion, until: datetime | None) -> TripleView:
    return TripleView(
        id=row.id,
        subject=disclose(row.subject),
        predicate=disclose(row.predicate),
        object=disclose(row.object),
        is_negative=row.is_negative,
        source=version.name,
        version=version.version,
        valid_from=version.valid_from,
        valid_until=until,
    )


def _again(session: Session, tenant_id: UUID, given: Document) -> Imported:
    row = session.exec(
        select(KnowledgeVersion).where(
            KnowledgeVersion.tenant_id == tenant_id,
            KnowledgeVersion.name == given.name,
            KnowledgeVersion.version == given.version,
        )
    ).one()
    is_moved = given.is_dated and row.valid_from != given.valid_from
    if row.content_hash != given.content_hash or is_moved or row.withdrawn_at is not None:
        raise BadInput("version", "is there already with other content: a version never changes", code="version_taken")
    return Imported(version_id=row.id, triple_count=row.triple_count, is_new=False)


def _hash(hash_key: bytes, entity: Entity) -> str:
    return keyed_hash(hash_key, "entity", entity.kind, entity.id)

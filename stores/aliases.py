"""Who is the same person: sets of users, each a tree of links from an alias to the user it was joined to.

Facts of a set live under its root. What a user said keeps the user's own id, so that parting finds it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import update
from sqlmodel import Session, col, select

from memory.facts import slot_parts
from schemas.envelopes import disclose, keyed_hash
from schemas.tables import Evidence, Fact, Tenant, User
from stores import tenancy

#: Evidence is read in portions of so many rows.
CHUNK = 500


def lock_sets(session: Session, tenant_id: UUID, refs: Iterable[UUID]) -> dict[UUID, User]:
    """Everyone that these users are, read anew and locked in id order until the transaction ends.

    A set that grew while its locks were waited for is locked again, whole.
    """
    asked = set(refs)
    wanted = members(session, tenant_id, asked) | asked
    while True:
        users = tenancy.lock_users(session, tenant_id, wanted)
        now = members(session, tenant_id, asked)
        if now <= wanted:
            return users
        wanted |= now


def members(session: Session, tenant_id: UUID, refs: Iterable[UUID]) -> set[UUID]:
    """The ids of everyone in the sets of these users."""
    roots = select(User.root_id).where(User.tenant_id == tenant_id, col(User.id).in_(set(refs)))
    return set(session.exec(select(User.id).where(User.tenant_id == tenant_id, col(User.root_id).in_(roots))))


def set_roots(session: Session, users: Mapping[UUID, User]) -> dict[UUID, UUID]:
    """Brings the roots of these whole sets up to their links; answers the new root of each user whose root changed."""
    moved: dict[UUID, UUID] = {}
    for user in users.values():
        root = _root(users, user)
        if root != user.root_id:
            moved[user.id] = root
    for ref, root in moved.items():
        users[ref].root_id = root
        session.connection().execute(update(User).where(col(User.id) == ref).values(root_id=root))
    return moved


def own_evidence(session: Session, tenant_id: UUID, refs: Sequence[UUID]) -> list[Evidence]:
    """All that these users said of themselves, whatever its verdict; what belongs to a ticket or thread stays there."""
    query = (
        select(Evidence)
        .where(Evidence.tenant_id == tenant_id, col(Evidence.user_ref).in_(refs), Evidence.scope == "user")
        .order_by(col(Evidence.id))
        .execution_options(populate_existing=True)
    )
    return list(session.exec(query))


def rehome(
    session: Session, tenant: Tenant, said: Sequence[Evidence], roots: Mapping[UUID, UUID]
) -> list[tuple[Evidence, str]]:
    """Puts what users said of themselves under their new roots; each row with its slot's hash before.

    Rows with any verdict move: what waits, or was refused, waits where its slot is.
    """
    found: list[tuple[Evidence, str]] = []
    for row in said:
        before, scope_key = row.slot_hash, str(roots[row.user_ref])
        parts = slot_parts(
            scope=row.scope,
            scope_key=scope_key,
            subject=disclose(row.subject),
            key=row.key,
            object_text=None if row.object is None else disclose(row.object),
            canonical=disclose(row.canonical),
        )
        row.scope_key, row.slot_hash = scope_key, keyed_hash(tenant.hash_key, "slot", *parts)
        found.append((row, before))
    session.flush()
    return found


def retired(session: Session, tenant_id: UUID, slot_hashes: Sequence[str]) -> list[Fact]:
    """All versions that these slots ever had, the latest first."""
    rows: list[Fact] = []
    for start in range(0, len(slot_hashes), CHUNK):
        query = select(Fact).where(
            Fact.tenant_id == tenant_id, col(Fact.slot_hash).in_(slot_hashes[start : start + CHUNK])
        )
        rows += session.exec(query.execution_options(populate_existing=True))
    # What is not superseded is the latest of all.
    return sorted(rows, key=lambda row: (row.superseded_at is None, row.superseded_at, row.id), reverse=True)


def _root(users: Mapping[UUID, User], user: User) -> UUID:
    while user.joined_to is not None:
        user = users[user.joined_to]
    return user.id

"""Who is there: tenants, the keys of their agents, and their users by keyed hash."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import and_, bindparam, select
from sqlmodel import Session, col

from afterturn.credentials import parse_bearer, parse_credential
from afterturn.errors import BadCredential
from afterturn.ids import uuid7
from schemas.envelopes import enclose, keyed_hash
from schemas.errors import BadInput, Forbidden
from schemas.tables import Key, Tenant, User
from stores import keys
from stores.keys import Secret
from stores.rows import among
from stores.sql import insert_once

HASH_KEY_BYTES = 32
RIGHTS, create_key, revoke = keys.RIGHTS, keys.create, keys.revoke

_WHY = {
    "bad_key": "the key is not valid",
    "key_revoked": "the key was revoked",
    "key_expired": "the key has expired",
    "key_rotated": "the key has a newer secret, and this one's grace is over",
}
_KNOWN_USER = (col(User.id), col(User.user_hash), col(User.root_id), col(User.generation), col(User.erased_at))
_GENERATIONS = select(col(User.id), col(User.generation)).where(col(User.id).in_(bindparam("ids", expanding=True)))


class KnownUser(NamedTuple):
    """A user's row, as far as arrivals ask. No object that a session tracks: that costs four times as much."""

    id: UUID
    user_hash: str
    root_id: UUID
    generation: int
    erased_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyInfo:
    """Whom a credential stands for and what it may do. `agent_id` is None when the key fixes no agent."""

    tenant_id: UUID
    key_id: str
    agent_id: str | None
    rights: frozenset[str]
    hash_key: bytes = field(repr=False)
    last_used_at: datetime | None = field(default=None, repr=False, compare=False)

    def require(self, right: str) -> None:
        """Raises: Forbidden when the key lacks the right."""
        if right not in self.rights:
            msg = f"key {self.key_id} lacks the right {right}"
            raise Forbidden(msg)


def create_tenant(
    session: Session,
    name: str,
    *,
    tenant_id: UUID | None = None,
    settings: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> Tenant:
    """A new organisation with a hash key of its own. Raises: BadInput when the name is empty or taken."""
    if not name.strip():
        raise BadInput("name", "a tenant needs one")
    tenant = Tenant(
        id=tenant_id or uuid7(),
        name=name,
        hash_key=secrets.token_bytes(HASH_KEY_BYTES),
        settings=dict(settings or {}),
        created_at=now or datetime.now(UTC),
    )
    if not insert_once(session, Tenant, [tenant]):
        raise BadInput("name", "another tenant has it already", code="name_taken")
    return session.get_one(Tenant, tenant.id)


def find_tenant(session: Session, name: str) -> Tenant | None:
    """The tenant of that name."""
    return session.scalars(select(Tenant).where(col(Tenant.name) == name)).one_or_none()


def key_of_bearer(session: Session, bearer: str, *, now: datetime | None = None) -> KeyInfo:
    """Whom a bearer token stands for; `Bearer at_...` and the bare credential both do.

    Raises: Forbidden, in the same words for a malformed, unknown and wrong one. Who holds a secret that was good once
    is told what ended it (key_revoked, key_expired, key_rotated).
    """
    try:
        credential = parse_credential(bearer) if bearer.startswith("at_") else parse_bearer(bearer)
    except BadCredential as exc:
        raise _refused() from exc
    key = session.get(Key, credential.key_id)
    secret = None if key is None else keys.presented(key, credential.secret)
    if key is None or secret is None:
        raise _refused()
    if (end := secret.end(now or datetime.now(UTC))) is not None:
        raise _refused(end)
    return _info(session, key)


def key_info(session: Session, key_id: str, *, at: datetime | None = None) -> KeyInfo:
    """Whom a key stands for, by its id alone: for what has opened under it, and arrived at `at`.

    Raises: Forbidden when it is unknown, revoked since, or had expired by then.
    """
    key = session.get(Key, key_id)
    if key is None:
        raise _refused()
    if (end := keys.secrets_of(key)[0].end(at or datetime.now(UTC))) is not None:
        raise _refused(end)
    return _info(session, key)


def sealers(session: Session, key_id: str) -> list[tuple[Secret, KeyInfo]]:
    """What may have sealed a batch in this key's name, the newest secret first, ended ones as well; none if unknown."""
    key = session.get(Key, key_id)
    if key is None:
        return []
    info = _info(session, key)
    return [(secret, info) for secret in keys.secrets_of(key)]


def hash_of(tenant: Tenant | KeyInfo, *parts: str) -> str:
    """The tenant's own keyed hash of texts: equal texts meet by it, and outside the tenant it says nothing."""
    return keyed_hash(tenant.hash_key, *parts)


def user_hash(tenant: Tenant | KeyInfo, user_id: str) -> str:
    """The hash a user's row is found by."""
    return hash_of(tenant, "user", user_id)


def ensure_users(
    session: Session,
    tenant: Tenant | KeyInfo,
    user_ids: Iterable[str],
    *,
    now: datetime | None = None,
    is_shared: bool = False,
) -> dict[str, KnownUser]:
    """The rows of users as agents name them, new where needed, locked until the transaction ends.

    Locks are taken in id order and new rows in hash order, so that two writers never wait for each other in a ring.
    A shared lock keeps others only from changing the row, as an erasure would.
    """
    by_hash = {user_hash(tenant, user_id): user_id for user_id in user_ids}
    connection = session.connection()
    ours = and_(col(User.tenant_id) == _tenant_id(tenant), among(session, User.user_hash, by_hash))
    known = set(connection.scalars(select(col(User.user_hash)).where(ours)))
    if len(known) < len(by_hash):
        at = now or datetime.now(UTC)
        fresh = [_new_user(tenant, digest, by_hash[digest], at) for digest in by_hash.keys() - known]
        insert_once(session, User, fresh, key=["tenant_id", "user_hash"])
    locked = connection.execute(select(*_KNOWN_USER).where(ours).order_by(col(User.id)).with_for_update(read=is_shared))
    return {by_hash[row.user_hash]: KnownUser(*row) for row in locked}


def find_user(session: Session, tenant: Tenant | KeyInfo, user_id: str) -> User | None:
    """A user's row, not locked; None for one that was never heard of."""
    named = (col(User.tenant_id) == _tenant_id(tenant), col(User.user_hash) == user_hash(tenant, user_id))
    return session.scalars(select(User).where(*named)).one_or_none()


def lock_users(session: Session, tenant_id: UUID, refs: Iterable[UUID]) -> dict[UUID, User]:
    """The rows of users by their ids, read anew and locked in id order until the transaction ends."""
    wanted = (
        select(User)
        .where(col(User.tenant_id) == tenant_id, col(User.id).in_(set(refs)))
        .order_by(col(User.id))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {user.id: user for user in session.scalars(wanted)}


def generations(session: Session, refs: Sequence[UUID]) -> dict[UUID, int]:
    """The generation of each of these users that is there."""
    found: dict[UUID, int] = {}
    for start in range(0, len(refs), 500):
        rows = session.connection().execute(_GENERATIONS, {"ids": refs[start : start + 500]})
        found.update((row.id, row.generation) for row in rows)
    return found


def _new_user(tenant: Tenant | KeyInfo, digest: str, user_id: str, created_at: datetime) -> User:
    ref = uuid7()
    return User(
        id=ref,
        tenant_id=_tenant_id(tenant),
        user_hash=digest,
        user_id=enclose(user_id),
        root_id=ref,
        created_at=created_at,
    )


def _tenant_id(tenant: Tenant | KeyInfo) -> UUID:
    return tenant.id if isinstance(tenant, Tenant) else tenant.tenant_id


def _info(session: Session, key: Key) -> KeyInfo:
    return KeyInfo(
        tenant_id=key.tenant_id,
        key_id=key.id,
        agent_id=key.agent_id,
        rights=frozenset(key.rights),
        hash_key=session.get_one(Tenant, key.tenant_id).hash_key,
        last_used_at=key.last_used_at,
    )


def _refused(code: str = "bad_key") -> Forbidden:
    return Forbidden(_WHY[code], code=code)

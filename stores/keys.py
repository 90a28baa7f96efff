"""Keys as rows: made, rotated, ended; which of a key's secrets are good, and why one is not. No key is ever cached.

A key ends in three ways. Revoked: from that moment nothing that is not committed yet is taken under it, whatever was
queued before. Expired, or its secret rotated away: what was sealed while it was good is still taken for
`QUEUED_HOURS`, since a batch may have waited in the broker. An HTTP call is judged when it arrives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import or_, update
from sqlmodel import Session, col

from afterturn.credentials import (
    Credential,
    bearer_hash,
    bearer_matches,
    generate_credential,
    seal_key,
)
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Key, Tenant

RIGHTS = frozenset({"publish", "recall", "staff", "review", "erase", "admin"})
GRACE_HOURS = 24.0
QUEUED_HOURS = 24.0
#: How coarse `last_used_at` is: one write for each key and hour, whatever it does.
USE_SECONDS = 3600.0

End = Literal["key_revoked", "key_expired", "key_rotated"]


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret of a key, as far as the service keeps it, and when it ends. `after` is what ends it by time."""

    bearer_hash: str = field(repr=False)
    seal_key: bytes = field(repr=False)
    revoked_at: datetime | None
    ends_at: datetime | None
    after: End = "key_expired"

    def end(self, now: datetime) -> End | None:
        """Why it is good no more, or None."""
        if self.revoked_at is not None:
            return "key_revoked"
        return self.after if self.ends_at is not None and self.ends_at <= now else None

    def end_for(self, sent_at: datetime, now: datetime) -> End | None:
        """Why what was sealed with it at `sent_at` is not taken any more at `now`, or None."""
        if self.revoked_at is not None or self.ends_at is None or self.ends_at <= sent_at:
            return self.end(now)
        return self.after if self.ends_at + timedelta(hours=QUEUED_HOURS) <= now else None


def secrets_of(key: Key) -> list[Secret]:
    """The newest first; the one before it as well, even when its time is over."""
    found = [Secret(key.bearer_hash, key.seal_key, key.revoked_at, key.expires_at)]
    if key.old_bearer_hash is not None and key.old_seal_key is not None and key.old_until is not None:
        expires_first = key.expires_at is not None and key.expires_at <= key.old_until
        ends_at: datetime | None = key.expires_at if expires_first else key.old_until
        after: End = "key_expired" if expires_first else "key_rotated"
        found.append(Secret(key.old_bearer_hash, key.old_seal_key, key.revoked_at, ends_at, after))
    return found


def presented(key: Key, secret: bytes) -> Secret | None:
    """Which of the key's secrets this is, if it is one of them."""
    return next((one for one in secrets_of(key) if bearer_matches(secret, one.bearer_hash)), None)


def create(
    session: Session,
    tenant: Tenant,
    rights: Iterable[str],
    agent_id: str | None = None,
    *,
    expires_at: datetime | None = None,
    now: datetime | None = None,
) -> tuple[Key, str]:
    """A new key and its credential, which exists nowhere else: show it once. Raises: BadInput for an unknown right."""
    wanted, made_at = frozenset(rights), now or datetime.now(UTC)
    if not wanted or wanted - RIGHTS:
        raise BadInput("rights", f"one or more of {', '.join(sorted(RIGHTS))}")
    if expires_at is not None and expires_at <= made_at:
        raise BadInput("expires_at", "must lie ahead")
    credential = generate_credential()
    key = Key(
        id=credential.key_id,
        tenant_id=tenant.id,
        agent_id=agent_id,
        rights=sorted(wanted),
        bearer_hash=bearer_hash(credential.secret),
        seal_key=seal_key(credential.secret),
        created_at=made_at,
        expires_at=expires_at,
    )
    session.add(key)
    session.flush()
    return key, credential.text()


def rotate(
    session: Session, key_id: str, *, grace_hours: float = GRACE_HOURS, now: datetime | None = None
) -> tuple[Key, str]:
    """A new secret for a key: same id, tenant, agent, rights and expiry. The one before is good for `grace_hours` more.

    Raises: NotFound; Conflict for a key that has ended, or while the last rotation's grace goes on, since only two
    secrets are good at a time (with no grace at all both older ones end at once).
    """
    at = now or datetime.now(UTC)
    key = _locked(session, key_id)
    if (end := secrets_of(key)[0].end(at)) is not None:
        raise Conflict(f"key {key_id} has ended; make a new one", code=end)
    if grace_hours > 0 and key.old_until is not None and key.old_until > at:
        msg = f"key {key_id} is being rotated: the secret before is good until {key.old_until.isoformat()}"
        raise Conflict(msg, code="in_grace")
    fresh = Credential(key_id, generate_credential().secret)
    key.old_bearer_hash, key.old_seal_key = key.bearer_hash, key.seal_key
    key.old_until, key.rotated_at = at + timedelta(hours=grace_hours), at
    key.bearer_hash, key.seal_key = bearer_hash(fresh.secret), seal_key(fresh.secret)
    session.flush()
    return key, fresh.text()


def revoke(session: Session, key_id: str, *, now: datetime | None = None) -> None:
    """Ends a key for good, both of its secrets. Repeat: keeps the first time. Raises: NotFound."""
    key = _locked(session, key_id)
    if key.revoked_at is None:
        key.revoked_at = now or datetime.now(UTC)
        session.flush()


def expire(session: Session, key_id: str, at: datetime | None) -> None:
    """Sets the time at which a key ends, or none. Raises: NotFound."""
    _locked(session, key_id).expires_at = at
    session.flush()


def is_use_new(last_used_at: datetime | None, now: datetime) -> bool:
    """Whether a use is worth a write."""
    return last_used_at is None or last_used_at <= now - timedelta(seconds=USE_SECONDS)


def note_use(session: Session, key_id: str, now: datetime) -> None:
    """Writes down that the key is in use, unless somebody did within the hour."""
    stale = or_(col(Key.last_used_at).is_(None), col(Key.last_used_at) <= now - timedelta(seconds=USE_SECONDS))
    statement = update(Key).where(col(Key.id) == key_id, stale).values(last_used_at=now)
    session.connection().execute(statement)


def _locked(session: Session, key_id: str) -> Key:
    key = session.get(Key, key_id, with_for_update=True, populate_existing=True)
    if key is None:
        raise NotFound("key", key_id)
    return key

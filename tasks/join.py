"""Joins an anonymous user to a known one, and parts them again: facts are folded anew, each from who said it.

Everything stands in one transaction under the locks of all users concerned, so a window that is applied meanwhile waits
and then finds the set as it is. Neither the order of arrival nor that of joining matters: a slot is a fold over its
evidence, and joining only says which slot that is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlmodel import Session

from afterturn.limits import id_fault
from schemas.dossiers import AliasSet, AliasView
from schemas.envelopes import disclose
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Evidence, Fact, Tenant, User
from stores import aliases, hot, tenancy, upkeep
from stores.sql import after_commit
from tasks import slots
from tasks.app import INDEX
from tasks.base import hint
from tasks.holding import owe_touched, settle
from tasks.review import Desk, Who, ground_of
from tasks.slots import Folded
from tasks.work import Ground

logger = logging.getLogger(__name__)

MAX_MEMBERS = 50


@dataclass(frozen=True, slots=True)
class _Pair:
    known: User
    alias: User


def join(kit: Desk, tenant_id: UUID, known: str, alias: str, who: Who) -> AliasSet:
    """Makes `alias`, with everyone joined to it, the same person as `known`. Users need not have been heard of.

    Repeat: changes nothing. Raises: BadInput; Conflict when the alias belongs to somebody else, or its set is full.
    """
    _check(known, alias)
    done, moved = kit.db.write(lambda session: _join(session, kit, tenant_id, (known, alias)))
    logger.info("users joined moved=%d actor=%s", moved, who.actor)
    return done


def part(kit: Desk, tenant_id: UUID, known: str, alias: str, who: Who) -> AliasSet:
    """Takes `alias`, with everyone joined to it, out of the set of `known`: both are as if they had never been joined.

    Raises: NotFound when they are not in one set; Conflict when the alias is the set's root.
    """
    done, moved = kit.db.write(lambda session: _part(session, kit, tenant_id, (known, alias)))
    logger.info("users parted moved=%d actor=%s", moved, who.actor)
    return done


def show(kit: Desk, tenant_id: UUID, user_id: str) -> AliasSet:
    """Everyone that a user is. Raises: NotFound."""
    with kit.db.read() as session:
        user = tenancy.find_user(session, session.get_one(Tenant, tenant_id), user_id)
        if user is None:
            raise NotFound("user", unsaid=user_id)
        return _view(session, user)


def _join(session: Session, kit: Desk, tenant_id: UUID, names: tuple[str, str]) -> tuple[AliasSet, int]:
    ground = ground_of(session, kit, tenant_id)
    tenancy.ensure_users(session, ground.tenant, names)
    users, pair = _locked(ground, names)
    if pair.alias.root_id == pair.known.root_id:
        return _view(session, pair.known), 0
    if pair.alias.joined_to is not None:
        raise Conflict(code="joined_elsewhere")
    if len(users) > MAX_MEMBERS:
        raise Conflict(code="too_many_aliases")
    moved = _link(ground, kit, users, pair, to=pair.known.id, at=ground.now)
    return _view(session, pair.known), moved


def _part(session: Session, kit: Desk, tenant_id: UUID, names: tuple[str, str]) -> tuple[AliasSet, int]:
    ground = ground_of(session, kit, tenant_id)
    users, pair = _locked(ground, names)
    if pair.alias.root_id != pair.known.root_id or pair.alias.id == pair.known.id:
        raise NotFound(told="these two are not joined")
    if pair.alias.joined_to is None:
        raise Conflict(code="alias_is_root")
    moved = _link(ground, kit, users, pair, to=None, at=None)
    return _view(session, pair.known), moved


def _locked(ground: Ground, names: tuple[str, str]) -> tuple[dict[UUID, User], _Pair]:
    found = [tenancy.find_user(ground.session, ground.tenant, name) for name in names]
    unheard = next((name for name, user in zip(names, found, strict=True) if user is None), None)
    if unheard is not None:
        raise NotFound("user", unsaid=unheard)
    refs = [user.id for user in found if user is not None]
    users = aliases.lock_sets(ground.session, ground.tenant.id, refs)
    return users, _Pair(users[refs[0]], users[refs[1]])


def _link(
    ground: Ground, kit: Desk, users: dict[UUID, User], pair: _Pair, *, to: UUID | None, at: datetime | None
) -> int:
    """Sets the alias' link and brings roots, evidence, facts, spans and index up to it; how many statements moved."""
    session = ground.session
    pair.alias.joined_to, pair.alias.joined_at = to, at
    session.flush()
    roots = aliases.set_roots(session, users)
    said = aliases.own_evidence(session, ground.tenant.id, list(roots))
    before = {row.slot_hash: slots.slot_of(row) for row in said}
    moved = aliases.rehome(session, ground.tenant, said, roots)
    after = {row.slot_hash: slots.slot_of(row) for row, _ in moved}
    folded = slots.refold(ground, [*before.values(), *after.values()])
    _carry(ground, folded, moved)
    settle(ground, folded)
    owe_touched(ground)
    after_commit(session, partial(kit.hot.drop, hot.marks_of(ground.tenant.id, list(users))))
    after_commit(session, partial(hint, INDEX))
    return len(moved)


def _carry(ground: Ground, folded: Sequence[Folded], moved: Sequence[tuple[Evidence, str]]) -> None:
    """What a fact's use, age and end were, its version in the new slot goes on with: joining is no statement of it."""
    sources: dict[str, set[str]] = {}
    for row, before in moved:
        sources.setdefault(row.slot_hash, set()).add(before)
    changed: list[Fact] = []
    for one in folded:
        fresh = {version.id for version in one.fold.insert}
        if not fresh or one.slot.hash not in sources:
            continue
        rows = aliases.retired(ground.session, ground.tenant.id, [one.slot.hash, *sorted(sources[one.slot.hash])])
        older = [row for row in rows if row.id not in fresh]
        for row in rows:
            donor = next((other for other in older if _is_same(row, other)), None) if row.id in fresh else None
            if donor is not None:
                _inherit(row, donor)
                changed.append(row)
    ground.session.flush()
    upkeep.owe(ground.session, "fact", changed)


def _is_same(row: Fact, other: Fact) -> bool:
    return (row.value_hash, row.polarity, row.valid_from) == (other.value_hash, other.polarity, other.valid_from)


def _inherit(row: Fact, donor: Fact) -> None:
    row.access_count, row.last_accessed_at = donor.access_count, donor.last_accessed_at
    row.extensions, row.expires_at, row.strength = donor.extensions, donor.expires_at, donor.strength
    if row.said_at <= donor.said_at:
        row.deleted_at = donor.deleted_at


def _view(session: Session, user: User) -> AliasSet:
    ids = aliases.members(session, user.tenant_id, [user.id])
    found = {ref: session.get_one(User, ref) for ref in sorted(ids)}
    names = {ref: disclose(one.user_id) for ref, one in found.items()}
    members = tuple(
        AliasView(
            user_id=names[ref],
            joined_to=None if one.joined_to is None else names[one.joined_to],
            joined_at=one.joined_at,
        )
        for ref, one in found.items()
    )
    return AliasSet(user_id=names[user.id], root=names[user.root_id], members=members)


def _check(known: str, alias: str) -> None:
    for field, name in (("user_id", known), ("alias", alias)):
        if (fault := id_fault(name)) is not None:
            raise BadInput(field, fault)
    if known == alias:
        raise BadInput("alias", "is not valid")

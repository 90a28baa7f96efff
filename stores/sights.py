"""Who asks, where they talk, and which rows that lets them see. Reads only; every condition is one for an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, exists, false, func, or_, select, true
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from memory.records import Sight
from schemas.delivery import Session as SessionRow
from schemas.tables import ClockOffset, Episode, Fact, Moment, Turn, User
from stores.tenancy import KeyInfo, user_hash

SHOWN = ("auto", "approved")
MAX_THREADS = 50


@dataclass(frozen=True, slots=True)
class Asker:
    """Whom a question is about: everyone that the user is, in id order, each with its generation.

    `offset_seconds` is how far the world's clock is ahead of the real one.
    """

    users: tuple[UUID, ...]
    generations: tuple[int, ...]
    offset_seconds: float


@dataclass(frozen=True, slots=True)
class Talk:
    """A session of the user, as far as its thread and what waits in it go."""

    id: UUID
    thread_id: str | None
    undigested_count: int
    since: datetime | None


def find_asker(session: Session, key: KeyInfo, user_id: str) -> Asker | None:
    """The user by the agent's word for it, erased ones left out; None for one that was never heard of."""
    bound = {"tenant": key.tenant_id, "hash": user_hash(key, user_id)}
    rows = session.connection().execute(_asker(), bound).all()
    if not rows:
        return None
    offset = rows[0].offset_seconds
    return Asker(tuple(row.id for row in rows), tuple(row.generation for row in rows), offset or 0.0)


def talks(session: Session, users: Sequence[UUID]) -> list[Talk]:
    """The user's sessions that are in a thread or have something undigested."""
    rows = session.connection().execute(_talks(), {"users": users})
    return [
        Talk(
            id=row.id,
            thread_id=row.thread_id,
            undigested_count=row.undigested_count,
            since=(row.first_undigested_at or row.last_received_at) if row.undigested_count else None,
        )
        for row in rows
    ]


def shared_threads(session: Session, tenant_id: UUID, users: Sequence[UUID], threads: Sequence[str]) -> tuple[str, ...]:
    """Those of the user's threads in which somebody else talks, too, at most MAX_THREADS of them."""
    if not threads:
        return ()
    bound = {"tenant": tenant_id, "users": users, "threads": threads}
    return tuple(sorted(session.connection().execute(_shared(), bound).scalars())[:MAX_THREADS])


def is_in_thread(session: Session, tenant_id: UUID, users: Sequence[UUID], thread_id: str) -> bool:
    """Whether the user said anything in the thread, though no session of theirs names it now."""
    said = exists().where(
        col(Turn.tenant_id) == tenant_id, col(Turn.thread_id) == thread_id, col(Turn.user_ref).in_(users)
    )
    return bool(session.connection().execute(select(said)).scalar_one())


@cache
def _asker() -> Select[Any]:
    named = aliased(User)
    offset = select(col(ClockOffset.seconds)).where(col(ClockOffset.id) == 1).scalar_subquery().label("offset_seconds")
    return (
        pick(User.id, User.generation, offset)
        .join(named, and_(col(named.root_id) == col(User.root_id), col(named.tenant_id) == col(User.tenant_id)))
        .where(
            col(named.tenant_id) == given("tenant"),
            col(named.user_hash) == given("hash"),
            col(User.erased_at).is_(None),
        )
        .order_by(col(User.id))
    )


@cache
def _talks() -> Select[Any]:
    row = SessionRow
    return pick(row.id, row.thread_id, row.undigested_count, row.first_undigested_at, row.last_received_at).where(
        col(row.user_ref).in_(several("users")),
        or_(col(row.undigested_count) > 0, col(row.thread_id).is_not(None)),
    )


@cache
def _shared() -> Select[Any]:
    return (
        pick(SessionRow.thread_id)
        .where(
            col(SessionRow.tenant_id) == given("tenant"),
            col(SessionRow.thread_id).in_(several("threads")),
            col(SessionRow.user_ref).not_in(several("users")),
        )
        .distinct()
    )


class Form(NamedTuple):
    """All of a sight that decides which conditions a statement has; the values go in as parameters.

    Statements are built once a form: SQLAlchemy takes several times as long to build one as to run it.
    """

    known_at: bool
    between: bool
    closed: bool
    outcome: bool
    ticket: bool
    thread: bool
    scopes: tuple[str, ...]


def form(sight: Sight) -> Form:
    """The form of a sight."""
    return Form(
        known_at=sight.known_at is not None,
        between=sight.between is not None,
        closed=sight.closed,
        outcome=sight.outcome is not None,
        ticket=sight.ticket_id is not None,
        thread=bool(_threads(sight)),
        scopes=tuple(sorted(sight.scopes)),
    )


def values(sight: Sight, **more: object) -> dict[str, object]:
    """The parameters of a sight, for any statement of its form; with those of the statement's own."""
    start, end = sight.between or (None, None)
    return {
        "tenant": sight.tenant_id,
        "users": sight.users,
        "user_keys": [str(user) for user in sight.users],
        "now": sight.now,
        "as_of": sight.as_of,
        "known_at": sight.known_at,
        "between_start": start,
        "between_end": end,
        "outcome": sight.outcome,
        "ticket": sight.ticket_id,
        "threads": _threads(sight),
        "shared": sight.shared_threads,
        **more,
    }


def facts_in(seen: Form) -> list[ColumnElement[bool]]:
    """Facts that hold in a sight of this form; its own indexes find them by scope."""
    conditions: list[ColumnElement[bool]] = [
        col(Fact.write_status).in_(SHOWN),
        col(Fact.deleted_at).is_(None),
        or_(col(Fact.expires_at).is_(None), col(Fact.expires_at) > given("now")),
        _in_scope(seen, Fact),
    ]
    if seen.known_at:
        conditions.append(col(Fact.recorded_at) <= given("known_at"))
        conditions.append(or_(col(Fact.superseded_at).is_(None), col(Fact.superseded_at) > given("known_at")))
    else:
        conditions.append(col(Fact.superseded_at).is_(None))
    conditions.append(or_(col(Fact.valid_from).is_(None), col(Fact.valid_from) <= given("as_of")))
    if seen.between:
        conditions.append(or_(col(Fact.valid_from).is_(None), col(Fact.valid_from) < given("between_end")))
        conditions.append(or_(col(Fact.valid_until).is_(None), col(Fact.valid_until) > given("between_start")))
    elif not seen.closed:
        conditions.append(or_(col(Fact.valid_until).is_(None), col(Fact.valid_until) > given("as_of")))
    return conditions


def episodes_in(seen: Form) -> list[ColumnElement[bool]]:
    """Episodes that may be told in a sight of this form."""
    conditions: list[ColumnElement[bool]] = [
        aside(Episode.tenant_id) == given("tenant"),
        aside(Episode.user_ref).in_(several("users")),
        col(Episode.write_status).in_(SHOWN),
        col(Episode.deleted_at).is_(None),
        or_(col(Episode.expires_at).is_(None), col(Episode.expires_at) > given("now")),
        col(Episode.started_at) <= given("as_of"),
    ]
    if not _wants(seen, "user"):
        conditions.append(false())
    if seen.known_at:
        conditions.append(col(Episode.recorded_at) <= given("known_at"))
    if seen.outcome:
        conditions.append(col(Episode.outcome) == given("outcome"))
    if seen.between:
        conditions += [
            col(Episode.started_at) < given("between_end"),
            col(Episode.ended_at) >= given("between_start"),
        ]
    return conditions


def moments_in(seen: Form) -> list[ColumnElement[bool]]:
    """Moments, joined with their turns, that may be shown in a sight of this form."""
    return [
        aside(Moment.tenant_id) == given("tenant"),
        col(Moment.deleted_at).is_(None),
        _in_scope(seen, Moment),
        *turns_in(seen),
    ]


def turns_in(seen: Form) -> list[ColumnElement[bool]]:
    """Turns that were said by then and that ears outside of their ticket may hear."""
    own_ticket = col(Turn.ticket_id) == given("ticket") if seen.ticket else false()
    # Whatever scope its row has: what a member of staff said belongs to the ticket alone.
    conditions: list[ColumnElement[bool]] = [
        or_(col(Turn.role) != "staff", own_ticket),
        col(Turn.at) <= given("as_of"),
    ]
    if seen.known_at:
        conditions.append(col(Turn.received_at) <= given("known_at"))
    if seen.between:
        conditions += [col(Turn.at) >= given("between_start"), col(Turn.at) < given("between_end")]
    return conditions


def aside(column: Any) -> ColumnElement[Any]:
    """A column in a condition for which no index is to be used.

    SQLite guesses without statistics: of "these 50 ids" and "this tenant" it takes the tenant, and reads all of it.
    """
    return func.coalesce(column, column)


def given(name: str) -> BindParameter[Any]:
    """A value that is bound when the statement runs."""
    return bindparam(name)


def several(name: str) -> BindParameter[Any]:
    """A list of values that is bound when the statement runs."""
    return bindparam(name, expanding=True)


def pick(*columns: Any) -> Select[Any]:
    """A query for some columns: plain rows, which no session tracks."""
    return cast("Select[Any]", select(*columns))


def _threads(sight: Sight) -> tuple[str, ...]:
    return tuple(one for one in (sight.thread_id, str(sight.session_ref) if sight.session_ref else None) if one)


def _in_scope(seen: Form, table: type[Fact] | type[Moment]) -> ColumnElement[bool]:
    scope, key = col(table.scope), col(table.scope_key)
    # Facts are found by this: each way names all columns of one index. Moments are found by their ids.
    own = col(Fact.tenant_id) == given("tenant") if table is Fact else true()
    ways: list[ColumnElement[bool]] = []
    if _wants(seen, "user"):
        ways.append(and_(own, scope == "user", key.in_(several("user_keys"))))
    if _wants(seen, "organization"):
        ways.append(and_(own, scope == "organization"))
    if seen.ticket and _wants(seen, "ticket"):
        ways.append(and_(own, scope == "ticket", key == given("ticket")))
    if seen.thread and _wants(seen, "thread"):
        # Whoever is in a shared thread finds what was said in it.
        ways.append(and_(own, scope == "thread", key.in_(several("threads"))))
    if table is Moment and _wants(seen, "thread"):
        ways.append(and_(scope == "thread", key.in_(several("shared"))))
    return or_(*ways) if ways else false()


def _wants(seen: Form, scope: str) -> bool:
    return not seen.scopes or scope in seen.scopes

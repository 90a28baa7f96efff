"""Which index is live, which is being built beside it, and which was live before: SQL says so, nothing else does.

Every generation is of one embedder. A worker reads the plan in the transaction that claims its work and looks at it
again in the one that ends it, so that no record is written to one generation alone without being owed to the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import text, update
from sqlmodel import Session, col, select

from schemas.errors import Permanent, StaleClaim
from schemas.tables import IndexGeneration, IndexState
from stores.sql import database_now, insert_once

FIRST = 1
_TABLE = "index_generations"
# Held shared by whoever ends work by the plan, alone by whoever changes it.
_PLAN_LOCK = 4119200419


class Space(NamedTuple):
    """An embedder: its name, and what opens it (model None: the offline one)."""

    name: str
    model: str | None
    dimensions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The generations that count. `is_noted`: they stand in SQL, and not only in the settings."""

    live: IndexGeneration
    next: IndexGeneration | None = None
    retired: tuple[IndexGeneration, ...] = ()
    is_noted: bool = True

    @property
    def written(self) -> tuple[IndexGeneration, ...]:
        """Those into which every record goes: the live one first."""
        return (self.live,) if self.next is None else (self.live, self.next)

    @property
    def all(self) -> tuple[IndexGeneration, ...]:
        """Those from which a record must be deleted."""
        return (*self.written, *self.retired)


def plan(session: Session, default: Space) -> Plan:
    """The plan as SQL has it; before anything is noted, or before the migration, a first generation by `default`."""
    connection = session.connection()
    if not connection.dialect.has_table(connection, _TABLE):
        return _first(default)
    query = select(IndexGeneration).where(IndexGeneration.state != "dropped").order_by(col(IndexGeneration.number))
    return _plan(session.exec(query).all(), default)


def settled(session: Session, default: Space) -> Plan:
    """The plan, which stays as it is until this transaction ends."""
    _lock(session, alone=False)
    return plan(session, default)


def note(session: Session, first: IndexGeneration, probe: bytes | None) -> None:
    """Notes the first generation, when none is noted yet, and a generation's probe, when it has none yet.

    Repeat: harmless. Of two workers with different settings the first one's stands.
    """
    row: dict[str, Any] = {"number": first.number, "state": "live", "place": first.place, "walk": {}}
    row |= {"space": first.space, "model": first.model, "dimensions": first.dimensions}
    insert_once(session, IndexGeneration, [{**row, "created_at": database_now(session)}])
    if probe is not None:
        same = (col(IndexGeneration.number) == first.number, col(IndexGeneration.space) == first.space)
        statement = update(IndexGeneration).where(*same, col(IndexGeneration.probe).is_(None))
        session.connection().execute(statement.values(probe=probe))


def begin(
    session: Session,
    space: Space,
    place_of: Callable[[int], str],
    *,
    live: IndexGeneration,
    live_place: str,
    probe: bytes,
) -> IndexGeneration:
    """Begins the next generation, into which every worker writes from now on. `live_place`: see `Index.place`.

    Repeat: the one that was begun. Raises: Permanent when one of another embedder is being built.
    """
    _lock(session, alone=True)
    note(session, live, None)
    now = plan(session, space)
    if now.next is not None:
        if now.next.space != space.name:
            msg = f"index generation {now.next.number} with {now.next.space} is being built; finish or abandon it first"
            raise Permanent(msg, code="index_building")
        return now.next
    # Where the live one is must be known without the alias, which moves.
    _change(session, now.live.number, place=now.live.place or live_place)
    return _add(session, "next", space, place_of, probe=probe)


def replace(session: Session, space: Space, place_of: Callable[[int], str], *, live_place: str) -> IndexGeneration:
    """Begins a live generation with nothing in it, in place of one that nobody can read any more."""
    _lock(session, alone=True)
    now = plan(session, space)
    _change(session, now.live.number, place=now.live.place or live_place)
    for row in now.all:
        _change(session, row.number, state="retired", switched_at=database_now(session))
    made = _add(session, "live", space, place_of, probe=None)
    session.connection().execute(
        update(IndexState).values(
            generation=made.number, epoch=None, next_epoch=None, is_whole=False, walked_at=None, walk={}
        )
    )
    return made


def keep_walk(session: Session, number: int, walk: dict[str, Any]) -> None:
    """Says how far the building of the next generation is. Raises: StaleClaim when it is no longer the next."""
    _change(session, number, state="next", walk=walk)


def keep_identity(session: Session, tenant_id: UUID, identity: UUID | None, *, live: int) -> None:
    """Notes which index a tenant's records are in, in the next generation."""
    now = database_now(session)
    row: dict[str, Any] = {"tenant_id": tenant_id, "generation": live, "is_whole": True, "walk": {}, "drift": {}}
    insert_once(session, IndexState, [{**row, "walked_at": now, "changed_at": now}])
    session.connection().execute(
        update(IndexState).where(col(IndexState.tenant_id) == tenant_id).values(next_epoch=identity)
    )


def switch(session: Session, number: int) -> None:
    """Makes the next generation the live one, for everybody at once, and has all of it compared with SQL soon.

    Raises: StaleClaim when it is not the next any more.
    """
    _lock(session, alone=True)
    now = database_now(session)
    live = session.exec(select(IndexGeneration.number).where(IndexGeneration.state == "live")).one()
    _change(session, number, state="live", walk={}, switched_at=now)
    session.connection().execute(
        update(IndexGeneration).where(col(IndexGeneration.number) == live).values(state="retired", switched_at=now)
    )
    session.connection().execute(
        update(IndexState).values(
            generation=number,
            epoch=col(IndexState.next_epoch),
            next_epoch=None,
            walked_at=None,
            walk={},
            changed_at=now,
        )
    )


def abandon(session: Session) -> bool:
    """Gives the next generation up; the live one stays. False when there is none."""
    _lock(session, alone=True)
    now = database_now(session)
    given_up = (
        update(IndexGeneration).where(col(IndexGeneration.state) == "next").values(state="retired", switched_at=now)
    )
    count = session.connection().execute(given_up).rowcount
    session.connection().execute(update(IndexState).values(next_epoch=None))
    return count > 0


def left(session: Session, *, grace_seconds: float) -> list[IndexGeneration]:
    """Retired generations that nobody reads any more: readers look at the plan again long before."""
    before: datetime = database_now(session) - timedelta(seconds=grace_seconds)
    query = select(IndexGeneration).where(
        IndexGeneration.state == "retired", col(IndexGeneration.switched_at) <= before
    )
    return list(session.exec(query.order_by(col(IndexGeneration.number))))


def dropped(session: Session, number: int) -> None:
    """Notes that nothing of a generation is left. Its number never comes back."""
    session.connection().execute(
        update(IndexGeneration).where(col(IndexGeneration.number) == number).values(state="dropped", walk={})
    )


def may_be_made(session: Session, number: int) -> bool:
    """Whether an index of this generation that is not there may be made: not what was dropped or retired."""
    connection = session.connection()
    if not connection.dialect.has_table(connection, _TABLE):
        return True
    row = session.get(IndexGeneration, number)
    return number == FIRST if row is None else row.state in ("live", "next")


def _add(
    session: Session, state: str, space: Space, place_of: Callable[[int], str], *, probe: bytes | None
) -> IndexGeneration:
    last = session.exec(select(IndexGeneration.number).order_by(col(IndexGeneration.number).desc()).limit(1)).first()
    number = (last or FIRST) + 1
    row = IndexGeneration(
        number=number,
        state=state,
        space=space.name,
        model=space.model,
        dimensions=space.dimensions,
        place=place_of(number),
        probe=probe,
        created_at=database_now(session),
    )
    session.add(row)
    session.flush()
    return row


def _plan(rows: Any, default: Space) -> Plan:
    by_state: dict[str, list[IndexGeneration]] = {}
    for row in rows:
        by_state.setdefault(row.state, []).append(row)
    if "live" not in by_state:
        return _first(default)
    return Plan(
        live=by_state["live"][0],
        next=next(iter(by_state.get("next", [])), None),
        retired=tuple(by_state.get("retired", [])),
    )


def _first(space: Space) -> Plan:
    live = IndexGeneration(
        number=FIRST,
        state="live",
        space=space.name,
        model=space.model,
        dimensions=space.dimensions,
        created_at=datetime.min,  # noqa: DTZ901 - stands in no table
    )
    return Plan(live=live, is_noted=False)


def _change(session: Session, number: int, **values: Any) -> None:
    was_next = values.get("state") in ("next", "live")
    statement = update(IndexGeneration).where(col(IndexGeneration.number) == number)
    if was_next:
        statement = statement.where(col(IndexGeneration.state) == "next")
    if session.connection().execute(statement.values(**values)).rowcount != 1:
        msg = f"index generation {number}: is not being built any more"
        raise StaleClaim(msg)


def _lock(session: Session, *, alone: bool) -> None:
    if session.get_bind().dialect.name == "postgresql":
        kind = "" if alone else "_shared"
        session.connection().execute(text(f"SELECT pg_advisory_xact_lock{kind}({_PLAN_LOCK})"))

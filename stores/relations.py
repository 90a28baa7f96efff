"""What SQL shows of a user's relations in one question's sight: facts, tickets, a ticket's state. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Select, Table, func
from sqlmodel import Session, col, select

from memory.edges import TicketView
from memory.moments import cut_text
from memory.records import FactRecord, Sight
from schemas.envelopes import disclose, disclose_json
from schemas.tables import Fact, Turn
from stores import working
from stores.held import Held, chunks, held_back
from stores.recall import fact_records, plain
from stores.sights import facts_in, form, given, pick, several, turns_in, values

MAX_FACTS = 5_000
MAX_TICKETS = 200
_QUOTE_CHARS = 200


def facts(session: Session, sight: Sight, held: Held) -> list[FactRecord]:
    """Everything that holds in this sight, the most important first, with what it rests on."""
    rows = plain(session, Fact, _facts(form(sight)), values(sight))
    return [one for one in fact_records(session, sight.tenant_id, rows, held) if sight.reads(one.agent_id)]


def tickets_of_turns(session: Session, tenant_id: UUID, event_ids: Sequence[str]) -> dict[str, str]:
    """In which ticket each of these turns was said; turns outside of any are left out."""
    found: dict[str, str] = {}
    for chunk in chunks([UUID(one) for one in dict.fromkeys(event_ids)]):
        query = select(col(Turn.event_id), col(Turn.ticket_id)).where(
            col(Turn.tenant_id) == tenant_id, col(Turn.event_id).in_(chunk), col(Turn.ticket_id).is_not(None)
        )
        found |= {str(event_id): str(ticket_id) for event_id, ticket_id in session.exec(query)}
    return found


def tickets(session: Session, sight: Sight, held: Held) -> list[TicketView]:
    """The tickets in which the user talked, each by its first turn, in that turn's order; at most MAX_TICKETS."""
    firsts = session.connection().execute(_tickets(form(sight)), values(sight)).all()
    ids = {row.ticket_id: row.at for row in firsts[:MAX_TICKETS]}
    if not ids:
        return []
    found: dict[str, TicketView] = {}
    query = (
        select(Turn)
        .where(
            Turn.tenant_id == sight.tenant_id,
            col(Turn.user_ref).in_(sight.users),
            col(Turn.ticket_id).in_(list(ids)),
            col(Turn.at).in_(set(ids.values())),
            Turn.role == "user",
        )
        .order_by(col(Turn.at), col(Turn.event_id))
    )
    for row in session.exec(query):
        ticket_id = str(row.ticket_id)
        if row.at == ids[ticket_id] and ticket_id not in found and sight.reads(row.agent_id):
            said = cut_text(disclose(row.content), held.cuts.get(row.event_id, ())).strip()
            found[ticket_id] = TicketView(
                ticket_id=ticket_id, event_id=str(row.event_id), at=row.at, role=row.role, quote=said[:_QUOTE_CHARS]
            )
    return list(found.values())


def state(session: Session, sight: Sight) -> tuple[dict[str, Any], Any] | None:
    """The structured state of the ticket that was asked in, and when it was set; None for none by then."""
    if sight.ticket_id is None:
        return None
    row = working.find(session, sight.tenant_id, working.TICKET, sight.ticket_id)
    if row is None or row.updated_at > sight.as_of:
        return None
    return cast("dict[str, Any]", disclose_json(row.state)), row.updated_at


def held(session: Session, sight: Sight) -> Held:
    """What is held back in this sight."""
    return held_back(session, sight)


@cache
def _facts(seen: Any) -> Select[Any]:
    table = cast("Table", cast("Any", Fact).__table__)
    order = (col(Fact.importance).desc(), col(Fact.recorded_at).desc(), col(Fact.id))
    return pick(*table.columns).where(*facts_in(seen)).order_by(*order).limit(MAX_FACTS)


@cache
def _tickets(seen: Any) -> Select[Any]:
    return (
        pick(col(Turn.ticket_id), func.min(col(Turn.at)).label("at"))
        .where(
            col(Turn.tenant_id) == given("tenant"),
            col(Turn.user_ref).in_(several("users")),
            col(Turn.ticket_id).is_not(None),
            col(Turn.role) == "user",
            *turns_in(seen),
        )
        .group_by(col(Turn.ticket_id))
        .order_by(func.min(col(Turn.at)).desc())
    )

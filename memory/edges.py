"""What is known, as edges: facts, tickets that were talked in, a ticket's structured state, an organisation's triples.

Only what a question may see comes in here; nothing is read into it. A name fact about somebody (my wife Anna) joins the
name to the person and is no edge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from memory.entities import USER, Entity, entity_of, numbered
from memory.predicates import predicate_of
from memory.records import FactRecord
from memory.registry import is_negation, spec_of
from memory.relations import Edge, Proof

RELATION = "relation"
ALIAS = "alias"
_VALUES = frozenset(
    {"age", "birth", "gender", "language", "timezone", "diet", "contact", "budget", "purchase_date", "balance", "stock"}
)
_STATE_LINKS: Mapping[str, str] = {
    "relevant_policy_ids": "falls_under",
    "policy_ids": "falls_under",
    "policy_id": "falls_under",
    "order_ids": "about",
    "order_id": "about",
    "product": "about",
    "products": "about",
}
"""What a controller keeps in a ticket's state, and what that says of the ticket."""
_MAX_STATE_VALUES = 20

Alias = tuple[Entity, Entity]


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketView:
    """A ticket in which a user talked: by which turn that shows first."""

    ticket_id: str
    event_id: str
    at: datetime
    role: str
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleView:
    """One statement of an organisation's document, and of which version."""

    id: UUID
    subject: str
    predicate: str
    object: str
    is_negative: bool
    source: str
    version: str
    valid_from: datetime | None
    valid_until: datetime | None


def fact_edges(records: Sequence[FactRecord], tickets: Mapping[str, str]) -> tuple[list[Edge], list[Alias]]:
    """The edges of facts that hold, and the names that they give. `tickets`: in which ticket a turn was said, by id."""
    edges: list[Edge] = []
    aliases: list[Alias] = []
    people: defaultdict[Entity, list[FactRecord]] = defaultdict(list)
    for record in records:
        head = entity_of(record.subject)
        if head.kind == "kin" and record.polarity == "+":
            people[head].append(record)
        if record.key == "name" and head != USER:
            aliases.append((entity_of(record.value), head))
            continue
        own = list(_edges_of(record, head))
        edges += own
        edges += _in_ticket(record, own, tickets)
    edges += [_kin_edge(person, told) for person, told in sorted(people.items())]
    return edges, aliases


def ticket_edges(views: Iterable[TicketView]) -> list[Edge]:
    """User - has the ticket - ticket, by the turn that shows it."""
    return [
        Edge(
            head=USER,
            predicate="ticket",
            tail=numbered("ticket", view.ticket_id),
            head_text=USER.id,
            tail_text=view.ticket_id,
            proof=Proof(
                kind="turn", id=view.event_id, event_id=view.event_id, at=view.at, role=view.role, quote=view.quote
            ),
        )
        for view in views
    ]


def state_edges(ticket_id: str, state: Mapping[str, Any], at: datetime) -> list[Edge]:
    """What the structured state of a ticket links it to: the policies it falls under, the orders it is about."""
    ticket = numbered("ticket", ticket_id)
    return [
        Edge(
            head=ticket,
            predicate=predicate,
            tail=_state_entity(key, said),
            head_text=ticket_id,
            tail_text=said,
            proof=Proof(kind="state", id=f"ticket:{ticket_id}", at=at),
        )
        for key, predicate in _STATE_LINKS.items()
        for said in _texts(state.get(key))
    ]


def triple_edges(views: Iterable[TripleView]) -> tuple[list[Edge], list[Alias]]:
    """An organisation's triples, and the other names that they give to things."""
    edges: list[Edge] = []
    aliases: list[Alias] = []
    for view in views:
        head, tail, predicate = entity_of(view.subject), entity_of(view.object), predicate_of(view.predicate)
        # A value is no thing that could have another name: "7 days" would join all that takes as long.
        if predicate == ALIAS and not view.is_negative and not (head.is_value or tail.is_value):
            aliases.append((tail, head))
            continue
        edges.append(
            Edge(
                head=head,
                predicate=predicate,
                tail=tail,
                head_text=view.subject,
                tail_text=view.object,
                is_negative=view.is_negative,
                valid_from=view.valid_from,
                valid_until=view.valid_until,
                proof=Proof(
                    kind="knowledge", id=str(view.id), at=view.valid_from, source=view.source, version=view.version
                ),
            )
        )
    return edges, aliases


def _edges_of(record: FactRecord, head: Entity) -> Iterator[Edge]:
    spec = spec_of(record.key)
    if record.key == RELATION:
        yield _edge(record, head, predicate_of(record.object), _value_entity(record, record.object))
    elif spec is not None and spec.cardinality == "by_object" and record.object:
        thing = numbered("order", record.object) if record.key == "order_status" else entity_of(record.object)
        # What a tool reported of an order is the order's; that it was asked for in this talk is the speaker's.
        link = "about" if spec.tool else record.key
        yield _edge(record, head, link, thing, tail_text=record.object)
        if _said(record.value) != _said(record.object):
            yield _edge(record, thing, record.key, _value_entity(record), head_text=record.object)
    else:
        yield _edge(record, head, record.key, _value_entity(record))


def _edge(
    record: FactRecord,
    head: Entity,
    predicate: str,
    tail: Entity,
    *,
    head_text: str | None = None,
    tail_text: str | None = None,
) -> Edge:
    return Edge(
        head=head,
        predicate=predicate,
        tail=tail,
        head_text=record.subject if head_text is None else head_text,
        tail_text=record.value if tail_text is None else tail_text,
        proof=_proof(record),
        is_negative=is_negation(record.key, record.polarity),
        is_volatile=record.volatile,
        is_contested=record.contested,
        confidence=record.confidence,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
    )


def _kin_edge(person: Entity, told: Sequence[FactRecord]) -> Edge:
    """Whoever speaks of "my wife" has one; the fact that names her shows it best."""
    best = min(told, key=lambda record: (record.key != "name", -record.confidence, -record.at.timestamp(), record.id))
    names = [record.value for record in told if record.key == "name"]
    return _edge(best, USER, person.id, person, head_text=USER.id, tail_text=names[0] if names else best.subject)


def _in_ticket(record: FactRecord, own: Sequence[Edge], tickets: Mapping[str, str]) -> Iterator[Edge]:
    """The orders, products and other numbered things that were spoken of in a ticket are what it is about."""
    ticket_id = next((tickets[ref.event_id] for ref in record.evidence if ref.event_id in tickets), None)
    if ticket_id is None:
        return
    ticket = numbered("ticket", ticket_id)
    ends = {(end, text) for edge in own for end, text in ((edge.head, edge.head_text), (edge.tail, edge.tail_text))}
    for end, text in sorted(ends):
        if end.kind in {"order", "id"} and end != ticket:
            yield _edge(record, ticket, "about", end, head_text=ticket_id, tail_text=text)


def _value_entity(record: FactRecord, predicate: str | None = None) -> Entity:
    found = entity_of(record.value)
    if record.key in _VALUES:
        return Entity("value", _said(record.canonical))
    link = predicate_of(predicate)
    if found.kind == "id" and link in {"order", "bought_with"}:
        return numbered("order", record.value)
    return numbered("ticket", record.value) if found.kind == "id" and link == "ticket" else found


def _state_entity(key: str, said: str) -> Entity:
    return numbered("order", said) if key.startswith("order") else entity_of(said)


def _proof(record: FactRecord) -> Proof:
    ref = record.evidence[0] if record.evidence else None
    return Proof(
        kind="fact",
        id=str(record.id),
        quote="" if ref is None else ref.quote,
        at=record.at if ref is None else ref.at,
        role="" if ref is None else ref.role,
        event_id=None if ref is None else ref.event_id,
    )


def _texts(value: object) -> list[str]:
    given = cast("list[object]", value) if isinstance(value, list) else [value]
    return [one for one in given if isinstance(one, str) and one.strip()][:_MAX_STATE_VALUES]


def _said(text: str) -> str:
    return "".join(text.casefold().split())

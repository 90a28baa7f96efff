"""Answers what two things have to do with each other, from what one question may see. Never writes, asks no index.

Facts, tickets and a ticket's state are read whole for the user; of an organisation's triples those near the two ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from sqlmodel import Session

from afterturn.whys import WhyAnswer, WhyEdge, WhyEnd, WhyPath, WhyProof, WhyRequest
from memory.because import edge_text, entity_text, proof_text
from memory.edges import Alias, TripleView, fact_edges, state_edges, ticket_edges, triple_edges
from memory.entities import Entity, entity_of
from memory.records import Sight
from memory.relations import Edge, Graph, Path, Resolved, graph, paths
from schemas.errors import BadInput
from stores import catalogue, knowledge, live, relations, sights
from stores.kit import Kit
from stores.tenancy import KeyInfo, hash_of
from tasks.reach import within_reach


def why(kit: Kit, key: KeyInfo, request: WhyRequest, *, language: str) -> WhyAnswer:
    """The chains between the two ends, in `zh` or `en`.

    Raises: Forbidden without the right to recall; BadInput for another agent than the key's. An unknown user has no
    facts, and may still ask what the organisation's knowledge joins.
    """
    key.require("recall")
    if key.agent_id is not None and request.agent_id not in (None, key.agent_id):
        raise BadInput("agent_id", "is not the agent of this key")
    with kit.db.read() as session:
        sight = _sight(session, kit, key, request)
        known = _graph(session, key, sight, request)
        waiting = catalogue.undigested_turns(session, sight.users)
    start, end = known.resolve(request.start), known.resolve(request.end)
    found = (
        paths(known, start.entity, end.entity, max_edges=request.max_edges)
        if start.entity is not None and end.entity is not None
        else ()
    )
    names = _names(known, language)
    return WhyAnswer(
        start=_end(request.start, start, names),
        end=_end(request.end, end, names),
        paths=tuple(_path(one, names, language) for one in found),
        undigested_turns=waiting,
    )


def _sight(session: Session, kit: Kit, key: KeyInfo, request: WhyRequest) -> Sight:
    asker = sights.find_asker(session, key, request.user_id)
    users = () if asker is None else asker.users
    offset = 0.0 if asker is None else asker.offset_seconds
    now = kit.clock() + timedelta(seconds=offset)
    as_of = request.as_of or now
    session_hash = hash_of(key, "session", request.session_id) if request.session_id else None
    return Sight(
        tenant_id=key.tenant_id,
        users=users,
        now=now,
        as_of=as_of,
        known_at=request.known_at,
        past=as_of < now,
        session_ref=live.find_session(session, users, session_hash) if session_hash and users else None,
        ticket_id=request.ticket_id,
        agent_id=key.agent_id or request.agent_id,
        agents=kit.policies.agents,
        bounded=request.as_of is not None,
    )


def _graph(session: Session, key: KeyInfo, sight: Sight, request: WhyRequest) -> Graph:
    edges: list[Edge] = []
    aliases: list[Alias] = []
    if sight.users:
        edges, aliases = _own(session, sight)
    force = knowledge.in_force(session, sight.tenant_id, as_of=sight.as_of, known_at=sight.known_at)
    if not force.versions:
        return graph(edges, aliases)

    def load(names: Iterable[Entity]) -> list[TripleView]:
        return knowledge.around(session, force, names, hash_key=key.hash_key)

    ends = (entity_of(request.start), entity_of(request.end))
    told, other_names = triple_edges(within_reach(ends, edges, aliases, load, max_edges=request.max_edges))
    return graph([*edges, *told], [*aliases, *other_names])


def _own(session: Session, sight: Sight) -> tuple[list[Edge], list[Alias]]:
    held = relations.held(session, sight)
    records = relations.facts(session, sight, held)
    said_in = [ref.event_id for record in records for ref in record.evidence]
    edges, aliases = fact_edges(records, relations.tickets_of_turns(session, sight.tenant_id, said_in))
    edges += ticket_edges(relations.tickets(session, sight, held))
    state = relations.state(session, sight)
    if state is not None and sight.ticket_id is not None:
        edges += state_edges(sight.ticket_id, *state)
    return edges, aliases


def _names(known: Graph, language: str) -> dict[Entity, str]:
    """What each entity is called: the shortest way in which its edges have it, but a person by name."""
    said: dict[Entity, set[str]] = {}
    for edge in known.edges:
        said.setdefault(edge.head, set()).add(edge.head_text)
        said.setdefault(edge.tail, set()).add(edge.tail_text)
    return {
        end: entity_text(end, min(texts, key=lambda text: _name_order(end, text)), language)
        for end, texts in said.items()
    }


def _name_order(end: Entity, text: str) -> tuple[bool, int, str]:
    return (end.kind == "kin" and entity_of(text) == end, len(text), text)


def _end(said: str, found: Resolved, names: dict[Entity, str]) -> WhyEnd:
    return WhyEnd(
        said=said,
        means=None if found.entity is None else names.get(found.entity, found.entity.id),
        reason=found.reason,
        candidates=tuple(names.get(one, one.id) for one in found.candidates),
    )


def _path(path: Path, names: dict[Entity, str], language: str) -> WhyPath:
    return WhyPath(
        nodes=tuple(names.get(node, node.id) for node in path.nodes),
        edges=tuple(
            _edge(edge, language, is_reversed=edge.head != here)
            for edge, here in zip(path.edges, path.nodes, strict=False)
        ),
        confidence=path.confidence,
    )


def _edge(edge: Edge, language: str, *, is_reversed: bool) -> WhyEdge:
    marks = (("volatile", edge.is_volatile), ("contested", edge.is_contested), ("negative", edge.is_negative))
    proof = edge.proof
    return WhyEdge(
        subject=entity_text(edge.head, edge.head_text, language),
        predicate=edge.predicate,
        object=entity_text(edge.tail, edge.tail_text, language),
        text=edge_text(edge, language),
        is_reversed=is_reversed,
        flags=tuple(name for name, is_on in marks if is_on),
        confidence=edge.confidence,
        valid_from=edge.valid_from,
        valid_until=edge.valid_until,
        evidence=WhyProof(
            kind=proof.kind,
            id=proof.id,
            text=proof_text(proof, language),
            quote=proof.quote,
            at=proof.at,
            role=proof.role,
            event_id=proof.event_id,
            source=proof.source,
            version=proof.version,
        ),
    )

"""Why two things have to do with each other: edges in, the shortest chains of them out, each edge with its evidence.

An edge is a statement that holds in somebody's sight: a fact, a ticket that was talked in, an organisation's triple.
Chains are read in both directions (BT-500 - electronics - return policy), but never through a value (7 days, 2024) and
never on from a negative statement: what is not so connects nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Literal

from memory.entities import Entity, entity_of

MAX_EDGES = 5
MAX_PATHS = 5
#: Chains looked at before the search is cut short: a hub with thousands of neighbours must not hold up an answer.
MAX_STEPS = 20_000

ProofKind = Literal["fact", "turn", "state", "knowledge"]
UnknownReason = Literal["unknown", "ambiguous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Where an edge comes from. `id` is of the fact, the turn or the triple; `source` and `version` of knowledge."""

    kind: ProofKind
    id: str
    quote: str = ""
    at: datetime | None = None
    role: str = ""
    event_id: str | None = None
    source: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One statement: `head` - predicate - `tail`, as they are called in it. `is_negative`: it is not so."""

    head: Entity
    predicate: str
    tail: Entity
    head_text: str
    tail_text: str
    proof: Proof
    is_negative: bool = False
    is_volatile: bool = False
    is_contested: bool = False
    confidence: float = 1.0
    valid_from: datetime | None = None
    valid_until: datetime | None = None


Around = Mapping[Entity, Mapping[Entity, Sequence[Edge]]]
"""Each entity's neighbours, with the edges between them."""


@dataclass(frozen=True, slots=True)
class Path:
    """A chain: `nodes` has one more than `edges`; edge i joins nodes i and i + 1, in either direction."""

    nodes: tuple[Entity, ...]
    edges: tuple[Edge, ...]

    @property
    def confidence(self) -> float:
        """That of its weakest edge, in [0, 1]."""
        return min((edge.confidence for edge in self.edges), default=1.0)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a name means among the edges: one entity; or none, with the reason and what it might have meant."""

    entity: Entity | None
    reason: UnknownReason | None = None
    candidates: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges whose ends are the same entity whenever they are the same thing."""

    edges: tuple[Edge, ...]
    aliases: Mapping[Entity, Entity] = field(default_factory=dict[Entity, Entity])
    names: Mapping[Entity, frozenset[Entity]] = field(default_factory=dict[Entity, frozenset[Entity]])

    def around(self) -> Around:
        """Every entity's neighbours, each with the edges to it."""
        found: defaultdict[Entity, dict[Entity, list[Edge]]] = defaultdict(dict)
        for edge in self.edges:
            found[edge.head].setdefault(edge.tail, []).append(edge)
            found[edge.tail].setdefault(edge.head, []).append(edge)
        return found

    def resolve(self, said: str) -> Resolved:
        """What `said` means here. A name of two different things is ambiguous, and no answer."""
        wanted = entity_of(said)
        nodes = {end for edge in self.edges for end in (edge.head, edge.tail)}
        meant = self.names.get(wanted, frozenset())
        if len(meant) > 1:
            return Resolved(None, "ambiguous", tuple(sorted(meant)))
        found = self.aliases.get(wanted, wanted)
        if found in nodes:
            return Resolved(found)
        same = tuple(sorted(node for node in nodes if wanted.kind == "id" and node.id == wanted.id))
        if len(same) == 1:
            return Resolved(same[0])
        return Resolved(None, "ambiguous" if same else "unknown", same)


def graph(edges: Iterable[Edge], aliases: Iterable[tuple[Entity, Entity]] = ()) -> Graph:
    """Joins what is one thing. `aliases` are (name, thing) pairs; a name of several things joins none of them.

    A bare number joins the order or ticket of that number, when there is exactly one.
    """
    given = tuple(edges)
    meanings: defaultdict[Entity, set[Entity]] = defaultdict(set)
    for name, thing in aliases:
        if name != thing:
            meanings[name].add(thing)
    ends = {end for edge in given for end in (edge.head, edge.tail)}
    typed = [end for end in ends if end.kind in {"order", "ticket"}]
    for bare in [end for end in ends if end.kind == "id"]:
        same = [end for end in typed if end.id == bare.id]
        if len(same) == 1:
            meanings[bare].add(same[0])
    roots = _roots({name: next(iter(things)) for name, things in meanings.items() if len(things) == 1})
    joined = [
        replace(edge, head=roots.get(edge.head, edge.head), tail=roots.get(edge.tail, edge.tail)) for edge in given
    ]
    several = {
        name: frozenset(roots.get(thing, thing) for thing in things)
        for name, things in meanings.items()
        if len(things) > 1
    }
    return Graph(tuple(edge for edge in joined if edge.head != edge.tail), roots, several)


def paths(
    among: Graph, start: Entity, end: Entity, *, max_edges: int = MAX_EDGES, limit: int = MAX_PATHS
) -> tuple[Path, ...]:
    """The shortest chains from `start` to `end` and those of one edge more, the surer and then the newer ones first.

    Shape: at most `limit`, each of 1 to `max_edges` edges, no node twice, no two through the same nodes.
    """
    if start == end:
        return ()
    around = among.around()
    left = _distances(around, end, max_edges, start)
    found: dict[tuple[Entity, ...], Path] = {}
    steps = 0
    shortest = left.get(start, max_edges + 1)
    for length in range(shortest, min(shortest + 1, max_edges) + 1):
        walking: list[tuple[Entity, ...]] = [(start,)]
        while walking:
            nodes = walking.pop()
            steps += 1
            if steps > MAX_STEPS:
                return _best(found.values(), limit)
            if nodes[-1] == end:
                found[nodes] = Path(nodes, _edges(around, nodes))
                continue
            walking += _onward(around, nodes, left, length - len(nodes), end)
        if len(found) >= limit:
            break
    return _best(found.values(), limit)


def _onward(
    around: Around, nodes: tuple[Entity, ...], left: Mapping[Entity, int], rest: int, end: Entity
) -> list[tuple[Entity, ...]]:
    here = nodes[-1]
    near = [
        there
        for there, edges in around.get(here, {}).items()
        if left.get(there, rest + 1) <= rest
        and there not in nodes
        and _joins(edges, is_outer=there == end or len(nodes) == 1)
        and (there == end or not there.is_value)
    ]
    return [(*nodes, node) for node in sorted(near, reverse=True)]


def _joins(edges: Sequence[Edge], *, is_outer: bool) -> bool:
    """Whether one of them may stand here: what is not so may stand only at a chain's ends."""
    return is_outer or any(not edge.is_negative for edge in edges)


def _distances(around: Around, end: Entity, max_edges: int, start: Entity) -> dict[Entity, int]:
    """How many edges each entity is from the end, as far as a chain may go."""
    found = {end: 0}
    frontier = [end]
    for distance in range(1, max_edges + 1):
        following: list[Entity] = []
        for here in frontier:
            for there, edges in around.get(here, {}).items():
                if there in found or not _joins(edges, is_outer=here == end or there == start):
                    continue
                if there == start:
                    found[there] = distance
                elif not there.is_value:
                    found[there] = distance
                    following.append(there)
        frontier = following
    return found


def _edges(around: Around, nodes: tuple[Entity, ...]) -> tuple[Edge, ...]:
    """Between each two nodes the surest edge, the newest among equals; a negative one only at the chain's ends."""
    chosen: list[Edge] = []
    for here, there in pairwise(nodes):
        is_outer = here == nodes[0] or there == nodes[-1]
        chosen.append(min((edge for edge in around[here][there] if is_outer or not edge.is_negative), key=_edge_order))
    return tuple(chosen)


def _edge_order(edge: Edge) -> tuple[float, float, str, str]:
    at = edge.proof.at.timestamp() if edge.proof.at is not None else 0.0
    return (-edge.confidence, -at, edge.predicate, edge.proof.id)


def _best(found: Iterable[Path], limit: int) -> tuple[Path, ...]:
    return tuple(sorted(found, key=_path_order)[:limit])


def _path_order(path: Path) -> tuple[int, float, float, tuple[Entity, ...]]:
    newest = max((edge.proof.at.timestamp() for edge in path.edges if edge.proof.at is not None), default=0.0)
    return (len(path.edges), -path.confidence, -newest, path.nodes)


def _roots(meanings: Mapping[Entity, Entity]) -> dict[Entity, Entity]:
    """Where each name leads in the end; a ring of names leads to the first of them in order."""
    roots: dict[Entity, Entity] = {}
    for name in sorted(meanings):
        seen = [name]
        while seen[-1] in meanings and meanings[seen[-1]] not in seen:
            seen.append(meanings[seen[-1]])
        last = seen[-1]
        ring = seen[seen.index(meanings[last]) :] if last in meanings else [last]
        root = min(ring)
        if root != name:
            roots[name] = root
    return roots

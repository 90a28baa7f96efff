"""Which of an organisation's triples a chain between two things may need: read from both ends, the narrower one first.

A chain of n edges has each of them next to a node that is near one of its ends, so n rounds in all are enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from memory.edges import Alias, TripleView, triple_edges
from memory.entities import USER, Entity
from memory.relations import Edge

MAX_TRIPLES = 4_000

Load = Callable[[Iterable[Entity]], Sequence[TripleView]]


def within_reach(
    ends: tuple[Entity, Entity], edges: Sequence[Edge], aliases: Sequence[Alias], load: Load, *, max_edges: int
) -> list[TripleView]:
    """The triples next to whatever is near an end, over them and the given edges; at most about MAX_TRIPLES.

    `load` answers the triples that name any of some entities; it is asked for each entity once.
    """
    world = _World(load)
    world.learn(edges, aliases)
    sides = [_Side({ends[0]}), _Side({ends[1]})]
    for _ in range(max_edges):
        # A side that leads no further has shown all that its end has to do with.
        if not all(side.frontier for side in sides) or len(world.triples) >= MAX_TRIPLES:
            break
        _narrower(sides).step(world)
    if len(world.triples) < MAX_TRIPLES:
        world.whole(_narrower(sides).frontier)  # Where the two meet, what was found from each may bear another name.
    return list(world.triples.values())


@dataclass(slots=True)
class _World:
    """What is known so far: who is next to whom, and which names are one thing."""

    load: Load
    triples: dict[UUID, TripleView] = field(default_factory=dict[UUID, TripleView])
    asked: set[Entity] = field(default_factory=set[Entity])
    near: defaultdict[Entity, set[Entity]] = field(default_factory=lambda: defaultdict[Entity, set[Entity]](set))
    same: defaultdict[Entity, set[Entity]] = field(default_factory=lambda: defaultdict[Entity, set[Entity]](set))

    def learn(self, edges: Iterable[Edge], aliases: Iterable[Alias]) -> None:
        for edge in edges:
            self.near[edge.head].add(edge.tail)
            self.near[edge.tail].add(edge.head)
        for name, thing in aliases:
            self.same[name].add(thing)
            self.same[thing].add(name)

    def whole(self, nodes: set[Entity]) -> set[Entity]:
        """These with all that is the same thing, after whatever names them has been read."""
        found = set(nodes)
        while True:
            wanted = {one for one in found - self.asked if one != USER}
            if wanted:
                self.asked |= wanted
                fresh = {one.id: one for one in self.load(wanted) if one.id not in self.triples}
                self.triples |= fresh
                self.learn(*triple_edges(fresh.values()))
            more = {other for one in found for other in (*self.same[one], *_written(one))} - found
            if not more:
                return found
            found |= more


@dataclass(slots=True)
class _Side:
    """What was reached from one end, and where it goes on."""

    frontier: set[Entity]
    seen: set[Entity] = field(default_factory=set[Entity])

    def step(self, world: _World) -> None:
        here = world.whole(self.frontier)
        self.seen |= here
        beyond = {other for one in here for other in world.near[one]} - self.seen
        # A value ends a chain: nothing is looked for behind it.
        self.frontier = {one for one in beyond if not one.is_value}


def _narrower(sides: list[_Side]) -> _Side:
    return min(sides, key=lambda side: len(side.frontier))


def _written(one: Entity) -> set[Entity]:
    """How else a document may write an order or ticket: by its bare number; and what a bare number may be."""
    if one.kind == "id":
        return {Entity("order", one.id), Entity("ticket", one.id)}
    return {Entity("id", one.id)} if one.kind in {"order", "ticket"} else set()

"""Reading triples from both ends finds what reading all of them would."""

from __future__ import annotations

import random
from collections.abc import Iterable
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.edges import TripleView, triple_edges
from memory.entities import Entity, entity_of
from memory.relations import graph, paths
from tasks.reach import within_reach


def a_triple(number: int, subject: str, predicate: str, thing: str, *, is_negative: bool = False) -> TripleView:
    return TripleView(
        id=UUID(int=number),
        subject=subject,
        predicate=predicate,
        object=thing,
        is_negative=is_negative,
        source="rules",
        version="1",
        valid_from=None,
        valid_until=None,
    )


@given(st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_no_chain_is_lost_that_all_triples_would_give(chance: random.Random) -> None:
    names = [*(f"thing {letter}" for letter in "abcdefghij"), "7 days", "order 4711", "4711"]
    triples = [
        a_triple(
            number,
            chance.choice(names),
            chance.choice(["about", "about", "about", "alias"]),
            chance.choice(names),
            is_negative=chance.random() < 0.2,
        )
        for number in range(1, 15)
    ]

    def load(wanted: Iterable[Entity]) -> list[TripleView]:
        asked = set(wanted)
        return [one for one in triples if asked & {entity_of(one.subject), entity_of(one.object)}]

    ends = entity_of(names[0]), entity_of(names[1])
    near = within_reach(ends, (), (), load, max_edges=5)

    whole, part = (graph(*triple_edges(found)) for found in (triples, near))
    start, end = whole.resolve(names[0]).entity, whole.resolve(names[1]).entity
    if start is None or end is None or start == end:
        return
    expected = [path.nodes for path in paths(whole, start, end)]
    assert [path.nodes for path in paths(part, start, end)] == expected


def test_a_bare_number_leads_on_to_the_order_that_has_it() -> None:
    triples = [a_triple(1, "4711", "about", "thing a"), a_triple(2, "thing b", "about", "order 4711")]

    def load(wanted: Iterable[Entity]) -> list[TripleView]:
        asked = set(wanted)
        return [one for one in triples if asked & {entity_of(one.subject), entity_of(one.object)}]

    found = within_reach((entity_of("thing a"), entity_of("thing b")), (), (), load, max_edges=5)

    assert {one.id for one in found} == {one.id for one in triples}


def test_what_has_nothing_to_do_with_the_other_end_is_not_read() -> None:
    triples = [a_triple(number, "hub", "about", f"spoke {number} a") for number in range(1, 500)]
    asked: list[int] = []

    def load(wanted: Iterable[Entity]) -> list[TripleView]:
        names = set(wanted)
        asked.append(len(names))
        return [one for one in triples if names & {entity_of(one.subject), entity_of(one.object)}]

    found = within_reach((entity_of("hub"), entity_of("nothing known")), (), (), load, max_edges=5)

    assert sum(asked) <= 2
    assert len(found) in {0, 499}

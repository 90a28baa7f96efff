"""Chains between two things: what is one entity, what joins, and what never does."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.because import edge_text, proof_text
from memory.entities import USER, Entity, entity_of
from memory.predicates import PREDICATES, predicate_of, predicate_text
from memory.relations import Edge, Proof, graph, paths

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def an_edge(head: str, predicate: str, tail: str, **given: object) -> Edge:
    values: dict[str, object] = {"proof": Proof(kind="knowledge", id=f"{head}/{predicate}/{tail}", at=NOON), **given}
    return Edge(
        head=entity_of(head),
        predicate=predicate,
        tail=entity_of(tail),
        head_text=head,
        tail_text=tail,
        **values,  # pyright: ignore[reportArgumentType]
    )


RETURNS = (
    an_edge("蓝牙耳机 BT-500", "belongs_to", "电子产品"),
    an_edge("退货政策", "applies_to", "所有电子产品"),
    an_edge("退货政策", "window", "7天"),
    an_edge("蓝牙耳机 BT-500", "warranty", "12个月"),
    an_edge("保温杯 CUP-20", "warranty", "12个月"),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order #4711", "订单4711"),
        ("Order number 4711", "订单号：4711"),
        ("BT-500", "蓝牙耳机 BT-500"),
        ("BT-500 headphones", "BT-500耳机"),
        ("my wife", "老婆"),
        ("ticket T-5521", "工单T-5521"),
        ("policy://shipping-delay/current", "shipping-delay"),
        ("all electronics", "electronics"),
        ("所有电子产品", "电子产品"),
        ("The user", "我"),
    ],
)
def test_two_ways_to_say_it_are_one_thing(one: str, other: str) -> None:
    assert entity_of(one) == entity_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order 901", "ticket 901"),
        ("BT-500", "BT-500 charging case"),
        ("奶奶", "外婆"),
        ("哥哥", "弟弟"),
        ("BT-500", "BT-50"),
        ("7天", "电子产品"),
    ],
)
def test_different_things_stay_apart(one: str, other: str) -> None:
    assert entity_of(one) != entity_of(other)


def test_a_product_reaches_its_days_through_its_class_and_the_policy() -> None:
    found = paths(graph(RETURNS), entity_of("BT-500"), entity_of("7天"))

    assert [node.id for node in found[0].nodes] == ["bt-500", "电子产品", "退货政策", "7天"]
    assert [edge.predicate for edge in found[0].edges] == ["belongs_to", "applies_to", "window"]


def test_a_value_joins_nothing() -> None:
    assert paths(graph(RETURNS), entity_of("BT-500"), entity_of("CUP-20")) == ()


def test_a_chain_has_five_edges_at_most() -> None:
    chain = [
        an_edge(f"node {letter}", "about", f"node {following}")
        for letter, following in zip("abcdef", "bcdefg", strict=True)
    ]
    joined = graph(chain)

    assert len(paths(joined, entity_of("node a"), entity_of("node f"))[0].edges) == 5
    assert paths(joined, entity_of("node a"), entity_of("node g")) == ()
    assert paths(joined, entity_of("node a"), entity_of("node f"), max_edges=4) == ()


def test_what_is_not_so_ends_a_chain_and_joins_nothing_further() -> None:
    refused = graph(
        [
            an_edge("policy delay", "allows", "cash_refund", is_negative=True),
            an_edge("ticket T-1", "falls_under", "policy delay"),
            an_edge("policy gold", "allows", "cash_refund"),
        ]
    )

    (why,) = paths(refused, entity_of("ticket T-1"), entity_of("cash_refund"))
    assert why.edges[-1].is_negative
    assert paths(refused, entity_of("cash_refund"), entity_of("ticket T-1"))[0].edges[0].is_negative
    assert paths(refused, entity_of("ticket T-1"), entity_of("policy gold")) == ()


def test_a_name_joins_the_person_who_bears_it_unless_two_do() -> None:
    kin = [an_edge("user", "wife", "wife"), an_edge("wife", "company", "Contoso"), an_edge("user", "friend", "friend")]
    anna, wife, friend = entity_of("Anna"), entity_of("wife"), entity_of("friend")

    one = graph(kin, [(anna, wife)])
    assert one.resolve("Anna").entity == wife
    assert len(paths(one, USER, entity_of("Contoso"))[0].edges) == 2

    two = graph(kin, [(anna, wife), (anna, friend)])
    found = two.resolve("Anna")
    assert (found.entity, found.reason) == (None, "ambiguous")
    assert set(found.candidates) == {wife, friend}


def test_a_bare_number_is_the_only_thing_of_that_number() -> None:
    order = an_edge("order 4711", "contains", "BT-500")

    assert graph([order]).resolve("4711").entity == Entity("order", "4711")
    both = graph([order, an_edge("ticket 4711", "about", "BT-500")]).resolve("4711")
    assert both.reason == "ambiguous"
    assert graph([order]).resolve("4712").reason == "unknown"


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_edges_never_changes_the_answer(chance: random.Random) -> None:
    names = [f"thing {letter}" for letter in "abcdefgh"]
    edges = [an_edge(chance.choice(names), "about", chance.choice(names)) for _ in range(14)]
    shuffled = chance.sample(edges, len(edges))
    start, end = entity_of(names[0]), entity_of(names[1])

    found = paths(graph(edges), start, end)

    assert [path.nodes for path in paths(graph(shuffled), start, end)] == [path.nodes for path in found]
    for path in found:
        assert path.nodes[0] == start
        assert path.nodes[-1] == end
        assert len(set(path.nodes)) == len(path.nodes) <= 6
        for edge, here, there in zip(path.edges, path.nodes, path.nodes[1:], strict=False):
            assert {edge.head, edge.tail} == {here, there}


def test_a_hub_with_thousands_of_neighbours_is_answered_all_the_same() -> None:
    spokes = [an_edge("hub", "about", f"spoke {number} a") for number in range(3_000)]
    edges = [*spokes, an_edge("hub", "about", "node z"), an_edge("node z", "about", "node y")]

    assert len(paths(graph(edges), entity_of("spoke 7 a"), entity_of("node y"))[0].edges) == 3


def test_every_predicate_has_words_in_both_languages_and_is_found_by_them() -> None:
    for code in PREDICATES:
        for language in ("en", "zh"):
            assert predicate_of(predicate_text(code, language)) == code
    assert predicate_of("sits next to") == "sits next to"
    assert predicate_text("sits next to", "zh") == "sits next to"


def test_an_edge_is_told_in_both_languages() -> None:
    edge = an_edge("蓝牙耳机 BT-500", "belongs_to", "电子产品", is_volatile=True)

    assert edge_text(edge, "zh") == "蓝牙耳机 BT-500 - 属于 - 电子产品 [使用前请核实]"
    assert edge_text(edge, "en") == "蓝牙耳机 BT-500 - belongs to - 电子产品 [verify before acting]"
    proof = Proof(kind="fact", id="f", quote="my wife Anna", at=NOON, role="user")
    assert proof_text(proof, "en") == "the user 2026-05-01 “my wife Anna”"
    assert proof_text(Proof(kind="knowledge", id="t", source="returns", version="2026-05-01"), "zh") == (
        "知识库: returns 2026-05-01"
    )

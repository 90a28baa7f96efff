"""Working state: patches fold in their order, lists grow once, None deletes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.working import APPENDED, LOGGED, PatchView, WorkingPolicy, fold
from memory_fixtures import day


def patches(*bodies: dict[str, Any]) -> list[PatchView]:
    return [PatchView(event_id=UUID(int=n + 1), at=day(n), patch=body) for n, body in enumerate(bodies)]


def test_later_values_replace_and_none_deletes() -> None:
    state = fold(
        patches({"intent": "refund", "ticket_status": "open"}, {"intent": "exchange"}, {"ticket_status": None})
    )

    assert state == {"intent": "exchange"}


def test_known_lists_append_each_entry_once() -> None:
    state = fold(patches({"open_items": ["a", "b"]}, {"open_items": ["b", "c"]}, {"checked_systems": "crm"}))

    assert state == {"open_items": ["a", "b", "c"], "checked_systems": ["crm"]}


def test_known_lists_can_be_replaced_shortened_and_deleted() -> None:
    base = {"open_items": ["a", "b", "c"]}

    assert fold(patches(base, {"open_items": {"set": ["x"]}}))["open_items"] == ["x"]
    assert fold(patches(base, {"open_items": {"remove": ["b"]}}))["open_items"] == ["a", "c"]
    assert fold(patches(base, {"open_items": {"remove": "a", "add": ["d"]}}))["open_items"] == ["b", "c", "d"]
    assert fold(patches(base, {"open_items": None})) == {}


def test_logs_keep_repetitions() -> None:
    state = fold(patches({"actions": [{"tool": "look"}]}, {"actions": [{"tool": "look"}]}))

    assert state["actions"] == [{"tool": "look"}, {"tool": "look"}]


def test_other_lists_replace_and_objects_merge() -> None:
    state = fold(
        patches({"customer": {"tier": "a", "city": "x"}, "ids": [1]}, {"customer": {"city": None}, "ids": [2]})
    )

    assert state == {"customer": {"tier": "a"}, "ids": [2]}


def test_lists_are_bounded_to_the_newest() -> None:
    state = fold(patches({"known_facts": list(range(9))}), WorkingPolicy(max_items=3))

    assert state["known_facts"] == [6, 7, 8]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "set", "remove"]), inner, max_size=2)
    ),
    max_leaves=6,
)
_FIELDS = st.sampled_from(sorted(APPENDED)[:2] + sorted(LOGGED)[:1] + ["intent", "customer"])
_PATCHES = st.lists(st.dictionaries(_FIELDS, _VALUES, max_size=3), max_size=6).map(lambda bodies: patches(*bodies))


@given(_PATCHES.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
@settings(deadline=None)
def test_neither_order_of_arrival_nor_redelivery_matters(drawn: tuple[list[PatchView], list[PatchView]]) -> None:
    rows, shuffled = drawn

    assert fold(rows) == fold(shuffled) == fold([*rows, *shuffled])


@given(_PATCHES)
@settings(deadline=None)
def test_known_lists_stay_lists_without_repetition_and_patches_are_not_touched(rows: list[PatchView]) -> None:
    before = repr(rows)

    state = fold(rows)

    assert repr(rows) == before
    for name in APPENDED & set(state):
        shapes = [repr(item) for item in state[name]]
        assert len(shapes) == len(set(shapes))
    assert None not in state.values()

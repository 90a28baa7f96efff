"""What two pairs of stores answer is told apart by what an item says, and a rank's change by the part that moved."""

from __future__ import annotations

from afterturn.wire import PackItem
from workers.demo.differences import Asked, Difference, compare

LABELS: tuple[dict[str, str], dict[str, str]] = ({"here": "t1"}, {"there": "t1"})


def _item(text: str, turn_id: str = "", **parts: float) -> PackItem:
    turns = (turn_id,) if turn_id else ()
    return PackItem(
        id=text + turn_id, kind="moment", section="moments", text=text, turn_ids=turns, score_parts=dict(parts)
    )


def _one(ours: list[PackItem], theirs: list[PackItem], right: tuple[float, float] = (1.0, 1.0)) -> Difference:
    (found,) = compare(
        [Asked(text="?", is_right=right[0], items=ours)], [Asked(text="?", is_right=right[1], items=theirs)], LABELS
    )
    return found


def test_the_same_turn_under_other_ids_is_the_same_item() -> None:
    found = _one([_item("a", "here")], [_item("a", "there")])

    assert (found.shared, found.counts, found.cause) == (1, (1, 1), "none")


def test_another_order_is_put_down_to_the_part_that_moved_most() -> None:
    ours = [_item("a", own=0.3, vector=0.1), _item("b", own=0.2, vector=0.1)]
    by_words = [_item("b", own=0.3, vector=0.101), _item("a", own=0.1, vector=0.1)]
    by_vectors = [_item("b", own=0.2, vector=0.3), _item("a", own=0.3, vector=0.1)]
    by_nothing = [_item("b", own=0.2, vector=0.1), _item("a", own=0.3, vector=0.1)]

    assert [_one(ours, other).cause for other in (by_words, by_vectors, by_nothing)] == ["keywords", "vectors", "ties"]


def test_an_item_of_one_side_alone_was_listed_there_alone() -> None:
    ours = [_item("a", own=0.3)]

    assert _one(ours, [*ours, _item("b", vector=0.1)]).cause == "found"


def test_an_answer_of_one_side_alone_is_another_answer() -> None:
    assert _one([], [], (1.0, 0.0)).is_another_answer
    assert not _one([], [], (0.5, 0.5)).is_another_answer

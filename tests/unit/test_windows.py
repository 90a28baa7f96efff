"""When a session is due, how it is cut, how long a failure waits."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.windows import TurnSize, WindowPolicy, backoff, cut, due_at, estimate_tokens, in_order

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
POLICY = WindowPolicy(idle_seconds=90, max_wait_seconds=900, window_tokens=100)


def _turn(number: int, tokens: int = 10, *, seconds: float = 0, reply_to: int | None = None) -> TurnSize:
    at = NOON + timedelta(seconds=seconds or number)
    return TurnSize(UUID(int=number), at, tokens, None if reply_to is None else UUID(int=reply_to))


def _numbers(windows: list[list[UUID]]) -> list[list[int]]:
    return [[event_id.int for event_id in ids] for ids in windows]


def _due(first: float | None, last: float, *, tokens: int = 10, has_ended: bool = False) -> float | None:
    due = due_at(
        first_undigested_at=None if first is None else NOON + timedelta(seconds=first),
        last_received_at=NOON + timedelta(seconds=last),
        undigested_tokens=tokens,
        has_ended=has_ended,
        policy=POLICY,
    )
    return None if due is None else (due - NOON).total_seconds()


def test_a_session_is_due_when_it_has_been_idle():
    assert _due(0, 30) == 120


def test_a_session_that_never_rests_is_due_after_the_longest_wait():
    assert _due(0, 880) == 900


def test_a_session_without_undigested_turns_is_never_due():
    assert _due(None, 30) is None
    assert _due(None, 30, has_ended=True) is None


def test_an_ended_session_is_due_at_once():
    assert _due(0, 30, has_ended=True) == 30


@pytest.mark.parametrize(("tokens", "expected"), [(99, 120), (100, 30), (5000, 30)])
def test_a_session_is_due_at_once_at_the_token_size(tokens: int, expected: float):
    assert _due(0, 30, tokens=tokens) == expected


def test_windows_fill_up_in_conversation_order():
    turns = [_turn(3, 60), _turn(1, 60), _turn(2, 40), _turn(4, 10)]

    assert _numbers(cut(turns, POLICY)) == [[1, 2], [3, 4]]


def test_an_oversized_turn_is_a_window_alone():
    turns = [_turn(1, 10), _turn(2, 500), _turn(3, 10)]

    assert _numbers(cut(turns, POLICY)) == [[1], [2], [3]]


def test_a_session_that_goes_on_keeps_the_turns_of_a_window_with_room():
    turns = [_turn(1, 60), _turn(2, 60), _turn(3, 10)]

    assert _numbers(cut(turns, POLICY, only_full=True)) == [[1]]
    assert _numbers(cut(turns, POLICY)) == [[1], [2, 3]]


def test_a_single_window_is_cut_even_when_only_full_ones_are_wanted():
    assert _numbers(cut([_turn(1, 500)], POLICY, only_full=True)) == [[1]]


def test_turns_of_one_instant_stand_in_the_order_of_their_ids():
    turns = [_turn(2, seconds=5), _turn(1, seconds=5)]

    assert [turn.event_id.int for turn in in_order(turns)] == [1, 2]


def test_a_reply_never_stands_before_its_target():
    turns = [_turn(1, seconds=1, reply_to=3), _turn(2, seconds=2), _turn(3, seconds=3), _turn(4, seconds=4)]

    assert [turn.event_id.int for turn in in_order(turns)] == [2, 3, 1, 4]


def test_a_chain_of_replies_follows_its_head():
    turns = [_turn(1, reply_to=2), _turn(2, reply_to=3), _turn(3)]

    assert [turn.event_id.int for turn in in_order(turns)] == [3, 2, 1]


def test_replies_in_a_circle_keep_their_own_order():
    turns = [_turn(1, reply_to=2), _turn(2, reply_to=1), _turn(3)]

    assert [turn.event_id.int for turn in in_order(turns)] == [3, 1, 2]


def test_a_reply_to_a_turn_that_is_elsewhere_stands_by_its_time():
    turns = [_turn(2, reply_to=99), _turn(1)]

    assert [turn.event_id.int for turn in in_order(turns)] == [1, 2]


_SIZES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 150), st.integers(0, 60), st.one_of(st.none(), st.integers(0, 60))),
    unique_by=lambda row: row[0],
    max_size=40,
)


@given(rows=_SIZES, shuffle=st.randoms(use_true_random=False))
def test_every_turn_is_in_exactly_one_window_whatever_the_order_of_arrival(
    rows: list[tuple[int, int, int, int | None]], shuffle: random.Random
):
    turns = [_turn(number, tokens, seconds=seconds + 1, reply_to=to) for number, tokens, seconds, to in rows]
    other = list(turns)
    shuffle.shuffle(other)

    windows = cut(turns, POLICY)

    assert windows == cut(other, POLICY)
    flat = [event_id for ids in windows for event_id in ids]
    assert sorted(flat) == sorted(turn.event_id for turn in turns)
    size = {turn.event_id: turn.tokens for turn in turns}
    assert all(len(ids) == 1 or sum(size[event_id] for event_id in ids) <= POLICY.window_tokens for ids in windows)


@given(attempts=st.integers(0, 10_000), roll=st.floats(0, 1, exclude_max=True))
def test_a_wait_lies_between_zero_and_the_cap(attempts: int, roll: float):
    assert 0 <= backoff(attempts, None, roll, POLICY) <= POLICY.backoff_cap_seconds


def test_waits_double_until_the_cap():
    assert [backoff(attempts, None, 0.5) for attempts in (1, 2, 3, 4)] == [1.0, 2.0, 4.0, 8.0]
    assert backoff(50, None, 0.5) == 300.0


@given(roll=st.floats(0, 1, exclude_max=True), asked=st.floats(0, 5000))
def test_a_servers_retry_after_is_honoured_in_full(roll: float, asked: float):
    assert backoff(1, asked, roll) >= asked


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 1, 1),
        ("I moved to Lyon yesterday.", 5, 9),
        ("我昨天搬到了里昂。", 8, 10),
        ("请把 order 123456 发到 Lyon", 9, 16),
        ("Меня зовут Анна", 6, 9),
    ],
)
def test_tokens_are_estimated_for_both_languages(text: str, least: int, most: int):
    assert least <= estimate_tokens(text) <= most


@given(first=st.text(max_size=200), second=st.text(max_size=200))
def test_a_longer_text_never_has_fewer_tokens(first: str, second: str):
    assert estimate_tokens(first + second) >= max(1, estimate_tokens(first) - 1)

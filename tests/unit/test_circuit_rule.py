"""When a model that fails is left alone: for how long, and what ends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.circuit import CircuitPolicy, CircuitState, after_failure

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = CircuitPolicy(failures=3, rest_seconds=10, max_rest_seconds=60)


def failing(times: int, *, every_seconds: float = 0.0, retry_after: float | None = None) -> CircuitState:
    state, now = CircuitState(), NOON
    for _ in range(times):
        state = after_failure(state, now, retry_after, POLICY)
        now += timedelta(seconds=every_seconds)
    return state


def test_it_opens_at_the_limit_and_not_before():
    assert failing(2).is_closed
    assert failing(2).wait_seconds(NOON) == 0.0

    opened = failing(3)

    assert not opened.is_closed
    assert opened.wait_seconds(NOON) == 10.0
    assert opened.wait_seconds(NOON + timedelta(seconds=10)) == 0.0


def test_calls_that_were_under_way_when_it_opened_do_not_prolong_it():
    assert failing(8) == CircuitState(failures=8, openings=1, opened_until=NOON + timedelta(seconds=10))


def test_each_failed_probe_doubles_the_rest_up_to_the_cap():
    state, rests = failing(3), list[float]()
    now = NOON
    for _ in range(5):
        assert state.opened_until is not None
        now = state.opened_until
        state = after_failure(state, now, None, POLICY)
        rests.append(state.wait_seconds(now))

    assert rests == [20.0, 40.0, 60.0, 60.0, 60.0]


def test_a_retry_after_is_honoured_in_full():
    assert failing(3, retry_after=900).wait_seconds(NOON) == 900.0
    assert failing(3, retry_after=1).wait_seconds(NOON) == 10.0


def test_a_probe_under_way_keeps_others_waiting():
    probed = CircuitState(failures=3, openings=1, opened_until=NOON, probe_until=NOON + timedelta(seconds=30))

    assert probed.wait_seconds(NOON + timedelta(seconds=1)) == 29.0


@given(st.lists(st.tuples(st.floats(0, 500), st.none() | st.floats(0, 5000)), max_size=30))
def test_it_never_rests_longer_than_the_cap_or_what_the_server_asked(steps: list[tuple[float, float | None]]):
    state, now, asked_until = CircuitState(), NOON, NOON
    for pause, retry_after in steps:
        now += timedelta(seconds=pause)
        asked_until = max(asked_until, now + timedelta(seconds=retry_after or 0.0))
        state = after_failure(state, now, retry_after, POLICY)
        if state.opened_until is not None:
            assert now <= state.opened_until <= max(asked_until, now + timedelta(seconds=60))

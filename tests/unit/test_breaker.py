from __future__ import annotations

import pytest

from stores.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_at_the_limit_and_lets_one_through_after_its_rest() -> None:
    clock = Clock()
    breaker = Breaker(failures=2, rest_seconds=10, clock=clock)

    breaker.failed()
    assert breaker.allows()
    breaker.failed()
    assert breaker.is_open
    assert not breaker.allows()

    clock.now = 10.0
    assert breaker.allows()
    assert not breaker.allows()


def test_a_success_closes_it() -> None:
    breaker = Breaker(failures=1, clock=Clock())
    breaker.failed()

    breaker.succeeded()

    assert breaker.allows()
    assert not breaker.is_open


def test_a_call_is_judged_by_its_own_end() -> None:
    clock = Clock()
    breaker = Breaker(failures=2, fair_seconds=1, clock=clock)

    for _ in range(2):
        with pytest.raises(KeyError), breaker.call():
            raise KeyError
    assert breaker.is_open
    clock.now += 10
    assert breaker.allows()
    with breaker.call():
        clock.now += 0.5

    assert not breaker.is_open


def test_a_call_that_takes_longer_than_is_fair_has_failed() -> None:
    clock = Clock()
    breaker = Breaker(failures=1, fair_seconds=1, clock=clock)

    with breaker.call():
        clock.now += 1.5

    assert breaker.is_open


def test_one_call_that_hangs_opens_it_while_it_hangs() -> None:
    clock = Clock()
    breaker = Breaker(failures=3, rest_seconds=10, fair_seconds=1, clock=clock)

    with breaker.call():
        assert breaker.allows()
        opened_after = 0.0
        while breaker.allows():
            clock.now += 0.5
            opened_after = clock.now

        assert 3.0 <= opened_after <= 5.0
        clock.now += 10
        assert breaker.allows()
        assert not breaker.allows()

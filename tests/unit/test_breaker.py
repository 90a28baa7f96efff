from __future__ import annotations

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

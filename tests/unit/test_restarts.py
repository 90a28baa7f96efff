"""Pauses between restarts: they grow to a bound and begin anew after a steady run."""

from __future__ import annotations

from workers.restarts import FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, STEADY_SECONDS, Falls


def test_a_pause_doubles_with_every_fall_up_to_its_bound() -> None:
    falls = Falls(clock=lambda: 100.0)
    pauses: list[float] = []

    for _ in range(12):
        falls.started()
        falls.fell()
        pauses.append(falls.pause_seconds)

    assert 0.75 * FIRST_PAUSE_SECONDS <= pauses[0] <= FIRST_PAUSE_SECONDS
    assert all(0.75 * 0.25 * 2**n <= pause <= 0.25 * 2**n for n, pause in enumerate(pauses[:7]))
    assert 0.75 * MAX_PAUSE_SECONDS <= pauses[-1] <= MAX_PAUSE_SECONDS
    assert (falls.total, falls.in_a_row) == (12, 12)


def test_it_may_start_only_when_its_pause_is_over() -> None:
    now = [0.0]
    falls = Falls(clock=lambda: now[0])
    assert falls.may_start()

    falls.started()
    falls.fell()
    assert not falls.may_start()

    now[0] = FIRST_PAUSE_SECONDS
    assert falls.may_start()


def test_a_steady_run_forgives_the_falls_before() -> None:
    now = [0.0]
    falls = Falls(clock=lambda: now[0])
    for _ in range(5):
        falls.started()
        falls.fell()

    falls.started()
    now[0] += STEADY_SECONDS + 1
    falls.fell()

    assert (falls.total, falls.in_a_row) == (6, 1)

"""When a batch counts as lost, and when a broker is tried again."""

from __future__ import annotations

import random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.breaker import LONGEST_PAUSE_SECONDS, Breaker
from afterturn.outgoing import Message
from afterturn.pending import Pending, ResendPolicy


def message(number: int) -> Message:
    return Message(UUID(int=number), f"blob {number}", 10, 10 * number, 10 * number + 9)


def resend(pending: Pending, now: float) -> list[int]:
    """Sends all that is lost again; answers their numbers in order."""
    sent: list[int] = []
    while (one := pending.next_lost()) is not None:
        sent.append(one.message_id.int)
        pending.sent_again(now)
    return sent


def filled(*sent_at: float) -> Pending:
    pending = Pending()
    for number, at in enumerate(sent_at):
        pending.add(message(number), at)
    return pending


def test_a_broker_that_forgot_gets_everything_again_in_order() -> None:
    pending = filled(1, 2, 3)
    pending.settle(UUID(int=1), 4)

    pending.lose_all()
    pending.lose_all()

    assert resend(pending, 5) == [0, 2]
    assert resend(pending, 5) == []
    assert len(pending) == 2


def test_a_broker_that_remembers_gets_the_last_two_seconds_again() -> None:
    pending = filled(10, 97.9, 98.0, 99.5, 101.5)

    pending.lose_tail(100, 101)

    assert resend(pending, 101) == [2, 3]


def test_a_receipt_that_comes_before_the_resend_spares_it() -> None:
    pending = filled(1, 2)
    pending.lose_all()

    assert pending.settle(UUID(int=0), 3) == message(0)
    assert pending.settle(UUID(int=0), 3) is None
    assert resend(pending, 4) == [1]


def test_silence_is_a_loss_after_a_minute_and_then_ever_later() -> None:
    pending = filled(0)
    sent_at: list[int] = []
    for now in range(0, 4000, 5):
        pending.lose_silent(now, 0)
        if resend(pending, now):
            sent_at.append(now)

    assert [later - earlier for earlier, later in zip([0, *sent_at], sent_at, strict=False)] == [
        *(60, 120, 240, 480),
        *[600] * 5,
    ]


def test_a_long_queue_explains_any_silence() -> None:
    pending = filled(0)

    pending.lose_silent(500, 101)
    assert resend(pending, 500) == []
    # It has left the queue now: whoever took it gets a minute.
    pending.lose_silent(506, 100)
    assert resend(pending, 506) == []
    pending.lose_silent(562, 100)
    assert resend(pending, 562) == [0]
    pending.lose_silent(2000, None)
    assert resend(pending, 2000) == [0]


def bad_phase(seconds: int) -> Pending:
    """Twenty messages that waited in the queue for so long, and were all receipted once it was over."""
    pending = filled(*range(20))
    for now in range(20, seconds, 2):
        pending.lose_silent(now, 20)
    for number in range(20):
        pending.settle(UUID(int=number), seconds + number / 10)
    pending.lose_silent(seconds + 2, 0)
    return pending


def test_a_bad_phase_that_is_over_makes_no_lost_batch_wait() -> None:
    pending = bad_phase(300)

    pending.add(message(20), 400)
    lost_at: list[int] = []
    for now in range(400, 1400, 2):
        pending.lose_silent(now, 0)
        if resend(pending, now):
            lost_at.append(now)

    assert 460 <= lost_at[0] <= 465
    assert 580 <= lost_at[1] <= 590


def test_what_workers_have_just_taken_is_not_lost() -> None:
    """The queue empties at once after minutes without workers: what they hold has its minute from there on."""
    pending = filled(*range(20))
    for now in range(20, 300, 2):
        pending.lose_silent(now, 20)

    again: list[int] = []
    for now in range(300, 352, 2):
        pending.lose_silent(now, 0)
        again += resend(pending, now)

    assert again == []
    pending.lose_silent(366, 0)
    assert resend(pending, 366) == list(range(20))


def test_a_broker_that_could_not_be_heard_is_no_silence() -> None:
    pending = filled(0)
    pending.lose_silent(5, 0)

    pending.lose_tail(5, 500)

    pending.lose_silent(505, 0)
    assert resend(pending, 505) == []
    pending.settle(UUID(int=0), 510)
    assert pending.lag_seconds == 10


@pytest.mark.parametrize("every_seconds", [1, 20, 60, 600])
def test_an_hour_without_workers_leaves_one_copy_that_drains_by_age(every_seconds: int) -> None:
    pending, queue, sent = Pending(), list[int](), 0

    for now in range(0, 3600, 2):
        for number in range(sent, now // every_seconds + 1):
            pending.add(message(number), now)
            queue.append(number)
            sent += 1
        pending.lose_silent(now, len(queue))
        queue += resend(pending, now)
    assert queue == list(range(sent))

    for now in range(3600, 3600 + 2 * sent, 2):
        pending.settle(UUID(int=queue.pop(0)), now)
        pending.lose_silent(now, len(queue))
        assert resend(pending, now) == []
    assert len(pending) == 0


def test_what_a_lost_worker_took_goes_again_and_nothing_behind_it() -> None:
    pending = filled(*range(50))
    pending.lose_silent(51, 50)

    # Two were taken and never answered; then nobody works.
    again: list[int] = []
    for now in range(60, 3600, 2):
        pending.lose_silent(now, 48 + len(again))
        again += resend(pending, now)

    assert again == [0, 1]


def test_a_queue_that_is_never_empty_hides_no_loss_for_long() -> None:
    pending = filled(0)  # and it never reached the queue
    roll = random.Random(1)

    lost_at = 0
    for now in range(2, 3600, 2):
        pending.lose_silent(now, roll.randrange(3, 9))
        if resend(pending, now):
            lost_at = now
            break

    assert 60 <= lost_at < 120


def test_only_silence_makes_it_wait_longer_for_the_next_time() -> None:
    pending = filled(0)
    for now in (1, 2, 3):
        pending.lose_all()
        assert resend(pending, now) == [0]

    pending.lose_silent(62, 0)
    assert resend(pending, 62) == []
    pending.lose_silent(68, 0)
    assert resend(pending, 68) == [0]


def test_patience_grows_with_the_lag_that_others_had_where_the_queue_cannot_be_seen() -> None:
    pending = filled(0, 0)
    pending.settle(UUID(int=0), 300)

    assert pending.lag_seconds == 300
    pending.lose_silent(899, None)
    assert resend(pending, 899) == []
    pending.lose_silent(905, None)
    assert resend(pending, 905) == [1]


def test_an_old_lag_is_forgotten_with_healthy_receipts() -> None:
    pending = filled(0)
    pending.settle(UUID(int=0), 300)

    for number in range(1, 31):
        pending.add(message(number), 300 + number)
        pending.settle(UUID(int=number), 300.5 + number)

    assert pending.patience(1, pending.lag_seconds) == 60


def test_a_resent_message_says_nothing_about_the_lag() -> None:
    pending = filled(0)
    pending.lose_all()
    resend(pending, 100)

    pending.settle(UUID(int=0), 101)

    assert pending.lag_seconds == 0


def test_what_is_done_ends_at_the_oldest_that_waits() -> None:
    pending = filled(0, 0, 0)

    pending.settle(UUID(int=1), 1)
    assert pending.done_until(30) == 0
    pending.settle(UUID(int=0), 1)
    assert pending.done_until(30) == 20
    pending.settle(UUID(int=2), 1)
    assert pending.done_until(30) == 30


@given(st.integers(1, 1000), st.floats(0, 10_000))
def test_patience_never_shrinks_and_has_a_bound(tries: int, lag: float) -> None:
    pending = Pending(ResendPolicy())

    assert 60 <= pending.patience(tries, lag) <= max(600, 3 * lag)
    assert pending.patience(tries, lag) <= pending.patience(tries + 1, lag)


def test_a_breaker_opens_at_the_first_failure_and_closes_at_the_first_success() -> None:
    breaker = Breaker()
    assert (breaker.state, breaker.pause_seconds(0, hurried=False)) == ("unknown", 0)

    breaker.failed(10)
    assert breaker.state == "down"
    assert 0.25 <= breaker.pause_seconds(10, hurried=False) <= 0.5
    assert breaker.pause_seconds(10, hurried=True) <= 0.1
    assert breaker.pause_seconds(10.6, hurried=False) == 0

    breaker.worked()
    assert (breaker.state, breaker.pause_seconds(10, hurried=False)) == ("up", 0)


@given(st.integers(1, 200))
def test_pauses_double_up_to_half_a_minute(failures: int) -> None:
    breaker = Breaker()
    for _ in range(failures):
        breaker.failed(0)

    full = min(0.5 * 2 ** (failures - 1), LONGEST_PAUSE_SECONDS)
    assert full / 2 <= breaker.pause_seconds(0, hurried=False) <= full

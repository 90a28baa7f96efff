"""A tenant's tokens of a day: set aside before a call, settled after it, charged in full when a worker is lost."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from sqlmodel import col, select

from delivery_fixtures import ended, turn
from digest_fixtures import Shop, new_shop, scripted, server
from schemas.tables import Reservation
from scripted_model import BEHAVIOURS, ScriptedModel
from stores import budget, waits, windows
from stores.windows import Claim
from tasks.digest import digest, work

__all__ = ["server"]

# The scripted model bills 120 tokens a call; an attempt sets aside the overhead and the longest answer.
LIMIT = 10_000


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, home: Path, server: ScriptedModel) -> Generator[Shop]:
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with new_shop(home, url, **scripted(server, daily_tokens=LIMIT, max_output_tokens=2_000)) as made:
        yield made


def _say(shop: Shop, count: int) -> None:
    for number in range(count):
        where = {"session_id": f"s{number}", "user_id": f"u{number}"}
        shop.say(turn("I moved to Lyon yesterday.", number, **where), ended(number + 1, **where))
    shop.cut()


def _reservations(shop: Shop) -> list[Reservation]:
    with shop.kit.db.read() as session:
        return list(session.exec(select(Reservation).order_by(col(Reservation.window_id))))


def _spent(shop: Shop) -> int:
    with shop.kit.db.read() as session:
        return budget.spent_today(session).get(shop.key.tenant_id, 0)


def _claim(shop: Shop) -> Claim:
    claim = windows.claim_next(shop.kit.db, lease_seconds=60)
    assert claim is not None
    return claim


def _spend(shop: Shop, tokens: int) -> None:
    """As if earlier windows of today had used that many."""
    shop.change(Reservation, used=tokens)


def test_an_attempt_that_ended_is_charged_what_it_used(shop: Shop):
    _say(shop, 2)

    shop.settle()

    assert [row.used for row in _reservations(shop)] == [120, 120]
    assert _spent(shop) == 240


def test_a_failed_attempt_is_settled_as_well(shop: Shop, server: ScriptedModel):
    _say(shop, 1)
    server.always(BEHAVIOURS["server_error"])

    digest(shop.kit)

    assert [row.used for row in _reservations(shop)] == [0]


def test_an_attempt_whose_worker_was_lost_is_charged_in_full(shop: Shop):
    _say(shop, 1)
    claim = _claim(shop)
    shop.kit.db.write(
        lambda session: budget.reserve(
            session, claim.tenant_id, claim.window_id, claim.epoch, answer_tokens=2_000, limit=LIMIT
        )
    )

    assert _spent(shop) == _reservations(shop)[0].tokens > 6_000


def test_over_budget_the_window_waits_until_tomorrow_without_blame_and_without_a_call(
    shop: Shop, server: ScriptedModel
):
    _say(shop, 2)
    digest(shop.kit)
    _spend(shop, LIMIT)

    digest(shop.kit)

    assert server.chat_calls == 1
    (waiting,) = [row for row in shop.windows() if row.state == "waiting"]
    assert (waiting.error_code, waiting.attempts, waiting.lease_until) == ("over_budget", 0, None)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert midnight <= waiting.next_try_at < midnight + timedelta(seconds=10)
    with shop.kit.db.read() as session:
        assert waits.over_budget(session) == 1


def test_a_new_day_has_its_own_budget(shop: Shop, server: ScriptedModel):
    _say(shop, 2)
    digest(shop.kit)
    _spend(shop, LIMIT)
    digest(shop.kit)

    yesterday = (datetime.now(UTC) - timedelta(days=1)).date()
    shop.change(Reservation, day=yesterday)
    shop.due_now()
    digest(shop.kit)

    assert [row.state for row in shop.windows()] == ["applied", "applied"]


def test_workers_at_once_do_not_take_the_same_remainder(shop: Shop):
    _say(shop, 6)
    claims = [_claim(shop) for _ in range(6)]

    def reserve(claim: Claim) -> bool:
        return shop.kit.db.write(
            lambda session: budget.reserve(
                session, claim.tenant_id, claim.window_id, claim.epoch, answer_tokens=2_000, limit=2 * LIMIT
            )
        )

    with ThreadPoolExecutor(6) as pool:
        granted = list(pool.map(reserve, claims))

    # About 6,000 each of 20,000.
    assert sum(granted) == 3


def test_a_stored_answer_is_applied_whatever_the_budget(shop: Shop, server: ScriptedModel):
    _say(shop, 1)
    digest_once = _claim(shop)
    server.always(BEHAVIOURS["good"])
    work(shop.kit, digest_once)
    _say_again(shop)
    _spend(shop, LIMIT)
    claim = _claim(shop)
    empty = b'\0{"summary":"","outcome":"unknown","outcome_turns":[],"sentiment":"neutral","tags":[],"entities":[],'
    shop.kit.db.write(lambda session: windows.save_answer(session, claim, empty + b'"facts":[],"procedure":null}', {}))
    shop.kit.db.write(lambda session: windows.postpone(session, claim, "store_busy", 0))

    digest(shop.kit)

    assert [row.state for row in shop.windows()] == ["applied", "applied"]


def _say_again(shop: Shop) -> None:
    shop.say(turn("I moved to Oslo.", 50, session_id="again"), ended(51, session_id="again"))
    shop.cut()


def test_old_rows_are_cleared_away(shop: Shop):
    _say(shop, 1)
    shop.settle()
    past = update(Reservation).values(day=datetime(2026, 1, 1, tzinfo=UTC).date())
    shop.kit.db.write(lambda session: session.connection().execute(past))
    _say_again(shop)

    shop.settle()

    assert len(_reservations(shop)) == 1


def test_without_a_bound_nothing_is_set_aside(home: Path, server: ScriptedModel):
    with new_shop(home, None, **scripted(server)) as free:
        _say(free, 1)
        free.settle()

        assert _reservations(free) == []

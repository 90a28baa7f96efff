"""When turns become work, whatever a session does: never quiet, late, skewed. By the database's clock alone."""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from delivery_fixtures import START, ended, turn
from digest_fixtures import Shop, new_shop
from schemas.tables import Session as SessionRow
from schemas.tables import Turn
from stores.fates import fate


@pytest.fixture(params=["sqlite", "postgres"])
def patient(request: pytest.FixtureRequest, home: Path) -> Generator[Shop]:
    """A shop whose sessions wait: idle 90 s, at most 900 s."""
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with new_shop(home, url, window={"idle_seconds": 90, "max_wait_seconds": 900}) as made:
        yield made


def _wait(shop: Shop, seconds: float) -> None:
    """Lets that much of the database's time pass for the only session: its receipts and its term are that older."""
    (row,) = shop.rows(SessionRow)
    back = timedelta(seconds=seconds)
    shop.change(
        SessionRow,
        first_undigested_at=None if row.first_undigested_at is None else row.first_undigested_at - back,
        last_received_at=row.last_received_at - back,
        due_at=None if row.due_at is None else row.due_at - back,
    )


def test_a_session_that_is_never_quiet_is_digested_all_the_same(patient: Shop):
    for number in range(30):
        assert patient.windows() == []
        patient.say(turn(f"still talking {number}", number))
        _wait(patient, 30)
        patient.cut()

    # 30 turns in 900 s, never 90 s of quiet: what had been said by then is one window.
    assert [len(row.turn_ids) for row in patient.windows()] == [30]


def test_a_quiet_session_is_cut_after_its_idle_time_and_not_before(patient: Shop):
    patient.say(turn("hello"))
    _wait(patient, 89)
    patient.cut()
    assert patient.windows() == []

    _wait(patient, 2)
    patient.cut()

    assert len(patient.windows()) == 1


def test_a_turn_that_arrives_after_everything_was_digested_is_digested_too(patient: Shop):
    patient.say(turn("My name is Anna.", 0), ended(10))
    patient.settle()
    assert {row.state for row in patient.windows()} == {"applied"}

    late = turn("I live in Lyon.", 5)
    patient.say(late)
    patient.settle()

    assert [row.state for row in patient.windows()] == ["applied", "applied"]
    with patient.kit.db.read() as session:
        found = fate(session, patient.key.tenant_id, late["event_id"])
    assert found is not None
    assert found.state == "digested"


@pytest.mark.parametrize("skew", [timedelta(days=-400), timedelta(days=400), timedelta(hours=-9)])
def test_an_agents_clock_moves_neither_dues_nor_leases(patient: Shop, skew: timedelta):
    patient.say(turn("My name is Anna.", at=START + skew))
    (row,) = patient.rows(SessionRow)
    with patient.kit.db.read() as session:
        now = patient.kit.db.now(session)

    assert row.due_at is not None
    assert timedelta(seconds=80) < row.due_at - now <= timedelta(seconds=90)

    _wait(patient, 91)
    patient.settle()

    assert [window.state for window in patient.windows()] == ["applied"]
    with patient.kit.db.read() as session:
        said = session.get(Turn, (patient.key.tenant_id, _only_turn(patient)))
    assert said is not None
    assert said.at <= now + timedelta(minutes=2)


def _only_turn(shop: Shop) -> UUID:
    (window,) = shop.windows()
    return UUID(window.turn_ids[0])


def test_the_moved_world_clock_of_a_demo_makes_nothing_due(patient: Shop):
    patient.say(turn("My name is Anna."))

    patient.advance(days=40)

    assert patient.windows() == []

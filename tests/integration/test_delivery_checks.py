"""The doctor on delivery: what waits, what is dead, what rests, each with what mends it, in both languages."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from delivery_fixtures import START, ended, turn
from digest_fixtures import Shop, new_shop, scripted, server
from memory.circuit import CircuitPolicy
from schemas.tables import Job, Reservation, Window
from scripted_model import ScriptedModel
from stores import circuit, windows
from tasks.digest import digest
from workers import delivery_checks
from workers.findings import Check
from workers.speech import speak

__all__ = ["server"]


@pytest.fixture
def shop(home: Path, server: ScriptedModel) -> Generator[Shop]:
    with new_shop(home, None, **scripted(server, daily_tokens=7_000, max_output_tokens=2_000)) as made:
        yield made
    speak("en")


def _checks(shop: Shop) -> dict[str, Check]:
    return {check.name: check for check in delivery_checks.look(shop.kit.settings)}


def _say(shop: Shop, count: int = 1) -> None:
    for number in range(count):
        where = {"session_id": f"s{number}", "user_id": f"u{number}"}
        shop.say(turn("I moved to Lyon yesterday.", number, **where), ended(number + 1, **where))
    shop.cut()


def _dead(shop: Shop) -> None:
    claim = windows.claim_next(shop.kit.db, lease_seconds=60)
    assert claim is not None
    shop.kit.db.write(lambda session: windows.bury(session, claim, "bad_answer"))


def _lost(shop: Shop) -> None:
    windows.claim_next(shop.kit.db, lease_seconds=60)
    shop.lose_leases()


def _old(shop: Shop) -> None:
    shop.change(Window, created_at=START)


def _open(shop: Shop) -> None:
    policy = CircuitPolicy(failures=1)
    shop.kit.db.write(lambda session: circuit.failed(session, "unauthorized", None, policy))


def _spent(shop: Shop) -> None:
    digest(shop.kit)
    shop.change(Reservation, used=7_000)
    digest(shop.kit)


@pytest.mark.parametrize(
    ("name", "spoil", "state", "mend"),
    [
        ("dead letters", _dead, "warn", "./afterturn dead list"),
        ("suspects", _lost, "warn", "./afterturn worker app"),
        ("waiting", _old, "warn", "./afterturn worker app"),
        ("model", _open, "fail", "AFTERTURN_LLM_API_KEY"),
        ("budget", _spent, "warn", "AFTERTURN_LLM_DAILY_TOKENS=14000"),
    ],
)
def test_it_names_what_is_wrong_and_what_mends_it(
    shop: Shop, name: str, spoil: Callable[[Shop], None], state: str, mend: str
):
    _say(shop, 3)
    assert _checks(shop)[name].state == "ok"

    spoil(shop)

    found = _checks(shop)[name]
    assert (found.state, found.mend) == (state, mend)
    speak("zh")
    assert _checks(shop)[name].mend == mend


def test_jobs_that_no_beat_runs_are_missed(shop: Shop):
    _say(shop)
    found = _checks(shop)["jobs"]
    assert found.state == "warn"
    assert "sweep" not in found.found  # it has just run
    assert "decay (never)" in found.found
    shop.advance(days=0)
    assert _checks(shop)["jobs"].state == "ok"

    shop.change(Job, last_success_at=START)

    assert "sweep" in _checks(shop)["jobs"].found


def test_a_lease_ends_before_its_message_comes_again(shop: Shop):
    assert _checks(shop)["visibility"].state == "ok"

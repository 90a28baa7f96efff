"""The plan of a chaos run: the same for the same seed, dense, and gentle where a run could otherwise not end."""

from __future__ import annotations

from collections import defaultdict

import pytest

from workers.chaos.plan import ANSWERS, Fault, Kind, outage, plan

MINUTES = 60.0


def _plan(seconds: float = 5 * MINUTES, seed: int = 1, **given: bool) -> list[Fault]:
    return plan(seconds=seconds, seed=seed, **{"may_kill_publisher": True, "has_server": False, **given})


def test_a_model_that_is_away_is_so_all_the_time():
    (fault,) = outage(seconds=600)

    assert (fault.kind, fault.target, fault.seconds) == (Kind.ANSWERS, "model", 600)


def test_the_same_seed_gives_the_same_plan_and_another_one_another():
    assert _plan(seed=7) == _plan(seed=7)
    assert _plan(seed=7) != _plan(seed=8)


@pytest.mark.parametrize("seed", range(1, 6))
def test_five_minutes_hold_at_least_two_hundred_faults_of_every_kind(seed: int):
    faults = _plan(seed=seed)

    assert len(faults) >= 200
    assert {fault.kind for fault in faults} == set(Kind)
    assert {fault.target for fault in faults} >= {"broker", "ingest", "app", "beat", "api", "publisher", "model"}
    assert {fault.detail for fault in faults} - {""} <= set(ANSWERS)


def test_faults_come_in_order_and_a_target_is_healed_before_it_is_hit_again():
    faults = _plan(seed=3)
    ends: dict[str, float] = defaultdict(float)

    assert faults == sorted(faults, key=lambda fault: fault.at)
    for fault in faults:
        assert fault.at >= ends[fault.target]
        ends[fault.target] = fault.at + fault.seconds


def test_what_its_durability_does_not_survive_is_not_done_to_the_publisher():
    assert not [f for f in _plan(may_kill_publisher=False) if f.target == "publisher" and f.kind is Kind.KILL]
    assert [f for f in _plan() if f.target == "publisher" and f.kind is Kind.KILL]


def test_only_a_database_server_drops_connections():
    assert not [fault for fault in _plan() if fault.target == "database" and fault.kind is Kind.KICK]
    assert [fault for fault in _plan(has_server=True) if fault.target == "database" and fault.kind is Kind.KICK]


def test_a_short_run_kills_workers_early_so_that_what_they_held_comes_back_in_time():
    late = [f for s in range(20) for f in _plan(45, s) if f.at > 15 and f.target in {"ingest", "app"}]

    assert late
    assert not [fault for fault in late if fault.kind in (Kind.KILL, Kind.KILL_LEADER)]

"""Windows, claims, jobs and the sweep on real databases: fair, exact, safe against a worker that comes back late."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update
from sqlmodel import Session, col, select

from afterturn.ids import uuid7
from delivery_fixtures import BATCH, START, World, ended, tenant_key, turn, world
from memory.windows import WindowPolicy
from schemas.delivery import WindowState
from schemas.errors import StaleClaim
from schemas.tables import Session as SessionRow
from schemas.tables import Turn, User, Window
from stores import cutting, dead, jobs, ledger, suspects, turns, windows
from stores.tenancy import KeyInfo
from stores.windows import Claim
from tasks.app import DIGEST
from tasks.ingest import ingest_events
from tasks.sweep import Swept, sweep, wanted

__all__ = ["world"]

POLICY = WindowPolicy(window_tokens=100)


def _ingest(world: World, *events: dict[str, Any], key: KeyInfo | None = None) -> None:
    ingest_events(world.kit, key or world.key, events, batch=BATCH)


def _cut(world: World, policy: WindowPolicy = POLICY) -> int:
    return world.db.write(
        lambda session: cutting.cut_due(session, policy=policy, limit=50, new_id=uuid7, prompt_version="test-1")
    ).sessions


def _claim(world: World, seconds: float = 60) -> Claim:
    claim = windows.claim_next(world.db, lease_seconds=seconds)
    assert claim is not None
    return claim


def _one_claim(world: World) -> Claim:
    _ingest(world, turn("a", 0), turn("b", 1), ended(5))
    _cut(world)
    return _claim(world)


def _lapse(world: World, claim: Claim) -> None:
    past = update(Window).where(col(Window.id) == claim.window_id).values(lease_until=START)
    world.db.write(lambda session: session.connection().execute(past))


def _windows(world: World) -> list[Window]:
    with world.db.read() as session:
        return list(session.exec(select(Window).order_by(col(Window.id))))


def _states(world: World) -> dict[str, int]:
    with world.db.read() as session:
        return ledger.states(session)


def test_nothing_is_cut_before_it_is_due(world: World):
    _ingest(world, turn())

    assert _cut(world) == 0
    assert windows.claim_next(world.db, lease_seconds=60) is None


def test_a_due_session_is_cut_into_windows_that_hold_each_turn_once(world: World):
    sent = [turn("word " * 50, n) for n in range(5)]
    _ingest(world, *sent, ended(100))

    assert _cut(world) == 1

    rows = _windows(world)
    assert [len(row.turn_ids) for row in rows] == [1, 1, 1, 1, 1]
    assert {row.prompt_version for row in rows} == {"test-1"}
    with world.db.read() as session:
        placed = {str(turn.event_id): turn.window_id for turn in session.exec(select(Turn))}
        owner = session.exec(select(SessionRow)).one()
    assert placed == {row.turn_ids[0]: row.id for row in rows}
    assert (owner.undigested_count, owner.undigested_tokens, owner.due_at) == (0, 0, None)


def test_a_full_window_is_cut_at_once_and_the_rest_waits(world: World):
    policy = WindowPolicy(window_tokens=100)
    small = replace(world.kit.policies, windows=policy)
    kit = replace(world.kit, policies=small)
    ingest_events(kit, world.key, [turn("word " * 60, n) for n in range(3)], batch=BATCH)

    assert _cut(world, policy) == 1

    assert [len(row.turn_ids) for row in _windows(world)] == [1, 1]
    with world.db.read() as session:
        owner = session.exec(select(SessionRow)).one()
    assert owner.undigested_count == 1
    assert owner.due_at == owner.last_received_at + timedelta(seconds=90)


def test_late_turns_form_a_window_of_their_own_and_see_what_came_before(world: World):
    first = _one_claim(world)
    world.db.write(lambda session: windows.finish(session, first))

    _ingest(world, turn("late", 0.5))
    _cut(world)

    late = _claim(world)
    assert late.window_id != first.window_id
    with world.db.read() as session:
        assert [view.content for view in turns.views(session, late.tenant_id, late.turn_ids)] == ["late"]
        assert [view.content for view in turns.before(session, late.tenant_id, late.turn_ids)] == ["a"]
        around = turns.neighbours(session, late.tenant_id, late.turn_ids)[late.turn_ids[0]]
    assert around.previous is not None
    assert around.next is not None
    assert (around.previous.content, around.next.content) == ("a", "b")


def test_a_claim_excludes_others_until_its_lease_ends(world: World):
    claim = _one_claim(world)
    assert windows.claim_next(world.db, lease_seconds=60) is None

    _lapse(world, claim)

    again = _claim(world)
    assert (again.window_id, again.epoch, again.attempts) == (claim.window_id, claim.epoch + 1, 1)


def test_an_answer_is_kept_for_whoever_comes_next(world: World):
    claim = _one_claim(world)
    world.db.write(lambda session: windows.save_answer(session, claim, b"\0{}", {"calls": 1}))
    _lapse(world, claim)

    assert _claim(world).answer == b"\0{}"


def test_a_finished_window_is_applied_once_and_its_turns_are_digested(world: World):
    claim = _one_claim(world)

    world.db.write(lambda session: windows.finish(session, claim))

    assert _states(world) == {"digested": 2, "applied": 1}
    assert [row.state for row in _windows(world)] == [WindowState.APPLIED]
    with pytest.raises(StaleClaim):
        world.db.write(lambda session: windows.finish(session, claim))
    assert windows.claim_next(world.db, lease_seconds=60) is None


@pytest.mark.parametrize("write", ["save_answer", "finish", "postpone", "bury"])
def test_a_worker_whose_claim_has_passed_on_changes_nothing(world: World, write: str):
    late = _one_claim(world)
    _lapse(world, late)
    _claim(world)
    before = _windows(world)

    with pytest.raises(StaleClaim):
        world.db.write(lambda session: _write(session, write, late))

    assert _windows(world) == before
    assert _states(world) == {"stored": 2, "applied": 1}


@pytest.mark.parametrize("write", ["save_answer", "finish", "postpone", "bury"])
def test_a_claim_from_before_an_erasure_changes_nothing(world: World, write: str):
    claim = _one_claim(world)
    moved = update(User).values(generation=col(User.generation) + 1)
    world.db.write(lambda session: session.connection().execute(moved))

    with pytest.raises(StaleClaim):
        world.db.write(lambda session: _write(session, write, claim))


def _write(session: Session, name: str, claim: Claim) -> None:
    match name:
        case "save_answer":
            windows.save_answer(session, claim, b"\0{}", {})
        case "finish":
            windows.finish(session, claim)
        case "postpone":
            windows.postpone(session, claim, "model_busy", 5)
        case _:
            windows.bury(session, claim, "bad_answer")


def test_a_postponed_window_waits(world: World):
    claim = _one_claim(world)

    world.db.write(lambda session: windows.postpone(session, claim, "model_busy", 600))

    assert windows.claim_next(world.db, lease_seconds=60) is None
    row = _windows(world)[0]
    assert (row.error_code, row.lease_until, row.attempts) == ("model_busy", None, 1)
    assert row.next_try_at > row.created_at + timedelta(seconds=590)


def test_a_buried_window_is_a_dead_letter_that_can_be_revived(world: World):
    claim = _one_claim(world)
    world.db.write(lambda session: windows.bury(session, claim, "bad_answer"))

    assert _states(world) == {"dead_window": 2, "applied": 1}
    with world.db.read() as session:
        letter = dead.waiting(session, world.key.tenant_id)[0]
    assert (letter.kind, letter.key, letter.error_code) == ("window", str(claim.window_id), "bad_answer")

    assert world.db.write(lambda session: windows.revive(session, claim.window_id))
    assert not world.db.write(lambda session: windows.revive(session, claim.window_id))

    assert _states(world) == {"stored": 2, "applied": 1}
    assert _claim(world).attempts == 1


def test_a_window_that_lost_a_worker_is_suspect_and_runs_alone(world: World):
    claim = _one_claim(world)
    assert not claim.is_suspect
    _lapse(world, claim)

    assert windows.claim_next(world.db, lease_seconds=60, with_suspects=False) is None
    again = _claim(world)

    assert again.is_suspect
    assert again.attempts == 1  # the lost attempt was nobody's: this one stands in its place
    assert [row.crashes for row in _windows(world)] == [1]


def test_a_suspect_that_comes_to_an_outcome_is_cleared(world: World):
    _lapse(world, _one_claim(world))
    again = _claim(world)

    world.db.write(lambda session: windows.postpone(session, again, "model_busy", 0))

    assert [row.crashes for row in _windows(world)] == [0]
    assert not _claim(world).is_suspect


def test_a_suspect_that_was_not_even_tried_stays_one(world: World):
    _lapse(world, _one_claim(world))
    again = _claim(world)
    adopted = _adopt(world, again)
    assert adopted is not None

    world.db.write(lambda session: windows.postpone(session, adopted, "model_busy", 0, is_blamed=False))

    # Who waits for the process sees that there was an outcome.
    assert not world.db.write(
        lambda session: suspects.end_without_outcome(session, again, delay_seconds=60, is_crash=True)
    )
    assert [(row.crashes, row.attempts) for row in _windows(world)] == [(0, 1)]
    assert _claim(world).is_suspect


def test_a_window_that_took_enough_processes_with_it_is_given_to_nobody_until_it_is_buried(world: World):
    _lapse(world, _one_claim(world))
    for crashes in (1, 2):
        claim = windows.claim_next(world.db, lease_seconds=60, max_crashes=2)
        assert claim is not None
        assert claim.crashes == crashes
        _lapse(world, claim)

    assert windows.claim_next(world.db, lease_seconds=60, max_crashes=2) is None
    assert windows.claim_next(world.db, lease_seconds=60, max_crashes=3) is not None


def test_a_window_that_takes_every_process_of_its_own_with_it_is_buried(world: World):
    claim = _one_claim(world)
    _lapse(world, claim)
    for _ in range(3):
        assert world.db.write(lambda session: windows.bury_lost(session, max_crashes=3)) == 0
        claim = _claim(world)
        _lapse(world, claim)

    assert world.db.write(lambda session: windows.bury_lost(session, max_crashes=3)) == 1

    assert windows.claim_next(world.db, lease_seconds=60) is None
    assert _states(world) == {"dead_window": 2, "applied": 1}


def test_a_lone_process_that_could_not_start_is_no_crash_of_its_window(world: World):
    _lapse(world, _one_claim(world))
    alone = _claim(world)

    ended = world.db.write(
        lambda session: suspects.end_without_outcome(session, alone, delay_seconds=60, is_crash=False)
    )

    assert ended
    assert [row.crashes for row in _windows(world)] == [0]
    assert windows.claim_next(world.db, lease_seconds=60) is None
    with world.db.read() as session:
        assert suspects.waiting(session) == 1


def test_a_lone_process_adopts_the_claim_that_was_made_for_it(world: World):
    _lapse(world, _one_claim(world))
    alone = _claim(world)

    adopted = _adopt(world, alone)
    stale = _adopt(world, replace(alone, epoch=alone.epoch - 1))
    with world.db.read() as session:
        left = suspects.lease_left_seconds(session, alone)

    assert adopted is not None
    assert replace(adopted, waited_seconds=alone.waited_seconds) == alone
    assert stale is None
    assert 290 < left <= 300  # a lease of its own: starting a process took part of the claim's


def test_a_claim_that_is_given_back_is_free_at_once_and_stale_for_its_thread(world: World):
    claim = _one_claim(world)

    assert world.db.write(lambda session: suspects.release(session, [claim])) == 1

    with pytest.raises(StaleClaim):
        world.db.write(lambda session: windows.finish(session, claim))
    again = _claim(world)
    assert (again.window_id, again.attempts, again.is_suspect) == (claim.window_id, 1, False)


def test_while_the_model_is_left_alone_only_stored_answers_are_claimed(world: World):
    claim = _one_claim(world)
    world.db.write(lambda session: windows.postpone(session, claim, "model_busy", 0))
    assert windows.claim_next(world.db, lease_seconds=60, answered_only=True) is None
    claim = _claim(world)
    world.db.write(lambda session: windows.save_answer(session, claim, b"\0{}", {}))
    world.db.write(lambda session: windows.postpone(session, claim, "store_busy", 0))

    answered = windows.claim_next(world.db, lease_seconds=60, answered_only=True)

    assert answered is not None
    assert answered.is_answered


def test_a_running_claim_is_never_buried(world: World):
    _one_claim(world)

    assert world.db.write(lambda session: windows.bury_lost(session, max_crashes=0)) == 0


def test_tenants_take_turns_however_much_one_of_them_has(world: World):
    small = tenant_key(world.db, "small")
    for number in range(6):
        _ingest(world, turn(session_id=f"big-{number}"), ended(session_id=f"big-{number}"))
    for number in range(2):
        _ingest(world, turn(session_id=f"small-{number}"), ended(session_id=f"small-{number}"), key=small)
    _cut(world)

    served: list[UUID] = []
    for _ in range(8):
        claim = _claim(world)
        served.append(claim.tenant_id)
        world.db.write(lambda session, claim=claim: windows.finish(session, claim))

    assert Counter(served) == {world.key.tenant_id: 6, small.tenant_id: 2}
    assert set(served[:2]) == set(served[2:4]) == {world.key.tenant_id, small.tenant_id}


def test_a_tenant_whose_claims_hang_does_not_take_every_slot(world: World):
    quick = tenant_key(world.db, "quick")
    for number in range(6):
        _ingest(world, turn(session_id=f"s-{number}"), ended(session_id=f"s-{number}"))
        _ingest(world, turn(session_id=f"q-{number}"), ended(session_id=f"q-{number}"), key=quick)
    _cut(world)

    hanging = 0
    for _ in range(6):
        claim = _claim(world)
        if claim.tenant_id == quick.tenant_id:
            world.db.write(lambda session, claim=claim: windows.finish(session, claim))
        else:
            hanging += 1

    assert hanging == 1


def test_many_workers_claim_each_window_once(world: World):
    for number in range(24):
        session_id, user_id = f"s-{number}", f"u-{number % 4}"
        _ingest(world, turn(session_id=session_id, user_id=user_id), ended(session_id=session_id, user_id=user_id))
    assert _cut(world) == 24

    def drain(_: int) -> list[UUID]:
        mine: list[UUID] = []
        while (claim := windows.claim_next(world.db, lease_seconds=60)) is not None:
            mine.append(claim.window_id)
            world.db.write(lambda session, claim=claim: windows.finish(session, claim))
        return mine

    with ThreadPoolExecutor(4) as pool:
        claimed = [window_id for mine in pool.map(drain, range(4)) for window_id in mine]

    assert len(claimed) == len(set(claimed)) == 24


def test_two_sweeps_at_once_cut_each_turn_once(world: World):
    for number in range(12):
        _ingest(world, turn(session_id=f"s-{number}"), turn(number=1, session_id=f"s-{number}"))
        _ingest(world, ended(session_id=f"s-{number}"))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(_cut, [world] * 6))
    _cut(world)

    placed = [event_id for row in _windows(world) for event_id in row.turn_ids]
    assert len(placed) == len(set(placed)) == 24


# The sweep


@dataclass
class Broker:
    """Counts hints like a queue that nobody reads."""

    waiting: Counter[str] = field(default_factory=Counter[str])

    def queued(self, name: str) -> int:
        """What was hinted so far."""
        return self.waiting[name]

    def hint(self, name: str, count: int) -> bool:
        """Takes the hints."""
        self.waiting[name] += count
        return True


def test_a_sweep_cuts_and_hints_and_a_second_one_adds_nothing(world: World):
    for number in range(5):
        _ingest(world, turn(session_id=f"s-{number}"), ended(session_id=f"s-{number}"))
    broker = Broker()

    assert sweep(world.kit, broker) == Swept(sessions=5, buried=0, digests=5, indexing=0)
    assert sweep(world.kit, broker) == Swept(sessions=0, buried=0, digests=0, indexing=0)

    assert broker.waiting[DIGEST] == 5


@pytest.mark.parametrize(
    ("due", "running", "hints"), [(0, 0, 0), (3, 0, 3), (100, 0, 16), (100, 5, 6), (100, 8, 2), (1, 8, 1)]
)
def test_hints_are_at_most_twice_the_free_slots(due: int, running: int, hints: int):
    assert wanted(windows.Backlog(due, running, 0), 8) == hints


# Jobs


def test_a_job_runs_once_at_a_time(world: World):
    first = world.db.write(lambda session: jobs.begin(session, "decay", 60))
    assert first == 1
    assert world.db.write(lambda session: jobs.begin(session, "decay", 60)) is None

    world.db.write(lambda session: jobs.finish(session, "decay", 1, {"changed": 3}))

    assert world.db.write(lambda session: jobs.begin(session, "decay", 60)) == 2
    with world.db.read() as session:
        row = jobs.current(session, "decay")
    assert row is not None
    assert row.last_result == {"changed": 3}


def test_two_beats_are_one_run(world: World):
    world.db.write(lambda session: jobs.begin(session, "decay", 60))
    world.db.write(lambda session: jobs.finish(session, "decay", 1))

    assert world.db.write(lambda session: jobs.begin(session, "decay", 60, not_within_seconds=30)) is None


def test_a_run_that_lost_its_lease_cannot_go_on(world: World):
    world.db.write(lambda session: jobs.begin(session, "decay", -1))
    world.db.write(lambda session: jobs.begin(session, "decay", 60))

    with pytest.raises(StaleClaim):
        world.db.write(lambda session: jobs.renew(session, "decay", 1, 60))
    with pytest.raises(StaleClaim):
        world.db.write(lambda session: jobs.finish(session, "decay", 1))


def test_many_beats_begin_one_run(world: World):
    with ThreadPoolExecutor(4) as pool:
        begun = list(pool.map(_begin, [world] * 8))

    assert [epoch for epoch in begun if epoch is not None] == [1]


def _begin(world: World) -> int | None:
    return world.db.write(lambda session: jobs.begin(session, "expire", 60))


def _adopt(world: World, claim: Claim) -> Claim | None:
    return world.db.write(lambda session: suspects.adopt(session, claim.window_id, claim.epoch, lease_seconds=300))

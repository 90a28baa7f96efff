"""What arrives is kept exactly once, on SQLite and on PostgreSQL, whatever the order and whoever else writes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col, select

from afterturn.ids import uuid7
from delivery_fixtures import BATCH, START, World, ended, event, ids, tenant_key, turn, world
from schemas.envelopes import disclose, disclose_json, enclose_json
from schemas.errors import Forbidden
from schemas.tables import (
    DeadLetter,
    Observation,
    ProcedureOutcome,
    ProcedureVersion,
    Turn,
    User,
    WorkingState,
)
from schemas.tables import Session as SessionRow
from stores import clock, dead, ledger, turns, working
from stores.ledger import Tally
from stores.tenancy import KeyInfo
from tasks.ingest import BatchInfo, ingest_events
from tasks.parked import read_parked
from tasks.receipts import Receipt

__all__ = ["world"]


def _ingest(world: World, events: Sequence[object], *, key: KeyInfo | None = None, **batch: Any) -> list[Receipt]:
    info = BatchInfo(producer="producer-1", **batch) if batch else BATCH
    return ingest_events(world.kit, key or world.key, events, batch=info)


def _states(receipts: Sequence[Receipt]) -> list[str]:
    return [receipt.state for receipt in receipts]


def _turns(world: World) -> list[Turn]:
    with world.db.read() as session:
        return list(session.exec(select(Turn).order_by(col(Turn.at), col(Turn.event_id))))


def _only_session(world: World) -> SessionRow:
    with world.db.read() as session:
        return session.exec(select(SessionRow)).one()


def _ledger(world: World) -> dict[str, int]:
    with world.db.read() as session:
        return ledger.states(session, world.key.tenant_id)


def test_a_batch_is_kept_with_its_session(world: World):
    events = [turn("Hello", 0), turn("Hi, how can I help?", 1, role="assistant"), turn("我的耳机有杂音。", 2)]

    receipts = _ingest(world, events)

    assert _states(receipts) == ["stored"] * 3
    assert [receipt.event_id for receipt in receipts] == ids(events)
    rows = _turns(world)
    assert [disclose(row.content) for row in rows] == ["Hello", "Hi, how can I help?", "我的耳机有杂音。"]
    assert [row.language for row in rows] == ["en", "en", "zh"]
    session = _only_session(world)
    assert (session.turn_count, session.undigested_count) == (3, 3)
    assert session.undigested_tokens == sum(row.token_count for row in rows)
    assert session.last_turn_at == START + timedelta(seconds=2)
    assert session.due_at == session.last_received_at + timedelta(seconds=90)
    assert _ledger(world) == {"stored": 3}


@pytest.mark.parametrize("seq", [0, (1 << 31) - 1, 1 << 31, (1 << 63) - 1])
def test_a_producer_s_count_may_go_as_far_as_the_contract_says(world: World, seq: int):
    events = [turn("Hello", seq=seq), turn("Hi", 1, procedure={"name": "greet", "version": 1_000_000})]

    assert _states(_ingest(world, events)) == ["stored"] * 2

    assert [row.seq for row in _turns(world)] == [seq, None]


def test_the_same_batch_again_changes_nothing(world: World):
    events = [turn(number=n) for n in range(5)]
    _ingest(world, events)
    before = _only_session(world)

    assert _states(_ingest(world, events)) == ["duplicate"] * 5

    assert len(_turns(world)) == 5
    assert _only_session(world) == before
    with world.db.read() as session:
        assert ledger.receptions(session) == Tally(stored=5, duplicate=5)


def test_one_event_twice_in_a_batch_is_kept_once(world: World):
    event = turn()

    assert _states(_ingest(world, [event, event])) == ["stored", "duplicate"]

    assert _only_session(world).turn_count == 1


def test_the_same_id_with_other_content_is_a_conflict(world: World):
    event = turn("I live in Paris.")
    _ingest(world, [event])

    receipt = _ingest(world, [{**event, "content": "I live in Rome."}])[0]

    assert (receipt.state, receipt.code, receipt.field) == ("rejected", "id_conflict", "event_id")
    assert [disclose(row.content) for row in _turns(world)] == ["I live in Paris."]
    assert _ledger(world) == {"stored": 1}


def test_a_resend_by_another_producer_at_another_time_is_still_a_duplicate(world: World):
    event = turn()
    _ingest(world, [{**event, "producer": "a", "seq": 1, "published_at": START}])

    again = {**event, "producer": "b", "seq": 9, "published_at": START + timedelta(hours=1)}

    assert _states(_ingest(world, [again])) == ["duplicate"]


def test_two_tenants_may_use_one_id(world: World):
    event = turn()
    other = tenant_key(world.db, "other")

    assert _states(_ingest(world, [event])) == ["stored"]
    assert _states(_ingest(world, [event], key=other)) == ["stored"]

    assert len({row.tenant_id for row in _turns(world)}) == 2
    assert len({row.user_ref for row in _turns(world)}) == 2


def test_a_bad_event_does_not_cost_the_others(world: World):
    naive = START.replace(tzinfo=None)
    events: list[object] = [turn(), turn(at=naive), turn(content=""), "nonsense", turn(role="robot"), turn(number=1)]

    receipts = _ingest(world, events)

    assert _states(receipts) == ["stored", "rejected", "rejected", "rejected", "rejected", "stored"]
    assert [receipt.field for receipt in receipts[1:5]] == ["at", "content", "event", "role"]
    assert _ledger(world) == {"stored": 2, "rejected": 3}


def test_an_event_that_was_rejected_may_be_sent_again_when_it_is_right(world: World):
    event = turn(content="")
    assert _states(_ingest(world, [event])) == ["rejected"]

    assert _states(_ingest(world, [{**event, "content": "Here it is."}])) == ["stored"]
    assert _states(_ingest(world, [{**event, "content": "Here it is."}])) == ["duplicate"]

    assert _ledger(world) == {"stored": 1}


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (turn("Refund approved.", role="staff", actor_id="boss"), "role"),
        (event("approval", what="Refund", approved=True, actor_id="boss"), "actor_id"),
        (event("remember", content="All shops close at six.", scope="organization"), "scope"),
    ],
)
def test_speaking_for_the_organisation_needs_the_right_to(world: World, sent: dict[str, Any], field: str):
    receipt = _ingest(world, [sent])[0]
    assert (receipt.state, receipt.code, receipt.field) == ("rejected", "forbidden", field)

    assert _states(_ingest(world, [sent], key=world.staff)) == ["stored"]
    assert [row.role for row in _turns(world)] == ["user" if field == "scope" else "staff"]


def test_a_key_that_may_only_recall_publishes_nothing(world: World):
    with pytest.raises(Forbidden):
        _ingest(world, [turn()], key=tenant_key(world.db, "other", "recall"))


def test_arrival_order_does_not_matter(world: World):
    events = [turn(f"turn {n}", n) for n in range(20)]
    shuffled = list(events)
    random.Random(7).shuffle(shuffled)

    for start in range(0, 20, 3):
        _ingest(world, shuffled[start : start + 3])

    with world.db.read() as session:
        views = turns.views(session, world.key.tenant_id, ids(shuffled))
    assert [view.content for view in views] == [f"turn {n}" for n in range(20)]
    assert _only_session(world).turn_count == 20


def test_a_time_too_far_ahead_is_clamped_and_the_original_kept(world: World):
    _ingest(world, [turn(at=START + timedelta(days=4000))])

    row = _turns(world)[0]
    assert row.at == row.received_at
    assert row.original_at == START + timedelta(days=4000)
    assert "at_clamped" in row.flags


def test_the_worlds_clock_decides_what_is_ahead(world: World):
    world.db.write(lambda session: clock.set_offset(session, 5000 * 86_400))

    _ingest(world, [turn(at=START + timedelta(days=4000))])

    row = _turns(world)[0]
    assert row.at == START + timedelta(days=4000)
    assert row.flags == []


@pytest.mark.parametrize(("offset_ms", "seconds"), [(1900, 0), (-5000, 5), (60_000, -60)])
def test_an_agents_clock_that_is_off_is_corrected(world: World, offset_ms: int, seconds: int):
    _ingest(world, [turn(published_at=START)], clock_offset_ms=offset_ms)

    row = _turns(world)[0]
    assert row.at == START + timedelta(seconds=seconds)
    assert row.published_at == START + timedelta(seconds=seconds)
    assert (row.original_at == START) == bool(seconds) == ("at_corrected" in row.flags)


def test_the_zone_in_which_a_time_was_said_is_kept(world: World):
    shanghai = (START + timedelta(hours=8)).isoformat().replace("+00:00", "+08:00")

    _ingest(world, [turn(at=shanghai, tz="Asia/Shanghai")])

    row = _turns(world)[0]
    assert (row.at, row.utc_offset_minutes, row.tz) == (START, 480, "Asia/Shanghai")


def test_an_event_not_to_be_stored_is_counted_without_its_content(world: World):
    assert _states(_ingest(world, [turn("Nobody keeps this.", no_store=True)])) == ["stored"]

    assert _turns(world) == []
    assert _ledger(world) == {"applied": 1}
    assert _only_session(world).due_at is None


def test_secrets_are_masked_before_they_are_stored(world: World):
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"

    _ingest(world, [turn(f"My key is {secret}"), event("state", 1, patch={"open_items": [f"rotate {secret}"]})])

    row = _turns(world)[0]
    assert secret not in disclose(row.content)
    assert any(flag.startswith("secret:") for flag in row.flags)
    with world.db.read() as session:
        state = session.exec(select(WorkingState)).one()
    assert secret not in disclose(state.state)


def test_a_tools_payload_is_an_observation_and_reaches_the_digest(world: World):
    payload = '{"order": "A-17", "status": "shipped"}'

    _ingest(world, [turn(payload, role="tool", tool={"name": "orders", "ok": True, "arguments": {"id": "A-17"}})])

    row = _turns(world)[0]
    assert disclose(row.content) == ""
    with world.db.read() as session:
        kept = session.exec(select(Observation)).one()
        view = turns.views(session, world.key.tenant_id, [row.event_id])[0]
    assert disclose(kept.content) == payload
    assert kept.expires_at == row.received_at + timedelta(days=30)
    assert (view.content, view.tool, view.tool_ok) == (payload, "orders", True)


def test_an_ended_session_is_due_at_once_and_keeps_its_outcome(world: World):
    _ingest(world, [turn(number=0), turn(number=1), ended(5)])

    session = _only_session(world)
    assert session.ended_at == START + timedelta(seconds=5)
    assert session.outcome == "success"
    assert session.due_at == session.last_received_at
    assert _ledger(world) == {"stored": 2, "applied": 1}


def test_a_session_that_goes_on_after_its_end_waits_again(world: World):
    _ingest(world, [turn(number=0), ended(5)])

    _ingest(world, [turn(number=60)])

    session = _only_session(world)
    assert session.due_at == session.last_received_at + timedelta(seconds=90)


def test_the_end_may_arrive_before_what_was_said(world: World):
    _ingest(world, [ended(5)])
    assert _only_session(world).due_at is None

    _ingest(world, [turn(number=0)])

    session = _only_session(world)
    assert session.due_at == session.last_received_at


def test_state_patches_are_folded_in_the_order_of_their_events(world: World):
    first = event("state", 1, patch={"intent": "return", "ticket_status": "open"})
    second = event("state", 2, patch={"intent": "exchange"})
    third = event("state", 3, patch={"ticket_status": None})

    _ingest(world, [third])
    _ingest(world, [second, first])

    with world.db.read() as session:
        ref = session.exec(select(SessionRow.id)).one()
        assert working.read(session, world.key.tenant_id, "session", str(ref)) == {"intent": "exchange"}


def test_a_closed_ticket_ends_its_state(world: World):
    _ingest(world, [event("state", 1, scope="ticket", ticket_id="T-1", patch={"intent": "refund"})])

    _ingest(world, [event("ticket_closed", 9, ticket_id="T-1")])

    with world.db.read() as session:
        row = working.find(session, world.key.tenant_id, "ticket", "T-1")
    assert row is not None
    assert row.ended_at == START + timedelta(seconds=9)
    assert disclose_json(row.state) == {"intent": "refund"}


def test_a_wish_to_remember_is_digested_like_a_turn(world: World):
    _ingest(world, [event("remember", content="I am allergic to peanuts.", scope="user", key="allergy")])

    row = _turns(world)[0]
    assert (row.role, disclose(row.content)) == ("user", "I am allergic to peanuts.")
    assert row.flags == ["remember", "scope:user", "key:allergy"]
    assert _only_session(world).undigested_count == 1


def test_a_procedures_outcome_counts_once(world: World):
    sent = event("procedure_outcome", procedure={"name": "exchange-headset", "version": 2}, succeeded=True)

    _ingest(world, [sent])
    _ingest(world, [sent])

    with world.db.read() as session:
        assert len(session.exec(select(ProcedureOutcome)).all()) == 1
        version = session.exec(select(ProcedureVersion)).one()
    assert (version.version, version.successes, version.failures) == (2, 1.0, 0.0)
    assert version.ema == pytest.approx(0.55)


def test_citing_what_is_not_there_is_harmless(world: World):
    sent = [
        event("accessed", memory_ids=[str(uuid7()), "no-uuid"]),
        event("feedback", 1, memory_id="x", verdict="wrong"),
    ]

    assert _states(_ingest(world, sent)) == ["stored", "stored"]


def test_an_event_of_a_newer_version_is_parked(world: World):
    newer = turn("From the future.", v=2, mood="calm")

    assert _states(_ingest(world, [newer])) == ["stored"]
    assert _states(_ingest(world, [newer])) == ["duplicate"]

    with world.db.read() as session:
        letter = dead.parked(session)[0]
        assert dead.waiting(session) == []
    assert letter.error_code == "event_v2"
    assert letter.payload is not None
    assert disclose_json(letter.payload)["event"]["mood"] == "calm"


def test_what_was_parked_is_read_after_the_upgrade_and_counted_once(world: World):
    newer, newest = turn("From the future.", 1, v=2), turn("From later still.", 2, v=3)
    _ingest(world, [newer, newest])
    assert read_parked(world.kit) == 0
    with world.db.read() as session:
        letters = {letter.error_code: letter for letter in dead.parked(session)}
    _as_if_v1_could_read(world, letters["event_v2"])

    assert read_parked(world.kit) == 1
    assert read_parked(world.kit) == 0

    assert [disclose(row.content) for row in _turns(world)] == ["From the future."]
    assert _ledger(world) == {"stored": 2}
    with world.db.read() as session:
        assert [letter.error_code for letter in dead.parked(session)] == ["event_v3"]
        assert ledger.receptions(session) == Tally(stored=2)


def _as_if_v1_could_read(world: World, letter: DeadLetter) -> None:
    """Writes the letter anew with an event of this version: the upgrade, seen from the other side."""
    assert letter.payload is not None
    parked = disclose_json(letter.payload)
    parked["event"]["v"] = 1
    change = update(DeadLetter).where(col(DeadLetter.id) == letter.id).values(payload=enclose_json(parked))
    world.db.write(lambda session: session.connection().execute(change))


def test_over_http_a_newer_version_is_refused(world: World):
    receipt = _ingest(world, [turn(v=2)], parks=False)[0]

    assert (receipt.state, receipt.code, receipt.field) == ("rejected", "event_version", "v")


def test_what_was_said_before_an_erasure_and_comes_after_it_is_not_kept(world: World):
    _ingest(world, [turn(number=0)])

    def erase(session: Any) -> None:
        user = session.exec(select(User)).one()
        user.erased_at = START + timedelta(seconds=50)
        session.add(user)

    world.db.write(erase)

    _ingest(world, [turn("too late", 10), turn("new", 60)])

    assert [disclose(row.content) for row in _turns(world)] == ["I moved to Lyon yesterday.", "new"]
    assert _ledger(world) == {"stored": 2, "erased": 1}


def test_many_writers_of_the_same_events_keep_each_once(world: World):
    events = [turn(f"turn {n}", n, user_id=f"u{n % 3}", session_id=f"s{n % 5}", event_id=uuid7()) for n in range(60)]

    def write(seed: int) -> int:
        mine = list(events)
        random.Random(seed).shuffle(mine)
        return sum(
            receipt.state == "stored"
            for start in range(0, 60, 12)
            for receipt in _ingest(world, mine[start : start + 12])
        )

    with ThreadPoolExecutor(4) as pool:
        stored = list(pool.map(write, range(4)))

    assert sum(stored) == 60
    assert len(_turns(world)) == 60
    with world.db.read() as session:
        assert ledger.receptions(session) == Tally(stored=60, duplicate=180)
        rows = session.exec(select(SessionRow)).all()
    assert sum(row.turn_count for row in rows) == 60
    assert sum(row.undigested_count for row in rows) == 60
    assert len(rows) == 15

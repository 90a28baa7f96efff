"""Fading, ending and merging: the same however often a job runs, and undone where it should be."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlmodel import col

from delivery_fixtures import event, turn
from digest_fixtures import Shop, is_current, model_shop, server, shop
from llm.face import Embedder
from schemas.envelopes import disclose, enclose
from schemas.errors import NotFound, StaleClaim
from schemas.indexing import Vector
from schemas.tables import Episode, Fact, Job, Moment
from scripted_model import ScriptedModel, draft, fact, good
from stores import clock, jobs
from stores.kit import Kit
from stores.setting_areas import StrengthSettings
from tasks import chain
from tasks.chain import Link, Step
from tasks.consolidate import consolidate, undo
from tasks.decay import decay
from tasks.expire import expire
from tasks.index import index

__all__ = ["model_shop", "server", "shop"]

DAY = 86_400.0


def _pass(shop: Shop, days: float) -> None:
    shop.kit.db.write(lambda session: clock.advance(session, days * DAY))


def _strengths(shop: Shop) -> list[float]:
    return [round(row.strength, 3) for table in (Fact, Episode) for row in shop.rows(table)]


def test_decay_halves_once_however_often_it_runs(shop: Shop) -> None:
    shop.say(turn("I live in Lyon."))
    shop.settle()
    (city,) = shop.rows(Fact)
    _pass(shop, 30)

    assert decay(shop.kit) == 2
    once = _strengths(shop)
    assert decay(shop.kit) == 0

    assert _strengths(shop) == once
    assert shop.rows(Fact)[0].strength == pytest.approx(city.importance / 2, abs=0.01)
    assert shop.rows(Fact)[0].importance == city.importance
    assert shop.owed() == []


def test_a_fact_that_is_said_again_is_as_strong_as_ever(shop: Shop) -> None:
    shop.say(turn("I live in Lyon."))
    shop.settle()
    _pass(shop, 100)
    decay(shop.kit)

    shop.say(turn("I live in Lyon.", 100 * DAY, session_id="s2"))
    shop.settle()

    (city,) = shop.rows(Fact)
    assert city.strength == city.importance


def test_what_matters_is_extended_twice_and_ends_then(shop: Shop) -> None:
    shop.say(turn("I live in Lyon."))
    shop.settle()
    shop.change(Episode, importance=0.1)

    _pass(shop, 91)
    assert expire(shop.kit) == 1
    assert shop.episodes() == []
    assert shop.rows(Moment, col(Moment.deleted_at).is_(None)) == []
    while index(shop.kit):
        pass
    assert set(shop.indexed()) == {row.id for row in shop.rows(Fact)}

    for extensions in (1, 2):
        _pass(shop, 366)
        assert expire(shop.kit) == 1
        assert expire(shop.kit) == 0
        assert (shop.rows(Fact)[0].extensions, shop.facts()) == (extensions, ["+Lyon"])
    _pass(shop, 366)
    assert expire(shop.kit) == 1
    assert shop.facts() == []
    while index(shop.kit):
        pass
    assert shop.indexed() == {}


def test_a_cited_memory_has_its_time_anew(shop: Shop) -> None:
    shop.say(turn("I live in Lyon."))
    shop.settle()
    shop.change(Episode, importance=0.1)
    (row,) = shop.episodes()
    _pass(shop, 80)
    shop.change(Episode, last_accessed_at=shop.kit.world_now(), access_count=1)

    _pass(shop, 20)
    assert expire(shop.kit) == 1

    (later,) = shop.episodes()
    assert later.expires_at is not None
    assert row.expires_at is not None
    assert later.expires_at - row.expires_at > timedelta(days=75)
    assert later.extensions == 0


def test_an_allergy_stays_and_what_has_expired_is_not_brought_back_by_the_fold(shop: Shop) -> None:
    shop.say(turn("我对花生过敏。"), turn("I live in Lyon.", 1))
    shop.settle()
    shop.change(Fact, col(Fact.key) == "city", importance=0.1)
    _pass(shop, 400)
    expire(shop.kit)
    assert shop.facts() == ["+花生"]

    # A word that only waits folds the slot again; one that counts brings it back to life.
    shop.say(turn("I used to live in Oslo.", 401 * DAY, session_id="s2"))
    shop.settle()
    assert shop.facts() == ["+花生"]
    shop.say(turn("I live in Lyon.", 402 * DAY, session_id="s3"))
    shop.settle()
    assert shop.facts() == ["+Lyon", "+花生"]


def _status(shop: Shop, number: float, status: str = "in_transit", **given: Any) -> None:
    payload = f'{{"order": "8831", "status": "{status}"}}'
    tool = {"name": "order_status", "ok": True}
    shop.say(turn("Where is order 8831?", number, **given), turn(payload, number + 1, role="tool", tool=tool, **given))


def _volatile(shop: Shop) -> list[str]:
    rows = [row for row in shop.rows(Fact, Fact.volatility == "volatile") if is_current(row)]
    return [disclose(row.value) for row in rows]


def test_what_is_volatile_ends_with_the_last_session_that_states_it(shop: Shop) -> None:
    now = shop.kit.clock()
    start = (now - _start()).total_seconds() - 600
    _status(shop, start, ticket_id="K7")
    shop.settle()
    assert _volatile(shop) == ["in_transit"]
    _status(shop, start + 60, ticket_id="K7", session_id="s2")
    shop.settle()
    assert expire(shop.kit) == 0

    shop.say(event("session_ended", start + 70, session_id="s1", outcome="success"))
    assert expire(shop.kit) == 0
    assert _volatile(shop) == ["in_transit"]
    shop.say(event("session_ended", start + 80, session_id="s2", outcome="success"))
    assert expire(shop.kit) == 1
    assert _volatile(shop) == []


def test_a_session_that_never_ends_is_over_after_a_day(shop: Shop) -> None:
    start = (shop.kit.clock() - _start()).total_seconds() - 600
    _status(shop, start, ticket_id="K7")
    shop.settle()
    assert expire(shop.kit) == 0

    _pass(shop, 1.1)

    assert expire(shop.kit) == 1
    assert _volatile(shop) == []


def _start() -> Any:
    return turn("x")["at"]


def _parcels(shop: Shop, server: ScriptedModel, count: int = 3) -> None:
    for number in range(count):
        order = f"88{30 + number}"
        summary = f"The user asked why order {order} was late; the parcel was delayed and a coupon was given."
        server.script(good(draft(summary=summary, outcome="success", outcome_turns=["t1"])))
        shop.say(turn(f"Why is my order {order} late?", number * DAY, session_id=f"s{number}"))
        shop.settle()


def test_three_delayed_parcels_become_one_summary_in_two_runs(model_shop: Shop, server: ScriptedModel) -> None:
    _parcels(model_shop, server)

    assert consolidate(model_shop.kit) == 1
    assert len(model_shop.episodes()) == 4
    # Its members end only once the index has taken it.
    assert consolidate(model_shop.kit) == 0
    while index(model_shop.kit):
        pass
    assert consolidate(model_shop.kit) == 1
    assert consolidate(model_shop.kit) == 0

    (summary,) = model_shop.episodes()
    text = disclose(summary.summary)
    assert all(order in text for order in ("8830", "8831", "8832"))
    assert len(summary.turn_ids) == len(summary.member_ids) == 3
    assert {row.episode_id for row in model_shop.rows(Moment)} == {summary.id}
    while index(model_shop.kit):
        pass
    assert set(model_shop.indexed()) == {summary.id, *(row.id for row in model_shop.rows(Moment))}


def test_a_merge_is_undone_and_not_done_again(model_shop: Shop, server: ScriptedModel) -> None:
    _parcels(model_shop, server)
    model_shop.advance(0)
    model_shop.advance(0)
    (summary,) = model_shop.episodes()

    assert undo(model_shop.kit, summary.id) == 3
    assert undo(model_shop.kit, summary.id) == 0
    model_shop.advance(0)

    members = model_shop.episodes()
    assert sorted(str(row.id) for row in members) == sorted(summary.member_ids)
    homes = {row.event_id: row.episode_id for row in model_shop.rows(Moment)}
    assert homes == {UUID(event_id): row.id for row in members for event_id in row.turn_ids}
    assert set(model_shop.indexed()) == {row.id for row in [*members, *model_shop.rows(Moment)]}
    with pytest.raises(NotFound):
        undo(model_shop.kit, members[0].id)


class _Counted:
    """An embedder that says how many texts it was given."""

    def __init__(self, real: Embedder) -> None:
        self.name, self.dimensions, self._real, self.texts = real.name, real.dimensions, real, 0

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.texts += len(texts)
        return self._real.embed(texts)

    def close(self) -> None:
        self._real.close()


def test_what_was_compared_is_embedded_again_only_when_something_changed(
    model_shop: Shop, server: ScriptedModel
) -> None:
    counted = _Counted(model_shop.kit.embedder)
    kit = model_shop.kit.with_live(embedder=counted)
    subjects = ("A refund for a kettle.", "Opening hours at Easter.", "The lamp does not fit.", "用户问快递何时送达。")
    for number, summary in enumerate(subjects):
        server.script(good(draft(summary=summary)))
        model_shop.say(turn("Hello, a question.", number * DAY, session_id=f"s{number}"))
    model_shop.settle()

    assert consolidate(kit) == 0
    assert counted.texts == len(subjects)
    assert consolidate(kit) == 0
    assert counted.texts == len(subjects)

    gone, *_ = model_shop.episodes()
    model_shop.change(Episode, col(Episode.id) == gone.id, summary=enclose("灯泡坏了。"))
    consolidate(kit)
    assert counted.texts == 2 * len(subjects)
    strict = replace(kit, settings=kit.settings.model_copy(update={"strength": StrengthSettings(similarity=0.99)}))
    consolidate(strict)
    assert counted.texts == 3 * len(subjects)


def test_episodes_of_two_agents_are_not_told_as_one(model_shop: Shop, server: ScriptedModel) -> None:
    _parcels(model_shop, server)
    (first, *_) = model_shop.episodes()
    model_shop.change(Episode, col(Episode.id) == first.id, agent_id="other")

    assert consolidate(model_shop.kit) == 0


def test_a_merge_tells_nothing_that_is_held_back(model_shop: Shop, server: ScriptedModel) -> None:
    for number in range(3):
        where = fact("I live in Oslo", "city", "Oslo")
        summary = "The user asked about the weather for a walk. The user lives in Oslo."
        server.script(good(draft(summary=summary, tags=["oslo"], facts=[where])))
        model_shop.say(turn("I live in Oslo. What is the weather?", number * DAY, session_id=f"s{number}"))
        model_shop.settle()
    server.script(good(draft(summary="A move.", facts=[fact("I live in Lyon now", "city", "Lyon")])))
    model_shop.say(turn("I live in Lyon now.", 9 * DAY, session_id="s9"))
    model_shop.settle()

    consolidate(model_shop.kit)

    (summary,) = [row for row in model_shop.episodes() if row.member_ids]
    assert "weather" in disclose(summary.summary)
    assert "Oslo" not in disclose(summary.summary)
    assert "oslo" not in summary.tags


@pytest.mark.parametrize("job", [decay, expire, consolidate])
def test_two_beats_at_once_come_to_one(job: Any, shop: Shop) -> None:
    for number in range(4):
        shop.say(turn("I live in Lyon and like rye bread.", number, session_id=f"s{number}"))
    shop.settle()
    _pass(shop, 100)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(job, [shop.kit] * 4))

    assert any(result is not None for result in results)
    settled = shop.everything()
    if job is not consolidate:
        assert job(shop.kit) == 0
        assert shop.everything() == settled
    summaries = [row for row in shop.episodes() if row.member_ids]
    members = [one for row in summaries for one in row.member_ids]
    assert len(members) == len(set(members))


def test_a_run_that_was_taken_over_ends_without_a_write(shop: Shop) -> None:
    def link(step: Step) -> Link:
        shop.kit.db.write(lambda session: shop_takes_over(session, step))
        shop.kit.db.write(step.hold)
        return Link(1, None)

    def shop_takes_over(session: Any, step: Step) -> None:
        row = session.get(Job, step.name)
        row.epoch += 1

    with pytest.raises(StaleClaim):
        chain.run(shop.kit, "test", link)


def test_a_chain_that_met_its_deadline_goes_on_from_there(shop: Shop) -> None:
    epoch = shop.kit.db.write(lambda session: jobs.begin(session, "test", 60))
    assert epoch is not None
    shop.kit.db.write(lambda session: jobs.finish(session, "test", epoch, {"changed": 1, "after": "7"}))
    seen: list[str] = []

    def link(step: Step) -> Link:
        seen.append(step.after)
        return Link(1, None if step.after == "8" else "8")

    assert chain.run(shop.kit, "test", link, deadline_seconds=0) == 0
    assert _last(shop.kit, "test")["after"] == "7"
    assert chain.run(shop.kit, "test", link) == 2
    assert seen == ["7", "8"]
    assert _last(shop.kit, "test")["after"] == ""


def test_a_job_that_failed_begins_again_at_once(shop: Shop) -> None:
    def broken(step: Step) -> Link:
        msg = "no"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError):
        chain.run(shop.kit, "test", broken)

    assert chain.run(shop.kit, "test", lambda step: Link(2, None)) == 2
    assert _last(shop.kit, "test") == {"changed": 2, "after": ""}


def _last(kit: Kit, name: str) -> dict[str, Any]:
    with kit.db.read() as session:
        row = jobs.current(session, name)
    assert row is not None
    return row.last_result

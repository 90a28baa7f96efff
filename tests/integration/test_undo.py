"""Taking back a session, a source or an event: folded again, held back whole, late words included; and giving back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col

from afterturn.ids import uuid7
from delivery_fixtures import event, turn
from digest_fixtures import Shop, model_shop, server, shop, told
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Evidence, FactDecision, ProcedureVersion, Review, Span, Undo
from tasks import undo
from tasks.explain import Reader, explain
from tasks.review import Who
from tasks.undo import Target, Undone

__all__ = ["model_shop", "server", "shop"]

DAY = 86_400.0
ME = Who(actor="test")


def take_back(
    shop: Shop, kind: Any, name: str, user: str | None = None, *, reason: str = "poisoned", ahead: bool = False
) -> Undone:
    target = Target(kind=kind, name=name, user_id=user, is_ahead=ahead)
    done = undo.undo(shop.kit, shop.key.tenant_id, target, ME, reason=reason)
    shop.settle()
    return done


def give_back(shop: Shop, done: Undone) -> Undone:
    back = undo.withdraw(shop.kit, shop.key.tenant_id, done.undo_id, ME)
    shop.settle()
    return back


def test_a_session_is_taken_back_and_given_back(shop: Shop) -> None:
    shop.say(turn("I live in Oslo. I like rye bread."))
    shop.settle()
    shop.say(
        turn("I live in Porto now. I like oat milk.", DAY, session_id="s2"),
        turn("Porto it is, with oat milk.", DAY + 1, session_id="s2", role="assistant"),
    )
    shop.settle()
    before, decided = shop.facts(), len(shop.rows(FactDecision))
    assert before == ["+Porto", "+oat milk", "+rye bread"]

    done = take_back(shop, "session", "s2", "u1")

    assert (done.statements, done.turns, done.episodes) == (2, 2, 1)
    assert shop.facts() == ["+Oslo", "+rye bread"]
    assert "porto" not in told(shop)
    assert "oat" not in told(shop)
    pack = shop.ask("Where does the user live, and what milk do they like?", session_id="s2").prompt
    assert "Oslo" in pack
    assert "Porto" not in pack
    assert "oat milk" not in pack
    assert len(shop.rows(FactDecision)) > decided
    assert len(shop.rows(Evidence)) == 4
    assert take_back(shop, "session", "s2", "u1").statements == 0

    give_back(shop, done)
    assert shop.facts() == ["+Oslo", "+rye bread"], "the second undo still stands"
    (second,) = [row for row in shop.rows(Undo) if row.id != done.undo_id and row.withdraws is None]
    back = undo.withdraw(shop.kit, shop.key.tenant_id, second.id, ME)
    shop.settle()

    assert back.statements == 2
    assert shop.facts() == before
    assert "oat" in told(shop)
    assert shop.rows(Span, col(Span.released_at).is_(None), Span.reason == "undone") == []
    assert {row.verdict for row in shop.rows(Review)} == {"undo", "redo"}
    with pytest.raises(Conflict):
        give_back(shop, done)


def test_what_comes_late_is_under_the_undo_too(shop: Shop) -> None:
    shop.say(turn("I live in Oslo."))
    shop.settle()
    shop.say(turn("I live in Porto now.", DAY, session_id="s2", source="form"))
    shop.say(turn("I like oat milk.", DAY, session_id="s3"))

    done = take_back(shop, "source", "form")

    assert shop.facts() == ["+Oslo", "+oat milk"]
    assert (done.statements, done.turns) == (0, 1)
    assert "porto" not in told(shop)
    (late,) = shop.rows(Review)
    assert (late.verdict, late.before, late.after, late.undo_id) == ("undo", "auto", "rejected", done.undo_id)
    assert len(shop.episodes()) == 3
    assert [row.write_status for row in shop.episodes()].count("rejected") == 1

    give_back(shop, done)
    assert shop.facts() == ["+Porto", "+oat milk"]


def test_an_event_is_taken_back_alone(shop: Shop) -> None:
    poison = turn("I live in Porto.", 60)
    shop.say(turn("I like rye bread."), poison)
    shop.settle()

    done = take_back(shop, "event", str(poison["event_id"]))

    assert (done.statements, done.turns, done.episodes) == (1, 1, 0)
    assert shop.facts() == ["+rye bread"]
    assert "Porto" not in shop.ask("Where does the user live?", session_id="s1").prompt
    after = turn("I live in Graz.", 120)
    shop.change(Undo, until=after["at"] - timedelta(seconds=30))
    shop.say(after)
    shop.settle()
    assert "+Graz" in shop.facts()


def test_what_cannot_be_taken_back_is_refused(shop: Shop) -> None:
    shop.say(turn("I like rye bread.", source="form"))
    shop.settle()

    for kind, name, user, error in (
        ("session", "s1", None, BadInput),
        ("session", "s9", "u1", NotFound),
        ("session", "s1", "u9", NotFound),
        ("event", "x", None, BadInput),
        ("event", str(uuid7()), None, NotFound),
        ("source", "fomr", None, NotFound),
        ("summary", str(uuid7()), None, NotFound),
    ):
        with pytest.raises(error):
            take_back(shop, kind, name, user)
    with pytest.raises(BadInput):
        take_back(shop, "source", "web", reason=" ")
    with pytest.raises(NotFound, match="no source of that name; known are form"):
        take_back(shop, "source", "fomr")
    assert shop.rows(Undo) == []
    assert shop.facts() == ["+rye bread"]


def test_many_are_taken_back_in_batches(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "BATCH", 2)
    things = ("rye bread", "oat milk", "green tea", "plum jam", "goat cheese")
    shop.say(*(turn(f"I like {thing}.", place, source="form") for place, thing in enumerate(things)))
    shop.settle()

    done = take_back(shop, "source", "form")

    assert (done.statements, done.turns) == (5, 5)
    assert shop.facts() == []
    assert give_back(shop, done).statements == 5
    assert len(shop.facts()) == 5


def ran(number: float, *, ok: bool, **fields: Any) -> dict[str, Any]:
    used = {"name": "exchange", "version": 1}
    return turn("done", number, role="tool", tool={"name": "exchange", "ok": ok}, procedure=used, **fields)


def told_outcome(number: float, *, succeeded: bool, **fields: Any) -> dict[str, Any]:
    used = {"name": "exchange", "version": 1}
    return event("procedure_outcome", number, procedure=used, succeeded=succeeded, **fields)


def rates(shop: Shop) -> tuple[float, float, float]:
    """Successes, failures and the moving rate of the only version, which the index has at its newest."""
    (version,) = shop.rows(ProcedureVersion)
    assert shop.indexed()[version.id][0] == version.row_version
    return version.successes, version.failures, pytest.approx(version.ema)  # pyright: ignore[reportReturnType]


def test_how_a_procedure_fared_is_taken_back_and_given_back(shop: Shop) -> None:
    shop.say(turn("My headset is noisy."), ran(1, ok=False))
    shop.say(turn("Try again.", 60, session_id="s2"), ran(61, ok=True, session_id="s2", source="form"))
    shop.say(told_outcome(90, succeeded=True, session_id="s3", source="form"))
    shop.settle()
    assert rates(shop) == (2.0, 1.0, 0.9 * (0.9 * (0.9 * 0.5) + 0.1) + 0.1)

    one = take_back(shop, "session", "s2", "u1")
    assert (one.turns, one.outcomes) == (2, 1)
    assert rates(shop) == (1.0, 1.0, 0.9 * (0.9 * 0.5) + 0.1)
    both = take_back(shop, "source", "form")
    assert both.outcomes == 2
    assert rates(shop) == (0.0, 1.0, 0.9 * 0.5)

    # What comes late is under the undo from the start.
    shop.say(told_outcome(70, succeeded=True, session_id="s2"))
    shop.settle()
    assert rates(shop) == (0.0, 1.0, 0.9 * 0.5)

    assert give_back(shop, one).outcomes == 2
    assert rates(shop)[:2] == (1.0, 1.0), "the window's own word is under the source's undo, the late one is free"
    assert give_back(shop, both).outcomes == 2
    assert rates(shop)[:2] == (2.0, 1.0)


def test_a_report_taken_back_lets_what_was_read_off_count_again(shop: Shop) -> None:
    said = told_outcome(90, succeeded=False)
    shop.say(turn("Try again."), ran(1, ok=True), said)
    shop.settle()
    assert rates(shop)[:2] == (0.0, 1.0)

    done = take_back(shop, "event", str(said["event_id"]))

    assert done.outcomes == 1
    assert rates(shop)[:2] == (1.0, 0.0)
    give_back(shop, done)
    assert rates(shop)[:2] == (0.0, 1.0)


@pytest.mark.parametrize("is_digested", [True, False])
def test_what_was_taken_back_is_in_no_tail_and_no_moment(shop: Shop, is_digested: bool) -> None:
    poison = turn("My desk is in room Zanzibar.", 60)
    reply = turn("Noted: room Zanzibar. Anything else?", 61, role="assistant")
    shop.say(turn("I like rye bread."), poison, reply)
    if is_digested:
        shop.settle()

    undo.undo(
        shop.kit, shop.key.tenant_id, Target(kind="event", name=str(poison["event_id"])), ME, reason="it was a joke"
    )
    if is_digested:
        shop.settle()

    pack = shop.ask("Which room is the desk in?", session_id="s1")
    assert "rye bread" in pack.prompt
    assert "Zanzibar" not in pack.prompt
    if is_digested:
        assert "zanzibar" not in told(shop)
    story = explain(shop.kit, poison["event_id"], Reader(tenant_id=shop.key.tenant_id, may_review=True))
    assert (story.kind, story.status) == ("turn", "undone")
    assert "Zanzibar" not in str(story)
    (step,) = [one for one in story.steps if one.op == "undo"]
    assert (step.by, step.actor, step.why) == ("review", "test", "it was a joke")
    echo = explain(shop.kit, reply["event_id"], Reader(tenant_id=shop.key.tenant_id, may_review=True))
    assert "Anything else?" in echo.said[0].quote
    assert "Zanzibar" not in str(echo)


def test_what_comes_late_is_in_no_tail(shop: Shop) -> None:
    shop.say(turn("I like rye bread.", 100))
    take_back(shop, "source", "form", ahead=True)

    shop.say(turn("My desk is in room Zanzibar.", 60, source="form"), turn("I like oat milk.", 61))

    pack = shop.ask("Which room is the desk in?", session_id="s1").prompt
    assert "oat milk" in pack
    assert "Zanzibar" not in pack


def test_a_story_tells_of_what_was_taken_back(shop: Shop) -> None:
    shop.say(turn("I like rye bread."), ran(1, ok=False))
    shop.say(turn("Try again.", 60, session_id="s2"), ran(61, ok=True, session_id="s2"))
    shop.settle()
    (version,) = shop.rows(ProcedureVersion)
    reader = Reader(tenant_id=shop.key.tenant_id, may_review=True)
    done = take_back(shop, "session", "s2", "u1")

    story = explain(shop.kit, version.id, reader)
    assert (story.kind, story.status, story.facts["successes"], story.facts["failures"]) == ("procedure", "auto", 0, 1)
    assert [(one.by, one.op, one.rule_id) for one in story.steps] == [
        ("tool", "failure", None),
        ("tool", "success", "undone"),
        ("review", "undo", None),
    ]
    (gone,) = [row for row in shop.episodes() if row.write_status == "rejected"]
    episode = explain(shop.kit, gone.id, reader)
    assert episode.status == "undone"
    assert "undo" in [one.op for one in episode.steps]

    give_back(shop, done)
    assert [one.rule_id for one in explain(shop.kit, version.id, reader).steps if one.by == "tool"] == [None, None]
    assert [one.op for one in explain(shop.kit, gone.id, reader).steps] == ["add", "undo", "withdraw"]

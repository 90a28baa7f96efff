"""Taking back a session, a source or an event: folded again, held back whole, late words included; and giving back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col

from afterturn.ids import uuid7
from delivery_fixtures import turn
from digest_fixtures import Shop, model_shop, server, shop
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Episode, Evidence, Fact, FactDecision, Moment, Review, Span, Undo
from stores.projection import project
from tasks import undo
from tasks.review import Who
from tasks.undo import Target, Undone

__all__ = ["model_shop", "server", "shop"]

DAY = 86_400.0
ME = Who(actor="test")


def take_back(shop: Shop, kind: Any, name: str, user: str | None = None, reason: str = "poisoned") -> Undone:
    target = Target(kind=kind, name=name, user_id=user)
    done = undo.undo(shop.kit, shop.key.tenant_id, target, ME, reason=reason)
    shop.settle()
    return done


def give_back(shop: Shop, done: Undone) -> Undone:
    back = undo.withdraw(shop.kit, shop.key.tenant_id, done.undo_id, ME)
    shop.settle()
    return back


def told(shop: Shop) -> str:
    """Every word that the index is given."""
    kinds = (("episode", Episode), ("moment", Moment), ("fact", Fact))
    with shop.kit.db.read() as session:
        found = [project(session, kind, row.id) for kind, table in kinds for row in shop.rows(table)]
    return " ".join(" ".join((one.embed, one.row.own_terms)) for one in found if one is not None).casefold()


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
    shop.say(turn("I like rye bread."))
    shop.settle()

    for kind, name, user, error in (
        ("session", "s1", None, BadInput),
        ("session", "s9", "u1", NotFound),
        ("session", "s1", "u9", NotFound),
        ("event", "x", None, BadInput),
        ("summary", str(uuid7()), None, NotFound),
    ):
        with pytest.raises(error):
            take_back(shop, kind, name, user)
    with pytest.raises(BadInput):
        take_back(shop, "source", "web", reason=" ")
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

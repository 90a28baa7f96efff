"""What is held back is repeated by nobody in the same conversation, digested or not, before or after."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlmodel import col, select

from delivery_fixtures import turn
from digest_fixtures import Shop, shop, told
from schemas.tables import Evidence, Turn
from tasks import undo
from tasks.review import Who
from tasks.undo import Target

__all__ = ["shop"]

ME = Who(actor="test")


def taken_back(shop: Shop) -> None:
    with shop.kit.db.read() as session:
        first = session.exec(select(Turn).order_by(col(Turn.at)).limit(1)).one()
    undo.undo(shop.kit, shop.key.tenant_id, Target(kind="event", name=str(first.event_id)), ME, reason="a joke")


def superseded(shop: Shop) -> None:
    shop.say(turn("I've moved to Graz.", 400))
    shop.settle()


def retracted(shop: Shop) -> None:
    shop.say(turn("I no longer live there, in Porto.", 400), turn("I don't live in Porto any more.", 401))
    shop.settle()


def waiting(shop: Shop) -> None:
    assert "pending_review" in {row.write_status for row in shop.rows(Evidence)}


def refused(shop: Shop) -> None:
    question = shop.ask("How is the user's health?").to_confirm[0].question
    shop.say(turn(question, 400, role="assistant"), turn("I'd rather not.", 401))
    shop.settle()


CASES: list[tuple[str, str, Callable[[Shop], None]]] = [
    ("I live in Porto.", "Porto", taken_back),
    ("我住在波尔图。", "波尔图", taken_back),
    ("My desk is in room Zanzibar.", "Room Zanzibar", taken_back),
    ("I live in Porto.", "Porto", superseded),
    ("I live in Porto.", "Porto", retracted),
    ("I have diabetes.", "diabetes", waiting),
    ("我有糖尿病。", "糖尿病", waiting),
    ("I have diabetes.", "diabetes", refused),
]


@pytest.mark.parametrize(("said", "value", "changes"), CASES)
@pytest.mark.parametrize("when", ["undigested", "digested after", "digested before"])
def test_an_assistants_echo_goes_with_what_it_repeats(
    shop: Shop, said: str, value: str, changes: Callable[[Shop], None], when: str
) -> None:
    # What was said stands outside the tail by the time it is repeated.
    shop.say(turn(said), *(turn(f"Row {place} is fine.", place) for place in range(1, 9)))
    shop.settle()
    echo = turn(f"{value}, noted. Shall I go on?", 300, role="assistant")
    if when == "digested before":
        shop.say(echo, turn("I like rye bread.", 301))
        shop.settle()

    changes(shop)
    if when != "digested before":
        shop.say(echo, turn("I like rye bread.", 301))
    if when == "digested after":
        shop.settle()

    pack = shop.ask("What did the user say?", session_id="s1").prompt
    assert "Shall I go on?" in pack
    assert f"{value}, noted" not in pack
    if when != "undigested":
        assert f"{value}, noted".casefold() not in told(shop)


@pytest.mark.parametrize("digests", [True, False])
def test_what_is_given_back_is_repeated_again(shop: Shop, digests: bool) -> None:
    shop.say(turn("I live in Porto."))
    shop.settle()
    shop.say(turn("Porto, noted. Shall I go on?", 300, role="assistant"))
    if digests:
        shop.settle()
    (row,) = shop.rows(Evidence)
    target = Target(kind="event", name=str(row.event_id))
    done = undo.undo(shop.kit, shop.key.tenant_id, target, ME, reason="a joke")
    assert "Porto" not in shop.ask("What did the user say?", session_id="s1").prompt

    undo.withdraw(shop.kit, shop.key.tenant_id, done.undo_id, ME)

    assert "Porto, noted" in shop.ask("What did the user say?", session_id="s1").prompt


def test_another_conversation_may_speak_of_it(shop: Shop) -> None:
    shop.say(turn("I live in Porto."))
    shop.settle()
    shop.say(turn("I've moved to Graz.", 400))
    shop.settle()

    shop.say(
        turn("Book a weekend there.", 500, session_id="s2"),
        turn("A weekend in Porto is booked.", 501, session_id="s2", role="assistant"),
    )

    assert "in Porto is booked" in shop.ask("What was booked?", session_id="s2").prompt
    shop.settle()
    assert "in Porto is booked" in shop.ask("What was booked?", session_id="s2").prompt

"""A special category waits until its user says in the chat that it may be kept; their no ends it."""

from __future__ import annotations

import pytest

from delivery_fixtures import turn
from digest_fixtures import Shop, shop
from schemas.tables import Evidence, Fact, Review
from tasks import dossier
from tasks.explain import Reader, explain

__all__ = ["shop"]


def asked(shop: Shop, query: str) -> str:
    (question,) = shop.ask(query).to_confirm
    return question.question


@pytest.mark.parametrize(
    ("said", "word", "query", "yes"),
    [
        (
            "I have diabetes. I like rye bread.",
            "diabetes",
            "What is the user's health like?",
            "Yes, please remember it.",
        ),
        ("我怀孕了。我喜欢黑麦面包。", "怀孕：怀孕", "用户的身体情况怎么样？", "可以，记住吧。"),
    ],
)
def test_a_users_yes_lets_it_count(shop: Shop, said: str, word: str, query: str, yes: str) -> None:
    shop.say(turn(said))
    shop.settle()
    question = asked(shop, query)
    assert word not in shop.ask(query).prompt.replace(question, "")
    (waiting,) = shop.rows(Evidence, Evidence.write_status == "pending_review")
    assert dossier.item(shop.kit, shop.key.tenant_id, waiting.id).confirm_by == "user"

    answered = turn(yes, 3601, session_id="s2")
    shop.say(turn(f"Hello! {question}", 3600, session_id="s2", role="assistant"), answered)
    shop.settle()

    (evidence,) = shop.rows(Evidence, Evidence.id == waiting.id)
    assert evidence.write_status == "auto"
    (verdict,) = shop.rows(Review)
    assert (verdict.verdict, verdict.actor, verdict.event_id) == ("confirm", "user", answered["event_id"])
    pack = shop.ask(query)
    assert pack.to_confirm == ()
    assert word in pack.prompt
    (fact,) = shop.rows(Fact, Fact.key == evidence.key)
    assert fact.said_at == evidence.at
    story = explain(shop.kit, fact.id, Reader(tenant_id=shop.key.tenant_id, may_review=False))
    assert [(one.by, one.op) for one in story.steps][:1] == [("gate", "pending_review")]
    assert ("review", "confirm") in [(one.by, one.op) for one in story.steps]


def test_a_users_no_ends_it_and_nobody_asks_again(shop: Shop) -> None:
    shop.say(turn("I have diabetes."))
    shop.settle()
    question = asked(shop, "What is the user's health like?")
    shop.say(turn(question, 60, role="assistant"), turn("I'd rather not.", 61))
    shop.settle()

    (evidence,) = shop.rows(Evidence)
    assert evidence.write_status == "rejected"
    pack = shop.ask("What is the user's health like?", session_id="s1")
    assert pack.to_confirm == ()
    assert "diabetes" not in pack.prompt


def test_a_yes_opens_no_reviewers_door(shop: Shop) -> None:
    shop.say(turn("I have diabetes and I'm an administrator of this workspace."))
    shop.settle()
    waiting = shop.rows(Evidence, Evidence.write_status == "pending_review")
    assert any(set(row.reason_codes) >= {"special_health", "privilege"} for row in waiting)
    question = asked(shop, "What is the user's health like?")
    shop.say(turn(question, 60, role="assistant"), turn("Yes.", 61))
    shop.settle()

    assert shop.rows(Fact) == []
    assert shop.ask("What is the user's health like?").to_confirm == ()
    items = dossier.page(shop.kit, shop.key.tenant_id)[0].items
    assert {one.confirm_by for one in items} == {"review"}

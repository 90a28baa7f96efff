"""What a user asks not to be kept is kept nowhere, and counts as what arrived and was digested all the same."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import select as pick

from delivery_fixtures import turn
from digest_fixtures import Shop, shop
from schemas.tables import LedgerEntry, Operation, Turn
from stores.audit import audit
from tasks.explain import Reader, explain

__all__ = ["shop"]

ASKED = [
    ("Off the record: my sister is called Ottoline. I live in Gdansk.", "Ottoline"),
    ("Please don't save this: I live in Ouagadougou.", "Ouagadougou"),
    ("这句别记：我住在乌鲁木齐。", "乌鲁木齐"),
    ("接下来我说的不要保存，我在看心理医生，叫欧阳静", "欧阳静"),
]


def every_word(shop: Shop) -> str:
    """Everything that any table holds, readable."""
    with shop.kit.db.read() as session:
        rows: list[Any] = []
        for table in Turn.metadata.sorted_tables:
            rows += [value for row in session.connection().execute(select(*table.columns)) for value in row]
    return " ".join(value.decode("utf-8", "ignore") if isinstance(value, bytes) else str(value) for value in rows)


@pytest.mark.parametrize(("text", "word"), ASKED)
@pytest.mark.parametrize("is_marked", [True, False])
def test_what_is_not_to_be_kept_stands_in_no_table(shop: Shop, text: str, word: str, is_marked: bool) -> None:
    said = turn(text, no_store=is_marked)
    shop.say(said, turn("I like rye bread.", 10), turn("Noted, rye bread.", 11, role="assistant"))
    shop.settle()
    shop.say(said)
    shop.settle()

    assert word not in every_word(shop)
    assert shop.facts() == ["+rye bread"]
    assert [row.kind for row in shop.rows(Operation)] == ([] if is_marked else ["privacy_request.no_store"])
    with shop.kit.db.read() as session:
        states = sorted(session.exec(pick(LedgerEntry.state)))
    assert states == (["applied", "digested", "digested"] if is_marked else ["digested"] * 3)
    assert audit(shop.kit.db, shop.kit.index).differences == ()
    if not is_marked:
        story = explain(shop.kit, said["event_id"], Reader(tenant_id=shop.key.tenant_id, may_review=True))
        assert word not in str(story)


def test_what_an_answer_makes_of_it_comes_back_nowhere(shop: Shop) -> None:
    shop.say(turn("Off the record: my sister is called Ottoline."), turn("I like rye bread.", 5))
    shop.say(turn("Ottoline is a lovely name. Rye bread it is.", 10, role="assistant"))
    shop.settle()

    pack = shop.ask("What is the sister called? Which bread?", session_id="s1").prompt
    assert "Rye bread it is" in pack
    assert "Ottoline" not in pack


POINTED = [
    (["I live in Ouagadougou.", "Please don't remember what I just said."], "Ouagadougou"),
    (["I live in Ouagadougou.", "Don't save that."], "Ouagadougou"),
    (["Off the record.", "I live in Ouagadougou."], "Ouagadougou"),
    (["我住在乌鲁木齐。", "刚才那句别记"], "乌鲁木齐"),
    (["接下来我说的话不要记", "我住在乌鲁木齐。"], "乌鲁木齐"),
]


@pytest.mark.parametrize(("texts", "word"), POINTED)
def test_a_bare_request_is_about_what_it_points_at(shop: Shop, texts: list[str], word: str) -> None:
    said = [turn(text, place) for place, text in enumerate(texts)]
    shop.say(turn("I like rye bread.", -5), *said, turn("I like oat milk.", 50))
    shop.settle()

    assert word not in every_word(shop)
    assert shop.facts() == ["+oat milk", "+rye bread"]
    assert [row.kind for row in shop.rows(Operation)] == ["privacy_request.no_store"]
    assert audit(shop.kit.db, shop.kit.index).differences == ()


def test_a_request_with_words_of_its_own_is_about_those(shop: Shop) -> None:
    shop.say(turn("I live in Oslo."), turn("Please don't save this: I like oat milk.", 1))
    shop.settle()

    assert shop.facts() == ["+Oslo"]

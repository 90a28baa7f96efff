"""From what people say to chains: digested by the offline provider, on both databases."""

from __future__ import annotations

import pytest

from afterturn.whys import WhyRequest
from delivery_fixtures import turn
from digest_fixtures import Shop, shop
from tasks.why import why

__all__ = ["shop"]

SAID = {
    "en": (
        "My wife Anna works at Contoso.",
        "My order 4711 is late.",
        "Order 4711 contains a BT-500.",
        "Ticket T-9 is about order 4711.",
    ),
    "zh": ("我老婆小林在腾讯上班。", "我的订单4711还没到。", "订单4711里有一副BT-500耳机。", "工单T-9关联订单4711。"),
}
EMPLOYER = {"en": ("Contoso", "Anna", "wife"), "zh": ("腾讯", "小林", "老婆")}


def chains(shop: Shop, end: str, start: str = "user", *, language: str = "en") -> list[list[str]]:
    """The texts of the shortest chains."""
    request = WhyRequest.model_validate({"user_id": "u1", "from": start, "to": end})
    return [[edge.text for edge in path.edges] for path in why(shop.kit, shop.key, request, language=language).paths]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_said_joins_people_orders_products_and_tickets(shop: Shop, language: str) -> None:
    shop.say(*(turn(text, number) for number, text in enumerate(SAID[language])))
    shop.settle()

    company, name, kin = EMPLOYER[language]
    assert len(chains(shop, company)[0]) == 2
    assert chains(shop, company, name) == chains(shop, company, kin)
    assert len(chains(shop, "BT-500")[0]) == 2
    assert len(chains(shop, "T-9", "BT-500")[0]) == 2
    assert chains(shop, "4711", language="zh")[0] == ["用户 - 有订单 - 4711"]


def test_a_retracted_employer_is_no_edge_any_more(shop: Shop) -> None:
    shop.say(turn("I work at Initech."), turn("Hello again.", 1, session_id="s2"))
    shop.settle()
    assert len(chains(shop, "Initech")) == 1

    shop.say(turn("I no longer work at Initech.", 10, session_id="s3"))
    shop.settle()

    assert chains(shop, "Initech") == []

"""What a member of staff said comes back with its ticket only, and no summary tells it elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from afterturn.wire import RecallRequest
from recall_fixtures import House, house
from tasks.recall import Guards, recall


@pytest.fixture
def home() -> Generator[House]:
    with house() as made:
        yield made


@pytest.fixture
def guards() -> Generator[Guards]:
    made = Guards()
    yield made
    made.close()


def _prompt(home: House, guards: Guards, query: str, ticket: str | None) -> str:
    request = RecallRequest(query=query, user_id="u1", ticket_id=ticket, deadline_ms=20_000)
    return asyncio.run(recall(home.kit, home.key, request, guards=guards)).prompt


@pytest.mark.parametrize(
    ("asked", "said", "noted", "query", "secret", "kept"),
    [
        (
            "My parcel 5521 never came.",
            "Goodwill voucher of 15 euros is granted.",
            "User: My parcel 5521 never came. Staff: Goodwill voucher of 15 euros is granted.",
            "Is there a goodwill voucher for the parcel?",
            "voucher",
            "5521",
        ),
        (
            "我的订单8831晚到了三天。",
            "可发放补偿券一张。",
            "用户：我的订单8831晚到了三天。客服：可发放补偿券一张。",
            "订单8831有补偿券吗？",
            "补偿券",
            "8831",
        ),
    ],
    ids=["en", "zh"],
)
def test_a_summary_tells_what_staff_said_with_its_ticket_only(
    home: House, guards: Guards, asked: str, said: str, noted: str, query: str, secret: str, kept: str
) -> None:
    user = home.user()
    turns = [
        home.turn(user, asked, ticket_id="K7"),
        home.turn(user, said, role="staff", actor_id="boss", ticket_id="K7"),
    ]
    home.episode(user, noted, ticket_id="K7", turn_ids=[str(turn.event_id) for turn in turns])
    home.catch_up()

    for ticket in (None, "K8"):
        elsewhere = _prompt(home, guards, query, ticket)
        assert secret not in elsewhere
        assert kept in elsewhere
    assert secret in _prompt(home, guards, query, "K7")

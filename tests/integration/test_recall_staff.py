"""What a member of staff said comes back with its ticket only, and no summary tells it elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Talk:
    asked: str
    said: str
    summary: str
    query: str
    secret: str
    kept: str


TALKS = [
    Talk(
        asked="My parcel 5521 never came.",
        said="Goodwill voucher of 15 euros is granted.",
        summary="User: My parcel 5521 never came. Staff: Goodwill voucher of 15 euros is granted.",
        query="What happened to my parcel 5521, is there a voucher?",
        secret="voucher",
        kept="5521",
    ),
    Talk(
        asked="我的订单8831晚到了三天。",
        said="可发放补偿券一张。",
        summary="用户：我的订单8831晚到了三天。客服：可发放补偿券一张。",
        query="订单8831有补偿券吗？",
        secret="补偿券",
        kept="8831",
    ),
]


@pytest.mark.parametrize("talk", TALKS, ids=["en", "zh"])
def test_a_summary_tells_what_staff_said_with_its_ticket_only(home: House, guards: Guards, talk: Talk) -> None:
    user = home.user()
    turns = [
        home.turn(user, talk.asked, ticket_id="K7"),
        home.turn(user, talk.said, role="staff", actor_id="boss", ticket_id="K7"),
    ]
    home.episode(user, talk.summary, ticket_id="K7", turn_ids=[str(turn.event_id) for turn in turns])
    home.catch_up()

    for ticket in (None, "K8"):
        elsewhere = _prompt(home, guards, talk.query, ticket)
        assert talk.secret not in elsewhere
        assert talk.kept in elsewhere
    assert talk.secret in _prompt(home, guards, talk.query, "K7")

"""Chains over what is really stored: facts, tickets, states and versioned triples, in one question's sight."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from sqlmodel import col

from afterturn.ids import uuid7
from api.app import create_app
from memory.knowledge import document
from recall_builders import NOON
from recall_fixtures import House, another_key, house
from schemas.envelopes import enclose_json
from schemas.errors import BadInput
from schemas.tables import Evidence, Tenant, WorkingState
from stores import knowledge
from stores.tenancy import KeyInfo

EARLY = NOON - timedelta(days=30)


@pytest.fixture(scope="module")
def installation() -> Generator[tuple[House, TestClient]]:
    with house() as fresh, TestClient(create_app(fresh.kit), raise_server_exceptions=False) as client:
        yield fresh, client


@pytest.fixture
def home(installation: tuple[House, TestClient]) -> House:
    """A tenant of its own for every test."""
    kit = installation[0].kit
    key, bearer = another_key(kit, str(uuid7()), ("publish", "recall"))
    return House(kit=kit, key=key, bearer=bearer)


@pytest.fixture
def http(home: House, installation: tuple[House, TestClient]) -> TestClient:
    client = installation[1]
    client.headers["Authorization"] = f"Bearer {home.bearer}"
    return client


def publish(
    home: House, rows: list[Any], *, version: str = "1", since: datetime = EARLY, key: KeyInfo | None = None
) -> None:
    given = document({"source": "rules", "version": version, "valid_from": since}, rows, now=NOON)
    owner = key or home.key

    def add(session: Any) -> None:
        tenant = session.get_one(Tenant, owner.tenant_id)
        knowledge.add(session, tenant.id, given, hash_key=tenant.hash_key, by="test", now=NOON, new_id=uuid7)

    home.kit.db.write(add)


def ask(http: TestClient, end: str, start: str = "user", **more: str) -> dict[str, Any]:
    answer = http.get("/v1/why", params={"user_id": "u1", "from": start, "to": end, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


RETURNS = [
    ["蓝牙耳机 BT-500", "属于", "电子产品"],
    ["退货政策", "适用于", "所有电子产品"],
    ["退货政策", "时间窗口", "7天"],
]


def test_a_product_reaches_its_days_of_return_through_versioned_triples(home: House, http: TestClient) -> None:
    publish(home, RETURNS, version="2026-05-01")

    told = http.get(
        "/v1/why", params={"user_id": "nobody", "from": "BT-500", "to": "7天"}, headers={"Accept-Language": "zh"}
    ).json()

    (path,) = told["paths"]
    assert path["nodes"] == ["蓝牙耳机 BT-500", "电子产品", "退货政策", "7天"]
    assert [edge["text"] for edge in path["edges"]] == [
        "蓝牙耳机 BT-500 - 属于 - 电子产品",
        "退货政策 - 适用于 - 所有电子产品",
        "退货政策 - 时间窗口 - 7天",
    ]
    assert [edge["is_reversed"] for edge in path["edges"]] == [False, True, False]
    assert path["edges"][0]["evidence"]["text"] == "知识库: rules 2026-05-01"


def test_a_user_reaches_a_compensation_through_order_ticket_and_policy(home: House, http: TestClient) -> None:
    user = home.user()
    turn = home.turn(user, "My order 4711 is late.", ticket_id="T-1")
    home.fact(user, "relation", "4711", object=b"\0order", quote="My order 4711", slot_hash="order")
    _point_evidence_at(home, turn.event_id)
    state = WorkingState(
        id=uuid7(),
        tenant_id=home.key.tenant_id,
        user_ref=user.id,
        scope="ticket",
        scope_key="T-1",
        state=enclose_json({"relevant_policy_ids": ["policy://shipping-delay/current"]}),
        updated_at=NOON,
    )
    home.add(state)
    publish(
        home,
        [
            ["shipping-delay", "allows", "coupon"],
            {"subject": "shipping-delay", "predicate": "allows", "object": "cash_refund", "not": True},
        ],
        version="2026-05-01",
    )

    told = ask(http, "coupon", ticket_id="T-1")
    chains = [[edge["text"] for edge in path["edges"]] for path in told["paths"]]
    assert chains[0] == [
        "the user - has the ticket - T-1",
        "T-1 - falls under - policy://shipping-delay/current",
        "shipping-delay - allows - coupon",
    ]
    assert [
        "the user - has the order - 4711",
        "T-1 - is about - 4711",
        "T-1 - falls under - policy://shipping-delay/current",
        "shipping-delay - allows - coupon",
    ] in chains
    proofs = [edge["evidence"] for edge in told["paths"][0]["edges"]]
    assert [proof["kind"] for proof in proofs] == ["turn", "state", "knowledge"]
    assert proofs[0]["quote"] == "My order 4711 is late."
    assert (proofs[2]["source"], proofs[2]["version"]) == ("rules", "2026-05-01")

    refused = ask(http, "cash_refund", start="order 4711", ticket_id="T-1")
    assert refused["paths"][0]["edges"][-1]["flags"] == ["negative"]
    # What a ticket's state says stays in the ticket.
    assert ask(http, "coupon")["paths"] == []


def test_kin_is_found_by_name_and_by_kinship(home: House, http: TestClient) -> None:
    user = home.user()
    home.fact(user, "name", "Anna", subject="wife", quote="My wife Anna", slot_hash="n")
    home.fact(user, "company", "Contoso", subject="wife", quote="My wife Anna works at Contoso", slot_hash="c")

    for name in ("Contoso", "contoso"):
        (path,) = ask(http, name)["paths"]
        assert [edge["text"] for edge in path["edges"]] == [
            "the user - wife - wife (Anna)",
            "wife - employer - Contoso",
        ]
        assert [edge["evidence"]["quote"] for edge in path["edges"]] == [
            "My wife Anna",
            "My wife Anna works at Contoso",
        ]
    assert ask(http, "Anna")["to"]["means"] == ask(http, "老婆")["to"]["means"]


def test_what_is_pending_or_over_is_no_edge_and_as_of_restores(home: House, http: TestClient) -> None:
    user = home.user()
    home.fact(user, "company", "Initech", valid_from=EARLY, valid_until=NOON, slot_hash="a")
    home.fact(user, "company", "Contoso", valid_from=NOON, slot_hash="b")
    home.fact(user, "company", "Globex", slot_hash="c", write_status="pending_review")

    assert len(ask(http, "Contoso")["paths"]) == 1
    assert ask(http, "Initech")["to"]["reason"] == "unknown"
    assert ask(http, "Globex")["paths"] == []
    then = (NOON - timedelta(days=3)).isoformat()
    assert len(ask(http, "Initech", as_of=then)["paths"]) == 1
    assert ask(http, "Contoso", as_of=then)["paths"] == []


def test_of_a_held_back_quote_nothing_is_shown(home: House, http: TestClient) -> None:
    user = home.user()
    turn = home.turn(user, "I work at Contoso.")
    home.fact(user, "company", "Contoso", quote="I work at Contoso")
    _point_evidence_at(home, turn.event_id)
    home.hold(turn, 0, 18)

    (path,) = ask(http, "Contoso")["paths"]

    assert path["edges"][0]["evidence"]["quote"] == ""


def test_the_version_in_force_at_the_time_is_read(home: House, http: TestClient) -> None:
    publish(home, [["return policy", "window", "7 days"]], version="1", since=EARLY)
    publish(home, [["return policy", "window", "30 days"]], version="2", since=NOON)

    def version(days: str, **more: str) -> list[str]:
        paths = ask(http, days, start="return policy", **more)["paths"]
        return [path["edges"][0]["evidence"]["version"] for path in paths]

    then = (NOON - timedelta(days=3)).isoformat()
    assert (version("7 days"), version("30 days")) == ([], ["2"])
    assert (version("7 days", as_of=then), version("30 days", as_of=then)) == (["1"], [])
    assert version("7 days", as_of=(EARLY - timedelta(days=1)).isoformat()) == []

    home.kit.db.write(lambda s: knowledge.withdraw(s, home.key.tenant_id, "rules", "2", now=datetime.now(UTC)))
    assert (version("7 days"), version("30 days")) == (["1"], [])


def test_a_version_never_changes_and_the_same_import_again_does_nothing(home: House) -> None:
    publish(home, RETURNS)
    publish(home, RETURNS)

    with pytest.raises(BadInput, match="never changes"):
        publish(home, RETURNS[:2])
    with home.kit.db.read() as session:
        assert [row.triple_count for row in knowledge.versions(session, home.key.tenant_id)] == [3]


def test_no_edge_of_another_tenant_or_user_is_on_any_chain(home: House, http: TestClient) -> None:
    user, other = home.user(), home.user("u2")
    home.fact(user, "company", "Contoso")
    home.fact(other, "company", "Initech", slot_hash="other")
    home.turn(other, "hello", session="s2", ticket_id="T-9")
    publish(home, [["Contoso", "belongs_to", "Fabrikam"]])
    key, bearer = another_key(home.kit, "another", ("recall",))
    publish(home, [["Contoso", "belongs_to", "Umbrella"]], key=key)

    assert len(ask(http, "Fabrikam")["paths"]) == 1
    for hidden in ("Umbrella", "Initech", "T-9"):
        assert ask(http, hidden)["to"]["reason"] == "unknown"
    http.headers["Authorization"] = f"Bearer {bearer}"
    assert ask(http, "Fabrikam")["to"]["reason"] == "unknown"
    assert ask(http, "Contoso")["paths"] == []
    assert len(ask(http, "Umbrella", start="Contoso")["paths"]) == 1


def test_a_key_without_the_right_and_a_bad_argument_are_refused(home: House, http: TestClient) -> None:
    assert http.get("/v1/why", params={"user_id": "u1"}).json()["field"] == "to"
    _, bearer = another_key(home.kit, "writers", ("publish",))
    http.headers["Authorization"] = f"Bearer {bearer}"

    assert http.get("/v1/why", params={"user_id": "u1", "to": "x"}).status_code == 403


def _point_evidence_at(home: House, event_id: Any) -> None:
    """Lets the only evidence there is stand in a turn that is kept."""
    moved = update(Evidence).where(col(Evidence.tenant_id) == home.key.tenant_id).values(event_id=event_id)
    home.kit.db.write(lambda session: session.connection().execute(moved))

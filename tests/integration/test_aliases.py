"""Two ids, one person: joined, parted, and in whatever order, the facts are those of what was said. Both databases."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session, col

from afterturn.ids import uuid7
from api.app import create_app
from delivery_fixtures import tenant_key, turn
from digest_fixtures import Shop, new_shop, shop
from recall_fixtures import House, house
from schemas.envelopes import disclose
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Evidence, Fact, Span, User
from stores import aliases
from stores.settings import load_settings
from tasks import join as verb
from tasks.digest import digest
from tasks.review import Who
from workers.commands import users
from workers.first_run import prepare

__all__ = ["shop"]

ME = Who(actor="test")
#: (who, when in days, words): a name, a move, a retraction, a multi-valued key, two languages.
SAID = (
    ("u1", 0, "My name is Ann."),
    ("anon", 1, "I live in Paris."),
    ("u1", 2, "I live in Lyon."),
    ("anon", 3, "I am allergic to peanuts."),
    ("u1", 4, "I am allergic to cats."),
    ("anon", 5, "我住在杭州。"),
    ("anon", 6, "I like tea."),
    ("u1", 7, "I no longer like tea."),
    ("late", 8, "I am a vegetarian."),
)


def say(shop: Shop, number: int) -> None:
    who, day, words = SAID[number]
    session_id = f"s-{who}-{number}"
    at = day * 86_400
    shop.say(turn(words, at, user_id=who, session_id=session_id))
    shop.cut()
    while digest(shop.kit) is not None:
        pass


def join(shop: Shop, known: str, alias: str) -> Any:
    return verb.join(shop.kit, shop.key.tenant_id, known, alias, ME)


def part(shop: Shop, known: str, alias: str) -> Any:
    return verb.part(shop.kit, shop.key.tenant_id, known, alias, ME)


def told(shop: Shop) -> dict[str, list[tuple[Any, ...]]]:
    """By root, every version that no fold has replaced, with what it rests on; and the spans that are held back."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    with shop.kit.db.read() as session:
        for row in shop.rows(Fact, col(Fact.superseded_at).is_(None)):
            owner = disclose(session.get_one(User, row.user_ref).user_id)
            quotes = sorted(disclose(session.get_one(Evidence, UUID(one)).quote) for one in row.evidence_ids)
            held = (row.polarity, disclose(row.value), row.valid_from, row.valid_until, row.contested)
            found.setdefault(owner, []).append((row.key, *held, row.deleted_at is None, tuple(quotes)))
        spans = [
            (disclose(session.get_one(User, row.user_ref).user_id), row.reason)
            for row in shop.rows(Span, col(Span.released_at).is_(None))
        ]
    return {**{owner: sorted(rows, key=repr) for owner, rows in found.items()}, "spans": sorted(spans)}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[tuple[Any, ...]]]]:
    """What is remembered when everything was said in order, apart and as one."""
    found: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for name in ("apart", "one"):
        with new_shop(tmp_path_factory.mktemp(name)) as made:
            if name == "one":
                join(made, "u1", "anon")
            for number in range(len(SAID)):
                say(made, number)
            found[name] = told(made)
    return found


def test_joined_ids_share_one_set_of_facts(expected: dict[str, dict[str, list[tuple[Any, ...]]]]):
    apart, one = expected["apart"], expected["one"]

    assert set(apart) == {"u1", "anon", "late", "spans"}
    assert set(one) == {"u1", "late", "spans"}
    cities = [row for row in one["u1"] if row[0] == "city" and row[4] is None]
    assert [row[2] for row in cities] == ["杭州"]
    assert {row[2] for row in one["u1"] if row[0] == "allergy"} >= {"peanuts", "cats"}
    assert one != apart


@pytest.mark.parametrize("seed", range(4))
def test_neither_the_order_of_arrival_nor_that_of_joining_changes_the_facts(
    home: Path, expected: dict[str, dict[str, list[tuple[Any, ...]]]], seed: int
):
    rng = random.Random(seed)
    steps: list[int | str] = [*range(len(SAID))]
    rng.shuffle(steps)
    ends_joined = seed % 2 == 0
    for at in sorted((rng.randrange(len(steps) + 1) for _ in range(3 if ends_joined else 4)), reverse=True):
        steps.insert(at, "toggle")

    with new_shop(home) as shop:
        joined = False
        for step in steps:
            if isinstance(step, int):
                say(shop, step)
            elif joined:
                part(shop, "u1", "anon")
                joined = False
            else:
                join(shop, "u1", "anon")
                joined = True

        assert joined == ends_joined
        assert told(shop) == expected["one" if joined else "apart"]


def test_joined_and_parted_is_as_never_joined_and_the_index_follows(shop: Shop):
    for number in range(4):
        say(shop, number)
    before = told(shop)

    for _ in range(2):
        join(shop, "u1", "anon")
    shop.settle()
    assert "Paris" not in str([row for row in told(shop)["u1"] if row[4] is None])
    assert any("peanuts" in one.text for one in shop.ask("allergy", user_id="u1").items)
    assert any("Ann" in one.text for one in shop.ask("name", user_id="anon").items)

    part(shop, "u1", "anon")
    shop.settle()

    assert told(shop) == before
    assert not any("peanuts" in one.text for one in shop.ask("allergy", user_id="u1").items)
    assert not any("Ann" in one.text for one in shop.ask("name", user_id="anon").items)
    assert any("peanuts" in one.text for one in shop.ask("allergy", user_id="anon").items)


def test_a_fact_keeps_its_uses_and_its_end(shop: Shop):
    say(shop, 1)
    (fact,) = shop.rows(Fact)
    shop.change(Fact, col(Fact.id) == fact.id, access_count=7, extensions=1, deleted_at=fact.recorded_at)

    join(shop, "u1", "anon")
    part(shop, "u1", "anon")

    (now,) = shop.rows(Fact, col(Fact.superseded_at).is_(None))
    assert (now.access_count, now.extensions, now.deleted_at) == (7, 1, fact.recorded_at)


def test_a_set_is_a_tree_of_links(shop: Shop):
    for known, alias in (("b", "c"), ("a", "b")):
        join(shop, known, alias)

    found = verb.show(shop.kit, shop.key.tenant_id, "c")
    assert (found.root, {one.user_id: one.joined_to for one in found.members}) == ("a", {"a": None, "b": "a", "c": "b"})
    assert join(shop, "c", "a").root == "a"
    with pytest.raises(Conflict) as caught:
        part(shop, "b", "a")
    assert caught.value.code == "alias_is_root"
    with pytest.raises(Conflict) as caught:
        join(shop, "other", "b")
    assert caught.value.code == "joined_elsewhere"
    for known, alias in (("a", "other"), ("a", "nobody"), ("a", "a")):
        with pytest.raises(NotFound):
            part(shop, known, alias)

    part(shop, "a", "b")
    assert {one.user_id for one in verb.show(shop.kit, shop.key.tenant_id, "c").members} == {"b", "c"}
    with pytest.raises(BadInput):
        join(shop, "a", "a")
    with pytest.raises(BadInput):
        join(shop, "a", " a")


def test_another_tenant_has_users_of_the_same_names(shop: Shop):
    say(shop, 0)
    other = tenant_key(shop.kit.db, "bank", "publish", "recall")

    with pytest.raises(NotFound):
        verb.show(shop.kit, other.tenant_id, "u1")
    join(shop, "u1", "anon")
    verb.join(shop.kit, other.tenant_id, "anon", "u1", ME)

    assert verb.show(shop.kit, shop.key.tenant_id, "u1").root == "u1"
    assert verb.show(shop.kit, other.tenant_id, "u1").root == "anon"


def test_windows_and_joins_at_once_agree(shop: Shop):
    """Workers apply while the set is joined and parted: nobody is left waiting, and the facts are those of the end."""
    for number in range(len(SAID)):
        who, day, words = SAID[number]
        shop.say(turn(words, day * 86_400, user_id=who, session_id=f"s-{who}-{number}"))
    shop.cut()

    def work(place: int) -> None:
        for _ in range(4):
            if place < 3:
                digest(shop.kit)
            else:
                join(shop, "u1", "anon")
                part(shop, "u1", "anon")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    shop.settle()
    join(shop, "u1", "anon")

    cities = [row[2] for row in told(shop)["u1"] if row[0] == "city" and row[4] is None]
    assert cities == ["杭州"]
    refs = {disclose(row.user_id): row for row in shop.rows(User)}
    keys = {row.scope_key for row in shop.rows(Evidence, Evidence.scope == "user")}
    assert keys == {str(refs["u1"].id), str(refs["late"].id)}


def test_a_set_that_grew_while_its_locks_were_waited_for_is_locked_whole(shop: Shop):
    for name in ("a", "b"):
        join(shop, name, f"{name}2")
    refs = {disclose(row.user_id): row.id for row in shop.rows(User)}
    join(shop, "a", "b")

    def locked(session: Session) -> set[str]:
        users = aliases.lock_sets(session, shop.key.tenant_id, [refs["b2"]])
        return {disclose(row.user_id) for row in users.values()}

    assert shop.kit.db.write(locked) == {"a", "a2", "b", "b2"}


def test_over_http_ids_are_joined_shown_and_parted():
    with house() as home, TestClient(create_app(home.kit)) as http:
        http.headers["Authorization"] = f"Bearer {home.bearer}"
        _check_doors(home, http)


def _check_doors(home: House, http: TestClient) -> None:
    home.fact(home.user("u1"), "city", "Lyon")
    strange = "anon/1 é"

    assert http.get("/v1/users/nobody/aliases").status_code == 404
    answer = http.post("/v1/users/u1/aliases", json={"alias": strange})
    assert (answer.status_code, answer.json()["root"]) == (200, "u1")
    assert http.post("/v1/users/u1/aliases", json={"alias": strange}).json() == answer.json()
    assert {one["user_id"] for one in http.get("/v1/users/anon%2F1%20é/aliases").json()["members"]} == {"u1", strange}
    listed = http.get("/v1/memories", params={"user_id": strange}).json()["items"]
    assert len(listed) == 1
    refused = http.post("/v1/users/u2/aliases", json={"alias": strange}, headers={"Accept-Language": "zh"})
    assert (refused.status_code, refused.json()["code"]) == (409, "joined_elsewhere")
    assert "另一位用户" in refused.json()["detail"]
    parted = http.delete("/v1/users/u1/aliases/anon%2F1%20é")
    assert [one["user_id"] for one in parted.json()["members"]] == ["u1"]
    assert http.delete("/v1/users/u1/aliases/anon%2F1%20é").status_code == 404
    assert http.get("/v1/memories", params={"user_id": strange}).json()["items"] == []
    assert http.post(f"/v1/users/{uuid7()}/aliases", json={"alias": ""}).status_code == 422


def test_on_the_command_line_they_are_joined_shown_and_parted(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("AFTERTURN_HOME", str(home))
    prepare(load_settings(home=home))

    users.join("u1", "anon", as_json=True)
    joined = json.loads(capsys.readouterr().out)
    assert (joined["root"], len(joined["members"])) == ("u1", 2)
    users.show_set("anon")
    assert "anon  ->  u1" in capsys.readouterr().out
    users.part("u1", "anon", as_json=True)
    assert len(json.loads(capsys.readouterr().out)["members"]) == 1

"""A Weaviate that is frozen, killed, read-only or emptied: no deadline is missed, and afterwards it is as SQL."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from delivery_fixtures import ended, turn
from digest_fixtures import Shop, new_shop
from index_fixtures import NOW, Shelf, environment, unit
from schemas.errors import BadSettings, ServiceError, StoreBusy
from schemas.indexing import IndexQuery
from schemas.tables import Episode, Fact, IndexState, Moment
from stores.setting_areas import WeaviateSettings
from stores.weaviate import Endpoint, WeaviateIndex
from tasks.index import index as index_owed
from tasks.reconcile import reconcile
from weaviate_node import KEY, WHY_SKIPPED, Node, can_start, drop, own_node

DEADLINE = 0.5
#: What a busy machine may add to a deadline before a test calls it missed.
SLACK = 1.0


@pytest.fixture(scope="module")
def node() -> Generator[Node]:
    if not can_start():
        pytest.skip(WHY_SKIPPED)
    with own_node() as started:
        yield started


@pytest.fixture
def alias(node: Node) -> Generator[str]:
    name = f"At{uuid4().hex}"
    yield name
    drop(node.address, name)


@pytest.fixture
def impatient(node: Node, alias: str) -> Generator[WeaviateIndex]:
    """An index whose calls are cut short."""
    with closing(WeaviateIndex(_endpoint(node), space="test", alias=alias, call_seconds=DEADLINE)) as index:
        with closing(WeaviateIndex(_endpoint(node), space="test", alias=alias)) as patient:
            patient.open()
        yield index


@pytest.fixture
def shop(node: Node, alias: str, home: Path) -> Generator[Shop]:
    """A shop with its index on the node."""
    address = node.address
    server = WeaviateSettings(
        url=address.url, grpc=address.grpc, api_key=SecretStr(KEY), alias=alias, timeout_seconds=20
    )
    with new_shop(home, index="weaviate", weaviate=server) as made:
        made.say(
            *[turn(f"Note {number}: the parcel {number}00-{number} is late.", number) for number in range(60)],
            ended(100),
        )
        made.say(turn("My dog is called Balthasar.", 0, session_id="s2"), ended(5, session_id="s2"))
        made.settle()
        yield made


def _endpoint(node: Node, key: str | None = KEY) -> Endpoint:
    return Endpoint(node.address.url, node.address.grpc, key)


def _calls(index: WeaviateIndex, shelf: Shelf) -> dict[str, Callable[[], Any]]:
    question = IndexQuery(
        tenant_id=shelf.tenant_id, users=[shelf.user], terms="里昂", vector=unit(1), now=NOW, as_of=NOW
    )
    return {
        "open": index.open,
        "upsert": lambda: index.upsert([shelf.row("住在里昂", vector=unit(1))]),
        "delete": lambda: index.delete(shelf.tenant_id, [uuid4()]),
        "delete_user": lambda: index.delete_user(shelf.tenant_id, shelf.user),
        "identity": lambda: index.identity(uuid4()),
        "incarnation": index.incarnation,
        "ids": lambda: list(index.ids(shelf.tenant_id)),
        "held": lambda: index.held(shelf.tenant_id, [uuid4()]),
        "rebuild": index.rebuild,
        "search": lambda: asyncio.run(index.search(question, timeout_seconds=DEADLINE)),
    }


def _refused_in_time(calls: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """The code with which each call ended, none of them late."""
    codes: dict[str, str] = {}
    for name, call in calls.items():
        started = time.monotonic()
        with pytest.raises(StoreBusy) as caught:
            call()
        assert time.monotonic() - started < DEADLINE + SLACK, name
        codes[name] = caught.value.code
    return codes


def test_a_frozen_server_is_given_up_at_the_deadline_and_found_again(node: Node, impatient: WeaviateIndex) -> None:
    shelf = Shelf(impatient)
    row = shelf.put("住在里昂", vector=unit(1))

    node.freeze()
    try:
        codes = _refused_in_time(_calls(impatient, shelf))
    finally:
        node.thaw()

    assert set(codes.values()) == {"index_deadline"}
    assert set(shelf.ask("里昂", unit(1))) >= {row}


def test_a_server_that_is_merely_slow_is_waited_for(node: Node, impatient: WeaviateIndex) -> None:
    shelf = Shelf(impatient)
    row = shelf.put("住在里昂", vector=unit(1))
    node.freeze()

    async def ask() -> set[UUID]:
        question = IndexQuery(
            tenant_id=shelf.tenant_id, users=[shelf.user], terms="里昂", vector=None, now=NOW, as_of=NOW
        )
        asked = asyncio.ensure_future(impatient.search(question, timeout_seconds=10.0))
        done, _ = await asyncio.wait({asked}, timeout=0.2)
        assert not done
        node.thaw()
        return {hit.id for hit in await asked}

    try:
        assert asyncio.run(ask()) == {row}
    finally:
        node.thaw()


def test_a_read_only_server_is_searched_and_takes_nothing(node: Node, impatient: WeaviateIndex, alias: str) -> None:
    shelf = Shelf(impatient)
    row = shelf.put("住在里昂", vector=unit(1))
    calls = _calls(impatient, shelf)

    _set_shard(node, alias, shelf.tenant_id, "READONLY")
    for name, code in (("upsert", "index_read_only"), ("delete_user", "index_undeleted")):
        with pytest.raises(StoreBusy) as caught:
            calls[name]()
        assert caught.value.code == code
    assert set(shelf.ask("里昂", unit(1))) == {row}

    _set_shard(node, alias, shelf.tenant_id, "READY")
    assert impatient.delete_user(shelf.tenant_id, shelf.user) == 0
    assert shelf.listed() == []


def test_a_key_that_the_server_does_not_know_is_a_setting_to_mend(node: Node) -> None:
    for key in ("wrong", None):
        with (
            closing(WeaviateIndex(_endpoint(node, key), space="test")) as index,
            pytest.raises(BadSettings, match="AFTERTURN_WEAVIATE_API_KEY"),
        ):
            index.open()


def test_a_child_that_is_forked_before_anything_is_connected_has_a_connection_of_its_own(
    node: Node, alias: str
) -> None:
    place = json.dumps([alias, *node.address])
    script = (
        "import os, sys\n"
        "from index_fixtures import Shelf, unopened\n"
        "shelf = Shelf(unopened('weaviate', sys.argv[1]))\n"
        "child = os.fork()\n"
        "row = shelf.put('里昂')\n"
        "found = set(shelf.ask('里昂'))\n"
        "shelf.index.close()\n"
        "if child == 0:\n"
        "    os._exit(0 if row in found else 3)\n"
        "assert row in found\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script, place], env=environment(), check=False, capture_output=True, text=True
    )

    assert ended.returncode == 0, ended.stderr


def test_no_failure_tells_what_somebody_wrote(
    impatient: WeaviateIndex, caplog: pytest.LogCaptureFixture, alias: str, node: Node
) -> None:
    shelf = Shelf(impatient)
    shelf.put("住在里昂")
    _set_shard(node, alias, shelf.tenant_id, "READONLY")

    with pytest.raises(ServiceError) as caught:
        shelf.put("geheim 秘密")

    told = f"{caught.value} {caught.value.__cause__} {caplog.text}"
    assert "geheim" not in told
    assert "秘" not in told


def test_a_killed_server_costs_no_recall_and_is_whole_again_afterwards(node: Node, shop: Shop) -> None:
    before = set(shop.indexed())
    assert before == _records(shop)
    _compared(shop)
    assert "Balthasar" in shop.ask("What is my dog called?").prompt

    with _killed(node):
        started = time.monotonic()
        answer = shop.ask("What is my dog called?", deadline_ms=500)
        assert time.monotonic() - started < 0.5 + SLACK
        assert "index" in answer.missing
        assert "Balthasar" in answer.prompt
        shop.say(turn("I live in Lyon.", 0, session_id="s3"), ended(5, session_id="s3"))
        shop.digest()
        assert index_owed(shop.kit) > 0
        assert {row.error_code for row in shop.owed()} <= {"index_down", "index_deadline"}

    lacking = {one for one, (_, has_vector) in shop.indexed().items() if not has_vector}
    assert lacking, "the kill lost no vector: nothing is shown by finding them all afterwards"
    _compared(shop)

    assert set(shop.indexed()) == _records(shop) > before
    assert all(has_vector for _, has_vector in shop.indexed().values())
    assert "index" not in shop.ask("Where do I live?").missing


def test_an_index_whose_collection_was_dropped_is_made_again(node: Node, shop: Shop, alias: str) -> None:
    drop(node.address, alias)

    assert "index" in shop.ask("What is my dog called?").missing
    _compared(shop)

    assert set(shop.indexed()) == _records(shop)
    answer = shop.ask("What is my dog called?")
    assert "index" not in answer.missing
    assert "Balthasar" in answer.prompt


def test_a_tenant_that_was_removed_is_noticed_and_made_again(node: Node, shop: Shop, alias: str) -> None:
    (name,) = _collections(node, alias)
    _asked(node, "DELETE", f"schema/{name}/tenants", [f"org_{shop.key.tenant_id.hex}"])

    assert "index" in shop.ask("What is my dog called?").missing
    _compared(shop)

    assert set(shop.indexed()) == _records(shop)
    assert "index" not in shop.ask("What is my dog called?").missing


@contextmanager
def _killed(node: Node) -> Generator[None]:
    node.kill()
    try:
        yield
    finally:
        node.start()


def _compared(shop: Shop) -> None:
    """What the beat does until nothing is left to do."""
    reconcile(shop.kit)
    shop.due_now()
    shop.settle()
    assert shop.owed() == []
    with shop.kit.db.read() as session:
        assert session.get_one(IndexState, shop.key.tenant_id).is_whole


def _records(shop: Shop) -> set[UUID]:
    return {row.id for table in (Moment, Episode, Fact) for row in shop.rows(table)}


def _set_shard(node: Node, alias: str, tenant_id: UUID, status: str) -> None:
    (name,) = _collections(node, alias)
    _asked(node, "PUT", f"schema/{name}/shards/org_{tenant_id.hex}", {"status": status})


def _collections(node: Node, alias: str) -> list[str]:
    return [one["class"] for one in _asked(node, "GET", "schema")["classes"] if one["class"].startswith(f"{alias}_")]


def _asked(node: Node, method: str, path: str, body: object = None) -> Any:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{node.address.url}/v1/{path}", data, headers, method=method), timeout=30) as answer:
        return json.loads(answer.read() or "null")

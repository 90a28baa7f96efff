"""An index that is lost, moved or wrong is noticed and mended from SQL, without anybody saying anything new."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from afterturn.ids import uuid7
from api.app import create_app
from command_line import run, run_apart
from delivery_fixtures import ended, turn
from digest_fixtures import Shop, new_shop
from schemas.errors import StoreBusy
from schemas.indexing import IndexRow
from schemas.tables import Episode, Fact, IndexState, Moment
from stores import index_states
from stores.embedded import EmbeddedIndex
from stores.kit import open_kit
from tasks import reconcile as reconciling
from tasks.reconcile import reconcile, reindex


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, home: Path) -> Generator[Shop]:
    """A shop with something in its index."""
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with new_shop(home, url) as made:
        made.say(
            turn("I live in Lyon.", 0),
            turn("Noted!", 1, role="assistant"),
            turn("My dog is called Balthasar.", 2),
            ended(5),
        )
        made.say(turn("我住在杭州。", 0, user_id="u2", session_id="s2"))
        made.settle()
        yield made


def _move_away(shop: Shop) -> None:
    folder = shop.kit.settings.home / "index"
    folder.rename(folder.with_name("index.gone"))


def _records(shop: Shop) -> set[UUID]:
    return {row.id for table in (Moment, Episode, Fact) for row in shop.rows(table)}


def _is_lost(shop: Shop) -> bool:
    with shop.kit.db.read() as session:
        return index_states.is_lost(session, shop.kit.live(), shop.key.tenant_id)


def _state(shop: Shop) -> IndexState:
    with shop.kit.db.read() as session:
        return session.get_one(IndexState, shop.key.tenant_id)


def _walk_again(shop: Shop) -> None:
    shop.change(IndexState, walked_at=None)
    reconcile(shop.kit)


def test_a_healthy_index_is_compared_and_left_alone(shop: Shop) -> None:
    before = shop.indexed()

    _walk_again(shop)

    assert shop.owed() == []
    assert shop.indexed() == before
    assert not any(_state(shop).drift.values())
    assert not _is_lost(shop)


def test_a_folder_moved_away_while_running_is_found_again_without_new_traffic(shop: Shop) -> None:
    before = set(shop.indexed())
    assert "index" not in shop.ask("Where do I live?").missing
    _move_away(shop)

    assert "index" in shop.ask("Where do I live?").missing
    assert shop.indexed() == {}
    reconcile(shop.kit)
    assert "index" in shop.ask("Where do I live?").missing
    shop.settle()

    assert set(shop.indexed()) == before == _records(shop)
    answer = shop.ask("What is my dog called?")
    assert "index" not in answer.missing
    assert "Balthasar" in answer.prompt


def test_a_folder_moved_away_before_the_start_is_found_again(shop: Shop) -> None:
    _move_away(shop)
    with closing(open_kit(shop.kit.settings)) as kit:
        again = replace(shop, kit=kit)
        assert _is_lost(again)

        reconcile(kit)
        again.settle()

        assert set(again.indexed()) == _records(again)
        assert not _is_lost(again)


def test_what_is_said_after_the_loss_does_not_hide_it(shop: Shop) -> None:
    _move_away(shop)
    shop.say(turn("The weather is fine today.", 0, session_id="s3"))

    shop.settle()

    assert set(shop.indexed()) < _records(shop)
    assert _is_lost(shop)
    reconcile(shop.kit)
    shop.settle()
    assert set(shop.indexed()) == _records(shop)
    assert not _is_lost(shop)


def test_one_file_deleted_beside_its_journal_leaves_a_sound_new_one(shop: Shop) -> None:
    (path,) = (shop.kit.settings.home / "index").glob("*.db")
    assert path.with_name(path.name + "-wal").exists()
    path.unlink()

    reconcile(shop.kit)
    shop.settle()

    assert set(shop.indexed()) == _records(shop)
    assert "index" not in shop.ask("What is my dog called?").missing


def test_an_index_that_comes_back_is_taken_as_it_is(shop: Shop) -> None:
    _move_away(shop)
    reconcile(shop.kit)
    shop.settle()
    folder = shop.kit.settings.home / "index"
    shutil.rmtree(folder)
    folder.with_name("index.gone").rename(folder)

    reconcile(shop.kit)
    shop.settle()

    assert set(shop.indexed()) == _records(shop)
    assert not _is_lost(shop)


def test_drift_is_mended_both_ways_and_counted(shop: Shop) -> None:
    tenant = shop.key.tenant_id
    first, second, third, *_ = shop.rows(Moment)
    alien = uuid7()
    shop.kit.index.delete(tenant, [first.id])
    shop.kit.index.upsert([_bare(second, 1), _bare(third, 0), replace(_bare(third, 0), id=alien)])

    _walk_again(shop)

    assert _state(shop).drift == {"missing": 1, "vector": 1, "version": 1, "extra": 1}
    assert {row.record_id for row in shop.owed()} == {first.id, second.id, third.id}
    shop.settle()
    assert set(shop.indexed()) == _records(shop)
    assert all(has_vector for _, has_vector in shop.indexed().values())
    _walk_again(shop)
    assert not any(_state(shop).drift.values())


def test_what_was_deleted_in_sql_leaves_the_index(shop: Shop) -> None:
    (first, *_) = shop.rows(Moment)
    shop.change(Moment, Moment.id == first.id, deleted_at=first.at)

    _walk_again(shop)
    shop.settle()

    assert first.id not in shop.indexed()


def test_a_walk_that_was_broken_off_goes_on_where_it_stood(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciling, "BATCH", 2)
    _move_away(shop)
    broken = replace(shop, kit=shop.kit.with_live(index=_Breaking(shop.kit.index, after=2)))

    with pytest.raises(StoreBusy):
        reconcile(broken.kit)
    begun = {row.record_id for row in shop.owed()}
    assert 0 < len(begun) < len(_records(shop))
    reconcile(shop.kit)
    shop.settle()

    assert set(shop.indexed()) == _records(shop)


def test_reindex_owes_everything_and_may_be_repeated(shop: Shop) -> None:
    assert reindex(shop.kit) == 1
    reconcile(shop.kit)
    once = {row.record_id for row in shop.owed()}
    assert once == _records(shop)

    reindex(shop.kit)
    reconcile(shop.kit)

    assert {row.record_id for row in shop.owed()} == once
    shop.settle()
    assert shop.owed() == []
    assert set(shop.indexed()) == _records(shop)
    assert not _is_lost(shop)


def _bare(moment: Moment, row_version: int) -> IndexRow:
    """A moment as the index would have it without its vector."""
    return IndexRow(
        id=moment.id,
        tenant_id=moment.tenant_id,
        user_ref=moment.user_ref,
        kind="moment",
        scope="user",
        scope_key=str(moment.user_ref),
        row_version=row_version,
        created_at=moment.at,
        own_terms="words",
        context_terms="words",
    )


class _Breaking(EmbeddedIndex):
    """An index that is out of reach after a few looks at it."""

    def __init__(self, real: object, *, after: int) -> None:
        assert isinstance(real, EmbeddedIndex)
        self.__dict__ = dict(real.__dict__)
        self.left = after

    def held(self, tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, tuple[int, bool]]:
        self.left -= 1
        if self.left < 0:
            raise StoreBusy("away")
        return super().held(tenant_id, ids)


def test_readyz_doctor_and_the_command_line_tell_of_it_and_mend_it(home: Path) -> None:
    with new_shop(home) as shop:
        shop.say(turn("My dog is called Balthasar."), ended(5))
        shop.settle()
        assert _readiness(shop) == ("ok", "ok")
        assert _doctor(home)["state"] == "ok"
        _move_away(shop)

        assert _readiness(shop) == ("degraded", "lost")
        assert _doctor(home) == {
            "name": "index",
            "state": "fail",
            "found": "lost, of 1 tenants",
            "mend": "./afterturn reindex",
        }
        told = _told(run_apart(home, "reindex", "--json"))
        assert told == {"tenants": 1, "owed": len(_records(shop)), "is_complete": True}
        assert _told(run(home, "reindex", "--json")) == told
        assert _doctor(home)["state"] == "warn"
        shop.settle()

        assert set(shop.indexed()) == _records(shop)
        assert _readiness(shop)[1] == "ok"
        assert _doctor(home)["state"] == "ok"


def _readiness(shop: Shop) -> tuple[str, str]:
    """What /readyz says on the whole, the broker left aside, and of the index."""
    with TestClient(create_app(shop.kit)) as client:
        found = client.get("/readyz").json()
    rest = {state for name, state in found["checks"].items() if name != "broker"}
    return "ok" if rest == {"ok"} else found["status"], found["checks"]["index"]


def _doctor(home: Path) -> dict[str, str]:
    return next(check for check in _told(run(home, "doctor", "--json")) if check["name"] == "index")


def _told(ended: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(ended.stdout)

"""The index follows SQL: words at once, vectors when there is an embedder, and nothing that has moved or is gone."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import delete
from sqlmodel import col

from afterturn.ids import uuid7
from delivery_fixtures import turn
from digest_fixtures import Shop, new_shop, scripted_embeddings, server
from llm.face import Embedder
from schemas.indexing import Vector
from schemas.tables import Episode, Fact, Moment, OutboxRow, User
from scripted_model import BEHAVIOURS, Call, Reply, ScriptedModel, error, vector
from scripted_model import embeddings as answered
from stores import moments, outbox
from tasks.index import BATCH, index

__all__ = ["server"]


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, home: Path, server: ScriptedModel) -> Generator[Shop]:
    """A shop with the offline rules and scripted embeddings."""
    url = None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with new_shop(home, url, **scripted_embeddings(server)) as made:
        yield made


class _Meanwhile:
    """An embedder during whose work something else happens."""

    def __init__(self, real: Embedder, happens: Callable[[], object]) -> None:
        self.name = real.name
        self._real = real
        self._happens = happens

    @property
    def dimensions(self) -> int:
        return self._real.dimensions

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self._happens()
        return self._real.embed(texts)

    def close(self) -> None:
        pass


def _digested(shop: Shop) -> None:
    shop.say(turn("I live in Lyon."), turn("Noted!", 1, role="assistant"))
    assert shop.digest() is not None


def _index_while(shop: Shop, happens: Callable[[], object]) -> None:
    index(shop.kit.with_live(embedder=_Meanwhile(shop.kit.embedder, happens)))


def _records(shop: Shop) -> set[UUID]:
    return {row.id for table in (Moment, Episode, Fact) for row in shop.rows(table)}


def test_all_that_a_window_made_is_indexed_with_its_vector(shop: Shop) -> None:
    _digested(shop)

    assert index(shop.kit) == 4

    assert set(shop.indexed()) == _records(shop)
    assert all(has_vector for _, has_vector in shop.indexed().values())
    assert shop.owed() == []
    assert index(shop.kit) == 0


def test_words_are_found_while_the_embedder_is_down_and_vectors_follow(shop: Shop, server: ScriptedModel) -> None:
    _digested(shop)
    server.script_embeddings(BEHAVIOURS["server_error"])

    index(shop.kit)

    assert {has_vector for _, has_vector in shop.indexed().values()} == {False}
    assert {row.error_code for row in shop.owed()} == {"server_error"}
    shop.due_now()
    index(shop.kit)
    assert {has_vector for _, has_vector in shop.indexed().values()} == {True}
    assert shop.owed() == []


def test_words_stand_there_before_the_vectors_are_asked_for(shop: Shop) -> None:
    _digested(shop)
    seen: list[int] = []

    _index_while(shop, lambda: seen.append(len(shop.indexed())))

    assert seen[0] == 4


def test_one_text_that_the_embedder_refuses_holds_up_no_other(shop: Shop, server: ScriptedModel) -> None:
    def picky(call: Call) -> Reply:
        texts = [str(text) for text in call.body["input"]]
        if any("Lyon" in text and "user" in text and "city" not in text for text in texts):
            return error(400, "I take no such text")
        return answered([vector(text, 64) for text in texts])

    _digested(shop)
    server.script_embeddings(*[picky] * 60)

    index(shop.kit)

    assert {has_vector for _, has_vector in shop.indexed().values()} == {True, False}
    assert shop.owed() == []


def test_an_embedder_that_is_set_up_wrong_leaves_everything_owed(shop: Shop, server: ScriptedModel) -> None:
    _digested(shop)
    server.script_embeddings(*[error(400, "no such model")] * 10)

    index(shop.kit)

    assert len(shop.owed()) == 4
    assert len([call for call in server.calls if call.path.endswith("/embeddings")]) <= 2


def test_what_moves_while_it_is_written_is_written_again(shop: Shop) -> None:
    _digested(shop)
    tenant = shop.key.tenant_id
    (first, *_) = shop.rows(Moment)

    def move() -> None:
        shop.kit.db.write(lambda session: moments.touch(session, tenant, [first.event_id]))

    _index_while(shop, move)

    assert [row.record_id for row in shop.owed()] == [first.id]
    index(shop.kit)
    assert shop.indexed()[first.id][0] == shop.rows(Moment)[0].row_version
    assert shop.owed() == []


def test_what_is_deleted_while_it_is_written_does_not_stay(shop: Shop) -> None:
    _digested(shop)

    _index_while(shop, lambda: shop.kit.db.write(lambda session: session.connection().execute(delete(Moment))))

    assert set(shop.indexed()) == _records(shop)
    while index(shop.kit):
        pass
    assert set(shop.indexed()) == _records(shop)
    assert shop.owed() == []


def test_an_erased_users_records_never_come_back(shop: Shop) -> None:
    _digested(shop)

    _index_while(shop, lambda: shop.change(User, generation=1))

    assert shop.indexed() == {}
    shop.due_now()
    while index(shop.kit):
        pass
    assert shop.indexed() == {}
    assert shop.owed() == []


def test_a_worker_that_dies_after_writing_leaves_nothing_undone(shop: Shop) -> None:
    _digested(shop)

    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _index_while(shop, die)
    assert index(shop.kit) == 0
    shop.lose_leases()

    index(shop.kit)

    assert {has_vector for _, has_vector in shop.indexed().values()} == {True}
    assert shop.owed() == []


def test_a_row_of_a_kind_of_a_newer_version_waits(shop: Shop) -> None:
    _digested(shop)
    user = shop.user()
    shop.kit.db.write(
        lambda session: outbox.owe(
            session,
            tenant=shop.key.tenant_id,
            user=user.id,
            kind="hologram",
            record_id=uuid7(),
            row_version=1,
            generation=0,
        )
    )

    index(shop.kit)

    assert [(row.kind, row.error_code) for row in shop.owed()] == [("hologram", "unknown_kind")]
    assert set(shop.indexed()) == _records(shop)


def test_a_record_that_is_gone_is_deleted_and_no_longer_owed(shop: Shop) -> None:
    _digested(shop)
    index(shop.kit)
    (fact,) = shop.rows(Fact)
    user = shop.user()

    def remove() -> None:
        shop.kit.db.write(lambda session: session.connection().execute(delete(Fact).where(col(Fact.id) == fact.id)))
        shop.kit.db.write(
            lambda session: outbox.owe(
                session,
                tenant=shop.key.tenant_id,
                user=user.id,
                kind="fact",
                record_id=fact.id,
                row_version=2,
                generation=0,
            )
        )

    remove()
    index(shop.kit)

    assert fact.id not in shop.indexed()
    assert shop.rows(OutboxRow) == []


def test_a_batch_is_bounded_and_the_rest_stays_owed(shop: Shop) -> None:
    shop.say(*[turn(f"Turn number {number} about the weather.", number) for number in range(BATCH + 20)])
    shop.digest()

    assert index(shop.kit) == BATCH
    assert len(shop.owed()) > 0
    while index(shop.kit):
        pass
    assert shop.owed() == []
    assert set(shop.indexed()) == _records(shop)

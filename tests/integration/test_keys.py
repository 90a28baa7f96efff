"""A key's life: secrets that are rotated, expire or are revoked, and what is taken under each; on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.ids import uuid7
from afterturn.receipts import BatchReceipt
from afterturn.sealing import Sealer
from api.app import create_app
from delivery_fixtures import World, turn, world
from recall_fixtures import house
from schemas.envelopes import enclose
from schemas.errors import BadBatch, BadInput, Conflict, Forbidden, NotFound
from schemas.tables import DeadLetter, Key
from services import wait_until
from stores import dead, keys, tenancy
from tasks.ingest import ingest_batch
from tasks.parked import read_parked
from tasks.receipts import Sender

__all__ = ["world"]

DAY = timedelta(days=1)


@dataclass
class Told:
    """What senders were answered."""

    receipts: list[BatchReceipt]

    def __call__(self, sender: Sender, receipt: BatchReceipt) -> None:
        self.receipts.append(receipt)

    @property
    def last(self) -> tuple[str, str | None]:
        receipt = self.receipts[-1]
        return receipt.runs[0][0], receipt.faults[0].code if receipt.faults else None


@pytest.fixture
def told() -> Told:
    return Told([])


def now() -> datetime:
    return datetime.now(UTC)


def sealed(credential: str, *events: dict[str, Any], sent_at: datetime | None = None, offset_ms: int = 0) -> str:
    plain = [{name: str(value) if isinstance(value, UUID) else value for name, value in one.items()} for one in events]
    parsed = parse_credential(credential)
    payload = encode_batch(plain, sent_at=sent_at or now(), clock_offset_ms=offset_ms)
    return Sealer(parsed.key_id, seal_key(parsed.secret), uuid7()).seal(uuid7(), payload)


def letters(world: World) -> Sequence[DeadLetter]:
    with world.db.read() as session:
        return dead.waiting(session)


def row(world: World, key_id: str) -> Key:
    with world.db.read() as session:
        return session.get_one(Key, key_id)


def end_of(world: World, credential: str, at: datetime | None = None) -> str | None:
    try:
        with world.db.read() as session:
            tenancy.key_of_bearer(session, credential, now=at)
    except Forbidden as exc:
        return exc.code
    return None


def rotated(world: World, **given: Any) -> str:
    return world.db.write(lambda s: keys.rotate(s, world.key.key_id, **given))[1]


def refused(world: World, blob: str, told: Told) -> str:
    """The code under which a batch was refused; it is a dead letter now, and its sender knows."""
    with pytest.raises(BadBatch) as caught:
        ingest_batch(world.kit, blob, answer=told)
    assert letters(world)[-1].error_code == caught.value.code
    assert told.last == ("dead", caught.value.code)
    return caught.value.code


def test_both_secrets_are_good_for_the_grace_and_then_the_new_one_alone(world: World, told: Told):
    old, later = world.credential, now() + timedelta(hours=25)

    new = rotated(world)

    assert parse_credential(new).key_id == parse_credential(old).key_id
    assert (end_of(world, old), end_of(world, new)) == (None, None)
    assert (end_of(world, old, later), end_of(world, new, later)) == ("key_rotated", None)
    for credential in (old, new):
        (receipt,) = ingest_batch(world.kit, sealed(credential, turn()), answer=told)
        assert (receipt.state, told.last) == ("stored", ("stored", None))
    with world.db.read() as session:
        assert tenancy.key_of_bearer(session, new) == world.key


def test_a_third_secret_waits_for_the_grace_of_the_first(world: World):
    first, second = world.credential, rotated(world)

    with pytest.raises(Conflict) as caught:
        rotated(world)
    assert caught.value.code == "in_grace"

    third = rotated(world, grace_hours=0)
    assert [end_of(world, one) for one in (first, second, third)] == ["bad_key", "key_rotated", None]


@pytest.mark.parametrize("how", ["expired", "rotated"])
def test_what_was_sealed_in_time_is_taken_for_a_day_and_nothing_later(world: World, told: Told, how: str):
    def ends(ago: timedelta) -> None:
        at = now() - ago
        world.db.write(
            lambda s: (
                keys.expire(s, world.key.key_id, at)
                if how == "expired"
                else keys.rotate(s, world.key.key_id, grace_hours=0, now=at)
            )
        )

    early, late = (sealed(world.credential, turn(), sent_at=now() - timedelta(hours=h)) for h in (2, 0.5))
    # An agent whose clock is two hours behind: by the broker's clock it sealed half an hour ago.
    behind = sealed(world.credential, turn(), sent_at=now() - timedelta(hours=2.5), offset_ms=-2 * 3_600_000)
    ends(timedelta(hours=1))

    assert [one.state for one in ingest_batch(world.kit, early, answer=told)] == ["stored"]
    for blob in (late, behind):
        assert refused(world, blob, told) == f"key_{how}"

    if how == "expired":
        ends(timedelta(days=1, minutes=1))
        too_late = sealed(world.credential, turn(), sent_at=now() - timedelta(days=2))
        assert refused(world, too_late, told) == "key_expired"


def test_a_revoked_key_takes_nothing_that_was_queued_before(world: World, told: Told):
    queued = sealed(world.credential, turn(), sent_at=now() - timedelta(minutes=5))
    newer = rotated(world)
    world.db.write(lambda s: keys.revoke(s, world.key.key_id))

    for blob in (queued, sealed(newer, turn())):
        assert refused(world, blob, told) == "key_revoked"
    assert {end_of(world, one) for one in (world.credential, newer)} == {"key_revoked"}
    assert end_of(world, f"at_{world.key.key_id}_{'A' * 43}") == "bad_key"
    with pytest.raises(Conflict) as caught:
        rotated(world)
    assert caught.value.code == "key_revoked"


def test_what_arrived_in_time_and_waited_with_us_is_taken_after_the_key_has_expired(world: World):
    blob = sealed(world.credential, turn(), sent_at=now() - 9 * DAY)
    parked_at = now() - 8 * DAY

    def park(session: tenancy.Session) -> None:
        dead.put(session, kind=dead.PARKED, key="k", error_code="batch_version", payload=enclose(blob))
        letter = dead.find(session, dead.PARKED, "k")
        assert letter is not None
        letter.first_at = parked_at
        keys.expire(session, world.key.key_id, parked_at + timedelta(minutes=1))

    world.db.write(park)

    assert read_parked(world.kit) == 1
    assert letters(world) == []


def test_a_key_ends_by_itself(world: World):
    def make(session: tenancy.Session) -> str:
        tenant = tenancy.find_tenant(session, "acme")
        assert tenant is not None
        with pytest.raises(BadInput, match="expires_at"):
            keys.create(session, tenant, ["recall"], expires_at=now() - DAY)
        return keys.create(session, tenant, ["recall"], expires_at=now() + DAY)[1]

    credential = world.db.write(make)

    assert end_of(world, credential) is None
    assert end_of(world, credential, now() + DAY) == "key_expired"
    with pytest.raises(NotFound):
        world.db.write(lambda s: keys.expire(s, "nobody", None))


def test_its_use_is_written_down_once_an_hour(world: World):
    key_id = world.key.key_id
    assert row(world, key_id).last_used_at is None

    ingest_batch(world.kit, sealed(world.credential, turn()))
    first = row(world, key_id).last_used_at
    ingest_batch(world.kit, sealed(world.credential, turn()))
    assert first is not None
    assert row(world, key_id).last_used_at == first

    world.db.write(lambda s: keys.note_use(s, key_id, first + timedelta(minutes=59)))
    assert row(world, key_id).last_used_at == first
    world.db.write(lambda s: keys.note_use(s, key_id, first + timedelta(minutes=60)))
    assert row(world, key_id).last_used_at == first + timedelta(minutes=60)


def test_over_http_the_holder_of_a_key_is_told_why_it_ended_in_their_language():
    with house() as home, TestClient(create_app(home.kit)) as http:

        def asked(credential: str, language: str = "en") -> Any:
            headers = {"Authorization": f"Bearer {credential}", "Accept-Language": language}
            return http.get("/v1/memories", params={"user_id": "u1"}, headers=headers)

        old, key_id = home.bearer, home.key.key_id
        assert asked(old).status_code == 200
        wait_until(lambda: used(home.kit.db, key_id), what="the use to be noted")

        new = home.kit.db.write(lambda s: keys.rotate(s, key_id, grace_hours=0))[1]
        answer = asked(old)
        assert (answer.status_code, answer.json()["code"]) == (401, "key_rotated")
        assert asked(new).status_code == 200

        home.kit.db.write(lambda s: keys.revoke(s, key_id))
        for language, words in (("en", "revoked"), ("zh", "吊销")):
            told = asked(new, language)
            assert (told.status_code, told.json()["code"]) == (401, "key_revoked")
            assert words in told.json()["detail"]
        stranger = asked(f"at_{key_id}_{'A' * 43}")
        assert (stranger.status_code, stranger.json()["code"]) == (401, "unauthorized")


def used(db: Any, key_id: str) -> bool:
    with db.read() as session:
        return session.get_one(Key, key_id).last_used_at is not None

"""Tenants, keys and users, and the world's clock: on both databases."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from afterturn.credentials import parse_credential, seal_key
from schemas.envelopes import disclose
from schemas.errors import BadInput, Forbidden, NotFound
from schemas.tables import Tenant
from store_fixtures import STORES, migrated
from stores import clock, tenancy
from stores.sql import Database


@pytest.fixture(params=STORES)
def db(request: pytest.FixtureRequest) -> Generator[Database]:
    yield from migrated(request)


@pytest.fixture
def tenant(db: Database) -> Tenant:
    return db.write(lambda s: tenancy.create_tenant(s, "shop"))


def test_a_tenant_has_a_name_of_its_own_and_a_secret_hash_key(db: Database, tenant: Tenant) -> None:
    other = db.write(lambda s: tenancy.create_tenant(s, "bank"))

    assert len(tenant.hash_key) == 32
    assert tenant.hash_key != other.hash_key
    with db.read() as session:
        found = tenancy.find_tenant(session, "shop")
        assert found is not None
        assert found.id == tenant.id
        assert tenancy.find_tenant(session, "nobody") is None
    with pytest.raises(BadInput, match="name"):
        db.write(lambda s: tenancy.create_tenant(s, "shop"))
    with pytest.raises(BadInput, match="name"):
        db.write(lambda s: tenancy.create_tenant(s, " "))


def test_a_credential_opens_what_its_key_may(db: Database, tenant: Tenant) -> None:
    key, text = db.write(lambda s: tenancy.create_key(s, tenant, ["recall", "publish"], "support"))

    with db.read() as session:
        for bearer in (text, f"Bearer {text}"):
            info = tenancy.key_of_bearer(session, bearer)
            assert (info.tenant_id, info.key_id, info.agent_id) == (tenant.id, key.id, "support")
            assert info.rights == {"publish", "recall"}
            assert info.hash_key == tenant.hash_key
        assert tenancy.key_info(session, key.id) == info
        ((secret, same),) = tenancy.sealers(session, key.id)
        assert (secret.seal_key, same) == (seal_key(parse_credential(text).secret), info)
        assert tenancy.sealers(session, "nobody") == []

    info.require("publish")
    with pytest.raises(Forbidden, match="erase"):
        info.require("erase")


def test_the_database_holds_no_bearer_token(db: Database, tenant: Tenant) -> None:
    key, text = db.write(lambda s: tenancy.create_key(s, tenant, ["publish"]))
    secret = parse_credential(text).secret

    assert secret.hex() not in key.bearer_hash
    assert key.seal_key != secret
    assert "hk" not in repr(
        tenancy.KeyInfo(tenant_id=tenant.id, key_id=key.id, agent_id=None, rights=frozenset(), hash_key=b"hk")
    )


def test_every_wrong_key_is_refused_in_the_same_words(db: Database, tenant: Tenant) -> None:
    key, text = db.write(lambda s: tenancy.create_key(s, tenant, ["publish"]))
    _, other = db.write(lambda s: tenancy.create_key(s, tenant, ["publish"]))
    forged = f"at_{key.id}_{other[16:]}"
    unknown = f"at_{'a' * 12}_{text[16:]}"
    said: set[str] = set()

    with db.read() as session:
        for wrong in ("", "at_", "Bearer x", forged, unknown, text.upper()):
            with pytest.raises(Forbidden) as caught:
                tenancy.key_of_bearer(session, wrong)
            said.add(f"{caught.value.code} {caught.value}")

    assert len(said) == 1


def test_a_revoked_key_opens_nothing_any_more(db: Database, tenant: Tenant) -> None:
    key, text = db.write(lambda s: tenancy.create_key(s, tenant, ["publish"]))

    for _ in range(2):
        db.write(lambda s: tenancy.revoke(s, key.id))

    with db.read() as session:
        for call in (tenancy.key_of_bearer, tenancy.key_info):
            with pytest.raises(Forbidden) as refused:
                call(session, text if call is tenancy.key_of_bearer else key.id)
            assert refused.value.code == "key_revoked"
    with pytest.raises(NotFound):
        db.write(lambda s: tenancy.revoke(s, "nobody"))


@pytest.mark.parametrize("rights", [[], ["publish", "root"]])
def test_an_unknown_right_is_refused(db: Database, tenant: Tenant, rights: list[str]) -> None:
    with pytest.raises(BadInput, match="rights"):
        db.write(lambda s: tenancy.create_key(s, tenant, rights))


def test_a_user_is_made_once_and_found_by_its_name_in_its_tenant_only(db: Database, tenant: Tenant) -> None:
    other = db.write(lambda s: tenancy.create_tenant(s, "bank"))

    first = db.write(lambda s: tenancy.ensure_users(s, tenant, ["小明", "bob", "小明"]))
    again = db.write(lambda s: tenancy.ensure_users(s, tenant, ["小明", "eve"]))
    elsewhere = db.write(lambda s: tenancy.ensure_users(s, other, ["小明"]))

    assert set(first) == {"小明", "bob"}
    assert again["小明"].id == first["小明"].id
    assert elsewhere["小明"].id != first["小明"].id
    assert elsewhere["小明"].user_hash != first["小明"].user_hash
    assert first["bob"].root_id == first["bob"].id
    assert "小明" not in first["小明"].user_hash
    with db.read() as session:
        found = tenancy.find_user(session, tenant, "bob")
        assert found is not None
        assert found.id == first["bob"].id
        assert disclose(found.user_id) == "bob"
        assert tenancy.find_user(session, other, "bob") is None
    assert db.write(lambda s: tenancy.ensure_users(s, tenant, [])) == {}


def test_writers_of_the_same_new_users_agree_on_them(db: Database, tenant: Tenant) -> None:
    names = [f"u{n}" for n in range(12)]

    def ensure(turn: int) -> dict[str, UUID]:
        mine = names[turn % 5 :] if turn % 2 else names[::-1]
        found = db.write(lambda s: tenancy.ensure_users(s, tenant, mine))
        return {name: user.id for name, user in found.items()}

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ensure, range(24)))

    agreed = {name: ref for one in found for name, ref in one.items()}
    assert set(agreed) == set(names)
    assert all(one.items() <= agreed.items() for one in found)


def test_a_locked_user_is_read_anew(db: Database, tenant: Tenant) -> None:
    user = db.write(lambda s: tenancy.ensure_users(s, tenant, ["bob"]))["bob"]

    def move(_: int) -> None:
        def apply(session: tenancy.Session) -> None:
            found = tenancy.lock_users(session, tenant.id, [user.id])[user.id]
            found.generation += 1

        db.write(apply)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(move, range(20)))

    assert db.write(lambda s: tenancy.lock_users(s, tenant.id, [user.id]))[user.id].generation == 20


def test_hashes_meet_inside_a_tenant_and_nowhere_else(db: Database, tenant: Tenant) -> None:
    other = db.write(lambda s: tenancy.create_tenant(s, "bank"))

    assert tenancy.hash_of(tenant, "a", "b") == tenancy.hash_of(tenant, "a", "b")
    assert tenancy.hash_of(tenant, "a", "b") != tenancy.hash_of(tenant, "ab")
    assert tenancy.hash_of(tenant, "a") != tenancy.hash_of(other, "a")


def test_the_world_s_clock_moves_forward(db: Database) -> None:
    with db.read() as session:
        assert clock.offset_seconds(session) == 0.0

    assert db.write(lambda s: clock.advance(s, 60)) == 60.0
    assert db.write(lambda s: clock.advance(s, 30.5)) == 90.5
    db.write(lambda s: clock.set_offset(s, 10))

    with db.read() as session:
        assert clock.offset_seconds(session) == 10.0
    with pytest.raises(ValueError, match="forward"):
        db.write(lambda s: clock.advance(s, -1))

"""The first start of an embedded installation: tables, tenant, key file; and what a second start leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterturn.credentials import parse_credential
from schemas.errors import BadSettings
from stores import tenancy
from stores.settings import load_settings
from workers.commands.keys import rotate
from workers.first_run import TENANT, opened, prepare


def test_it_makes_a_tenant_and_a_key_that_opens_it(home: Path) -> None:
    settings = load_settings(home=home)

    prepare(settings)

    credential = settings.credential()
    assert credential is not None
    with opened(settings) as database, database.read() as session:
        key = tenancy.key_of_bearer(session, credential.get_secret_value())
        tenant = tenancy.find_tenant(session, TENANT)
    assert tenant is not None
    assert key.tenant_id == tenant.id
    assert key.rights == tenancy.RIGHTS
    assert settings.key_file.stat().st_mode & 0o777 == 0o600


def test_a_second_start_keeps_the_key(home: Path) -> None:
    settings = load_settings(home=home)
    prepare(settings)
    first = settings.key_file.read_text()

    prepare(settings)

    assert settings.key_file.read_text() == first


def test_a_key_file_of_another_database_is_refused_and_kept(home: Path) -> None:
    settings = load_settings(home=home)
    prepare(settings)
    (home / "afterturn.db").unlink()

    with pytest.raises(BadSettings, match=r"does not know the key in .*key.*Mend: move that file away"):
        prepare(settings)
    assert settings.key_file.is_file()


def test_its_own_key_is_rotated_with_its_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(home=home)
    prepare(settings)
    first = settings.key_file.read_text().strip()
    monkeypatch.setenv("AFTERTURN_HOME", str(home))

    rotate(parse_credential(first).key_id, hours=0.0, as_json=True)

    assert settings.key_file.read_text().strip() != first
    assert settings.key_file.stat().st_mode & 0o777 == 0o600
    prepare(settings)


def test_it_works_on_postgresql(home: Path, postgres_url: str) -> None:
    settings = load_settings(home=home, database_url=postgres_url)

    prepare(settings)
    prepare(settings)

    with opened(settings) as database, database.read() as session:
        assert tenancy.find_tenant(session, TENANT) is not None

"""After `up`, an agent on the same machine finds key and broker by itself; given values win."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterturn import Publisher, local
from afterturn.credentials import find_credential, generate_credential
from afterturn.errors import BadCredential, BadSetting


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFTERTURN_HOME", str(tmp_path))
    return tmp_path


def test_the_key_file_of_the_installation_is_found(installed: Path) -> None:
    credential = generate_credential()
    (installed / "key").write_text(credential.text() + "\n")

    assert find_credential(None) == credential


def test_a_given_key_wins_over_the_key_file(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (installed / "key").write_text(generate_credential().text())
    given, set_in_environment = generate_credential(), generate_credential()
    monkeypatch.setenv("AFTERTURN_KEY", set_in_environment.text())

    assert find_credential(given.text()) == given
    assert find_credential(None) == set_in_environment


def test_without_key_or_installation_the_error_says_what_to_do(installed: Path) -> None:
    with pytest.raises(BadCredential, match="keys create"):
        find_credential(None)


def test_the_socket_of_the_installation_is_found(installed: Path) -> None:
    (installed / "broker").mkdir()

    assert local.broker_url().startswith("redis+socket://")
    assert local.broker_url().split("?")[0].endswith("/broker/valkey.sock")


def test_a_recorded_shorter_socket_is_taken_for_a_long_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("long" * 30)
    (folder / "broker").mkdir(parents=True)
    (folder / "broker" / "socket-path").write_text("/tmp/at-x/valkey.sock")  # noqa: S108 - a text, nothing is opened
    monkeypatch.setenv("AFTERTURN_HOME", str(folder))

    assert local.broker_url() == "redis+socket:///tmp/at-x/valkey.sock?virtual_host=0"


def test_without_broker_or_installation_the_publisher_names_the_setting(installed: Path) -> None:
    with pytest.raises(BadSetting, match="AFTERTURN_BROKER_URL"):
        Publisher(key=generate_credential().text())

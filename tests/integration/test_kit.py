"""The kit: built from settings alone, one per process, never carried over a fork."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from pydantic import SecretStr

from index_fixtures import Shelf, environment
from schemas.errors import BadSettings, StoreBusy
from services import free_port
from stores import clock
from stores.embedded import EmbeddedIndex
from stores.kit import Kit, open_kit
from stores.setting_areas import WeaviateSettings
from stores.settings import load_settings
from stores.sql import upgrade
from weaviate_node import Address, drop


@pytest.fixture
def kit(home: Path) -> Generator[Kit]:
    settings = load_settings(home=home)
    upgrade(settings)
    opened = open_kit(settings)
    yield opened
    opened.close()


def test_everything_is_there_without_a_key_a_server_or_a_network(kit: Kit) -> None:
    text = "我买了一副降噪耳机"
    shelf = Shelf(kit.index)
    (vector,) = kit.embedder.embed([text])
    row = shelf.put(text, vector=np.asarray(vector))

    assert set(shelf.ask("耳机", vector)) == {row}
    assert shelf.ask("耳机", vector)[row].cosine == pytest.approx(1.0, abs=0.001)
    assert kit.new_id().version == 7
    assert kit.clock().tzinfo is UTC
    assert kit.model.name


def test_the_world_s_time_is_the_real_one_plus_the_offset(kit: Kit) -> None:
    kit.db.write(lambda s: clock.advance(s, 86_400))

    assert abs(kit.world_now() - datetime.now(UTC) - timedelta(days=1)) < timedelta(seconds=5)
    assert abs(kit.clock() - datetime.now(UTC)) < timedelta(seconds=5)


def test_an_index_of_another_embedder_stops_the_start(home: Path) -> None:
    settings = load_settings(home=home)
    other = EmbeddedIndex(home / "index", space="another")
    Shelf(other).put("里昂")
    other.close()

    with pytest.raises(BadSettings, match="another"):
        open_kit(settings)


def test_a_process_has_one_kit_and_a_child_its_own(home: Path) -> None:
    script = (
        "import os, sys\n"
        "from stores import clock\n"
        "from stores.kit import close_process_kit, process_kit\n"
        "from stores.sql import upgrade\n"
        "from stores.settings import load_settings\n"
        "upgrade(load_settings())\n"
        "kit = process_kit()\n"
        "assert process_kit() is kit\n"
        "kit.db.write(lambda s: clock.advance(s, 5))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    own = process_kit()\n"
        "    own.db.write(lambda s: clock.advance(s, 5))\n"
        "    os._exit(0 if own is not kit else 3)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "with kit.db.read() as session:\n"
        "    assert clock.offset_seconds(session) == 10.0\n"
        "close_process_kit()\n"
        "close_process_kit()\n"
        "assert process_kit() is not kit\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        env=environment() | {"AFTERTURN_HOME": str(home)},
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0, ended.stderr


def test_a_kit_keeps_its_index_on_weaviate_where_it_is_told_to(home: Path, weaviate_address: Address) -> None:
    server = WeaviateSettings(
        url=weaviate_address.url,
        grpc=weaviate_address.grpc or None,
        api_key=None if weaviate_address.key is None else SecretStr(weaviate_address.key),
        alias=f"At{uuid4().hex}",
    )
    settings = load_settings(home=home, index="weaviate", weaviate=server)
    upgrade(settings)
    try:
        with closing(open_kit(settings)) as kit:
            row = Shelf(kit.index).put("我买了一副降噪耳机")
            assert row
        assert not (home / "index").exists()
    finally:
        drop(weaviate_address, server.alias)


def test_a_weaviate_that_is_away_keeps_nobody_from_starting(home: Path) -> None:
    server = WeaviateSettings(url=f"http://127.0.0.1:{free_port()}", grpc=f"127.0.0.1:{free_port()}")
    settings = load_settings(home=home, index="weaviate", weaviate=server)
    upgrade(settings)

    with closing(open_kit(settings)) as kit:
        assert kit.embedder.name
        with pytest.raises(StoreBusy):
            Shelf(kit.index).put("我买了一副降噪耳机")

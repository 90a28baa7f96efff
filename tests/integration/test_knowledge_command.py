"""The command `knowledge`: a file in, its versions listed and withdrawn, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from schemas.errors import BadInput
from stores.settings import load_settings
from workers.cli import build
from workers.commands.knowledge import read_file
from workers.first_run import prepare

YAML = """\
source: returns
version: 2026-05-01
valid_from: 2026-05-01
triples:
  - [退货政策, 适用于, 所有电子产品]
  - [return policy, window, 7 days]
  - {subject: shipping-delay, predicate: allows, object: cash_refund, not: true}
"""


def test_a_document_is_imported_listed_and_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_HOME", str(tmp_path))
    prepare(load_settings())
    file = tmp_path / "returns.yaml"
    file.write_text(YAML, encoding="utf-8")

    def run(*words: str, code: int = 0) -> str:
        ended = CliRunner().invoke(build(), ["knowledge", *words])
        assert ended.exit_code == code, ended.output
        return ended.stdout

    assert json.loads(run("import", str(file), "--json")) == {
        "source": "returns",
        "version": "2026-05-01",
        "triples": 3,
        "imported": True,
    }
    assert "nothing changed" in run("import", str(file))
    (row,) = json.loads(run("list", "--json"))
    assert (row["triples"], row["valid_from"], row["withdrawn_at"]) == (3, "2026-05-01T00:00:00+00:00", None)
    run("withdraw", "returns", "2026-05-01")
    assert "withdrawn" in run("list")


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("a.yaml", "- a", "needs source"),
        ("a.yaml", "triples: 7", "must be a list"),
        ("a.yaml", "a: [", "is no YAML"),
        ("a.jsonl", '{"subject": "a"', "line 1 is no JSON"),
    ],
)
def test_what_is_wrong_with_a_file_is_named_and_nothing_of_it_quoted(
    tmp_path: Path, name: str, words: str, said: str
) -> None:
    (tmp_path / name).write_text(words, encoding="utf-8")

    with pytest.raises(BadInput, match=said):
        read_file(tmp_path / name)


def test_json_lines_may_begin_with_a_head(tmp_path: Path) -> None:
    rows = '{"source": "s", "version": "1"}\n\n["a", "about", "b"]\n["c", "about", "d"]\n'
    (tmp_path / "a.jsonl").write_text(rows, encoding="utf-8")

    head, triples = read_file(tmp_path / "a.jsonl")

    assert head == {"source": "s", "version": "1"}
    assert len(triples) == 2

"""The command `knowledge`: a file in, its versions listed and withdrawn, and what is wrong with a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from schemas.errors import BadInput
from stores.settings import load_settings
from workers.cli import build
from workers.commands.knowledge import MAX_FILE_BYTES, read_file
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


BOMB = "triples:\n - [a, b, &x [c, c, c, c]]\n - [a, b, [*x, *x, *x, *x]]\n"


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("a.yaml", "- a", "must have source"),
        ("a.yaml", "", "must have source"),
        ("a.yaml", "triples: 7", "must be a list"),
        ("a.yaml", "source: s\na: [", "a.yaml:2: is not valid YAML"),
        ("a.yaml", "source: a\n---\nsource: b", "a.yaml:2: is not valid YAML"),
        ("a.yaml", "source: s\nsource: t", "a.yaml:2: is given twice"),
        ("a.yaml", "? [a]\n: b", "a.yaml:1: must be a string"),
        ("a.yaml", BOMB, "a.yaml:3: must not use YAML aliases"),
        ("a.yaml", "triples: " + "[" * 5_000, "is not valid YAML"),
        ("a.jsonl", '{"subject": "a"', "a.jsonl:1: must be JSON"),
        ("a.jsonl", "[]\n" + "[" * 100_000, "a.jsonl:2: is nested too deeply"),
        ("a.jsonl", '{"source": "s", "source": "t"}', "each name once"),
        ("a.jsonl", '["a", "b", NaN]', "no NaN"),
    ],
)
def test_what_is_wrong_with_a_file_is_named_and_nothing_of_it_quoted(
    tmp_path: Path, name: str, words: str, said: str
) -> None:
    (tmp_path / name).write_text(words, encoding="utf-8")

    with pytest.raises(BadInput, match=said):
        read_file(str(tmp_path / name))


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    gbk, wide = tmp_path / "gbk.yaml", tmp_path / "wide.yaml"
    gbk.write_bytes("source: s\nversion: 退货".encode("gbk"))
    wide.touch()
    os.truncate(wide, MAX_FILE_BYTES + 1)

    for file, said in (
        (tmp_path / "none.yaml", "there is no such file"),
        (tmp_path, "is a folder"),
        (gbk, r"gbk\.yaml:2: must be UTF-8 text"),
        (wide, "must be at most 67108864 bytes"),
    ):
        with pytest.raises(BadInput, match=said):
            read_file(str(file))


def test_words_and_numbers_are_taken_as_they_are_written(tmp_path: Path) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "a.jsonl"
    one.write_text("source: s\nversion: 1.10\ntriples: [[Norway, code, NO], [a, on, 2026-13-45]]", "utf-8-sig")
    other.write_text('{"source": "s", "version": 1.10}\n["a", "b", ' + "9" * 5_000 + "]", "utf-8-sig")

    assert read_file(str(one)) == (
        {"source": "s", "version": "1.10"},
        [["Norway", "code", "NO"], ["a", "on", "2026-13-45"]],
    )
    assert read_file(str(other)) == ({"source": "s", "version": "1.10"}, [["a", "b", "9" * 5_000]])


def test_json_lines_may_begin_with_a_head(tmp_path: Path) -> None:
    rows = '{"source": "s", "version": "1"}\n\n["a", "about", "b"]\n["c", "about", "d"]\n'
    (tmp_path / "a.jsonl").write_text(rows, encoding="utf-8")

    head, triples = read_file(str(tmp_path) + "/" + "a.jsonl")

    assert head == {"source": "s", "version": "1"}
    assert len(triples) == 2

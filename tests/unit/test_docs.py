"""Pages for readers: both languages hold the same, every page is reached from its README, and links lead somewhere."""

from __future__ import annotations

import importlib
import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md") if not path.name.endswith(".zh-CN.md"))
FOLDERS = (".", "docs", "deploy", "client")
READMES = ("README.md", "deploy/README.md", "client/README.md")
ALL = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def shape(path: Path) -> list[str]:
    """Headings by depth, rows of tables, and blocks of code, in their order."""
    lines = path.read_text("utf-8").splitlines()
    return [found[0] for line in lines if (found := re.match(r"#+ |\||```\w*", line))]


def chinese(name: str) -> str:
    return name.removesuffix(".md") + ".zh-CN.md"


@pytest.mark.parametrize("name", [*(f"docs/{name}" for name in PAGES), *READMES])
def test_both_languages_have_the_same_shape(name: str) -> None:
    assert shape(ROOT / name) == shape(ROOT / chinese(name))


@pytest.mark.parametrize("name", READMES)
def test_each_language_leads_to_the_other(name: str) -> None:
    english, other = ROOT / name, ROOT / chinese(name)

    assert f"[中文]({other.name})" in english.read_text("utf-8")
    assert f"[English]({english.name})" in other.read_text("utf-8")


@pytest.mark.parametrize("name", READMES)
def test_both_readmes_name_the_same_things(name: str) -> None:
    def named(path: Path) -> set[str]:
        text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
        return {word for word in re.findall(r"`([^`\n]+)`", text) if word.isascii() and "<" not in word}

    assert named(ROOT / name) == named(ROOT / chinese(name))


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_reached_from_the_readme_of_its_language(name: str) -> None:
    assert f"](docs/{name})" in (ROOT / "README.md").read_text("utf-8")
    assert f"](docs/{chinese(name)})" in (ROOT / "README.zh-CN.md").read_text("utf-8")


@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere_and_no_line_stands_twice_in_a_row(path: Path) -> None:
    text = path.read_text("utf-8")

    assert [link for link in LINK.findall(text) if not (path.parent / link).exists()] == []
    lines = [line for line in text.splitlines() if len(line) > 40]
    assert [one for one, other in itertools.pairwise(lines) if one == other] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_is_found_as_the_pages_call_it(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_pages_call_benchmarks_as_they_can_be_called() -> None:
    text = "".join(path.read_text("utf-8") for path in [*ALL, *(ROOT / "benchmarks").glob("*.py")])

    assert set(re.findall(r"-m benchmarks\.(\w+)", text)) <= set(BENCHMARKS)
    assert re.findall(r"python benchmarks/\w+", text) == []

"""The shape of the tree: sizes, floors, names, and files that must agree with each other."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
FLOORS = ("schemas", "memory", "llm", "stores", "tasks", "workers", "api")
PRODUCT = ("client/src", *FLOORS)
MAX_MODULE_LINES = 400
MAX_TEST_LINES = 500
MAX_FUNCTION_LINES = 80
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "data", "info"}


def modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def product() -> list[Path]:
    return list(modules(*PRODUCT))


def test_modules_stay_short() -> None:
    sizes = {named(path): len(path.read_text("utf-8").splitlines()) for path in modules(*PRODUCT, "tests")}

    assert not {
        name: size
        for name, size in sizes.items()
        if size > (MAX_TEST_LINES if name.startswith("tests/") else MAX_MODULE_LINES)
    }


def test_functions_stay_short() -> None:
    long = [
        f"{named(path)}:{node.lineno} {node.name}"
        for path in modules(*PRODUCT, "tests")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and size_of(node) > MAX_FUNCTION_LINES
    ]

    assert not long


def test_modules_say_what_they_answer() -> None:
    silent = [named(path) for path in product() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]

    assert not silent


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not [named(path) for path in product() if path.stem in VAGUE]
    assert [named(path) for path in product() if path.stem == "base"] in ([], ["tasks/base.py"])


def test_only_the_settings_read_the_environment() -> None:
    # The others hand it on to a child, tell Flower its password or prometheus-client its folder by it, or look where
    # tiktoken keeps its files.
    allowed = {
        "stores/settings.py",
        "stores/secret_files.py",
        "stores/counting.py",
        "stores/tokens.py",
        "workers/processes.py",
        "workers/serving.py",
    }
    readers = {
        named(path)
        for path in modules(*FLOORS)
        if re.search(r"\bos\.(environ|getenv)\b|\bgetenv\(", path.read_text("utf-8"))
    }

    assert readers <= allowed


@pytest.mark.parametrize("name", ["afterturn", *FLOORS])
def test_a_package_comes_from_this_checkout(name: str) -> None:
    spec = importlib.util.find_spec(name)

    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).resolve().is_relative_to(ROOT)


def test_an_import_goes_down_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)

    assert lint_imports(no_cache=True) == 0, capsys.readouterr().out


@pytest.mark.parametrize("folder", [".", "client", "deploy"])
def test_the_readmes_hold_the_same_commands(folder: str) -> None:
    english, chinese = (ROOT / folder / name for name in ("README.md", "README.zh-CN.md"))

    assert len(headings(english)) == len(headings(chinese))
    assert commands(english) == commands(chinese)


def commands(path: Path) -> list[str]:
    """The lines of the marked code blocks, without comments and without what is said in them."""
    marked = [block for block in blocks(path) if not block.startswith("```\n")]
    lines = [line.split("  #")[0].rstrip() for block in marked for line in block.splitlines()]
    return [spoken.sub('"..."', line) for line in lines]


def test_no_lock_names_a_host() -> None:
    for lock in ("requirements.lock", "requirements-otel.lock", "requirements-dev.lock"):
        assert "://" not in (ROOT / "deploy" / lock).read_text("utf-8")


def test_the_other_locks_hold_the_versions_of_the_run_lock() -> None:
    run, otel, dev = (pins(ROOT / "deploy" / f"requirements{name}.lock") for name in ("", "-otel", "-dev"))

    assert run <= dev
    assert run <= otel


spoken = re.compile(r'"[^"]*"')


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def size_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def headings(path: Path) -> list[str]:
    return re.findall(r"^#+ .*$", path.read_text("utf-8"), re.MULTILINE)


def blocks(path: Path) -> list[str]:
    return re.findall(r"^```.*?^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def pins(path: Path) -> set[str]:
    return set(re.findall(r"^[A-Za-z0-9_.\[\]-]+==[^\\\n]*", path.read_text("utf-8"), re.MULTILINE))

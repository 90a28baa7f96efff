"""What every command says of itself: in the reader's language, whole, at the width of a plain terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WALK = """
import json, sys
import typer.main
from typer.testing import CliRunner
from workers.cli import build
from workers.speech import speak

speak(sys.argv[1])
app = build()
found = {}

def walk(command, words):
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).output
    options = {param.name: getattr(param, "help", None) or "" for param in command.params}
    found[" ".join(words)] = {"shown": shown, "options": options}
    for name, child in getattr(command, "commands", {}).items():
        walk(child, [*words, name])

walk(typer.main.get_command(app), [])
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=["zh", "en"])
def told(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    ended = subprocess.run(
        [sys.executable, "-c", WALK, request.param], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return request.param, json.loads(ended.stdout)


def test_no_help_is_cut_off(told: tuple[str, dict[str, Any]]) -> None:
    _, commands = told

    assert len(commands) > 30
    assert [name for name, one in commands.items() if "…" in one["shown"]] == []


def test_options_are_told_in_the_readers_language(told: tuple[str, dict[str, Any]]) -> None:
    language, commands = told
    helps = [
        (name, option, text)
        for name, one in commands.items()
        for option, text in one["options"].items()
        if " " in text and "|" not in text and option != "help"  # neither a word nor a list of values
    ]

    foreign = [one for one in helps if any("一" <= char <= "鿿" for char in one[2]) is not (language == "zh")]
    assert foreign == []
    assert len(helps) > (10 if language == "en" else 3)

"""The doctor where roles run apart: as far as this data folder knows them, and as elsewhere where it knows none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from services import free_port
from stores.settings import as_environment, load_settings
from tasks.app import ROUTES
from workers import presence
from workers.checks import run_checks
from workers.findings import Check
from workers.speech import speak


@pytest.fixture
def look(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Check]]:
    settings = load_settings(home=home, broker_url=f"redis://127.0.0.1:{free_port()}/0", flower={"port": 0})
    for name, value in as_environment(settings).items():
        monkeypatch.setenv(name, value)
    speak("en")
    return lambda: {check.name: check for check in run_checks()}


def test_of_workers_elsewhere_it_says_so(look: Callable[[], dict[str, Check]]) -> None:
    found = look()

    assert (found["workers"].state, found["key"].state) == ("ok", "ok")
    assert not {"app", "ingest", "beat"} & set(found)


def test_of_roles_apart_it_names_the_one_that_is_gone(home: Path, look: Callable[[], dict[str, Check]]) -> None:
    for role, pid in (("ingest", os.getpid()), ("llm", os.getpid()), ("index", os.getpid())):
        queues = ("ingest", "pulse") if role == "ingest" else (role,)
        told = {"role": role, "pid": pid, "tasks": [name for name, queue in ROUTES.items() if queue in queues]}
        for path in (presence.start_record(home, role), presence.ready_file(home, role)):
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(told))

    found = look()

    states = {name: found[name].state for name in ("ingest", "llm", "index worker", "upkeep", "beat")}
    assert states == {"ingest": "ok", "llm": "ok", "index worker": "ok", "upkeep": "fail", "beat": "fail"}
    assert "worker upkeep" in found["upkeep"].mend
    assert "app" not in found

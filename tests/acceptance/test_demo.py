"""The demo as a newcomer runs it: real processes on a scratch folder, checked answers, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from services import postgres_folder, wait_until
from workers.demo.story import QUESTIONS

SECONDS = 120


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of this test alone; short, since sockets lie below it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workers", "demo", *words],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(done.stdout))


@pytest.mark.timeout(SECONDS)
def test_the_story_is_remembered_in_both_languages_and_nothing_is_left(place: Path) -> None:
    done = demo("--json")

    assert done.returncode == 0, done.stderr
    report = answer(done)
    assert report["wrong"] == []
    assert [item["text"] for item in report["questions"]] == [asked.text for asked in QUESTIONS]
    assert report["counts"]["dead"] == 0
    assert report["counts"]["outcomes"] == 4
    assert list(place.glob("at-demo-*")) == []


@pytest.mark.timeout(SECONDS)
def test_a_file_is_kept_whole_and_its_questions_are_measured(place: Path) -> None:
    talk = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a grey cat called Pixel last week."},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Lovely! I started pottery classes myself."},
        ],
        "session_2_date_time": "10:00 am on 20 May, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Pixel broke my favourite vase today."}],
        "qa": [
            {"question": "What did Ann adopt?", "evidence": ["D1:1"], "category": 4},
            {"question": "Which classes did Bo start?", "evidence": ["D1:2"], "category": 4},
        ],
    }
    path = place / "talk.json"
    path.write_text(json.dumps(talk))

    done = demo("--json", "--file", str(path))

    assert done.returncode == 0, done.stderr
    report = answer(done)
    assert report["counts"]["turns"] == 3
    assert report["counts"]["sessions"] == report["counts"]["windows_applied"] == 3
    assert report["score"]["recall"]["10"] == 1.0


def test_a_broken_file_is_refused_before_anything_starts(place: Path) -> None:
    path = place / "broken.jsonl"
    path.write_text('{"user": "u", "session": "s", "role": "user", "at": "soon", "text": "private words"}\n')

    done = demo("--file", str(path))

    assert done.returncode == 2
    assert "broken.jsonl, line 1, at" in done.stderr
    assert "private words" not in done.stderr
    assert list(place.glob("at-demo-*")) == []


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_demo_that_is_stopped_leaves_nothing(place: Path, how: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "workers", "demo"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: any(place.glob("at-demo-*/run/*.ready")), seconds=60)

    os.kill(process.pid, how)

    process.wait(60)
    wait_until(lambda: not list(place.glob("at-demo-*")), seconds=30)


@pytest.mark.skipif(
    shutil.which("weaviate") is None or postgres_folder() is None, reason="no Weaviate or no PostgreSQL to start"
)
@pytest.mark.timeout(2 * SECONDS)
def test_a_file_is_answered_alike_on_production_stores(tmp_path: Path) -> None:
    said = {"user": "u1", "session": "s1", "role": "user", "text": "My dog is called Balthasar."}
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({**said, "at": "2026-11-01T10:00:00Z"}), "utf-8")

    # On the system's own temporary folder: root's PostgreSQL runs as another user, who must get there.
    done = demo("--json", "--stores", "production", "--file", str(file))

    assert done.returncode == 0, done.stderr
    report = answer(done)
    assert report["embedded"]["wrong"] == report["production"]["wrong"] == []
    counts = [report[side]["counts"] for side in ("embedded", "production")]
    assert counts[0]["facts"] == counts[1]["facts"] == 1
    assert report["differences"] == []

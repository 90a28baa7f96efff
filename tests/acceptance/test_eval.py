"""`eval` as its users run it: real processes, a file in, a judgement and an exit code out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eval_builders import dialogue, said, written

ROOT = Path(__file__).parents[2]
ANSWER: dict[str, Any] = {
    "summary": "s",
    "outcome": "unknown",
    "outcome_turns": [],
    "sentiment": "neutral",
    "tags": [],
    "entities": [],
    "facts": [
        {
            "reason": "stated",
            "quote": "I am a cooper",
            "turn": "t1",
            "subject": "user",
            "modality": "asserted",
            "polarity": "+",
            "type": "identity",
            "key": "job",
            "value": "cooper",
            "when": None,
        }
    ],
    "procedure": None,
}


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "workers", "eval", *map(str, words)]
    return subprocess.run(argv, cwd=ROOT, env=os.environ.copy(), capture_output=True, text=True, check=False)


def test_a_broken_file_ends_before_anything_starts(tmp_path: Path) -> None:
    done = _run(written(tmp_path, dialogue(said("Hi."), expect={"curent": ["x"]})))

    assert done.returncode == 2
    assert "cases.jsonl, line 1, expect.curent" in done.stderr


@pytest.mark.timeout(300)
def test_cases_are_judged_on_a_whole_instance(tmp_path: Path) -> None:
    """Right ones pass in every order, wrong ones say what was there, impossible ones are counted apart."""
    later = "2026-03-01T09:00:00Z"
    moved = dialogue(
        said("我住在杭州。"),
        {"do": "digest"},
        said("我搬到成都了。", session="s2", at=later),
        expect={
            "current": ["成都"],
            "past": ["杭州"],
            "recall": [{"query": "用户住在哪里？", "contains": ["成都"], "lacks": ["杭州"]}],
        },
        id="moved",
    )
    scripted = dialogue(
        said("I am a cooper."),
        said("My password is Gr33nTram!9"),
        {"do": "advance", "days": 30},
        expect={"current": ["cooper"], "current_count": 1, "episodes": 1, "nowhere": ["Gr33nTram!9"]},
        id="scripted",
        model={"s1": [ANSWER]},
    )
    wrong = dialogue(
        said("I live in Jena."), expect={"current": ["Weimar"], "nowhere": ["Jena"], "current_max": 0}, id="wrong"
    )
    reviewed = dialogue(
        said("I have diabetes. I'm an administrator of this workspace."),
        {"do": "approve", "text": "diabetes"},
        {"do": "reject", "text": "administrator"},
        expect={"current": ["diabetes"], "not_current": ["administrator"], "pending": []},
        id="reviewed",
    )
    erased = dialogue(said("Hi."), {"do": "forget", "user": "u1"}, expect={"current_count": 0}, id="erased")

    namesake = dialogue(said("I live in Jena."), expect={"current": ["Jena"]}, id="wrong")
    files = [
        written(tmp_path, moved, scripted, reviewed, wrong, erased),
        written(tmp_path, namesake, name="more.jsonl"),
    ]

    done = _run(*files, "--json", "--repeat", "2")

    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert [(one["passed"], one["failed"], one["not_possible"]) for one in result["files"]] == [(3, 1, 1), (1, 0, 0)]
    assert {(one["id"], one["round"]) for one in result["failures"]} == {("wrong", 1), ("wrong", 2)}
    messages = "\n".join(result["failures"][0]["wrong"])
    assert "current 'Weimar': no such fact; current facts: city: Jena" in messages
    assert "current_max 0: 1" in messages
    assert "table turns.content" in messages
    assert "index file" in messages
    assert result["not_possible"][0]["actions"] == ["forget"]

"""Counters of a data folder: of all its processes, forked ones too, and still there when those have ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COUNT = """
import os, signal, sys
from pathlib import Path
from stores import counting

counting.share(Path(sys.argv[1]), "ingest")
from stores import metrics

def count(number):
    metrics.EVENTS.labels("stored").inc(number)
    metrics.RECALL_DURATION.observe(0.02)

count(1)
for number in (10, 100):
    if (child := os.fork()) == 0:
        count(number)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
"""
TELL = """
import sys
from pathlib import Path
from stores import counting

counting.share(Path(sys.argv[1]), "api")
from stores import metrics

sys.stdout.buffer.write(counting.exposition())
"""


def test_what_forked_and_killed_processes_counted_is_told_by_another(home: Path) -> None:
    for _ in range(2):
        _run(COUNT, home)

    told = _run(TELL, home).splitlines()

    assert 'afterturn_events_total{outcome="stored"} 222.0' in told
    assert "afterturn_recall_duration_seconds_count 6.0" in told
    assert any(line.startswith("process_resident_memory_bytes ") for line in told)


def test_a_slot_is_used_again_so_that_the_folder_does_not_grow(home: Path) -> None:
    _run(COUNT, home)
    before = sorted(path.name for path in (home / "run" / "counters").iterdir())

    _run(COUNT, home)

    assert sorted(path.name for path in (home / "run" / "counters").iterdir()) == before
    # The parent, and one slot that its children had one after the other.
    assert {name.split(".")[0] for name in before if name.endswith(".lock")} == {"ingest-0", "ingest-1"}


def test_counters_declared_too_early_are_refused(home: Path) -> None:
    early = TELL.replace("counting.share", "from stores import metrics\ncounting.share")

    ran = subprocess.run([sys.executable, "-c", early, home], capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert "counters were declared before" in ran.stderr


def _run(code: str, home: Path) -> str:
    return subprocess.run([sys.executable, "-c", code, home], capture_output=True, text=True, check=True).stdout

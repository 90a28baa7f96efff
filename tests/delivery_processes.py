"""Worker and beat processes as an operator starts them, on a scratch data folder; killed by their pid."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import wait_until
from workers.presence import ready_file, start_record

CHECKOUT = Path(__file__).resolve().parent.parent
READY_SECONDS = 60.0


@dataclass(frozen=True)
class Running:
    """One process in a group of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    def children(self) -> list[int]:
        """The pids of its pool."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def kill_group(self) -> None:
        """SIGKILL for it and its pool, as a lost machine would do it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=10)

    def lines(self) -> list[dict[str, Any]]:
        """What it logged, one object a line; other output is left out."""
        found: list[dict[str, Any]] = []
        for line in self.log.read_text("utf-8", "replace").splitlines():
            if line.startswith("{"):
                found.append(json.loads(line))
        return found


@contextmanager
def worker(home: Path, role: str, **settings: str) -> Generator[Running]:
    """`./afterturn worker <role>`, ready to work; stopped in the end if it still runs."""
    with worker_of(CHECKOUT, home, role, settings) as running:
        yield running


@contextmanager
def worker_of(checkout: Path, home: Path, role: str, settings: dict[str, str]) -> Generator[Running]:
    """The same from another checkout, such as a newer version's."""
    with _ready(home, role, ["workers", "worker", role], settings, checkout) as running:
        yield running


@contextmanager
def celery_worker(home: Path, role: str, **settings: str) -> Generator[Running]:
    """The same by Celery's command line, which takes a second more of CPU to start."""
    words = ["celery", "-A", f"workers.{role}", "worker", "-n", f"{role}@%h", "--without-gossip", "--without-mingle"]
    with _ready(home, role, words, settings, CHECKOUT) as running:
        yield running


@contextmanager
def beat(home: Path, name: str, **settings: str) -> Generator[Running]:
    """`./afterturn beat`."""
    with _started(home, name, ["workers", "beat"], settings) as running:
        yield running


@contextmanager
def celery_beat(home: Path, name: str, **settings: str) -> Generator[Running]:
    """`celery -A workers.beat beat`."""
    with _started(home, name, ["celery", "-A", "workers.beat", "beat"], settings) as running:
        yield running


def registered(home: Path, role: str) -> dict[str, Any]:
    """The role's start record."""
    record: dict[str, Any] = json.loads(start_record(home, role).read_text("utf-8"))
    return record


def inspected(home: Path) -> list[str]:
    """What `celery -A workers.app inspect registered` lists, of the one worker that answers."""
    words = [sys.executable, "-m", "celery", "-A", "workers.app", "inspect", "registered", "--json", "--timeout", "10"]
    told = subprocess.run(words, cwd=CHECKOUT, env=environment(home, {}), capture_output=True, check=True, text=True)
    (names,) = json.loads(told.stdout).values()
    return sorted(names)


def pid_behind(port: int) -> int:
    """The process whose socket has this local TCP port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inodes = {line.split()[9] for line in lines if line.split()[1].endswith(f":{port:04X}")}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink().as_posix() in {f"socket:[{inode}]" for inode in inodes}:
                return int(link.parts[2])
        except OSError:  # the process, or the descriptor, has just gone
            continue
    raise AssertionError(f"nobody has port {port}")


def environment(home: Path, settings: dict[str, str], checkout: Path = CHECKOUT) -> dict[str, str]:
    """The environment of a process of the service."""
    path = os.pathsep.join((str(checkout), str(checkout / "client" / "src")))
    given = {f"AFTERTURN_{name.upper()}": value for name, value in settings.items()}
    return {**os.environ, "AFTERTURN_HOME": str(home), "PYTHONPATH": path, **given}


@contextmanager
def _ready(home: Path, role: str, words: list[str], settings: dict[str, str], checkout: Path) -> Generator[Running]:
    ready_file(home, role).unlink(missing_ok=True)
    with _started(home, role, words, settings, checkout) as running:
        wait_until(lambda: _is_ready(running, home, role), seconds=READY_SECONDS, what=f"the {role} worker")
        yield running


def _is_ready(running: Running, home: Path, role: str) -> bool:
    assert running.process.poll() is None, running.log.read_text()
    path = ready_file(home, role)
    return path.exists() and json.loads(path.read_text())["pid"] == running.process.pid


@contextmanager
def _started(
    home: Path, name: str, words: list[str], settings: dict[str, str], checkout: Path = CHECKOUT
) -> Generator[Running]:
    log = home / f"{name}.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=checkout,
            env=environment(home, settings, checkout),
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    running = Running(process, log)
    try:
        yield running
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                running.kill_group()

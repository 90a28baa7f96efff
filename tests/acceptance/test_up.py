"""`./afterturn up` as an operator meets it: one command, every process, nothing left behind."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services import free_port, scratch, wait_until
from workers import presence
from workers.supervisor import read_state

ROOT = Path(__file__).parents[2]
TEXT = "My sister lives in Zanzibar-Stadt"
CORE = ("ingest", "app", "beat", "api", "flower")


@dataclass(frozen=True)
class Installation:
    """A running `up`: its process, its data folder, what it printed when it was ready."""

    process: subprocess.Popen[str]
    home: Path
    environment: dict[str, str]
    where: dict[str, Any]

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run(self.environment, *words)

    def pids(self) -> dict[str, int]:
        state: Any = read_state(self.home) or {"roles": {}}
        return {name: role["pid"] for name, role in state["roles"].items()}


@pytest.fixture(scope="module")
def up() -> Generator[Installation]:
    with scratch() as home:
        environment = environment_of(home)
        process = started(environment)
        try:
            yield Installation(process, home, environment, ready(process))
        finally:
            end(process)


def test_it_is_ready_within_seconds_and_says_where_everything_is(up: Installation) -> None:
    # Under 10 s on an idle machine of two cores; tests may share theirs.
    assert up.where["ready_seconds"] < 25
    assert up.where["home"] == str(up.home)
    assert sorted(up.pids()) == sorted(CORE)
    assert get(f"{up.where['url']}/readyz") == 200


def test_secrets_lie_in_files_of_their_owner_and_on_no_command_line(up: Installation) -> None:
    secret_files = [Path(up.where["key_file"]), Path(up.where["flower_password_file"])]
    lines = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in up.pids().values())

    for path in secret_files:
        assert path.stat().st_mode & 0o077 == 0
        assert path.read_bytes().strip() not in lines
    assert (up.home / "afterturn.db").stat().st_mode & 0o077 == 0


def test_the_task_monitor_asks_for_its_password(up: Installation) -> None:
    url, password = up.where["flower_url"], Path(up.where["flower_password_file"]).read_text().strip()

    assert get(url) == 401
    assert get(f"{url}/api/workers") == 401
    assert get(url, user=f"{up.where['flower_user']}:{password}") == 200


def test_every_worker_task_is_listed_by_its_name(up: Installation) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "workers.app", "inspect", "registered", "--json", "--timeout", "10"],
        env=up.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = {name for names in json.loads(found.stdout).values() for name in names}

    assert {"afterturn.digest", "afterturn.index", "afterturn.decay", "afterturn.expire"} <= names
    assert all(name.startswith("afterturn.") for name in names)
    record = presence.read(presence.start_record(up.home, "ingest"))
    assert record is not None
    assert record.tasks == ("afterturn.ingest", "afterturn.sweep")


def test_doctor_finds_nothing_wrong(up: Installation) -> None:
    found = up.command("doctor", "--json")

    checks = json.loads(found.stdout)
    assert [check for check in checks if check["state"] == "fail"] == []
    assert found.returncode == 0


def test_a_turn_that_was_published_comes_back_and_stands_in_no_log(up: Installation) -> None:
    published = up.command("publish", TEXT, "--user", "u1", "--session", "s1")
    assert published.returncode == 0
    assert "digested 90 s after the session's last turn" in published.stderr
    listed = up.command("memories", "--user", "u1", "--lang", "zh")
    assert (listed.returncode, listed.stdout) == (0, "")
    assert "还有 1 轮对话等待整理" in listed.stderr

    recalled = up.command("recall", "Where does the sister live?", "--user", "u1", "--session", "s1", "--json")

    assert "Zanzibar" in json.loads(recalled.stdout)["prompt"]
    assert not [path.name for path in (up.home / "logs").iterdir() if b"Zanzibar" in path.read_bytes()]


def test_whoever_was_never_heard_of_is_told_apart_from_whoever_waits(up: Installation) -> None:
    listed = up.command("memories", "--user", "nobody")
    recalled = up.command("recall", "Where?", "--user", "nobody", "--lang", "zh")

    assert (listed.returncode, listed.stdout) == (0, "")
    assert "nothing of this user has ever come" in listed.stderr
    assert "没有收到过该用户的任何事件" in recalled.stderr


def test_a_refused_argument_is_named_once(up: Installation) -> None:
    refused = up.command("recall", " ", "--user", "u1")
    broken = up.command("publish", os.fsdecode(b"caf\xe9"), "--user", "u1", "--session", "s1")

    assert (refused.returncode, refused.stderr) == (2, "error (bad_input): query: must not be empty\n")
    assert (broken.returncode, broken.stderr) == (2, "error (bad_input): content: must not hold lone surrogates\n")


def test_a_worker_that_is_killed_comes_back(up: Installation) -> None:
    before = up.pids()["app"]
    os.kill(before, signal.SIGKILL)

    after = wait_until(lambda: (now := up.pids().get("app")) not in (None, before) and now, seconds=40)
    ready_file = presence.ready_file(up.home, "app")
    wait_until(lambda: (record := presence.read(ready_file)) and record.pid == after, seconds=40)


def test_a_second_up_on_the_folder_is_refused(up: Installation) -> None:
    second = run(up.environment, "up")  # the ports are taken too, and another port is not what would help

    assert second.returncode == 2
    assert f"{up.home} is up: {up.where['url']} (pid {up.process.pid})" in second.stderr
    assert "set another port" not in second.stderr
    assert sorted(up.pids()) == sorted(CORE)


def test_a_port_in_use_is_named_before_anything_starts(up: Installation, home: Path) -> None:
    refused = run(up.environment | {"AFTERTURN_HOME": str(home)}, "up")

    assert refused.returncode == 2
    assert "AFTERTURN_API_PORT: cannot listen on 127.0.0.1:" in refused.stderr
    assert list(home.iterdir()) == []


def test_ctrl_c_stops_everything_and_doctor_says_so(home: Path) -> None:
    environment = {**environment_of(home), "LANG": "zh_CN.UTF-8"}
    process = started(environment)
    where = ready(process)
    pids = [role["pid"] for role in json.loads((home / "run" / "up.json").read_text())["roles"].values()]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=40)

    assert process.returncode == 0
    assert "已全部停止" in said
    assert not any(presence.is_alive(pid) for pid in pids)
    installation = Installation(process, home, environment, where)
    found = installation.command("doctor", "--json")
    assert found.returncode == 1
    assert "./afterturn up" in found.stdout


def run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workers", *words],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def environment_of(home: Path) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "client" / "src")])
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": path,
        "AFTERTURN_HOME": str(home),
        **ports(),
    }


def ports() -> dict[str, str]:
    return {"AFTERTURN_URL": f"http://127.0.0.1:{free_port()}", "AFTERTURN_FLOWER_PORT": str(free_port())}


def started(environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "workers", "up", "--json"],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, said = process.communicate()
        pytest.fail(f"up ended with {process.returncode}: {said}")
    where: dict[str, Any] = json.loads(line)
    return where


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def get(url: str, *, user: str = "") -> int:
    request = urllib.request.Request(url)
    if user:
        request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code

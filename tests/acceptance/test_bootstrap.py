"""The first use of a fresh checkout: nothing but Python, from any folder, by two people at once."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from services import scratch

ROOT = Path(__file__).parents[2]
# What the scripts may use; flock is left out, as on macOS.
TOOLS = ("sh", "env", "dirname", "readlink", "cmp", "cp", "mv", "rm", "cat", "mkdir", "sleep")
# Only what tells pip how to reach the machine's package index.
NETWORK = ("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")


@pytest.fixture(scope="module")
def checkout() -> Generator[Path]:
    with scratch() as folder:
        shutil.copytree(
            ROOT, folder / "tree", ignore=shutil.ignore_patterns(".*venv*", ".git", "__pycache__", ".*cache*")
        )
        tools = folder / "bin"
        tools.mkdir()
        for tool in TOOLS:
            (tools / tool).symlink_to(shutil.which(tool) or "/nowhere")
        (tools / "python3").symlink_to(
            shutil.which("python3", path="/usr/bin:/usr/local/bin") or shutil.which("python3") or ""
        )
        (folder / "link").symlink_to("tree/afterturn")
        yield folder


@pytest.mark.timeout(400)
def test_two_first_uses_at_once_install_once_and_both_work(checkout: Path) -> None:
    both = [launched(checkout, "--help") for _ in range(2)]
    said = [process.communicate(timeout=380) for process in both]

    assert [process.returncode for process in both] == [0, 0], said
    assert all("Afterturn" in out for out, _ in said)
    assert sum("first use: installing" in err for _, err in said) == 1
    assert not (checkout / "tree" / ".venv.lock.d").exists()

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    again = launched(checkout, "--help")
    _, err = again.communicate(timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (again.returncode, err) == (0, "")
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2.5

    python = checkout / "tree" / ".venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "check"], check=True, capture_output=True)
    where = subprocess.run(
        [
            python,
            "-I",
            "-c",
            "import importlib.util as u; print([u.find_spec(n) for n in ('tasks', 'schemas', 'workers')])",
        ],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert where.stdout.strip() == "[None, None, None]"  # no generic name entered site-packages


def launched(checkout: Path, *words: str) -> subprocess.Popen[str]:
    network = {name: value for name, value in os.environ.items() if name.startswith(NETWORK)}
    return subprocess.Popen(
        [checkout / "link", *words],
        env={"HOME": str(checkout), "PATH": str(checkout / "bin"), **network},
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

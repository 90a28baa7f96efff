"""`./afterturn` in this process: arguments, settings, output and exit code are an operator's; only the start is spared.

A start costs more than most commands. What only a process of its own can show stays with one: help, whose options are
written in the language of the first start, what a shell sees of a failure, the rights of new files, and whatever
serves, which counts from its start on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import copy_context
from io import StringIO
from pathlib import Path

import pytest

from services import free_port
from workers.cli import main

ROOT = Path(__file__).resolve().parent.parent


def run(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """One command, to its end, in this process."""
    out, err = StringIO(), StringIO()
    with _set(_environment(home, variables)), redirect_stdout(out), redirect_stderr(err):
        code = copy_context().run(_code, words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def run_apart(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "client" / "src")])
    plain = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "workers", *words],
        env=plain | _environment(home, variables),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _environment(home: Path, variables: dict[str, str]) -> dict[str, str]:
    # A port where nobody is: an installation of this machine's operator is not asked.
    return {"AFTERTURN_HOME": str(home), "AFTERTURN_URL": f"http://127.0.0.1:{free_port()}", **variables}


@contextmanager
def _set(variables: dict[str, str]) -> Generator[None]:
    mask = os.umask(0o077)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LANG", "LC_ALL", "LC_MESSAGES"):
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        try:
            yield
        finally:
            os.umask(mask)


def _code(words: tuple[str, ...]) -> int:
    try:
        main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0

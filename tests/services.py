"""Real services for tests: found by AFTERTURN_TEST_*, else started from a binary on a scratch folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import psycopg

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, seconds: float = 15.0, what: str = "the condition") -> T:
    """The first true answer of `condition`. Fails when none came in time; a test never sleeps for luck."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.02)
    return answer


def free_port() -> int:
    """A TCP port on loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def scratch(owner: str | None = None) -> Generator[Path]:
    """A folder with a path short enough for a socket, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="at-"))
    try:
        if owner is not None:
            shutil.chown(folder, owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def postgres_folder() -> Path | None:
    """Where PostgreSQL's programs are: on PATH, else the newest of Debian's folders."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[4]))
    return debian[-1].parent if debian else None


@contextmanager
def postgres(programs: Path) -> Generator[str]:
    """A cluster of its own on a unix socket; gives the URL of its `postgres` database. initdb refuses root."""
    user = _unprivileged()
    with scratch(user) as folder:
        data = folder / "data"
        init = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(init, check=True, capture_output=True, user=user, cwd=folder)
        serve = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-F"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(serve, user=user, cwd=folder, stdout=log, stderr=log, start_new_session=True)
        try:
            url = f"postgresql+psycopg://postgres@/postgres?host={folder}"
            wait_until(lambda: _answers(url, server), what="PostgreSQL")
            yield url
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=20)


@contextmanager
def postgres_database(url: str) -> Generator[str]:
    """A fresh database in the cluster at `url`, dropped afterwards."""
    name = f"at_{uuid4().hex}"
    plain = _libpq(url)
    with psycopg.connect(plain, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}".encode())
    try:
        head, _, tail = url.partition("?")
        yield f"{head.rsplit('/', 1)[0]}/{name}" + (f"?{tail}" if tail else "")
    finally:
        with psycopg.connect(plain, autocommit=True) as session:
            session.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _libpq(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def _answers(url: str, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None, "PostgreSQL ended at once"
    try:
        psycopg.connect(_libpq(url)).close()
    except psycopg.OperationalError:
        return False
    return True


def _unprivileged() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"

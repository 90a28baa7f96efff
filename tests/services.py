"""Real services for tests: found by AFTERTURN_TEST_*, else started from a binary on a scratch folder."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

import psycopg
from sqlalchemy import make_url

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, seconds: float = 15.0, what: str = "the condition") -> T:
    """The first true answer of `condition`. Fails when none came in time; a test never sleeps for luck."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.02)
    return answer


#: Below what systems give to outgoing connections (32768 on Linux, 49152 on macOS): any of another test's would do.
_PORTS = range(10_000, 32_000)
_PORTS_EACH = 400
_ports = itertools.count(os.getpid() * _PORTS_EACH)


def free_port() -> int:
    """A TCP port on loopback that was free a moment ago, and that other processes of the tests do not begin with."""
    while True:
        port = _PORTS[next(_ports) % len(_PORTS)]
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def freeze(pid: int) -> None:
    """Stops a process: once this returns none of its threads runs, which the signal alone does not promise."""
    os.kill(pid, signal.SIGSTOP)
    threads = Path(f"/proc/{pid}/task")
    if threads.exists():
        wait_until(lambda: all(_is_stopped(one) for one in threads.iterdir()), what="a frozen process")


def _is_stopped(thread: Path) -> bool:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0] in "TZX"
    except OSError:  # It has ended.
        return True


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


@dataclass(slots=True)
class Standby:
    """A streaming replica of a cluster, on a socket of its own: it may be killed, frozen and started again."""

    programs: Path
    folder: Path
    server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of its `postgres` database."""
        return f"postgresql+psycopg://postgres@/postgres?host={self.folder}"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        serve = [self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses="]
        with (self.folder / "log").open("a") as log:
            server = self.server = subprocess.Popen(
                serve, user=_unprivileged(), cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(lambda: _answers(self.url, server), what="the replica")

    def kill(self) -> None:
        """SIGKILL for all of it, as a lost machine would do it."""
        if self.server is not None:
            for pid in self._pids(self.server):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.server.wait(timeout=20)
            self.server = None
            (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def freeze(self) -> None:
        """Stops every process of it; `thaw` lets them go on."""
        for pid in [] if self.server is None else self._pids(self.server):
            freeze(pid)

    def thaw(self) -> None:
        """Lets them go on."""
        for pid in [] if self.server is None else self._pids(self.server):
            with contextlib.suppress(ProcessLookupError):  # Its children come and go.
                os.kill(pid, signal.SIGCONT)

    def _pids(self, server: subprocess.Popen[bytes]) -> list[int]:
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
        return [server.pid, *map(int, children.split())]


@contextmanager
def postgres_standby(programs: Path, primary: str) -> Generator[Standby]:
    """A replica of the cluster at `primary`, made by pg_basebackup, streaming from it."""
    user = _unprivileged()
    with scratch(user) as folder:
        copy = [programs / "pg_basebackup", "-d", _libpq(primary), "-D", folder / "data", "-R", "-X", "stream"]
        subprocess.run([*copy, "-c", "fast"], check=True, capture_output=True, user=user, cwd=folder)
        standby = Standby(programs, folder)
        standby.start()
        try:
            yield standby
        finally:
            standby.thaw()
            standby.kill()


_SPARE: Final = defaultdict[str, list[str]](list)
"""Empty databases of a cluster that nobody needs: making one takes longer than most tests."""


@contextmanager
def postgres_database(url: str) -> Generator[str]:
    """A fresh database in the cluster at `url`, dropped afterwards."""
    name = f"at_{uuid4().hex}"
    plain = _libpq(url)
    with psycopg.connect(plain, autocommit=True) as session:
        if spare := _SPARE[_server(plain)]:
            session.execute(f"ALTER DATABASE {spare.pop()} RENAME TO {name}".encode())
        else:
            session.execute(f"CREATE DATABASE {name}".encode())
    try:
        head, _, tail = url.partition("?")
        yield f"{head.rsplit('/', 1)[0]}/{name}" + (f"?{tail}" if tail else "")
    finally:
        with psycopg.connect(plain, autocommit=True) as session:
            session.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def postgres_replaced(url: str, template: str) -> None:
    """Puts a copy of `template` in the place of the empty database at `url`, which the next test takes."""
    cluster, name = _server(_libpq(url)), make_url(url).database
    spare = f"at_{uuid4().hex}"
    with psycopg.connect(cluster, autocommit=True) as session:
        session.execute(f"ALTER DATABASE {name} RENAME TO {spare}".encode())
        _SPARE[cluster].append(spare)
        session.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy".encode())


def _server(url: str) -> str:
    return make_url(url).set(drivername="postgresql", database="postgres").render_as_string(hide_password=False)


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

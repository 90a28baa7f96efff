"""A PostgreSQL of a run's own, on a socket in a scratch folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from schemas.errors import BadSettings, StoreBusy

START_SECONDS = 30.0


@contextmanager
def cluster(folder: Path) -> Generator[str]:
    """Starts a cluster in a new folder; gives the URL of its database, and stops it afterwards.

    Raises: BadSettings when PostgreSQL is not installed, StoreBusy when it does not start.
    """
    programs, user = _programs(), _unprivileged()
    folder.mkdir(mode=0o755)
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"
    init = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run(init, check=True, capture_output=True, user=user, cwd=folder)  # noqa: S603
    serve = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "max_connections=200"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(serve, user=user, cwd=folder, stdout=log, stderr=log, start_new_session=True)  # noqa: S603
    try:
        url = f"postgresql+psycopg://postgres@/postgres?host={folder}"
        _await(url, server)
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=20)


def drop_connections(url: str) -> int:
    """Ends every session of the database but the asker's; answers how many those were."""
    with psycopg.connect(_libpq(url), autocommit=True) as session:
        found = session.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchone()
    return 0 if found is None else int(found[0])


_HOLDERS = """
SELECT a.pid, a.application_name, a.state, a.wait_event,
       now() - a.xact_start, now() - a.state_change, left(a.query, 80),
       array_agg(l.mode)
FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid AND l.granted
WHERE l.relation = 'turns'::regclass AND a.pid <> pg_backend_pid()
GROUP BY 1, 2, 3, 4, 5, 6, 7
"""


def lock_turns(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection that keeps everybody from writing turns until it is closed.

    One table alone: whoever waits for a second one while it holds a first makes deadlocks, which are none of ours.
    Raises: psycopg.OperationalError when somebody else's locks stand in the way.
    """
    session = psycopg.connect(_libpq(url))
    try:
        session.execute("SET lock_timeout = '2s'")
        session.execute("LOCK TABLE turns IN EXCLUSIVE MODE")
    except psycopg.OperationalError as exc:
        session.rollback()
        exc.add_note(f"holding: {session.execute(_HOLDERS).fetchall()}")
        session.close()
        raise
    return session


def _libpq(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def _await(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            psycopg.connect(_libpq(url)).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise StoreBusy("PostgreSQL does not start")


def _programs() -> Path:
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not debian:
        raise BadSettings("--stores postgres: no PostgreSQL is installed. Mend: install postgresql")
    return debian[-1].parent


def _unprivileged() -> str | None:
    # initdb refuses root.
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"

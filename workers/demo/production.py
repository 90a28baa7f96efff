"""PostgreSQL and Weaviate for one demo: the operator's servers, else nodes of our own on the scratch folder.

Of an operator's server it takes a new database and an alias of its own, and leaves neither behind.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psycopg
from pydantic import SecretStr
from sqlalchemy import make_url

from schemas.errors import BadSettings
from stores.setting_areas import WeaviateSettings
from stores.settings import Settings, load_settings
from workers.demo.instance import ending_on_sigterm
from workers.supervisor import NotReady

START_SECONDS = 90.0
_DEBIAN = Path("/usr/lib/postgresql")


@contextmanager
def production_stores() -> Generator[dict[str, Any]]:
    """Settings that put an instance on PostgreSQL and Weaviate, empty ones; all is gone afterwards.

    Raises: BadSettings when neither a server nor its binary is there; NotReady when one does not start.
    """
    given = load_settings()
    folder = Path(tempfile.mkdtemp(prefix="at-stores-"))
    folder.chmod(0o711)  # PostgreSQL refuses root, and another user has to pass
    try:
        with ending_on_sigterm(), _postgres(given, folder) as url, weaviate_server(given, folder) as server:
            yield {"database_url": url, "index": "weaviate", "weaviate": server}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _postgres(given: Settings, folder: Path) -> Generator[str]:
    if given.is_sqlite:
        with _own_postgres(folder / "postgres") as url, _database(url) as fresh:
            yield fresh
    else:
        with _database(given.database_url) as fresh:
            yield fresh


@contextmanager
def _database(url: str) -> Generator[str]:
    """A database of this demo's own on a server."""
    name = f"at_demo_{secrets.token_hex(6)}"
    at = make_url(url)
    plain = at.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}".encode())
    try:
        yield at.set(database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(plain, autocommit=True) as session:
            session.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _own_postgres(folder: Path) -> Generator[str]:
    programs = _postgres_programs()
    folder.mkdir()
    user = _unprivileged()
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"
    init = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    try:
        subprocess.run(init, check=True, capture_output=True, user=user, cwd=folder)  # noqa: S603  a program we found
    except (subprocess.CalledProcessError, PermissionError):
        # As root it runs as another user, who may not pass through the temporary folder.
        raise NotReady(f"PostgreSQL: initdb failed in {folder}") from None
    serve = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-F"]
    url = f"postgresql+psycopg://postgres@/postgres?host={folder}"
    with _process("PostgreSQL", serve, folder / "log", ends_by=signal.SIGINT, user=user) as server:
        _await("PostgreSQL", server, lambda: _answers(url))
        yield url


def _postgres_programs() -> Path:
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not versions:
        raise BadSettings("AFTERTURN_DATABASE_URL: names no PostgreSQL, and no initdb is on PATH")
    return versions[-1].parent


def _unprivileged() -> str | None:
    """Whom root lets run PostgreSQL."""
    if os.geteuid() != 0:
        return None
    return "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"


def _answers(url: str) -> bool:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with suppress(psycopg.OperationalError):
        psycopg.connect(plain).close()
        return True
    return False


@contextmanager
def weaviate_server(given: Settings, folder: Path) -> Generator[WeaviateSettings]:
    """The operator's server with an alias of our own, or a node of our own in the folder."""
    alias = f"Demo{secrets.token_hex(6)}"
    if given.index == "weaviate":
        server = given.weaviate.model_copy(update={"alias": alias})
        try:
            yield server
        finally:
            _drop(server)
    else:
        with _own_weaviate(folder / "weaviate") as server:
            yield server.model_copy(update={"alias": alias})


def _drop(server: WeaviateSettings) -> None:
    # Its client takes seconds: only for an operator's server.
    from stores.weaviate import Endpoint, WeaviateIndex  # noqa: PLC0415

    key = None if server.api_key is None else server.api_key.get_secret_value()
    index = WeaviateIndex(Endpoint(server.url, server.grpc, key), space="", alias=server.alias)
    try:
        index.drop_all()
    finally:
        index.close()


@contextmanager
def _own_weaviate(folder: Path) -> Generator[WeaviateSettings]:
    program = shutil.which("weaviate")
    if program is None:
        raise BadSettings("AFTERTURN_INDEX: is not weaviate, and no weaviate is on PATH")
    folder.mkdir()
    http, grpc, gossip, raft = _ports(1), _ports(1), _ports(2), _ports(2)
    key = secrets.token_urlsafe(24)
    serve = [program, "--scheme", "http", "--host", "127.0.0.1", "--port", str(http)]
    environment = _node(folder, grpc=grpc, gossip=gossip, raft=raft, key=key)
    url = f"http://127.0.0.1:{http}"
    with _process("Weaviate", serve, folder / "log", environment=environment) as server:
        _await("Weaviate", server, lambda: _is_ready(url))
        yield WeaviateSettings(url=url, grpc=f"127.0.0.1:{grpc}", api_key=SecretStr(key))


def _node(folder: Path, *, grpc: int, gossip: int, raft: int, key: str) -> dict[str, str]:
    """One node by itself, on loopback."""
    return {
        "HOME": str(folder),
        "PERSISTENCE_DATA_PATH": str(folder / "data"),
        "CLUSTER_HOSTNAME": "demo",
        "CLUSTER_IN_LOCALHOST": "true",
        "CLUSTER_BIND_ADDR": "127.0.0.1",
        "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
        "CLUSTER_GOSSIP_BIND_PORT": str(gossip),
        "CLUSTER_DATA_BIND_PORT": str(gossip + 1),
        "RAFT_PORT": str(raft),
        "RAFT_INTERNAL_RPC_PORT": str(raft + 1),
        "RAFT_JOIN": f"demo:{raft}",
        "RAFT_BOOTSTRAP_EXPECT": "1",
        "RAFT_TIMEOUTS_MULTIPLIER": "1",
        "GRPC_PORT": str(grpc),
        "AUTHENTICATION_APIKEY_ENABLED": "true",
        "AUTHENTICATION_APIKEY_ALLOWED_KEYS": key,
        "AUTHENTICATION_APIKEY_USERS": "demo",
        "AUTHORIZATION_RBAC_ENABLED": "true",
        "AUTHORIZATION_RBAC_ROOT_USERS": "demo",
        "DEFAULT_VECTORIZER_MODULE": "none",
        "API_BASED_MODULES_DISABLED": "true",
        "AUTOSCHEMA_ENABLED": "false",
        "DISABLE_TELEMETRY": "true",
        "GO_PROFILING_DISABLE": "true",
        "LOG_LEVEL": "error",
        "DISK_USE_READONLY_PERCENTAGE": "99",
    }


@contextmanager
def _process(
    name: str,
    argv: Sequence[str | Path],
    log: Path,
    *,
    ends_by: signal.Signals = signal.SIGTERM,
    environment: dict[str, str] | None = None,
    user: str | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        server = subprocess.Popen(  # noqa: S603  a program we found
            argv, env=environment, user=user, cwd=log.parent, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield server
    finally:
        server.send_signal(ends_by)
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            sys.stderr.write(f"{name} had to be killed\n")


def _await(name: str, server: subprocess.Popen[bytes], is_up: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_up():
        if server.poll() is not None or time.monotonic() > deadline:
            raise NotReady(f"{name} does not start")
        time.sleep(0.05)


def _is_ready(url: str) -> bool:
    with suppress(URLError, OSError), urlopen(f"{url}/v1/.well-known/ready", timeout=1) as answer:  # noqa: S310
        return bool(answer.status == 200)
    return False


def _ports(count: int) -> int:
    """The first of so many free ports side by side."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first: int = probe.getsockname()[1]
        with suppress(OSError, OverflowError), socket.socket() as second:
            second.bind(("127.0.0.1", first + count - 1))
            return first

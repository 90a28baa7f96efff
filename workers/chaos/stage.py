"""The processes of a run: each known by its role, killed and frozen on purpose, started again when its time comes.

The shipped supervisor is not used: it would start a killed broker before its files could be taken away, and its pauses
after repeated falls (up to 30 s) would make the run mostly idle. Like it, this starts every role in a group of its own
and ends what a killed leader left behind. An undertaker ends everything should the run itself be killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stores.settings import Settings
from workers import broker, processes, undertaker
from workers.processes import CHECKOUT

GRACE_SECONDS = 10.0


@dataclass(slots=True, kw_only=True)
class Actor:
    """One process that may be killed. `falls` counts ends that nobody injected; `ends` is set when it may end."""

    name: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    is_killed: bool = False
    may_end: bool = False
    starts: int = 0
    falls: list[int] = field(default_factory=list[int])


class Stage:
    """Every process but the database's. Not for two threads."""

    def __init__(self, settings: Settings, home: Path, *, binary: Path) -> None:
        self.settings = settings
        self.home = home
        self.binary = binary
        self.broker_home = home / "b"
        self.actors: dict[str, Actor] = {}
        self._undertaker = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", undertaker.__file__, "1"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._broker_pid: int | None = None
        (home / "logs").mkdir(mode=0o700, parents=True)

    def start_broker(self) -> None:
        """Starts it on its files, or finds it running."""
        running = broker.start(self.broker_home, binary=self.binary)
        if running.process is not None:
            self._broker_pid = running.pid
            self._tell("last", running.pid)
            self.broker_process = running.process

    def kill_broker(self) -> None:
        """SIGKILL: what it has answered for is in the kernel's page cache, and so in its file."""
        pid = self.broker_process.pid
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.broker_process.wait()
        self._tell("gone", pid)

    def signal_broker(self, number: signal.Signals) -> None:
        """Sends it a signal, if it is there."""
        with suppress(ProcessLookupError):
            os.kill(self.broker_process.pid, number)

    def add(self, name: str, argv: tuple[str, ...], environment: dict[str, str]) -> Actor:
        """A process of the run, started at once."""
        actor = self.actors[name] = Actor(name=name, argv=argv, environment=environment)
        self.spawn(actor)
        return actor

    def add_roles(self) -> None:
        """The service's own processes, as `up` starts them."""
        for role in processes.roles(self.settings):
            self.add(role.name, role.argv, dict(role.environment))

    def spawn(self, actor: Actor) -> None:
        """Starts it, unless it runs."""
        if actor.process is not None and actor.process.poll() is None:
            return
        actor.is_killed = False
        actor.starts += 1
        with (self.home / "logs" / f"{actor.name}.log").open("ab") as log:
            actor.process = subprocess.Popen(  # noqa: S603
                actor.argv,
                cwd=CHECKOUT,
                env=actor.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                umask=0o077,
            )
        self._tell("live", actor.process.pid)

    def kill(self, name: str, *, leader_only: bool = False) -> None:
        """SIGKILL for the group, as a lost machine would do it, or for its leader alone."""
        actor = self.actors[name]
        actor.is_killed = True
        if actor.process is None:
            return
        how = os.kill if leader_only else os.killpg
        with suppress(ProcessLookupError, PermissionError):
            how(actor.process.pid, signal.SIGKILL)
        actor.process.wait()

    def revive(self, name: str) -> None:
        """Starts again what was killed; what its leader left behind goes first, as under the supervisor."""
        actor = self.actors[name]
        if actor.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(actor.process.pid, signal.SIGKILL)
            self._tell("gone", actor.process.pid)
        self.spawn(actor)

    def send(self, name: str, number: signal.Signals) -> None:
        """A signal for the whole group."""
        process = self.actors[name].process
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)

    def children(self, name: str) -> list[int]:
        """The pool's processes."""
        process = self.actors[name].process
        if process is None:
            return []
        try:
            told = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii")
        except OSError:
            return []
        return [int(pid) for pid in told.split()]

    def look(self) -> list[str]:
        """Who ended without having been killed or told to; each is started again."""
        fallen: list[str] = []
        for actor in self.actors.values():
            if actor.process is None or actor.is_killed:
                continue
            status = actor.process.poll()
            if status is None or (actor.may_end and status == 0):
                continue
            actor.falls.append(status)
            fallen.append(f"{actor.name} ended with {status}")
            self.revive(actor.name)
        return fallen

    def await_end(self, name: str, seconds: float, meanwhile: Callable[[], object]) -> bool:
        """Whether the process ends well in time."""
        process = self.actors[name].process
        deadline = time.monotonic() + seconds
        while process is not None and process.poll() is None and time.monotonic() < deadline:
            meanwhile()
            time.sleep(0.1)
            process = self.actors[name].process
        return process is not None and process.returncode == 0

    def stop(self) -> None:
        """Ends everything, the broker last. Repeat: harmless."""
        living = [actor.process for actor in self.actors.values() if actor.process is not None]
        for actor in self.actors.values():
            actor.is_killed = True
        for process in living:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGCONT)
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in living:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, deadline - time.monotonic()))
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._tell("gone", process.pid)
        self.actors.clear()
        if self._broker_pid is not None:
            self.signal_broker(signal.SIGCONT)
            broker.stop(self.broker_home)
            self.broker_process.wait()
            self._broker_pid = None
        if self._undertaker.stdin is not None and not self._undertaker.stdin.closed:
            self._undertaker.stdin.close()
            self._undertaker.wait()

    def _tell(self, word: str, pid: int) -> None:
        if self._undertaker.stdin is not None:
            with suppress(BrokenPipeError):
                self._undertaker.stdin.write(f"{word} {pid}\n")
                self._undertaker.stdin.flush()

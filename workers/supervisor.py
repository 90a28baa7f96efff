"""Keeps an embedded installation running: starts every process, starts again what dies, ends all of it.

It runs no work of its own. Whatever happens to it, nothing of it stays behind: it ends its children in order, and when
it is killed outright its undertaker does.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

from schemas.errors import Transient
from stores.settings import Settings, embedded_broker_url
from workers import broker, logfiles, presence, undertaker
from workers.broker_keeping import BrokerKeeping
from workers.logfiles import log_path, open_log
from workers.processes import CHECKOUT, Role
from workers.restarts import Falls

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
READY_SECONDS = 60.0
LOGS_SECONDS = 5.0


class NotReady(Transient):
    """A process did not get ready."""

    code = "not_ready"


@dataclass(slots=True, kw_only=True)
class Child:
    """One role's process, and how it fared."""

    role: Role
    process: subprocess.Popen[bytes] | None = None
    is_ready: bool = False
    falls: Falls = field(default_factory=Falls)

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return self.falls.total


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """The processes of one data folder. `make_roles` names them once the broker runs; `prepare` readies the database.

    Use it as a context manager: leaving the block ends everything. A scratch folder is removed when the supervisor was
    killed outright; otherwise that is the caller's.
    """

    settings: Settings
    make_roles: Callable[[Settings], Sequence[Role]]
    prepare: Callable[[Settings], None]
    on_event: Callable[[str, str], None] = lambda _word, _name: None
    on_fall: Callable[[str], None] = lambda _name: None
    is_scratch: bool = False
    children: list[Child] = field(default_factory=list[Child])
    is_stopping: bool = False
    _lock: IO[str] | None = None
    _undertaker: subprocess.Popen[str] | None = None
    _broker: BrokerKeeping | None = None
    _logs_at: float = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> float:
        """Starts everything; answers the seconds it took until all was ready.

        Raises: NotReady, naming the process and its log; BadSettings; StoreBusy when another supervisor has the folder.
        """
        began = time.monotonic()
        self._take_folder()
        if self.settings.has_embedded_broker:
            self._broker = BrokerKeeping(home=self.settings.home, tell=self._tell, on_event=self.on_event)
            self._broker.start()
            self.settings = self.settings.model_copy(update={"broker_url": embedded_broker_url(self.settings.home)})
        broker.refuse_evicting(self.settings.broker_url)
        self.children = [Child(role=role) for role in self.make_roles(self.settings)]
        for child in self.children:
            if not child.role.needs_database:
                self._spawn(child)
        self.prepare(self.settings)
        for child in self.children:
            if child.role.needs_database:
                self._spawn(child)
        while not self.is_stopping and not all(child.is_ready for child in self.children):
            self._await_first_start(began)
        self._write_state()
        return time.monotonic() - began

    def watch(self) -> None:
        """Starts again what dies, until `is_stopping` is set (a signal handler may)."""
        while not self.is_stopping:
            self.look()
            time.sleep(POLL_SECONDS)

    def look(self) -> None:
        """One round: notices deaths and readiness, starts what is due."""
        self._replace_undertaker()
        if self._broker is not None:
            self._broker.look()
        self._bound_logs()
        for child in self.children:
            if child.process is None:
                if child.falls.may_start():
                    self._spawn(child)
            elif child.process.poll() is not None:
                self._fell(child)
            elif not child.is_ready and child.role.is_ready(child.process.pid):
                self._got_ready(child)

    def stop(self) -> None:
        """Ends every process: the ones that take work first, then workers, then the broker. Repeat: harmless."""
        self.is_stopping = True
        for wave in sorted({child.role.wave for child in self.children}):
            self._end([child for child in self.children if child.role.wave == wave])
        if self._broker is not None:
            self._broker.stop(self.settings.workers.grace_seconds)
            self._broker = None
        if self._lock is not None:  # else the file is another supervisor's
            (presence.run_folder(self.settings.home) / "up.json").unlink(missing_ok=True)
        if self._undertaker is not None and self._undertaker.stdin is not None:
            with suppress(BrokenPipeError):
                self._undertaker.stdin.close()
            self._undertaker.wait()
            self._undertaker = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_folder(self) -> None:
        folder = presence.run_folder(self.settings.home)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / "up.lock").open("a+")
        deadline = time.monotonic() + self.settings.workers.grace_seconds + 5
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if read_state(self.settings.home) is not None or time.monotonic() > deadline:
                    lock.close()
                    raise NotReady(f"another supervisor runs on {self.settings.home}") from None
                time.sleep(POLL_SECONDS)
        self._lock = lock
        self._employ_undertaker()
        self._write_state()

    def _employ_undertaker(self) -> None:
        if self._lock is None:
            return
        # No -m: it must not depend on what is importable.
        argv = [sys.executable, "-I", "-S", undertaker.__file__, str(self.settings.workers.grace_seconds)]
        argv += [str(self.settings.home)] if self.is_scratch else []
        self._undertaker = subprocess.Popen(  # noqa: S603
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            pass_fds=(self._lock.fileno(),),
        )
        for child in self.children:
            if child.process is not None:
                self._tell("live", child.process.pid)
        if self._broker is not None and self._broker.pid is not None:
            self._tell("last", self._broker.pid)

    def _replace_undertaker(self) -> None:
        if self._undertaker is not None and self._undertaker.poll() is not None:
            if self._undertaker.stdin is not None:
                with suppress(BrokenPipeError):
                    self._undertaker.stdin.close()
            self._employ_undertaker()

    def _tell(self, word: str, pid: int) -> None:
        if self._undertaker is not None and self._undertaker.stdin is not None:
            with suppress(BrokenPipeError):
                self._undertaker.stdin.write(f"{word} {pid}\n")
                self._undertaker.stdin.flush()

    @property
    def broker_restarts(self) -> int:
        """How often the broker was started again."""
        return 0 if self._broker is None else self._broker.falls.total

    def _bound_logs(self) -> None:
        if time.monotonic() < self._logs_at:
            return
        self._logs_at = time.monotonic() + LOGS_SECONDS
        try:
            logfiles.keep_bounded(self.settings.home)
        except OSError as exc:  # a full disk: whatever runs must go on
            logger.warning("logs not turned over", extra={"error": type(exc).__name__})

    def _spawn(self, child: Child) -> None:
        presence.ready_file(self.settings.home, child.role.name).unlink(missing_ok=True)
        with open_log(self.settings.home, child.role.name) as log:
            child.process = subprocess.Popen(  # noqa: S603
                child.role.argv,
                cwd=CHECKOUT,
                env=child.role.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                umask=0o077,
            )
        child.falls.started()
        child.is_ready = False
        self._tell("live", child.process.pid)

    def _await_first_start(self, began: float) -> None:
        self.look()
        fallen = next((c for c in self.children if c.falls.in_a_row), None)
        late = next((c for c in self.children if not c.is_ready), None)
        blamed = fallen or (late if time.monotonic() - began > READY_SECONDS else None)
        if blamed is not None:
            how = "ended at once" if fallen else f"was not ready in {READY_SECONDS:.0f} s"
            raise NotReady(f"{blamed.role.name} {how}; see {log_path(self.settings.home, blamed.role.name)}")
        time.sleep(POLL_SECONDS)

    def _got_ready(self, child: Child) -> None:
        child.is_ready = True
        logger.info("process ready", extra={"role": child.role.name})
        self.on_event("ready", child.role.name)
        if child.restarts:
            self._write_state()

    def _fell(self, child: Child) -> None:
        if child.process is None:
            return
        pid, status = child.process.pid, child.process.returncode
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # a pool's children outlive a leader that was killed
        self._tell("gone", pid)
        child.falls.fell()
        self.on_fall(child.role.name)
        child.process = None
        child.is_ready = False
        logger.warning("process ended", extra={"role": child.role.name, "status": status, "restarts": child.restarts})
        self.on_event("restart", child.role.name)

    def _end(self, children: Sequence[Child]) -> None:
        living = [child.process for child in children if child.process is not None]
        for process in living:
            process.terminate()
        deadline = time.monotonic() + self.settings.workers.grace_seconds
        for process in living:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        for process in living:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._tell("gone", process.pid)
        for child in children:
            child.process = None
            presence.ready_file(self.settings.home, child.role.name).unlink(missing_ok=True)

    def _write_state(self) -> None:
        folder = presence.run_folder(self.settings.home)
        running = {c.role.name: {"pid": c.process.pid, "restarts": c.restarts} for c in self.children if c.process}
        state = {"pid": os.getpid(), "at": datetime.now(UTC).isoformat(), "url": self.settings.url, "roles": running}
        draft = folder / "up.json.tmp"
        draft.write_text(json.dumps(state), "utf-8")
        draft.replace(folder / "up.json")


def read_state(home: Path) -> dict[str, object] | None:
    """What the supervisor of this folder last wrote, if that supervisor is alive."""
    try:
        state: dict[str, object] = json.loads((presence.run_folder(home) / "up.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    pid = state.get("pid")
    return state if isinstance(pid, int) and presence.is_alive(pid) else None

"""A whole instance on a scratch folder: the processes of `up`, with clocks fast enough to watch."""

from __future__ import annotations

import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from stores.settings import Settings, embedded_broker_url, load_settings
from workers import processes
from workers.first_run import prepare
from workers.supervisor import Supervisor

#: Seconds without a new turn after which the demo digests a session.
IDLE_SECONDS = 0.5


@contextmanager
def scratch_instance(**stores: Any) -> Generator[Settings]:
    """Starts everything on a folder that is removed afterwards, with the embedded stores unless others are given.

    Raises: NotReady, naming the process and its log.
    """
    home = Path(tempfile.mkdtemp(prefix="at-demo-"))
    try:
        with (
            ending_on_sigterm(),
            Supervisor(
                settings=_settings(home, stores), make_roles=processes.roles, prepare=prepare, is_scratch=True
            ) as supervisor,
        ):
            supervisor.start()
            watching = threading.Thread(target=supervisor.watch, name="demo-supervisor")
            watching.start()
            try:
                yield supervisor.settings
            finally:
                supervisor.is_stopping = True
                watching.join()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def ending_on_sigterm() -> Generator[None]:
    """SIGTERM ends the block as Ctrl-C does: everything is stopped, nothing is left."""

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _settings(home: Path, stores: dict[str, Any]) -> Settings:
    """The operator's settings (a model of their own, say), but stores, broker and ports of this demo alone."""
    given = load_settings()
    return load_settings(
        home=home,
        key=None,
        url=f"http://127.0.0.1:{_free_port()}",
        broker_url=embedded_broker_url(home),
        **{"database_url": f"sqlite:///{home / 'afterturn.db'}", "index": "embedded", **stores},
        window=given.window.model_copy(update={"idle_seconds": IDLE_SECONDS, "max_wait_seconds": 5.0}),
        workers=given.workers.model_copy(update={"sweep_seconds": 0.25}),
        api=given.api.model_copy(update={"host": None, "port": None}),
        flower=given.flower.model_copy(update={"host": "127.0.0.1", "port": _free_port()}),
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

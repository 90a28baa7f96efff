"""A whole instance on a scratch folder: the processes of `up`, with clocks fast enough to watch."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from stores.settings import Settings, load_settings
from workers.commands.up import supervisor

#: Seconds without a new turn after which the demo digests a session.
IDLE_SECONDS = 0.5


@contextmanager
def scratch_instance() -> Generator[Settings]:
    """Starts everything on a folder that is removed afterwards. Raises: NotReady, naming the process and its log."""
    home = Path(tempfile.mkdtemp(prefix="at-demo-"))
    try:
        with supervisor(_settings(home)) as running:
            running.start()
            yield running.settings
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _settings(home: Path) -> Settings:
    given = load_settings()
    return load_settings(
        home=home,
        key=None,
        url=f"http://127.0.0.1:{_free_port()}",
        window=given.window.model_copy(update={"idle_seconds": IDLE_SECONDS, "max_wait_seconds": 5.0}),
        workers=given.workers.model_copy(update={"sweep_seconds": 0.25}),
        flower=given.flower.model_copy(update={"port": _free_port()}),
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""Runs a suspect window in a process of its own: if that one dies, nobody else was in it, and it is to blame.

One at a time in a worker: what takes a machine's memory should not do so several times over.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from stores import suspects
from stores.kit import Kit
from stores.settings import environment_with
from stores.windows import Claim

logger = logging.getLogger(__name__)

CHECKOUT = Path(__file__).resolve().parents[1]
RETRY_SECONDS = 30.0
_COMMAND = (sys.executable, "-m", "workers", "digest-alone")

_room = threading.BoundedSemaphore(1)


@contextmanager
def room() -> Generator[bool]:
    """Whether this process may run a suspect window now; held for the block."""
    has_room = _room.acquire(blocking=False)
    try:
        yield has_room
    finally:
        if has_room:
            _room.release()


def run_alone(kit: Kit, claim: Claim) -> None:
    """Has the claimed window digested by a process of its own, and waits for it as long as the claim stands.

    A process that is killed, kills itself or overstays its lease is a crash of the window. One that could not work at
    all (it ends with an exit code, and without an outcome) is not: the window waits, and a person must look.
    """
    argv = [*_COMMAND, str(claim.window_id), str(claim.epoch)]
    # In the worker's own process group: whoever ends the group ends this one too.
    with subprocess.Popen(  # noqa: S603
        argv, cwd=CHECKOUT, env=environment_with(kit.settings), stdin=subprocess.DEVNULL
    ) as process:
        status = _wait(kit, claim, process)
    is_crash = status < 0
    delay = 0.0 if is_crash else RETRY_SECONDS
    is_lost = kit.db.write(
        lambda session: suspects.end_without_outcome(session, claim, delay_seconds=delay, is_crash=is_crash)
    )
    if is_lost:
        logger.error("window took its process with it status=%d", status)


def _wait(kit: Kit, claim: Claim, process: subprocess.Popen[bytes]) -> int:
    """Its exit status; killed when the lease has run out, which each stored step of the answer renews."""
    while True:
        with kit.db.read() as session:
            left = suspects.lease_left_seconds(session, claim)
        try:
            # An outcome ends the lease, too: then the process has only to close its stores.
            return process.wait(timeout=left or RETRY_SECONDS)
        except subprocess.TimeoutExpired:
            if not left:
                process.kill()
                return process.wait()

"""Runs a suspect window in a process of its own: if that one dies, nobody else was in it, and it is to blame.

One at a time in a worker: what takes a machine's memory should not do so several times over.
"""

from __future__ import annotations

import logging
import random
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlmodel import Session

from memory.windows import backoff
from stores import suspects, windows
from stores.kit import Kit
from stores.settings import environment_with
from stores.windows import Claim

logger = logging.getLogger(__name__)

CHECKOUT = Path(__file__).resolve().parents[1]
RETRY_SECONDS = 30.0
#: What a lone process writes to its stdout: before it begins with the window, and when it ends in order.
BEGUN, ENDED = "begun", "ended"
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

    A process that began and did not end in order is a crash of the window, whatever its exit status: it was killed,
    killed itself or overstayed its lease. One that could not begin, or was told to stop, is not: the window waits.
    """
    argv = [*_COMMAND, str(claim.window_id), str(claim.epoch)]
    # In the worker's own process group: whoever ends the group ends this one too.
    with subprocess.Popen(  # noqa: S603
        argv, cwd=CHECKOUT, env=environment_with(kit.settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        status = _wait(kit, claim, process)
        told = _told(process)
    is_crash = BEGUN in told and ENDED not in told
    if kit.db.write(lambda session: _end(session, kit, claim, is_crash=is_crash)):
        logger.error("window left without an outcome status=%d is_crash=%s", status, is_crash)


def _end(session: Session, kit: Kit, claim: Claim, *, is_crash: bool) -> bool:
    """Whether the claim was still without an outcome. Its last crash buries the window here: no sweep comes between."""
    policy = kit.policies.windows
    # Apart: three crashes in a row may be one moment of a machine that is out of memory.
    roll = random.random()  # noqa: S311 - jitter, not a secret
    delay = backoff(claim.crashes, None, 0.5 + roll / 2, policy) if is_crash else RETRY_SECONDS
    is_lost = suspects.end_without_outcome(session, claim, delay_seconds=delay, is_crash=is_crash)
    if is_lost:
        windows.bury_lost(session, max_crashes=policy.max_crashes)
    return is_lost


def _told(process: subprocess.Popen[bytes]) -> list[str]:
    return [] if process.stdout is None else process.stdout.read().decode("ascii", "replace").split()


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

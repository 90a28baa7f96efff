"""Ends what a supervisor left behind when it was killed outright. The supervisor starts it and writes to its stdin.

The lines tell which process groups live ("live PID", "gone PID", "last PID" for the one to end after all others). The
end of the lines means that the supervisor is gone. It also holds the supervisor's lock, so that the next one waits
until ports and files are free. A data folder that was only scratch it removes. Runs without site-packages: small, and
it cannot fail on our imports.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable

POLL_SECONDS = 0.05
KILL_SECONDS = 5.0


def mourn(lines: Iterable[str], grace_seconds: float) -> None:
    """Follows the pipe to its end, then ends every group that is still listed."""
    living: dict[int, bool] = {}
    for line in lines:
        word, _, number = line.strip().rpartition(" ")
        if word == "gone":
            living.pop(int(number), None)
        elif number.isdigit():
            living[int(number)] = word == "last"
    for is_last in (False, True):
        end([pid for pid, last in living.items() if last is is_last], grace_seconds)


def end(groups: list[int], grace_seconds: float) -> None:
    """SIGTERM to each leader, SIGKILL to what is left of its group after the grace; returns when nothing is left."""
    for pid in groups:
        send(os.kill, pid, signal.SIGTERM)
    await_end(groups, os.kill, grace_seconds)
    for pid in groups:
        send(os.killpg, pid, signal.SIGKILL)
    await_end(groups, os.killpg, KILL_SECONDS)


def await_end(pids: list[int], how: Callable[[int, int], None], seconds: float) -> None:
    """Waits until no process, or no member of a group, is left; gives up after the time."""
    deadline = time.monotonic() + seconds
    while any(send(how, pid, 0) for pid in pids) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def send(how: Callable[[int, int], None], pid: int, number: int) -> bool:
    """Sends a signal to a process or group; answers whether it was there."""
    try:
        how(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    for quiet in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(quiet, signal.SIG_IGN)
    mourn(sys.stdin, float(sys.argv[1]))
    for scratch in sys.argv[2:]:
        shutil.rmtree(scratch, ignore_errors=True)

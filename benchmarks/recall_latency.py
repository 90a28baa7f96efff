"""What a recall costs: p50, p99 and CPU, and how they grow with memories and with users; in process and over HTTP.

`python benchmarks/recall_latency.py --memories 10k,100k --users 1,100`. A size is spread over so many users, each asked
about in turn. Text is synthetic, Chinese and English in turn; vectors are random but for the question's, which is
really embedded. CPU is the serving process's own, all threads. On a shared machine read it beside `speed`: the CPU
milliseconds of a fixed piece of work (a sum over a million numbers; about 9 on an idle core of today).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import numpy as np
from index import Corpus
from sqlmodel import Session, SQLModel

from afterturn import recall as recall_over_http
from afterturn.ids import uuid7
from afterturn.wire import RecallRequest
from memory.terms import terms
from schemas.envelopes import enclose, enclose_json
from schemas.indexing import IndexRow
from schemas.tables import Episode, Evidence, Fact, Moment, Turn, Window
from schemas.tables import Session as SessionRow
from stores import sessions
from stores.kit import Kit, open_kit
from stores.settings import RecallSettings, Settings, as_environment, load_settings
from stores.sql import insert_once, upgrade
from stores.tenancy import KeyInfo, create_key, create_tenant, ensure_users, hash_of, key_of_bearer
from tasks.recall import Guards, recall

START = datetime(2026, 1, 1, tzinfo=UTC)
TURNS_PER_SESSION = 20
FACT_KEYS = ("city", "company", "job", "diet", "likes", "skill", "habit", "need")
CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One size. Times in milliseconds a recall."""

    memories: int
    users: int
    way: str
    p50: float
    p99: float
    cpu: float
    speed: float


class Filling:
    """Conversations of made-up users as they stand after digestion: turns, moments, windows, episodes, facts."""

    def __init__(self, kit: Kit, key: KeyInfo, corpus: Corpus) -> None:
        self._kit, self._key, self._corpus = kit, key, corpus
        self._rows: dict[type[SQLModel], list[dict[str, Any]]] = {}
        self._index: list[IndexRow] = []
        self.questions: list[tuple[str, str]] = []

    def fill(self, memories: int, users: int) -> None:
        """Writes so many memories, spread evenly."""
        names = [f"user {number}" for number in range(users)]
        refs = self._kit.db.write(lambda s: {n: u.id for n, u in ensure_users(s, self._key, names).items()})
        per_session = TURNS_PER_SESSION + 2
        for number in range(-(-memories // per_session)):
            name = names[number % users]
            self._session(name, refs[name], number // users)
            if len(self._index) >= CHUNK:
                self.flush()
        self.flush()

    def flush(self) -> None:
        """Sends what was gathered to both stores."""

        def write(session: Session) -> None:
            for table, rows in self._rows.items():
                insert_once(session, table, rows)

        self._kit.db.write(write)
        self._kit.index.upsert(self._index)
        self._rows, self._index = {}, []

    def _session(self, name: str, user: UUID, number: int) -> None:
        key, at = self._key, START + timedelta(hours=number)
        digest = hash_of(key, "session", f"s{number}")
        ref, window_id = sessions.session_ref(user, digest), uuid7()
        common: dict[str, Any] = {"tenant_id": key.tenant_id, "user_ref": user}
        turn_ids = [uuid7() for _ in range(TURNS_PER_SESSION)]
        self._add(
            SessionRow(
                **common,
                id=ref,
                session_hash=digest,
                session_id=enclose(f"s{number}"),
                last_received_at=at,
                created_at=at,
                turn_count=TURNS_PER_SESSION,
            ),
            Window(
                **common,
                id=window_id,
                session_ref=ref,
                state="applied",
                turn_ids=[str(one) for one in turn_ids],
                prompt_version="benchmark",
                generation=0,
                next_try_at=at,
                created_at=at,
            ),
        )
        texts = [self._corpus.text(number % 2, 18) for _ in turn_ids]
        for place, (event_id, text) in enumerate(zip(turn_ids, texts, strict=True)):
            said_at = at + timedelta(seconds=place)
            turn = Turn(
                **common,
                event_id=event_id,
                session_ref=ref,
                at=said_at,
                received_at=said_at,
                role=("user", "assistant")[place % 2],
                content=enclose(text),
                window_id=window_id,
            )
            moment = Moment(
                **common,
                id=uuid7(),
                session_ref=ref,
                event_id=event_id,
                scope="user",
                scope_key=str(user),
                at=said_at,
            )
            self._add(turn, moment)
            around = " ".join(texts[max(0, place - 1) : place + 2])
            self._indexed(user, "moment", moment.id, text, around, said_at)
        self._told(user, number, at, ref, turn_ids, texts)
        words = texts[7].split() if number % 2 == 0 else [texts[7][2:12]]
        self.questions.append((name, " ".join(words[3:8] or words)))

    def _told(  # noqa: PLR0917 - one place, in the order of a session
        self, user: UUID, number: int, at: datetime, ref: UUID, turn_ids: Sequence[UUID], texts: Sequence[str]
    ) -> None:
        common: dict[str, Any] = {"tenant_id": self._key.tenant_id, "user_ref": user}
        summary = self._corpus.text(number % 2, 30)
        episode = Episode(
            **common,
            id=uuid7(),
            session_ref=ref,
            summary=enclose(summary),
            outcome="unknown",
            sentiment="neutral",
            entities=enclose_json([]),
            turn_ids=[str(one) for one in turn_ids],
            started_at=at,
            ended_at=at + timedelta(minutes=5),
            recorded_at=at,
            importance=0.4,
            strength=0.4,
            confidence=0.8,
        )
        value = self._corpus.text(number % 2, 2)
        fact_key = FACT_KEYS[number % len(FACT_KEYS)]
        slot: dict[str, Any] = {
            "scope": "user",
            "scope_key": str(user),
            "slot_hash": f"{user.hex}:{fact_key}:{number // 400}",
        }
        said: dict[str, Any] = {"subject": enclose("user"), "key": fact_key, "type": "preference", "value_hash": value}
        content: dict[str, Any] = {
            "value": enclose(value),
            "canonical": enclose(value),
            "write_status": "auto",
            "confidence": 0.8,
        }
        evidence = Evidence(
            **common,
            **slot,
            **said,
            **content,
            id=uuid7(),
            user_as_said=enclose("user"),
            op="+",
            quote=enclose(texts[0]),
            quote_start=0,
            at=at,
            event_id=turn_ids[0],
            role="user",
            policy_version="b",
            prompt_version="b",
            recorded_at=at,
        )
        # Four of five sessions only repeat or replace: a profile is small beside what was said.
        replaced = at if number % 5 or number > 400 else None
        fact = Fact(
            **common,
            **slot,
            **said,
            **content,
            id=uuid7(),
            polarity="+",
            valid_from=at,
            said_at=at,
            recorded_at=at,
            superseded_at=replaced,
            importance=0.5,
            strength=0.5,
            recorded_by="user",
            evidence_ids=[str(evidence.id)],
            rule_id="b",
        )
        self._add(episode, evidence, fact)
        self._indexed(user, "episode", episode.id, summary, summary, at)
        if replaced is None:
            self._indexed(user, "fact", fact.id, value, texts[0], at)

    def _add(self, *rows: SQLModel) -> None:
        for row in rows:
            names = type(row).model_fields
            self._rows.setdefault(type(row), []).append({name: getattr(row, name) for name in names})

    def _indexed(  # noqa: PLR0917 - one place
        self, user: UUID, kind: str, row_id: UUID, own: str, around: str, at: datetime
    ) -> None:
        row = IndexRow(
            id=row_id,
            tenant_id=self._key.tenant_id,
            user_ref=user,
            kind=kind,
            scope="user",
            scope_key=str(user),
            own_terms=" ".join(terms(own)),
            context_terms=" ".join(terms(around)),
            row_version=1,
            created_at=at,
            valid_from=at,
            vector=self._corpus.vector(),
        )
        self._index.append(row)


def main() -> None:
    """Measures every asked size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", default="10k")
    parser.add_argument("--users", default="1,100", help="how many users a size is spread over, one run each")
    parser.add_argument("--recalls", type=int, default=200)
    parser.add_argument("--no-http", action="store_true")
    given = parser.parse_args()
    print(f"{'memories':>9}{'users':>7}  {'way':<11}{'p50 ms':>8}{'p99 ms':>8}{'cpu ms':>8}{'speed ms':>10}")
    rows: list[Row] = []
    for memories in map(_number, given.memories.split(",")):
        for users in map(_number, given.users.split(",")):
            for row in measure(memories, users, given.recalls, over_http=not given.no_http):
                rows.append(row)
                figures = f"{row.p50:>8.1f}{row.p99:>8.1f}{row.cpu:>8.1f}{row.speed:>10.1f}"
                print(f"{row.memories:>9}{row.users:>7}  {row.way:<11}{figures}", flush=True)
    print(json.dumps({"benchmark": "recall_latency", "load": os.getloadavg()[0], "rows": [asdict(r) for r in rows]}))


def measure(memories: int, users: int, recalls: int, *, over_http: bool) -> Iterator[Row]:
    """Both ways of one size."""
    with tempfile.TemporaryDirectory(prefix="at-") as folder:
        # Without a broker of its own: what is measured is the dear case, in which SQL is asked for everything.
        settings = load_settings(home=Path(folder), recall=RecallSettings(hot_cache=False))
        upgrade(settings)
        kit = open_kit(settings)
        try:
            bearer = kit.db.write(lambda s: create_key(s, create_tenant(s, "benchmark"), ["recall"])[1])
            with kit.db.read() as session:
                key = key_of_bearer(session, bearer)
            filling = Filling(kit, key, Corpus(7, kit.embedder.dimensions))
            filling.fill(memories, users)
            places = np.random.default_rng(7).integers(0, len(filling.questions), recalls)
            questions: list[tuple[str, str]] = [filling.questions[int(place)] for place in places]
            yield Row(memories=memories, users=users, way="in process", **_in_process(kit, key, questions))
        finally:
            kit.close()
        if over_http:
            with served(settings) as (url, pid):
                yield Row(memories=memories, users=users, way="HTTP", **_over_http(url, pid, bearer, questions))


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

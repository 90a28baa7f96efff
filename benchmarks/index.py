"""How the embedded index does at a size: insert rate, and wall and CPU per search. Prints a table and a JSON line.

`python -m benchmarks.index --rows 10000,100000`. Text is synthetic, Chinese and English in turn, words drawn by Zipf's
law; vectors are random and unit length. CPU is the process's own, all threads: on a shared machine trust it alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from uuid import UUID

import numpy as np

from memory.terms import query_terms, terms
from schemas.indexing import IndexQuery, IndexRow, Vector
from stores.embedded import EmbeddedIndex

TENANT = UUID(int=1)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
BATCH_ROWS = 64
# Nothing of the user in our cache; everything; everything but the row that was written a moment ago.
SEARCHES = ("cold", "warm", "mended")


class Corpus:
    """Bilingual sentences and vectors, the same for the same seed."""

    def __init__(self, seed: int, dimensions: int) -> None:
        self._random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._dimensions = dimensions
        english = [
            "".join(self._random.choices("abdegiklmnoprstuvy", k=self._random.randint(3, 9))) for _ in range(8000)
        ]
        chinese = ["".join(chr(self._random.randint(0x4E00, 0x5FFF)) for _ in range(2)) for _ in range(8000)]
        self._words = (english, chinese)
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(8000)))

    def text(self, language: int, words: int) -> str:
        """A sentence of about so many words; Chinese without spaces."""
        drawn = self._random.choices(self._words[language], cum_weights=self._weights, k=words)
        return " ".join(drawn) if language == 0 else "".join(drawn)

    def vector(self) -> Vector:
        """A unit vector."""
        raw = self._numbers.normal(size=self._dimensions).astype(np.float32)
        return (raw / np.linalg.norm(raw)).astype(np.float32)

    def rows(self, count: int, users: int) -> Iterator[IndexRow]:
        """So many memories, users in turn as live traffic has them."""
        for number in range(count):
            own = self.text(number % 2, 16)
            user = UUID(int=1000 + number % users)
            yield IndexRow(
                id=UUID(int=10_000_000 + number),
                tenant_id=TENANT,
                user_ref=user,
                kind=("fact", "episode", "moment")[number % 3],
                scope="user",
                scope_key=str(user),
                own_terms=" ".join(terms(own)),
                context_terms=" ".join(terms(f"{own} {self.text(number % 2, 24)}")),
                row_version=1,
                created_at=NOW,
                vector=self.vector(),
            )


def main() -> None:
    """Measures every asked size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="10000,100000")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    print(f"{'rows':<8}{'insert/s (per cpu-s)':>22}{'one-row cpu ms':>16}{'MB':>6}", end="")
    print("".join(f"{name + ' p50/p99/cpu ms':>30}" for name in SEARCHES))
    for rows in map(int, given.rows.split(",")):
        folder = Path(tempfile.mkdtemp(prefix="at-"))
        try:
            found = measure(folder, rows, given)
        finally:
            shutil.rmtree(folder)
        insert = f"{found['insert_per_second']:.0f} ({found['insert_per_cpu_second']:.0f})"
        print(f"{rows:<8}{insert:>22}{found['one_row_cpu_ms']:>16.2f}{found['megabytes']:>6.0f}", end="")
        for name in SEARCHES:
            figures = (found[f"{name}_{figure}"] for figure in ("p50_ms", "p99_ms", "cpu_ms"))
            print(f"{' / '.join(f'{figure:.1f}' for figure in figures):>30}", end="")
        print(f"\n{json.dumps({'benchmark': 'index', **found})}")


def measure(folder: Path, rows: int, given: argparse.Namespace) -> dict[str, float]:
    """All figures of one size. "Cold" is an empty cache of ours; the operating system's stays warm."""
    corpus = Corpus(given.seed, given.dimensions)
    index = EmbeddedIndex(folder, space="benchmark")
    index.open()
    made = list(corpus.rows(rows, given.users))
    batches = [made[start : start + BATCH_ROWS] for start in range(0, rows, BATCH_ROWS)]
    insert = [_timed(lambda batch=batch: index.upsert(batch)) for batch in batches]
    single = [_timed(lambda row=row: index.upsert([row])) for row in made[:100]]
    questions = [_question(corpus, given.users, number) for number in range(given.queries)]
    cold: list[tuple[float, float]] = []
    warm: list[tuple[float, float]] = []
    mended: list[tuple[float, float]] = []
    with asyncio.Runner() as runner:
        for question in questions:
            index.forget_cached()
            for times in (cold, warm):
                times.append(_timed(lambda q=question: runner.run(index.search(q, timeout_seconds=30.0))))
            index.upsert([next(row for row in made if row.user_ref == question.users[0])])
            mended.append(_timed(lambda q=question: runner.run(index.search(q, timeout_seconds=30.0))))
    index.close()
    return {
        "rows": rows,
        "users": given.users,
        "dimensions": given.dimensions,
        "insert_per_second": rows / sum(wall for wall, _ in insert),
        "insert_per_cpu_second": rows / sum(cpu for _, cpu in insert),
        "insert_p99_ms": _quantile(insert, 99),
        "one_row_cpu_ms": 1000 * sum(cpu for _, cpu in single) / len(single),
        "megabytes": sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
        "rss_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        **_summary("cold", cold),
        **_summary("warm", warm),
        **_summary("mended", mended),
    }


def _question(corpus: Corpus, users: int, number: int) -> IndexQuery:
    return IndexQuery(
        tenant_id=TENANT,
        users=[UUID(int=1000 + number % users)],
        terms=" ".join(query_terms(corpus.text(number % 2, 6))),
        vector=corpus.vector(),
        now=NOW,
        as_of=NOW,
    )


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _summary(name: str, times: list[tuple[float, float]]) -> dict[str, float]:
    return {
        f"{name}_p50_ms": _quantile(times, 50),
        f"{name}_p99_ms": _quantile(times, 99),
        f"{name}_cpu_ms": 1000 * sum(cpu for _, cpu in times) / len(times),
    }


def _quantile(times: list[tuple[float, float]], percent: float) -> float:
    return float(np.percentile([wall for wall, _ in times], percent)) * 1000


if __name__ == "__main__":
    main()

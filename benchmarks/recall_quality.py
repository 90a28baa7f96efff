"""How well recall finds evidence, through the whole product: published, digested, asked over HTTP. No judge, no model.

`python -m benchmarks.recall_quality --locomo FILE...` plays each LoCoMo conversation on a scratch installation of its
own and prints a table and a JSON line. Judge changes on some conversations and confirm them on others: weights that
were picked on the questions they are judged by look better than they are.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from afterturn import Publisher
from stores.sql import Database
from workers.demo.evidence import DEPTHS, Score, score
from workers.demo.files import read
from workers.demo.instance import scratch_instance
from workers.demo.live import Watch
from workers.demo.transcripts import Transcript

QUIET_SECONDS = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One file's result. Units: digest_seconds from the last publish until nothing waits."""

    file: str
    turns: int
    digest_seconds: float
    score: Score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locomo", nargs="+", type=Path, required=True, metavar="FILE")
    files: list[Path] = parser.parse_args().locomo
    # All are read before anything starts: a broken file must not cost the run of the others.
    transcripts = {path.stem: read(path) for path in files}
    console = Console(stderr=True)
    played = [play(name, transcript, console) for name, transcript in transcripts.items()]
    show(played, console)
    told = [asdict(replace(one, score=replace(one.score, asked=()))) for one in played]
    print(json.dumps({"benchmark": "recall_quality", "files": told}))


def play(name: str, transcript: Transcript, console: Console) -> Played:
    """Plays one conversation from start to end. Raises: NotReady, NotReachable."""
    labels: dict[str, str] = {}
    with scratch_instance() as settings:
        credential = settings.credential()
        key = "" if credential is None else credential.get_secret_value()
        db = Database(settings.database_url)
        watch = Watch(db, console, narrate=False)
        try:
            began = time.monotonic()
            with Publisher(key=key, url=settings.broker_url) as publisher:
                count = publish(publisher, transcript, labels)
                watch.until_quiet(events=count, timeout_seconds=QUIET_SECONDS)
            seconds = time.monotonic() - began
            first = transcript.said[0]
            found = score(transcript.questions, labels, user=first.user, url=settings.url, key=key)
        finally:
            db.dispose()
    return Played(file=name, turns=len(transcript.said), digest_seconds=round(seconds, 1), score=found)


def publish(publisher: Publisher, transcript: Transcript, labels: dict[str, str]) -> int:
    """Publishes every turn and every session's end; how many events that were."""
    for said in transcript.said:
        event_id = publisher.turn(
            said.user, said.session, said.role, said.text, at=said.at, name=said.name, thread=said.thread, tz=said.tz
        )
        labels[event_id] = said.label
    ended = dict.fromkeys((said.user, said.session) for said in transcript.said)
    for user, session in ended:
        publisher.end(session, user=user)
    return len(transcript.said) + len(ended)


def show(played: list[Played], console: Console) -> None:
    """The table: one row a file, recall by depth and by category."""
    categories = sorted({category for one in played for category in one.score.recall_by_category})
    columns = ["file", "turns", "questions", *(f"R@{depth}" for depth in DEPTHS), "MRR", "ms"]
    table = Table(*columns, *(f"R@10 cat {category}" for category in categories), title="Evidence recall")
    for one in played:
        found = one.score
        cells = [f"{found.recall[depth]:.3f}" for depth in DEPTHS]
        by_category = [f"{found.recall_by_category.get(category, 0.0):.3f}" for category in categories]
        table.add_row(
            one.file,
            str(one.turns),
            str(found.questions),
            *cells,
            f"{found.mrr:.3f}",
            f"{found.median_ms:.0f}",
            *by_category,
        )
    console.print(table)


if __name__ == "__main__":
    main()

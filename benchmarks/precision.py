"""What the whole product keeps of LoCoMo conversations: how each draft was decided, and every fact with its quote.

`python -m benchmarks.precision --locomo FILE...` plays each conversation on a scratch installation of its own, with the
offline rules, and prints one JSON object a line: a fact kept at once, or a file's counts. How the facts were judged:
docs/precision.md. A quote has at most 15 words; the conversations themselves are not ours to copy.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from sqlmodel import col, select

from afterturn import Publisher
from benchmarks.recall_quality import QUIET_SECONDS, publish
from schemas.envelopes import disclose
from schemas.tables import Draft, Evidence
from stores.facts import evidence_view
from stores.sql import Database
from workers.demo.files import read
from workers.demo.instance import scratch_instance
from workers.demo.live import Watch
from workers.demo.transcripts import Transcript

QUOTE_WORDS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locomo", nargs="+", type=Path, required=True, metavar="FILE")
    files: list[Path] = parser.parse_args().locomo
    transcripts = {path.stem: read(path) for path in files}
    for name, transcript in transcripts.items():
        for line in play(name, transcript):
            print(json.dumps(line, ensure_ascii=False), flush=True)


def play(name: str, transcript: Transcript) -> Iterator[dict[str, Any]]:
    """The facts kept of one conversation, then its counts. Raises: NotReady, NotReachable."""
    labels: dict[str, str] = {}
    with scratch_instance() as settings:
        credential = settings.credential()
        db = Database(settings.database_url)
        try:
            key = "" if credential is None else credential.get_secret_value()
            with Publisher(key=key, url=settings.broker_url) as publisher:
                count = publish(publisher, transcript, labels)
                watch = Watch(db, Console(stderr=True), narrate=False)
                watch.until_quiet(events=count, timeout_seconds=QUIET_SECONDS)
            yield from _kept(db, name, labels)
            yield {"file": name, "turns": len(transcript.said), "decisions": _decisions(db)}
        finally:
            db.dispose()


def _decisions(db: Database) -> dict[str, int]:
    with db.read() as session:
        return dict(Counter(session.exec(select(Draft.decision)).all()))


def _kept(db: Database, name: str, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    with db.read() as session:
        rows = session.exec(
            select(Evidence)
            .where(Evidence.write_status == "auto")
            .order_by(col(Evidence.at), col(Evidence.event_id), col(Evidence.quote_start), col(Evidence.id))
        ).all()
        for row in rows:
            one = evidence_view(row)
            yield {
                "file": name,
                "turn": labels[str(one.event_id)],
                "subject": disclose(row.subject),
                "key": one.key,
                "op": one.op,
                "value": one.value,
                "quote": _short(one.quote),
            }


def _short(quote: str) -> str:
    words = quote.split()
    return quote if len(words) <= QUOTE_WORDS else " ".join(words[:QUOTE_WORDS]) + " …"


if __name__ == "__main__":
    main()

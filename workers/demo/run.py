"""The demo from start to end: start everything, play a conversation, watch, ask, judge, stop, count."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.padding import Padding

from afterturn import Publisher
from stores.progress import Progress
from stores.settings import Settings
from stores.sql import Database
from workers.demo import differences
from workers.demo.evidence import Score, score
from workers.demo.files import read
from workers.demo.instance import scratch_instance
from workers.demo.live import Watch
from workers.demo.production import production_stores
from workers.demo.questions import Judged, ask
from workers.demo.story import QUESTIONS, story
from workers.demo.transcripts import Said, Transcript
from workers.speech import show_json, tr

QUIET_SECONDS = 600.0
#: Two pairs of stores whose evidence recall is this near answer the same.
LIKE_RECALL = 0.02

Stores = Literal["embedded", "production"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one demo did. `wrong` is empty when every check held."""

    source: str
    seconds: dict[str, float]
    counts: Progress
    published: int
    wrong: tuple[str, ...]
    labels: Mapping[str, str]
    judged: tuple[Judged, ...] = ()
    score: Score | None = None


def run(file: Path | None, *, as_json: bool, stores: Stores = "embedded") -> int:
    """Plays the story, or a file; 0 when every check held, else 1. Raises: BadFile before anything starts.

    With `stores` production it is played twice, the second time on PostgreSQL and Weaviate; 1, too, when the two answer
    otherwise.
    """
    console = Console(stderr=as_json, highlight=False)
    now = datetime.now(UTC)
    transcript = story(now) if file is None else read(file)
    report = _run(transcript, console, now=now)
    _show(report, console, as_json=as_json and stores == "embedded")
    if stores == "embedded":
        return 1 if report.wrong else 0
    console.print(tr("\n再用 PostgreSQL 和 Weaviate 演一遍……", "\nOnce more, on PostgreSQL and Weaviate ..."))
    with production_stores() as given:
        other = _run(transcript, console, now=now, **given)
    _show(other, console, as_json=False)
    found = differences.compare(_asked(report), _asked(other), (report.labels, other.labels))
    differences.show(found, console)
    if as_json:
        told = {"embedded": _as_json(report), "production": _as_json(other), "differences": differences.as_json(found)}
        show_json(told)
    return 1 if report.wrong or other.wrong or _is_other(report, other) else 0


def _run(transcript: Transcript, console: Console, *, now: datetime, **stores: Any) -> Report:
    began = time.monotonic()
    console.print(
        tr("启动消息代理、工作进程、定时器、接口和 Flower……", "Starting broker, workers, beat, API and Flower ...")
    )
    with scratch_instance(**stores) as settings:
        started = time.monotonic() - began
        console.print(
            tr(f"就绪，用时 {started:.1f} 秒：{settings.url}", f"Ready after {started:.1f} s: {settings.url}")
        )
        return _play(transcript, settings, console, now=now, started=started, began=began)


def _asked(report: Report) -> list[differences.Asked]:
    if report.score is not None:
        return list(report.score.asked)
    return [
        differences.Asked(text=one.asked.text, is_right=float(not one.wrong), items=one.pack.items)
        for one in report.judged
    ]


def _is_other(report: Report, other: Report) -> bool:
    """Whether the two answer otherwise. Of a file only how much of its evidence is found is an answer."""
    if report.score is not None and other.score is not None:
        return abs(report.score.recall[10] - other.score.recall[10]) > LIKE_RECALL
    return any(bool(one.wrong) != bool(two.wrong) for one, two in zip(report.judged, other.judged, strict=True))


def _play(
    transcript: Transcript, settings: Settings, console: Console, *, now: datetime, started: float, began: float
) -> Report:
    credential = settings.credential()
    key = "" if credential is None else credential.get_secret_value()
    db = Database(settings.database_url)
    watch = Watch(db, console, narrate=transcript.source == "story")
    labels: dict[str, str] = {}
    try:
        with Publisher(key=key, url=settings.broker_url) as publisher:
            published, counts = _publish(publisher, transcript, watch, labels)
        played = time.monotonic() - began - started
        wrong = _exactly_once(counts, published, len(transcript.said), len(transcript.sessions))
        asking = time.monotonic()
        judged = tuple(_ask_all(settings, key, now, labels)) if transcript.source == "story" else ()
        result = _score(transcript, settings, key, labels)
        asked = time.monotonic() - asking
    finally:
        db.dispose()
    wrong += [f"{item.asked.text}: {'; '.join(item.wrong)}" for item in judged if item.wrong]
    return Report(
        source=transcript.source,
        seconds={"start": started, "play": played, "ask": asked},
        counts=counts,
        published=published,
        wrong=tuple(wrong),
        labels=labels,
        judged=judged,
        score=result,
    )


def _publish(
    publisher: Publisher, transcript: Transcript, watch: Watch, labels: dict[str, str]
) -> tuple[int, Progress]:
    """Publishes scene by scene, as it would have happened; each is digested before the next begins."""
    published = 0
    counts = watch.look()
    with watch.screen():
        for title, scene in _scenes(transcript):
            watch.title = title
            for said in scene:
                labels[_turn(publisher, said)] = said.label
            over = dict.fromkeys((said.user, said.session) for said in scene)
            for user, session in over:
                publisher.end(session, user=user)
            published += len(scene) + len(over)
            counts = watch.until_quiet(events=published, timeout_seconds=QUIET_SECONDS)
            if watch.narrate:
                watch.console.print(f"\n[bold]{title}[/bold]")
                watch.tell()
    return published, counts


def _scenes(transcript: Transcript) -> Iterator[tuple[str, Sequence[Said]]]:
    """The story goes day by day; a file goes in one."""
    if transcript.source != "story":
        yield transcript.source, transcript.said
        return
    for session, lines in groupby(transcript.said, key=lambda said: said.session):
        scene = list(lines)
        yield f"{scene[0].at:%Y-%m-%d}  {session}", scene


def _turn(publisher: Publisher, said: Said) -> str:
    return publisher.turn(
        said.user,
        said.session,
        said.role,
        said.text,
        at=said.at,
        name=said.name,
        thread=said.thread,
        ticket=said.ticket,
        tz=said.tz,
        ok=said.ok,
        actor=said.actor,
        procedure=said.procedure,
    )


def _exactly_once(counts: Progress, published: int, turns: int, sessions: int) -> list[str]:
    wrong: list[str] = []
    if counts.events != published:
        wrong.append(f"{published} events were published, {counts.events} are in the ledger")
    if counts.turns != turns:
        wrong.append(f"{turns} turns were published, {counts.turns} are stored")
    if counts.sessions != sessions:
        wrong.append(f"{sessions} sessions were played, {counts.sessions} are stored")
    if counts.dead:
        wrong.append(f"{counts.dead} dead letters")
    return wrong


def _ask_all(settings: Settings, key: str, now: datetime, labels: dict[str, str]) -> Iterator[Judged]:
    for asked in QUESTIONS:
        yield ask(asked, url=settings.url, key=key, now=now, labels=labels)


def _score(transcript: Transcript, settings: Settings, key: str, labels: dict[str, str]) -> Score | None:
    """A file's own questions, asked for one of its speakers: whoever is in a thread finds what was said in it."""
    if not transcript.questions:
        return None
    return score(transcript.questions, labels, user=transcript.said[0].user, url=settings.url, key=key)


def _show(report: Report, console: Console, *, as_json: bool) -> None:
    for item in report.judged:
        mark = "[green]✓[/green]" if not item.wrong else "[red]✗[/red]"
        days = item.asked.as_of_days
        then = "" if days is None else tr(f"（{days} 天前的情况）", f" (as of {days} days ago)")
        console.print(f"\n{mark} [bold]{item.asked.user}[/bold]: {item.asked.text}{then}")
        if item.proof is not None:
            console.print(Padding(item.proof.text, (0, 4)), style="green")
            for reference in item.proof.evidence[:2]:
                said = f": “{reference.quote}”" if reference.quote else ""
                place = report.labels.get(reference.event_id, reference.event_id)
                console.print(Padding(f"← {place}{said}", (0, 6)), style="dim")
        if not item.asked.contains and not item.wrong:
            console.print(
                tr("    （记忆里没有这样的话，正该如此）", "    (nothing in memory says so, as it should be)")
            )
        for wrong in item.wrong:
            console.print(f"    [red]{wrong}[/red]")
    if report.score is not None:
        report.score.show(console)
    _show_counts(report, console)
    if as_json:
        show_json(_as_json(report))
    sys.stdout.flush()


def _show_counts(report: Report, console: Console) -> None:
    counts = report.counts
    words = {"start": "启动", "play": "演出", "ask": "提问"}
    times = ", ".join(f"{tr(words[name], name)} {seconds:.1f} s" for name, seconds in report.seconds.items())
    console.print(
        tr(
            f"\n已发布 {report.published} 个事件；存储 {counts.turns} 轮、{counts.sessions} 个会话；"
            f"消化 {counts.windows_applied} 个窗口、{counts.episodes} 段经历；事实 {counts.facts} 条当前、"
            f"{counts.facts_closed} 条过往；流程结果 {counts.outcomes} 次；死信 {counts.dead}。用时 {times}。",
            f"\n{report.published} events published; {counts.turns} turns and {counts.sessions} sessions stored; "
            f"{counts.windows_applied} windows digested into {counts.episodes} episodes; "
            f"facts: {counts.facts} current, {counts.facts_closed} past; "
            f"procedure outcomes: {counts.outcomes}; dead letters: {counts.dead}. {times}.",
        )
    )
    for wrong in report.wrong:
        console.print(f"[red]✗ {wrong}[/red]")


def _as_json(report: Report) -> dict[str, object]:
    return {
        "source": report.source,
        "seconds": {name: round(value, 2) for name, value in report.seconds.items()},
        "published": report.published,
        "counts": asdict(report.counts),
        "questions": [
            {"user": item.asked.user, "text": item.asked.text, "wrong": list(item.wrong), "prompt": item.pack.prompt}
            for item in report.judged
        ],
        "score": None if report.score is None else asdict(replace(report.score, asked=())),
        "wrong": list(report.wrong),
    }

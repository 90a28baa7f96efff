"""What the demo shows while it runs: one line a stage, growing, and under it what each worker makes of the story."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from schemas.errors import Transient
from stores.progress import News, Progress, news, progress
from stores.sql import Database
from workers.speech import tr

_STYLES = {"digest": "cyan", "facts": "green", "gate": "yellow", "procedure": "magenta"}
_FEED_LINES = 14
_ZH = {
    "digest": "消化",
    "facts": "事实",
    "gate": "闸门",
    "procedure": "流程",
    "success": "成功",
    "failure": "失败",
    "unknown": "结果未知",
    "current": "当前",
    "past": "过往",
    "superseded": "已取代",
    "rejected": "拒绝",
    "pending_review": "待审",
}
POLL_SECONDS = 0.1


class NotQuiet(Transient):
    """Work is still waiting although nothing was published for long."""

    code = "not_quiet"


@dataclass(slots=True)
class Watch:
    """Looks at the database of a running instance, redraws the screen, and knows when all is done."""

    db: Database
    console: Console
    narrate: bool = True
    seen: set[UUID] = field(default_factory=set[UUID])
    feed: list[News] = field(default_factory=list[News])
    title: str = ""
    _live: Live | None = None

    @contextmanager
    def screen(self) -> Generator[None]:
        """A live view on a terminal; plain lines elsewhere."""
        if not self.console.is_terminal:
            yield
            return
        with Live(console=self.console, refresh_per_second=8, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def until_quiet(self, *, events: int, timeout_seconds: float) -> Progress:
        """Waits until `events` events have arrived and nothing waits anywhere.

        Raises: NotQuiet, with the counts of what still waits.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            now = self.look()
            if now.events >= events and now.is_quiet:
                return now
            if time.monotonic() > deadline:
                msg = (
                    f"after {timeout_seconds:.0f} s: {now.events} of {events} events stored, {now.undigested} turns "
                    f"undigested, {now.windows_open} windows open, {now.owed} index writes owed, "
                    f"{now.dead} dead letters"
                )
                raise NotQuiet(msg)
            time.sleep(POLL_SECONDS)

    def look(self) -> Progress:
        """One look: counts, and the news when they are told."""
        with self.db.read() as session:
            now = progress(session)
            fresh = news(session, self.seen) if self.narrate else []
        self.feed.extend(fresh)
        if self._live is not None:
            self._live.update(Group(_counts(now, self.title), *map(_line, self.feed[-_FEED_LINES:])))
        return now

    def tell(self) -> None:
        """Prints what came since the last call, for good."""
        for item in self.feed:
            self.console.print(_line(item), no_wrap=True, overflow="ellipsis")
        self.feed.clear()


def _counts(now: Progress, title: str) -> Table:
    table = Table(title=title or None, title_justify="left", show_edge=False, pad_edge=False)
    rows: list[tuple[str, str, Callable[[Progress], object]]] = [
        ("ingest", tr("事件 / 轮次", "events / turns"), lambda p: f"{p.events} / {p.turns}"),
        ("digest", tr("待消化 / 已应用窗口", "undigested / windows applied"), _digest_counts),
        ("facts", tr("当前 / 过往", "current / past"), lambda p: f"{p.facts} / {p.facts_closed}"),
        ("gate", tr("待审 / 拒绝", "pending / rejected"), lambda p: f"{p.pending} / {p.refused}"),
        ("index", tr("片段 / 待写", "moments / owed"), lambda p: f"{p.moments} / {p.owed}"),
    ]
    table.add_column(tr("阶段", "stage"), style="bold")
    table.add_column("")
    table.add_column("", justify="right")
    for stage, label, count in rows:
        table.add_row(stage, label, str(count(now)))
    return table


def _digest_counts(now: Progress) -> str:
    return f"{now.undigested} / {now.windows_applied}"


def _line(item: News) -> Text:
    words = " ".join(item.text.split())
    stage, what = (tr(_ZH.get(word, word), word) for word in (item.stage, item.what))
    line = Text(f"  {_wide(stage, 10)} {_wide(what, 15)} ", style=_STYLES.get(item.stage, ""))
    return line.append(words, style="default")


def _wide(word: str, cells: int) -> str:
    """Padded to screen cells: a Chinese character takes two."""
    return word + " " * max(0, cells - cell_len(word))

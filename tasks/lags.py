"""How far behind the work is, measured where it is done: the oldest of each piece of work, once a piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from schemas.tables import OutboxRow
from stores import metrics
from tasks.arrivals import Judged, Kept
from tasks.receipts import Receipt


def committed(
    judged: Sequence[Judged], receipts: Sequence[Receipt], now: datetime, *, clock_offset_ms: int | None
) -> None:
    """From publish to commit, of the oldest event that was new. A re-send says nothing about this delivery."""
    published = [
        one.event.published_at
        for one, receipt in zip(judged, receipts, strict=True)
        if isinstance(one, Kept) and receipt.state == "stored" and one.event.published_at is not None
    ]
    if published:
        ahead = timedelta(milliseconds=clock_offset_ms or 0)
        _observe("committed", now - (min(published) - ahead))


def applied(waited_seconds: float, worked_seconds: float) -> None:
    """From the cut of a window to its memories."""
    metrics.EVENT_LAG.labels("applied").observe(waited_seconds + worked_seconds)


def indexed(claims: Iterable[OutboxRow], now: datetime) -> None:
    """From an index write that is owed to its being done, of the oldest of a batch."""
    created = [claim.created_at for claim in claims]
    if created:
        _observe("indexed", now - min(created))


def _observe(stage: str, lag: timedelta) -> None:
    metrics.EVENT_LAG.labels(stage).observe(max(0.0, lag.total_seconds()))

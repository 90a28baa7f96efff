"""Gauges read from the stores when Prometheus asks: what waits, how old it is, what is dead."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import func
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from schemas.delivery import Session as SessionRow
from schemas.tables import DeadLetter, Evidence, Job, OutboxRow, Window
from stores import metrics
from stores.kit import Kit


def observe(kit: Kit) -> None:
    """Sets every gauge from one snapshot. Raises: StoreBusy."""
    with kit.db.read() as session:
        now = kit.db.now(session)
        for stage, oldest in _oldest(session).items():
            metrics.OLDEST_EVENT_AGE.labels(stage).set(0.0 if oldest is None else _age(now, oldest))
        metrics.DEAD_LETTERS.clear()
        for reason, count in session.exec(
            select(col(DeadLetter.kind), func.count())
            .where(col(DeadLetter.resolved_at).is_(None))
            .group_by(col(DeadLetter.kind))
        ):
            metrics.DEAD_LETTERS.labels(reason).set(count)
        pending = col(Evidence.write_status) == "pending_review"
        metrics.PENDING_REVIEWS.set(session.exec(select(func.count()).select_from(Evidence).where(pending)).one())
        review = _first(session, select(func.min(col(Evidence.recorded_at))).where(pending))
        metrics.OLDEST_REVIEW_AGE.set(0.0 if review is None else _age(now, review))
        for job in session.exec(select(Job).where(col(Job.last_success_at).is_not(None))):
            if job.last_success_at is not None:
                metrics.BEAT_SUCCESS.labels(job.name).set(job.last_success_at.timestamp())


def _oldest(session: Session) -> dict[str, datetime | None]:
    open_windows = col(Window.state).in_(("waiting", "answered"))
    return {
        "window": _first(session, select(func.min(col(SessionRow.first_undigested_at)))),
        "digest": _first(session, select(func.min(col(Window.created_at))).where(open_windows)),
        "index": _first(session, select(func.min(col(OutboxRow.created_at)))),
    }


def _first(session: Session, query: SelectOfScalar[Any]) -> datetime | None:
    # min() of nothing is NULL, which its type does not say.
    return cast("datetime | None", session.exec(query).one())


def _age(now: datetime, oldest: datetime) -> float:
    return max(0.0, (now - oldest.astimezone(UTC)).total_seconds())

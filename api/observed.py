"""Gauges read from the stores when Prometheus asks: what waits, how old it is, what is dead."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import func
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from schemas.tables import Evidence, Job
from stores import budget, circuit, dead, index_states, metrics, spend, suspects, waits
from stores.kit import Kit
from tasks.app import PREFIX, QUEUES

BROKER_SECONDS = 1.0


def observe(kit: Kit) -> None:
    """Sets every gauge from one snapshot. Raises: StoreBusy."""
    with kit.db.read() as session:
        now = kit.db.now(session)
        for stage, oldest in waits.oldest(session).items():
            metrics.OLDEST_EVENT_AGE.labels(stage).set(0.0 if oldest is None else _age(now, oldest))
        metrics.DEAD_LETTERS.clear()
        for kind, count in dead.count_waiting(session).items():
            metrics.DEAD_LETTERS.labels(kind).set(count)
        metrics.SUSPECTS.set(suspects.waiting(session))
        metrics.MODEL_OPEN.set(0 if circuit.look(session).is_closed else 1)
        _observe_budget(kit, session)
        _observe_spend(session)
        metrics.INDEX_DRIFT.clear()
        for kind, count in index_states.drift(session).items():
            metrics.INDEX_DRIFT.labels(kind).set(count)
        pending = col(Evidence.write_status) == "pending_review"
        metrics.PENDING_REVIEWS.set(session.exec(select(func.count()).select_from(Evidence).where(pending)).one())
        review = _first(session, select(func.min(col(Evidence.recorded_at))).where(pending))
        metrics.OLDEST_REVIEW_AGE.set(0.0 if review is None else _age(now, review))
        for job in session.exec(select(Job).where(col(Job.last_success_at).is_not(None))):
            if job.last_success_at is not None:
                metrics.BEAT_SUCCESS.labels(job.name).set(job.last_success_at.timestamp())
    _observe_queues(kit)


def _observe_budget(kit: Kit, session: Session) -> None:
    limit = kit.settings.llm.daily_tokens
    metrics.BUDGET_LEFT.clear()
    metrics.OVER_BUDGET.set(waits.over_budget(session))
    if limit:
        for tenant_id, tokens in budget.spent_today(session).items():
            metrics.BUDGET_LEFT.labels(str(tenant_id)).set(max(0.0, 1 - tokens / limit))


def _observe_spend(session: Session) -> None:
    for gauge in (metrics.LLM_CALLS, metrics.LLM_TOKENS, metrics.LLM_COST):
        gauge.clear()
    for row in spend.spent_today(session):
        labels = (str(row.tenant_id), row.model, row.stage)
        metrics.LLM_CALLS.labels(*labels).set(row.calls)
        metrics.LLM_TOKENS.labels(*labels, "in").set(row.input_tokens)
        metrics.LLM_TOKENS.labels(*labels, "out").set(row.output_tokens)
        metrics.LLM_COST.labels(*labels).set(row.cost_usd)


def _observe_queues(kit: Kit) -> None:
    """How much waits at the broker; when it does not answer the gauges go, rather than show what was."""
    metrics.QUEUE_DEPTH.clear()
    client: Any = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
        kit.settings.redis_url, socket_timeout=BROKER_SECONDS, socket_connect_timeout=BROKER_SECONDS
    )
    try:
        for queue in QUEUES:
            metrics.QUEUE_DEPTH.labels(queue).set(client.llen(f"{PREFIX}{queue}"))
    except (RedisError, OSError):
        metrics.QUEUE_DEPTH.clear()
    finally:
        client.close()


def _first(session: Session, query: SelectOfScalar[Any]) -> datetime | None:
    # min() of nothing is NULL, which its type does not say.
    return cast("datetime | None", session.exec(query).one())


def _age(now: datetime, oldest: datetime) -> float:
    return max(0.0, (now - oldest.astimezone(UTC)).total_seconds())

"""Readings from the stores when Prometheus asks: what waits, how old it is, what is dead."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import func
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from schemas.errors import ServiceError
from schemas.tables import Evidence, Job
from stores import budget, circuit, dead, index_states, metrics, outbox, spend, suspects, waits, windows
from stores.kit import Kit
from tasks.app import INGEST, PREFIX, QUEUES, ROUTES, beat_seconds

BROKER_SECONDS = 1.0
#: Workers keep their books of unacknowledged messages apart, each under its role's name.
BOOKS = ("ingest", "app", "llm", "index", "upkeep")
#: A tenant is a label of what it has left to spend; of more tenants, those with the least.
MOST_TENANTS = 100

_FROM_SQL = (
    metrics.WORK_DUE,
    metrics.WORK_RUNNING,
    metrics.OLDEST_EVENT_AGE,
    metrics.DEAD_LETTERS,
    metrics.PENDING_REVIEWS,
    metrics.OLDEST_REVIEW_AGE,
    metrics.INDEX_DRIFT,
    metrics.INDEX_OWED,
    metrics.BEAT_SUCCESS,
    metrics.SUSPECTS,
    metrics.MODEL_OPEN,
    metrics.OVER_BUDGET,
    metrics.BUDGET_LEFT,
    metrics.LLM_CALLS,
    metrics.LLM_TOKENS,
    metrics.LLM_COST,
)


def observe(kit: Kit) -> None:
    """Sets every reading. What a store that is away would have told is gone, rather than old."""
    for job, seconds in beat_seconds(kit.settings).items():
        metrics.BEAT_INTERVAL.set(seconds, job)
    for reading in (*_FROM_SQL, metrics.QUEUE_DEPTH, metrics.QUEUE_UNACKED):
        reading.clear()
    _say("database", _try_sql(kit))
    _say("broker", _try_broker(kit))


def _say(store: str, answers: bool) -> None:
    metrics.STORE_UP.set(1 if answers else 0, store)


def _try_sql(kit: Kit) -> bool:
    try:
        with kit.db.read() as session:
            now = kit.db.now(session)
            _observe_work(session, now)
            _observe_people(session, now)
            _observe_budget(kit, session)
            _observe_spend(session)
            for job in session.exec(select(Job).where(col(Job.last_success_at).is_not(None))):
                if job.last_success_at is not None:
                    metrics.BEAT_SUCCESS.set(job.last_success_at.timestamp(), job.name)
    except ServiceError:
        for reading in _FROM_SQL:
            reading.clear()
        return False
    return True


def _observe_work(session: Session, now: datetime) -> None:
    for stage, oldest in waits.oldest(session).items():
        metrics.OLDEST_EVENT_AGE.set(0.0 if oldest is None else _age(now, oldest), stage)
    for stage, count in waits.due(session).items():
        metrics.WORK_DUE.set(count, stage)
    metrics.WORK_RUNNING.set(windows.backlog(session).running)
    for kind, count in dead.count_waiting(session).items():
        metrics.DEAD_LETTERS.set(count, kind)
    metrics.SUSPECTS.set(suspects.waiting(session))
    metrics.MODEL_OPEN.set(0 if circuit.look(session).is_closed else 1)
    for kind, count in index_states.drift(session).items():
        metrics.INDEX_DRIFT.set(count, kind)
    owed = outbox.counts(session, limit=waits.MOST_COUNTED)
    for state, count in (("owed", owed.owed), ("leased", owed.leased), ("failed", owed.failed)):
        metrics.INDEX_OWED.set(count, state)


def _observe_people(session: Session, now: datetime) -> None:
    pending = col(Evidence.write_status) == "pending_review"
    metrics.PENDING_REVIEWS.set(session.exec(select(func.count()).select_from(Evidence).where(pending)).one())
    review = _first(session, select(func.min(col(Evidence.recorded_at))).where(pending))
    metrics.OLDEST_REVIEW_AGE.set(0.0 if review is None else _age(now, review))


def _observe_budget(kit: Kit, session: Session) -> None:
    limit = kit.settings.llm.daily_tokens
    metrics.OVER_BUDGET.set(waits.over_budget(session))
    if limit:
        spent: dict[UUID, int] = budget.spent_today(session)
        most = sorted(spent.items(), key=lambda one: one[1], reverse=True)[:MOST_TENANTS]
        for tenant_id, tokens in most:
            metrics.BUDGET_LEFT.set(max(0.0, 1 - tokens / limit), str(tenant_id))


def _observe_spend(session: Session) -> None:
    for row in spend.spent_today(session):
        labels = (str(row.tenant_id), row.model, row.stage)
        metrics.LLM_CALLS.set(row.calls, *labels)
        metrics.LLM_TOKENS.set(row.input_tokens, *labels, "in")
        metrics.LLM_TOKENS.set(row.output_tokens, *labels, "out")
        metrics.LLM_COST.set(row.cost_usd, *labels)


def _try_broker(kit: Kit) -> bool:
    client: Any = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  keyword arguments untyped
        kit.settings.redis_url, socket_timeout=BROKER_SECONDS, socket_connect_timeout=BROKER_SECONDS
    )
    try:
        depths = [(queue, client.llen(f"{PREFIX}{queue}")) for queue in QUEUES]
        books = [(role, client.hlen(f"{PREFIX}unacked.{role}")) for role in BOOKS]
        oldest = client.lindex(f"{PREFIX}{ROUTES[INGEST]}", -1)
    except (RedisError, OSError):
        return False
    finally:
        client.close()
    for queue, depth in depths:
        metrics.QUEUE_DEPTH.set(depth, queue)
    for role, count in books:
        metrics.QUEUE_UNACKED.set(count, role)
    age = _age_of(oldest)
    if age is not None:
        metrics.OLDEST_EVENT_AGE.set(age, "ingest")
    return True


def _age_of(element: bytes | None) -> float | None:
    """How long ago the next message was put into the queue; None for one that does not say, from an older client."""
    if element is None:
        return 0.0
    try:
        sent = json.loads(element)["properties"]["timestamp"]
    except (ValueError, KeyError, TypeError):
        return None
    return max(0.0, datetime.now(UTC).timestamp() - float(sent)) if isinstance(sent, int | float) else None


def _first(session: Session, query: SelectOfScalar[Any]) -> datetime | None:
    # min() of nothing is NULL, which its type does not say.
    return cast("datetime | None", session.exec(query).one())


def _age(now: datetime, oldest: datetime) -> float:
    return max(0.0, (now - oldest.astimezone(UTC)).total_seconds())

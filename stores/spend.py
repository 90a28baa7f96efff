"""What models have cost: of each window, and of each tenant by day, stage and model.

Every call that may be billed is charged at once, whatever becomes of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import update
from sqlmodel import Session, col, select

from llm.face import Line, Usage
from memory.prices import Price, cost_usd
from schemas.tables import Spending, Window
from stores.settings import LlmSettings
from stores.sql import database_now, upsert

_COUNTS = ("calls", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_usd")


def charge(session: Session, tenant_id: UUID, window_id: UUID, usage: Usage, prices: Mapping[str, Price]) -> None:
    """Adds one answer's price to its window's and to its tenant's day, whoever holds the window now: it was spent."""
    window = session.exec(select(Window).where(Window.id == window_id).with_for_update()).one_or_none()
    if window is not None:
        statement = update(Window).where(col(Window.id) == window_id).values(usage=_total(window.usage, usage))
        session.connection().execute(statement)
    today = database_now(session).date()
    rows = [_row(tenant_id, today, line, prices) for line in _joined(usage.lines)]
    upsert(session, Spending, rows, key=("tenant_id", "day", "stage", "model"), add=_COUNTS)


def spent(session: Session, tenant_id: UUID, *, days: int) -> Sequence[Spending]:
    """What the tenant spent today and on the days before, newest first."""
    since = database_now(session).date() - timedelta(days=days - 1)
    query = (
        select(Spending)
        .where(Spending.tenant_id == tenant_id, col(Spending.day) >= since)
        .order_by(col(Spending.day).desc(), col(Spending.stage), col(Spending.model))
    )
    return session.exec(query).all()


def spent_today(session: Session) -> Sequence[Spending]:
    """What every tenant spent today, by stage and model."""
    return session.exec(select(Spending).where(Spending.day == database_now(session).date())).all()


def prices_of(llm: LlmSettings) -> dict[str, Price]:
    """The prices that the settings name."""
    return {model: Price(input=one.input, output=one.output, cached=one.cached) for model, one in llm.prices.items()}


def _row(tenant_id: UUID, today: date, line: Line, prices: Mapping[str, Price]) -> Spending:
    return Spending(
        tenant_id=tenant_id,
        day=today,
        cost_usd=cost_usd(
            prices,
            line.model,
            input_tokens=line.input_tokens,
            output_tokens=line.output_tokens,
            cached_tokens=line.cached_tokens,
        ),
        **asdict(line),
    )


def _joined(lines: Sequence[Line]) -> list[Line]:
    """One line a stage and model."""
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        before = found.get((line.stage, line.model))
        sums = {} if before is None else {name: getattr(before, name) + getattr(line, name) for name in _COUNTS[:-1]}
        found[line.stage, line.model] = replace(line, **sums)
    return list(found.values())


def _total(before: dict[str, Any], usage: Usage) -> dict[str, Any]:
    """A window's usage with one answer more. Its lines stand in the tenant's day."""
    whole = usage
    if before:
        spent_before = Usage(**before)
        whole = replace(
            usage,
            calls=spent_before.calls + usage.calls,
            input_tokens=spent_before.input_tokens + usage.input_tokens,
            output_tokens=spent_before.output_tokens + usage.output_tokens,
            cached_tokens=spent_before.cached_tokens + usage.cached_tokens,
            reasoning_tokens=spent_before.reasoning_tokens + usage.reasoning_tokens,
            duration_ms=spent_before.duration_ms + usage.duration_ms,
            estimated=spent_before.estimated or usage.estimated,
        )
    fields = asdict(whole)
    del fields["lines"]
    return fields

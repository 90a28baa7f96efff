"""What a window has cost so far: every call that may be billed is charged at once, whatever becomes of its answer."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from sqlalchemy import update
from sqlmodel import Session, col, select

from llm.face import Usage
from schemas.tables import Window


def charge(session: Session, window_id: UUID, usage: Usage) -> None:
    """Adds one digest's price to its window's, whoever holds the window now: it has been spent."""
    window = session.exec(select(Window).where(Window.id == window_id).with_for_update()).one_or_none()
    if window is None:
        return
    statement = update(Window).where(col(Window.id) == window_id).values(usage=asdict(_total(window.usage, usage)))
    session.connection().execute(statement)


def _total(before: dict[str, Any], usage: Usage) -> Usage:
    if not before:
        return usage
    spent = Usage(**before)
    return replace(
        usage,
        calls=spent.calls + usage.calls,
        input_tokens=spent.input_tokens + usage.input_tokens,
        output_tokens=spent.output_tokens + usage.output_tokens,
        cached_tokens=spent.cached_tokens + usage.cached_tokens,
        reasoning_tokens=spent.reasoning_tokens + usage.reasoning_tokens,
        duration_ms=spent.duration_ms + usage.duration_ms,
        estimated=spent.estimated or usage.estimated,
    )

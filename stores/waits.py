"""What waits and since when, stage by stage, for metrics and doctor."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from sqlalchemy import func
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from schemas.tables import Session as SessionRow
from schemas.tables import Window
from stores import outbox, windows
from stores.windows import OPEN

OVER_BUDGET = "over_budget"
#: Of a longer backlog nobody needs to know how long it is.
MOST_COUNTED = 10_000


def oldest(session: Session) -> dict[str, datetime | None]:
    """Since when the oldest one waits: to be cut (`window`), to be digested, to be indexed. None: nothing does."""
    return {
        "window": _first(
            session, select(func.min(col(SessionRow.first_undigested_at))).where(col(SessionRow.due_at).is_not(None))
        ),
        "digest": _first(session, select(func.min(col(Window.created_at))).where(col(Window.state).in_(OPEN))),
        "index": outbox.oldest(session),
    }


def due(session: Session) -> dict[str, int]:
    """How much could be worked on now, in the same stages; what waits for its time is left out."""
    waiting = windows.backlog(session)
    return {"window": waiting.due_sessions, "digest": waiting.due, "index": outbox.due(session, limit=MOST_COUNTED)}


def over_budget(session: Session) -> int:
    """How many windows wait for their tenant's next day."""
    query = (
        select(func.count())
        .select_from(Window)
        .where(col(Window.state).in_(OPEN), Window.error_code == OVER_BUDGET, col(Window.lease_until).is_(None))
    )
    return session.exec(query).one()


def _first(session: Session, query: SelectOfScalar[Any]) -> datetime | None:
    # min() of nothing is NULL, which its type does not say.
    return cast("datetime | None", session.exec(query).one())

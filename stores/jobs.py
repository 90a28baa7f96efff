"""Beat jobs: one run at a time, whoever asks. A second beat, or a job that outlived its lease, does no harm."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import or_, update
from sqlmodel import Session, col, select

from schemas.errors import StaleClaim
from schemas.tables import Job
from stores.sql import database_now, insert_once, upsert


def begin(session: Session, name: str, lease_seconds: float, *, not_within_seconds: float = 0.0) -> int | None:
    """The epoch of a run that is now ours for `lease_seconds`; None while another runs.

    `not_within_seconds`: None, too, when the last run began less than that ago, so that two beats are one.
    """
    now = database_now(session)
    insert_once(session, Job, [{"name": name, "epoch": 0, "last_result": {}}])
    statement = (
        update(Job)
        .where(
            col(Job.name) == name,
            or_(col(Job.lease_until).is_(None), col(Job.lease_until) <= now),
            or_(
                col(Job.last_started_at).is_(None),
                col(Job.last_started_at) <= now - timedelta(seconds=not_within_seconds),
            ),
        )
        .values(epoch=col(Job.epoch) + 1, lease_until=now + timedelta(seconds=lease_seconds), last_started_at=now)
        .returning(col(Job.epoch))
    )
    return session.connection().execute(statement).scalar_one_or_none()


def renew(session: Session, name: str, epoch: int, lease_seconds: float) -> None:
    """Holds the run for `lease_seconds` from now: each link of a chain says so first.

    Raises: StaleClaim when another run has begun.
    """
    now = database_now(session)
    _change(session, name, epoch, lease_until=now + timedelta(seconds=lease_seconds))


def finish(session: Session, name: str, epoch: int, result: dict[str, Any] | None = None) -> None:
    """Ends the run; `result` (counts, no text) is kept for whoever asks. Raises: StaleClaim."""
    _change(session, name, epoch, lease_until=None, last_success_at=database_now(session), last_result=result or {})


def abandon(session: Session, name: str, epoch: int) -> None:
    """Ends the run without success: the next beat may begin at once. Raises: StaleClaim."""
    _change(session, name, epoch, lease_until=None)


def note(session: Session, name: str) -> None:
    """Says that a job without runs of its own has just done its work."""
    now = database_now(session)
    row: dict[str, Any] = {"name": name, "epoch": 0, "last_result": {}, "last_started_at": now, "last_success_at": now}
    upsert(session, Job, [row], key=["name"], update=["last_started_at", "last_success_at"])


def current(session: Session, name: str) -> Job | None:
    """The job's row."""
    return session.exec(select(Job).where(Job.name == name)).one_or_none()


def _change(session: Session, name: str, epoch: int, **values: object) -> None:
    statement = update(Job).where(col(Job.name) == name, col(Job.epoch) == epoch).values(**values)
    if session.connection().execute(statement).rowcount != 1:
        msg = f"job {name}: run {epoch} has been taken over"
        raise StaleClaim(msg)

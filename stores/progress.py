"""How far the work is: counts of every stage, and what the newest memories say. For screens, doctor and demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import func
from sqlmodel import Session, SQLModel, col, select

from schemas.delivery import EventState, WindowState
from schemas.envelopes import disclose, disclose_json
from schemas.tables import (
    DeadLetter,
    Draft,
    Episode,
    Fact,
    LedgerEntry,
    Moment,
    OutboxRow,
    Procedure,
    ProcedureOutcome,
    ProcedureVersion,
    Turn,
    Window,
)
from schemas.tables import Session as SessionRow
from stores import dead


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Rows by stage. `undigested` counts turns in no applied window; `owed` what the index has not taken."""

    events: int
    turns: int
    sessions: int
    undigested: int
    windows_open: int
    windows_applied: int
    episodes: int
    facts: int
    facts_closed: int
    pending: int
    refused: int
    outcomes: int
    moments: int
    owed: int
    dead: int

    @property
    def is_quiet(self) -> bool:
        """Nothing waits anywhere."""
        return not (self.undigested or self.windows_open or self.owed)


@dataclass(frozen=True, slots=True)
class News:
    """One thing a worker made: its stage, what it is, and the words."""

    stage: str
    what: str
    text: str


def progress(session: Session) -> Progress:
    """Counts over all tenants, in one snapshot."""
    windows_open = _count(session, Window, col(Window.state).in_((WindowState.WAITING, WindowState.ANSWERED)))
    shown = (col(Fact.superseded_at).is_(None), col(Fact.deleted_at).is_(None))
    return Progress(
        events=_count(session, LedgerEntry, LedgerEntry.state != EventState.REJECTED),
        turns=_count(session, Turn),
        sessions=_count(session, SessionRow),
        undigested=_count(session, Turn, col(Turn.window_id).is_(None)),
        windows_open=windows_open,
        windows_applied=_count(session, Window, Window.state == WindowState.APPLIED),
        episodes=_count(session, Episode, col(Episode.deleted_at).is_(None)),
        facts=_count(session, Fact, *shown, col(Fact.valid_until).is_(None)),
        facts_closed=_count(session, Fact, *shown, col(Fact.valid_until).is_not(None)),
        pending=_count(session, Draft, Draft.decision == "pending_review"),
        refused=_count(session, Draft, Draft.decision == "rejected"),
        outcomes=_count(session, ProcedureOutcome),
        moments=_count(session, Moment, col(Moment.deleted_at).is_(None)),
        owed=_count(session, OutboxRow),
        dead=_count(
            session,
            DeadLetter,
            col(DeadLetter.kind).in_((dead.BATCH, dead.EVENT, dead.WINDOW)),
            col(DeadLetter.resolved_at).is_(None),
        ),
    )


def news(session: Session, seen: set[UUID]) -> list[News]:
    """What is new since the last call with the same `seen`, which it adds to: episodes, facts, refusals, outcomes."""
    found = [
        *(
            (row.id, News("digest", row.outcome, disclose(row.summary)))
            for row in session.exec(select(Episode).order_by(col(Episode.started_at)))
        ),
        *((row.id, _fact_news(row)) for row in session.exec(select(Fact).order_by(col(Fact.recorded_at)))),
        *((row.id, _draft_news(row)) for row in session.exec(select(Draft).order_by(col(Draft.recorded_at)))),
        *(
            (row.id, News("procedure", "success" if row.succeeded else "failure", procedure.name))
            for row, _, procedure in session.exec(
                select(ProcedureOutcome, ProcedureVersion, Procedure)
                .where(ProcedureOutcome.version_id == ProcedureVersion.id)
                .where(ProcedureVersion.procedure_id == Procedure.id)
                .order_by(col(ProcedureOutcome.at))
            )
        ),
    ]
    fresh = [item for row_id, item in found if row_id not in seen and item.text]
    seen.update(row_id for row_id, _ in found)
    return fresh


def _fact_news(row: Fact) -> News:
    state = "superseded" if row.superseded_at else "past" if row.valid_until else "current"
    sign = "" if row.polarity == "+" else "not "
    return News("facts", state, f"{disclose(row.subject)} · {row.key}: {sign}{disclose(row.value)}")


def _draft_news(row: Draft) -> News:
    if row.decision not in ("rejected", "pending_review"):
        return News("gate", row.decision, "")
    content = cast("dict[str, Any]", disclose_json(row.content))
    quote = content.get("quote", "")
    return News("gate", row.decision, f"{', '.join(row.reason_codes)}: {quote}")


def _count(session: Session, table: type[SQLModel], *where: Any) -> int:
    return session.exec(select(func.count()).select_from(table).where(*where)).one()

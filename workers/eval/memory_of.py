"""What an instance remembers of one tenant at a world time, rendered as recall renders it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlmodel import Session, col, select

from memory.recalled import fact_text
from memory.records import FactRecord
from schemas.envelopes import disclose
from schemas.tables import Draft, Episode, Evidence, Fact
from stores import requests
from stores.recall import SHOWN, fact_records

SPEAKER = "user"
_KINSHIP = "relation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One memory as text: in both languages, with its dates; and without them, to look for what must not be there."""

    subject: str
    full: str
    bare: str

    def has(self, text: str) -> bool:
        """Whether the text stands in it, in either language, or as the code it is kept by."""
        return text.casefold() in self.full.casefold()

    def says(self, text: str) -> bool:
        """Whether the text stands in what is remembered itself; a date beside it is not that."""
        return text.casefold() in self.bare.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Everything that a case may expect something of. `current` and `past` are facts about the speaker."""

    current: tuple[Shown, ...]
    past: tuple[Shown, ...]
    others: tuple[Shown, ...]
    pending: tuple[str, ...]
    refused: tuple[str, ...]
    episodes: int
    requests: tuple[str, ...]


def remembered(session: Session, tenant_id: UUID, *, now: datetime) -> Remembered:
    """Reads it, as of now in the world."""
    rows = session.exec(
        select(Fact)
        .where(
            Fact.tenant_id == tenant_id,
            col(Fact.write_status).in_(SHOWN),
            col(Fact.superseded_at).is_(None),
            col(Fact.deleted_at).is_(None),
        )
        .order_by(col(Fact.recorded_at), col(Fact.id))
    ).all()
    ended = [row for row in rows if row.valid_until is not None and row.valid_until <= now]
    holding = [
        row
        for row in rows
        if row not in ended
        and (row.valid_from is None or row.valid_from <= now)
        and (row.expires_at is None or row.expires_at > now)
    ]
    current = fact_records(session, tenant_id, holding)
    past = fact_records(session, tenant_id, ended)
    return Remembered(
        current=tuple(_shown(one) for one in current if _is_about_speaker(one)),
        past=tuple(_shown(one, is_past=True) for one in past if _is_about_speaker(one)),
        others=tuple(_shown(one) for one in current if one.subject != SPEAKER),
        pending=_pending(session, tenant_id),
        refused=_refused(session, tenant_id),
        episodes=len(_episodes(session, tenant_id)),
        requests=tuple(row.kind.rpartition(".")[2] for row in requests.open_requests(session, tenant_id)),
    )


def _is_about_speaker(one: FactRecord) -> bool:
    """What a tool or the staff said stays with its thread or ticket; "my wife" is no fact about who says it."""
    return one.subject == SPEAKER and one.scope == "user" and one.key != _KINSHIP


def _shown(one: FactRecord, *, is_past: bool = False) -> Shown:
    texts = [fact_text(one, language=language, is_past=is_past) for language in ("en", "zh")]
    return Shown(
        subject=one.subject,
        full="\n".join([*texts, one.value, one.canonical]),
        bare="\n".join([_without_date(texts[0], " ("), _without_date(texts[1], "（"), one.value]),
    )


def _without_date(text: str, opening: str) -> str:
    head, found, _ = text.rpartition(opening)
    return head if found else text


def _pending(session: Session, tenant_id: UUID) -> tuple[str, ...]:
    rows = session.exec(
        select(Evidence)
        .where(Evidence.tenant_id == tenant_id, Evidence.write_status == "pending_review")
        .order_by(col(Evidence.at), col(Evidence.quote_start))
    )
    return tuple(f"{disclose(row.value)}\n{disclose(row.quote)}" for row in rows)


def _refused(session: Session, tenant_id: UUID) -> tuple[str, ...]:
    """The first reason of every draft that was dropped or rejected, in the order in which they were decided."""
    rows: Sequence[Draft] = session.exec(
        select(Draft)
        .where(Draft.tenant_id == tenant_id, col(Draft.decision).in_(("dropped", "rejected")))
        .order_by(col(Draft.recorded_at), col(Draft.window_id), col(Draft.ordinal))
    ).all()
    return tuple(row.reason_codes[0] if row.reason_codes else row.decision for row in rows)


def _episodes(session: Session, tenant_id: UUID) -> Sequence[UUID]:
    return session.exec(
        select(Episode.id).where(
            Episode.tenant_id == tenant_id,
            col(Episode.deleted_at).is_(None),
            col(Episode.consolidated_into).is_(None),
        )
    ).all()

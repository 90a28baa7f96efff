"""Whether what was promised is what is stored: the stream's journal against SQL, event by event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlmodel import Session, col

from schemas.envelopes import disclose
from schemas.tables import (
    DeadLetter,
    LedgerEntry,
    Observation,
    Procedure,
    ProcedureOutcome,
    ProcedureVersion,
    Tenant,
    Turn,
)
from stores import dead
from stores.auditing.reading import stream
from workers.chaos.stream import digest

IDS_SHOWN = 10
_GOOD = ("stored", "digested", "applied")


@dataclass(frozen=True, slots=True)
class Said:
    """One event of the journal. `is_promised`: it must be stored; else it may be."""

    tenant: str
    kind: str
    content_hash: str
    detail: str
    is_promised: bool


@dataclass(slots=True)
class Journal:
    """What the stream wrote down."""

    events: dict[UUID, Said] = field(default_factory=dict[UUID, Said])
    again: int = 0
    notes: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def promised(self) -> set[UUID]:
        """The events that must be stored."""
        return {event_id for event_id, said in self.events.items() if said.is_promised}


def read_journal(path: Path) -> Journal:
    """The journal. A last line that a SIGKILL cut off is left out."""
    begun: dict[UUID, tuple[str, str, str, str]] = {}
    promised: set[UUID] = set()
    journal = Journal()
    for line in path.read_text("utf-8").split("\n")[:-1]:
        mark, *words = line.split("\t")
        if mark == "+":
            tenant, event_id, kind, content_hash, detail = words
            begun[UUID(event_id)] = (tenant, kind, content_hash, detail)
        elif mark == "=":
            promised.add(UUID(words[1]))
        elif mark == "~":
            journal.again += 1
        else:
            journal.notes[words[0]] = words[1]
    journal.events = {event_id: Said(*fields, event_id in promised) for event_id, fields in begun.items()}
    return journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a run comes to. `wrong` is empty when every promise was kept.

    `destroyed` counts events whose only copy in the broker was lost with it: each had to be sent again.
    """

    published: int
    promised: int
    stored: int
    again: int
    destroyed: int
    wrong: tuple[str, ...]


def judge(session: Session, journal: Journal, *, destroyed: set[UUID], poisoned: set[str], lost_poison: int) -> Verdict:
    """Compares. `destroyed`: events that the broker held when it lost everything.

    `poisoned`: names of the planted letters; up to `lost_poison` of them were lost with the broker.
    """
    states = _states(session)
    promised = journal.promised
    missing = promised - states.keys()
    wrong = [
        *_named("lost with the broker and never sent again", sorted(missing & destroyed)),
        *_named("lost", sorted(missing - destroyed)),
        *_named("stored and never published", sorted(states.keys() - journal.events.keys())),
        *_named("not kept", sorted(e for e in promised & states.keys() if states[e] not in _GOOD)),
        *_named("with another content", _changed(session, journal)),
        *_outcomes(session, journal, set(states)),
        *_letters(session, poisoned, lost_poison),
    ]
    return Verdict(
        published=len(journal.events),
        promised=len(promised),
        stored=len(states),
        again=journal.again,
        destroyed=len(destroyed & journal.events.keys()),
        wrong=tuple(wrong),
    )


def _named(what: str, ids: list[UUID]) -> Iterator[str]:
    if ids:
        yield f"{len(ids)} events {what}: {', '.join(map(str, ids[:IDS_SHOWN]))}"


def _states(session: Session) -> dict[UUID, str]:
    query = select(col(LedgerEntry.event_id), col(LedgerEntry.state))
    return {row[0]: row[1] for row in stream(session, query)}


def _changed(session: Session, journal: Journal) -> list[UUID]:
    payloads = select(col(Observation.event_id), col(Observation.content))
    turns = select(col(Turn.event_id), col(Turn.content)).where(col(Turn.role) != "tool")
    return [
        event_id
        for query in (turns, payloads)
        for event_id, content in stream(session, query)
        if event_id in journal.events and digest(disclose(content)) != journal.events[event_id].content_hash
    ]


def _outcomes(session: Session, journal: Journal, stored: set[UUID]) -> Iterator[str]:
    """Counts of each tenant's procedures, as the stored outcome events say, against the rows they made."""
    told: Counter[tuple[str, str]] = Counter(
        (said.tenant, said.detail)
        for event_id, said in journal.events.items()
        if said.kind == "outcome" and event_id in stored
    )
    query = (
        select(col(Tenant.name), col(Procedure.name), col(ProcedureOutcome.succeeded))
        .join(ProcedureVersion, col(ProcedureVersion.id) == col(ProcedureOutcome.version_id))
        .join(Procedure, col(Procedure.id) == col(ProcedureVersion.procedure_id))
        .join(Tenant, col(Tenant.id) == col(ProcedureOutcome.tenant_id))
        .where(col(ProcedureOutcome.source) == "event")
    )
    counted = Counter((tenant, f"{name}:{int(succeeded)}") for tenant, name, succeeded in stream(session, query))
    for place in sorted(told.keys() | counted.keys()):
        if told[place] != counted[place]:
            yield f"outcomes of {place[0]} {place[1]}: {told[place]} published, {counted[place]} counted"


def _letters(session: Session, poisoned: set[str], lost: int) -> Iterator[str]:
    kinds = (dead.BATCH, dead.EVENT, dead.WINDOW)
    query = select(
        col(DeadLetter.kind), col(DeadLetter.key), col(DeadLetter.error_code), col(DeadLetter.payload)
    ).where(col(DeadLetter.kind).in_(kinds), col(DeadLetter.resolved_at).is_(None))
    found: set[str] = set()
    for kind, key, code, payload in stream(session, query):
        blob = disclose(payload) if payload is not None else ""
        if kind == dead.BATCH and blob in poisoned:
            found.add(blob)
        else:
            yield f"dead letter that nobody planted: {kind} {key} {code}"
    if len(found) < len(poisoned) - lost:
        yield f"{len(poisoned)} batches were poisoned, {lost} lost with the broker, {len(found)} became dead letters"


def as_data(verdict: Verdict) -> Mapping[str, Any]:
    """The verdict as one JSON value."""
    return {name: getattr(verdict, name) for name in ("published", "promised", "stored", "again", "destroyed", "wrong")}

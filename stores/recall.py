"""What SQL still shows of what an index found, and what it knows without one. Reads only, inside the caller's session.

The index may lag, the truth may not: a row that is closed, withdrawn, deleted or out of sight is not in any answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

from sqlalchemy import Select, Table, and_
from sqlmodel import Session, SQLModel, col, select

from afterturn.wire import EvidenceRef
from memory.records import EpisodeRecord, FactRecord, MomentRecord, ProcedureRecord, Sight
from memory.spans import mentions, without_mentions
from memory.turns import TurnView
from schemas.envelopes import disclose, disclose_json
from schemas.tables import (
    Episode,
    Evidence,
    Fact,
    Moment,
    Procedure,
    ProcedureVersion,
    Turn,
    User,
)
from stores.held import Held, chunks, held_words, staff_words
from stores.sights import (
    SHOWN,
    Form,
    aside,
    episodes_in,
    facts_in,
    form,
    given,
    moments_in,
    pick,
    several,
    turns_in,
    values,
)

R = TypeVar("R", bound=SQLModel)

MAX_PROFILE_FACTS = 300
MAX_QUOTES = 3


def _table_of(model: type[SQLModel]) -> Table:
    return cast("Table", cast("Any", model).__table__)


# What records are made of, and what a sight still asks of a row: of each row about half.
_TOLD_OF_FACTS = tuple(
    _table_of(Fact).c[name]
    for name in (
        *("id", "scope", "scope_key", "slot_hash", "subject", "key", "object", "polarity", "value", "canonical"),
        *("language", "valid_from", "valid_until", "precision", "tz", "said_at", "recorded_at", "superseded_at"),
        *("confidence", "strength", "volatility", "contested", "write_status", "agent_id", "evidence_ids"),
    )
)
_TOLD_OF_EPISODES = tuple(
    _table_of(Episode).c[name]
    for name in (
        *("id", "summary", "outcome", "tags", "entities", "procedure_name", "turn_ids", "started_at", "ended_at"),
        *("strength", "confidence", "session_ref", "agent_id", "ticket_id", "member_ids"),
    )
)


def plain(session: Session, model: type[R], query: Select[Any], bound: Mapping[str, object]) -> list[R]:
    """Rows as plain carriers of what is picked of a model: several times as fast as objects that a session tracks."""
    return cast("list[R]", list(session.connection().execute(query, bound)))


def alias_set(session: Session, user: User) -> tuple[UUID, ...]:
    """The ids of everyone that this user is, itself included, without erased ones; in id order."""
    found = session.exec(
        select(col(User.id))
        .where(col(User.tenant_id) == user.tenant_id, col(User.root_id) == user.root_id, col(User.erased_at).is_(None))
        .order_by(col(User.id))
    )
    return tuple(found)


def profile_facts(session: Session, sight: Sight) -> list[Fact]:
    """What holds of the user in this sight, most important first, without asking the index."""
    return plain(session, Fact, _profile(form(sight)), values(sight))


def facts(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[Fact]:
    """Those of the facts that SQL shows in this sight."""
    return [row for chunk in chunks(ids) for row in plain(session, Fact, _facts(form(sight)), values(sight, ids=chunk))]


def episodes(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[Episode]:
    """Those of the episodes that SQL shows in this sight."""
    query = _episodes(form(sight))
    rows = [row for chunk in chunks(ids) for row in plain(session, Episode, query, values(sight, ids=chunk))]
    return [row for row in rows if sight.reads(row.agent_id)]


@cache
def _profile(seen: Form) -> Select[Any]:
    order = (col(Fact.importance).desc(), col(Fact.recorded_at).desc(), col(Fact.id))
    return pick(*_TOLD_OF_FACTS).where(*facts_in(seen)).order_by(*order).limit(MAX_PROFILE_FACTS)


@cache
def _facts(seen: Form) -> Select[Any]:
    return pick(*_TOLD_OF_FACTS).where(col(Fact.id).in_(several("ids")), *facts_in(seen))


@cache
def _episodes(seen: Form) -> Select[Any]:
    return pick(*_TOLD_OF_EPISODES).where(col(Episode.id).in_(several("ids")), *episodes_in(seen))


def episode_records(session: Session, sight: Sight, rows: Sequence[Episode], held: Held) -> list[EpisodeRecord]:
    """Episodes, opened, without what is held back of their turns; one of which nothing is left is not among them."""
    # Ids are read only where they can matter: most users have nothing held back.
    foreign = {row.id for row in rows if row.ticket_id != sight.ticket_id and (row.ticket_id or row.member_ids)}
    turn_ids = {row.id: [UUID(one) for one in row.turn_ids] if held.cuts or row.id in foreign else [] for row in rows}
    words = held_words(session, sight, held, (one for ids in turn_ids.values() for one in ids))
    told = staff_words(session, sight, [one for row_id in foreign for one in turn_ids[row_id]])
    words |= {one: (*words.get(one, ()), *said) for one, said in told.items()}
    records = [
        _without_held(episode_record(row), tuple(word for one in turn_ids[row.id] for word in words.get(one, ())))
        for row in rows
    ]
    return [record for record in records if record.summary]


def procedures(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[ProcedureRecord]:
    """Those of the procedure versions that SQL shows: not withdrawn, and of a procedure that still stands."""
    found: list[ProcedureRecord] = []
    for chunk in chunks(ids):
        query = (
            select(ProcedureVersion, Procedure)
            .join(Procedure, col(Procedure.id) == col(ProcedureVersion.procedure_id))
            .where(
                col(ProcedureVersion.id).in_(chunk),
                col(ProcedureVersion.tenant_id) == sight.tenant_id,
                col(ProcedureVersion.write_status).in_(SHOWN),
                col(ProcedureVersion.created_at) <= (sight.known_at or sight.now),
                col(Procedure.deleted_at).is_(None),
            )
        )
        found.extend(procedure_record(version, procedure) for version, procedure in session.exec(query))
    return found


def moments(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[tuple[UUID, Said]]:
    """Those of the moments whose turn SQL still shows: (id, turn) pairs."""
    found: list[tuple[UUID, Said]] = []
    for chunk in chunks(ids):
        rows = session.connection().execute(_moments(form(sight)), values(sight, ids=chunk))
        found += [(row[0], said(row)) for row in rows]
    return [one for one in found if sight.reads(one[1].turn.agent_id)]


def turns(session: Session, sight: Sight, ids: Sequence[UUID]) -> dict[UUID, TurnView]:
    """Those of the turns that are still there, by id."""
    found: dict[UUID, TurnView] = {}
    for chunk in chunks(ids):
        rows = session.connection().execute(_turns(form(sight)), values(sight, ids=chunk))
        found.update((row.event_id, said(row).turn) for row in rows)
    return found


@cache
def _moments(seen: Form) -> Select[Any]:
    same = and_(col(Turn.tenant_id) == col(Moment.tenant_id), col(Turn.event_id) == col(Moment.event_id))
    return pick(Moment.id, *SAID).join(Turn, same).where(col(Moment.id).in_(several("ids")), *moments_in(seen))


@cache
def _turns(seen: Form) -> Select[Any]:
    wanted = (col(Turn.tenant_id) == given("tenant"), col(Turn.event_id).in_(several("ids")))
    return pick(*SAID).where(*wanted, *turns_in(seen))


def moment_records(turns: Iterable[tuple[UUID, Said]], held: Held) -> list[MomentRecord]:
    """Turns as moments: (id to show, turn) pairs with the parts that are held back of them."""
    return [
        MomentRecord(
            id=shown_id,
            turn=one.turn,
            cuts=tuple(held.cuts.get(one.turn.event_id, ())),
            restored=one.turn.event_id in held.restored,
        )
        for shown_id, one in turns
    ]


SAID = tuple(
    _table_of(Turn).c[name]
    for name in (
        *("event_id", "role", "content", "at", "name", "tz", "utc_offset_minutes", "agent_id", "thread_id"),
        *("ticket_id", "language", "user_ref"),
    )
)
"""The columns that `said` reads: what recall shows of a turn, and no more."""


class Said(NamedTuple):
    """A turn, and which user's it is."""

    turn: TurnView
    user_ref: UUID


def said(row: Any) -> Said:
    """A row of `SAID` columns, opened."""
    turn = TurnView(
        event_id=row.event_id,
        role=row.role,
        content=disclose(row.content),
        at=row.at,
        name=None if row.name is None else disclose(row.name),
        tz=row.tz,
        utc_offset_minutes=row.utc_offset_minutes,
        agent_id=row.agent_id,
        thread_id=row.thread_id,
        ticket_id=row.ticket_id,
        language=row.language,
    )
    return Said(turn, row.user_ref)


def foreign(sight: Sight, heard: Iterable[Said]) -> list[UUID]:
    """The turns that others said: what is held back of them is asked for by name."""
    return [one.turn.event_id for one in heard if one.user_ref not in sight.users]


def _without_held(record: EpisodeRecord, held: tuple[str, ...]) -> EpisodeRecord:
    if not held:
        return record
    return replace(
        record,
        summary=without_mentions(record.summary, held),
        tags=tuple(tag for tag in record.tags if not mentions(tag, held)),
        entities=tuple(name for name in record.entities if not mentions(name, held)),
    )


def fact_records(session: Session, tenant_id: UUID, rows: Sequence[Fact], held: Held | None = None) -> list[FactRecord]:
    """Versions of facts, opened, each with its newest evidence; refused or waiting evidence is not among it.

    Of a quote that is held back only its place is shown.
    """
    newest = {row.id: [UUID(one) for one in row.evidence_ids[-MAX_QUOTES:]] for row in rows}
    refs = _evidence_refs(session, tenant_id, [one for ids in newest.values() for one in ids], held or Held())
    records: list[FactRecord] = []
    for row in rows:
        own = [refs[one] for one in newest[row.id] if one in refs]
        own.sort(key=lambda ref: (ref.at is not None, ref.at), reverse=True)
        records.append(_fact_record(row, tuple(own)))
    return records


def _evidence_refs(session: Session, tenant_id: UUID, ids: Iterable[UUID], held: Held) -> dict[UUID, EvidenceRef]:
    refs: dict[UUID, EvidenceRef] = {}
    for chunk in chunks(list(dict.fromkeys(ids))):
        for row in session.connection().execute(_quotes(), {"tenant": tenant_id, "ids": chunk}):
            quote = disclose(row.quote)
            shown = "" if held.touches(row.event_id, row.quote_start, row.quote_start + len(quote)) else quote
            refs[row.id] = EvidenceRef(event_id=str(row.event_id), quote=shown, at=row.at, role=row.role)
    return refs


@cache
def _quotes() -> Select[Any]:
    columns = (Evidence.id, Evidence.event_id, Evidence.quote, Evidence.quote_start, Evidence.at, Evidence.role)
    return pick(*columns).where(
        col(Evidence.id).in_(several("ids")),
        aside(Evidence.tenant_id) == given("tenant"),
        col(Evidence.write_status).in_(SHOWN),
    )


def _fact_record(row: Fact, evidence: tuple[EvidenceRef, ...]) -> FactRecord:
    return FactRecord(
        id=row.id,
        slot=f"{row.scope}:{row.scope_key}:{row.slot_hash}",
        scope=row.scope,
        subject=disclose(row.subject),
        key=row.key,
        object=None if row.object is None else disclose(row.object),
        polarity=row.polarity,
        value=disclose(row.value),
        canonical=disclose(row.canonical),
        language=row.language,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        precision=row.precision,
        tz=row.tz,
        said_at=row.said_at,
        recorded_at=row.recorded_at,
        superseded_at=row.superseded_at,
        confidence=row.confidence,
        # The effective importance: what nobody has used for long has faded.
        importance=row.strength,
        volatile=row.volatility == "volatile",
        contested=row.contested,
        write_status=row.write_status,
        evidence=evidence,
        agent_id=row.agent_id,
    )


def episode_record(row: Episode) -> EpisodeRecord:
    """An episode, opened."""
    return EpisodeRecord(
        id=row.id,
        summary=disclose(row.summary),
        outcome=row.outcome,
        tags=tuple(row.tags),
        entities=tuple(_names(disclose_json(row.entities))),
        procedure_name=row.procedure_name,
        turn_ids=tuple(row.turn_ids),
        started_at=row.started_at,
        ended_at=row.ended_at,
        importance=row.strength,
        confidence=row.confidence,
        session_ref=row.session_ref,
        agent_id=row.agent_id,
    )


def procedure_record(version: ProcedureVersion, procedure: Procedure) -> ProcedureRecord:
    """A version of a procedure, opened."""
    return ProcedureRecord(
        id=version.id,
        name=procedure.name,
        version=version.version,
        trigger=disclose(version.trigger),
        steps=tuple(_names(disclose_json(version.steps))),
        successes=version.successes,
        failures=version.failures,
        ema=version.ema,
        created_at=version.created_at,
    )


def _names(value: Any) -> list[str]:
    """Texts of a JSON list of texts, or of objects with a `text` or a `name`."""
    names: list[str] = []
    for one in cast("list[Any]", value) if isinstance(value, list) else []:
        if isinstance(one, str):
            names.append(one)
        elif isinstance(one, dict):
            entry = cast("dict[str, Any]", one)
            names.append(str(entry.get("text") or entry.get("name") or ""))
    return [name for name in names if name]

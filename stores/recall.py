"""What SQL still shows of what an index found, and what it knows without one. Reads only, inside the caller's session.

The index may lag, the truth may not: a row that is closed, withdrawn, deleted or out of sight is not in any answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, and_, false, or_
from sqlmodel import Session, col, select

from afterturn.wire import EvidenceRef
from memory.records import EpisodeRecord, FactRecord, MomentRecord, ProcedureRecord, Sight
from memory.spans import mentions, without_mentions
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
from stores.held import held_back, held_words
from stores.turns import view

SHOWN = ("auto", "approved")
MAX_PROFILE_FACTS = 300
MAX_QUOTES = 3
MAX_THREADS = 50

_IDS_PER_QUERY = 500


def alias_set(session: Session, user: User) -> tuple[UUID, ...]:
    """The ids of everyone that this user is, itself included, without erased ones; in id order."""
    found = session.exec(
        select(col(User.id))
        .where(col(User.tenant_id) == user.tenant_id, col(User.root_id) == user.root_id, col(User.erased_at).is_(None))
        .order_by(col(User.id))
    )
    return tuple(found)


def shared_threads(session: Session, users: Sequence[UUID]) -> tuple[str, ...]:
    """The threads in which these users talk with others, at most MAX_THREADS of them."""
    query = (
        select(Moment.scope_key)
        .where(col(Moment.user_ref).in_(users), Moment.scope == "thread", col(Moment.deleted_at).is_(None))
        .distinct()
        .order_by(col(Moment.scope_key))
        .limit(MAX_THREADS)
    )
    return tuple(session.exec(query))


def profile_facts(session: Session, sight: Sight, *, limit: int = MAX_PROFILE_FACTS) -> list[FactRecord]:
    """What holds of the user in this sight, most important first, without asking the index."""
    rows = session.exec(
        select(Fact)
        .where(*_facts_in(sight))
        .order_by(col(Fact.importance).desc(), col(Fact.recorded_at).desc(), col(Fact.id))
        .limit(limit)
    ).all()
    return fact_records(session, sight.tenant_id, rows)


def facts(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[FactRecord]:
    """Those of the facts that SQL shows in this sight."""
    rows: list[Fact] = []
    for chunk in _chunks(ids):
        rows.extend(session.exec(select(Fact).where(col(Fact.id).in_(chunk), *_facts_in(sight))))
    return fact_records(session, sight.tenant_id, rows)


def episodes(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[EpisodeRecord]:
    """Those of the episodes that SQL shows in this sight."""
    rows: list[Episode] = []
    for chunk in _chunks(ids):
        rows.extend(session.exec(select(Episode).where(col(Episode.id).in_(chunk), *_episodes_in(sight))))
    held = held_words(session, sight, rows)
    records = (_without_held(episode_record(row), held[row.id]) for row in rows)
    return [record for record in records if record.summary]


def procedures(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[ProcedureRecord]:
    """Those of the procedure versions that SQL shows: not withdrawn, and of a procedure that still stands."""
    found: list[ProcedureRecord] = []
    for chunk in _chunks(ids):
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


def moments(session: Session, sight: Sight, ids: Sequence[UUID]) -> list[MomentRecord]:
    """Those of the moments whose turn SQL still shows, with what is held back of it."""
    found: list[tuple[UUID, Turn]] = []
    for chunk in _chunks(ids):
        query = (
            select(col(Moment.id), Turn)
            .join(Turn, and_(col(Turn.tenant_id) == col(Moment.tenant_id), col(Turn.event_id) == col(Moment.event_id)))
            .where(col(Moment.id).in_(chunk), *_moments_in(sight))
        )
        found.extend(session.exec(query))
    return moment_records(session, sight, found)


def moment_records(session: Session, sight: Sight, turns: Sequence[tuple[UUID, Turn]]) -> list[MomentRecord]:
    """Turns as moments: (id to show, row) pairs with the parts that are held back in this sight."""
    cuts, restored = held_back(session, sight, [turn.event_id for _, turn in turns])
    return [
        MomentRecord(
            id=shown_id,
            turn=view(turn),
            cuts=tuple(cuts.get(turn.event_id, ())),
            restored=turn.event_id in restored,
        )
        for shown_id, turn in turns
    ]


def evidence_refs(
    session: Session, tenant_id: UUID, ids: Iterable[str], *, limit: int | None = None
) -> dict[UUID, EvidenceRef]:
    """Where facts come from, by evidence id; refused or waiting evidence is not among it."""
    wanted = [UUID(one) for one in dict.fromkeys(ids)]
    found: dict[UUID, EvidenceRef] = {}
    for chunk in _chunks(wanted[:limit]):
        rows = session.exec(
            select(Evidence).where(
                col(Evidence.id).in_(chunk),
                col(Evidence.tenant_id) == tenant_id,
                col(Evidence.write_status).in_(SHOWN),
            )
        )
        for row in rows:
            quote = disclose(row.quote)
            found[row.id] = EvidenceRef(event_id=str(row.event_id), quote=quote, at=row.at, role=row.role)
    return found


def _facts_in(sight: Sight) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [
        col(Fact.tenant_id) == sight.tenant_id,
        col(Fact.write_status).in_(SHOWN),
        col(Fact.deleted_at).is_(None),
        or_(col(Fact.expires_at).is_(None), col(Fact.expires_at) > sight.now),
        _in_scope(sight, Fact),
    ]
    if sight.known_at is None:
        conditions.append(col(Fact.superseded_at).is_(None))
    else:
        conditions.append(col(Fact.recorded_at) <= sight.known_at)
        conditions.append(or_(col(Fact.superseded_at).is_(None), col(Fact.superseded_at) > sight.known_at))
    conditions.append(or_(col(Fact.valid_from).is_(None), col(Fact.valid_from) <= sight.as_of))
    if sight.between is not None:
        start, end = sight.between
        conditions.append(or_(col(Fact.valid_from).is_(None), col(Fact.valid_from) <= end))
        conditions.append(or_(col(Fact.valid_until).is_(None), col(Fact.valid_until) > start))
    elif not sight.closed:
        conditions.append(or_(col(Fact.valid_until).is_(None), col(Fact.valid_until) > sight.as_of))
    return conditions


def _episodes_in(sight: Sight) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [
        col(Episode.tenant_id) == sight.tenant_id,
        col(Episode.user_ref).in_(sight.users),
        col(Episode.write_status).in_(SHOWN),
        col(Episode.deleted_at).is_(None),
        or_(col(Episode.expires_at).is_(None), col(Episode.expires_at) > sight.now),
        col(Episode.started_at) <= sight.as_of,
    ]
    if sight.scopes and "user" not in sight.scopes:
        conditions.append(false())
    if sight.known_at is not None:
        conditions.append(col(Episode.recorded_at) <= sight.known_at)
    if sight.outcome is not None:
        conditions.append(col(Episode.outcome) == sight.outcome)
    if sight.between is not None:
        conditions += [col(Episode.started_at) <= sight.between[1], col(Episode.ended_at) >= sight.between[0]]
    return conditions


def _moments_in(sight: Sight) -> list[ColumnElement[bool]]:
    own_ticket = col(Turn.ticket_id) == sight.ticket_id if sight.ticket_id is not None else false()
    conditions: list[ColumnElement[bool]] = [
        col(Moment.tenant_id) == sight.tenant_id,
        col(Moment.deleted_at).is_(None),
        _in_scope(sight, Moment),
        # Whatever scope its row has: what a member of staff said belongs to the ticket alone.
        or_(col(Turn.role) != "staff", own_ticket),
        col(Turn.at) <= sight.as_of,
    ]
    if sight.known_at is not None:
        conditions.append(col(Turn.received_at) <= sight.known_at)
    if sight.between is not None:
        conditions += [col(Turn.at) >= sight.between[0], col(Turn.at) <= sight.between[1]]
    return conditions


def _in_scope(sight: Sight, table: type[Fact] | type[Moment]) -> ColumnElement[bool]:
    scope, key, user = col(table.scope), col(table.scope_key), col(table.user_ref)
    ways: list[ColumnElement[bool]] = []
    if _wants(sight, "user"):
        ways.append(and_(scope == "user", user.in_(sight.users)))
    if _wants(sight, "organization"):
        ways.append(scope == "organization")
    if _wants(sight, "ticket") and sight.ticket_id is not None:
        ways.append(and_(scope == "ticket", key == sight.ticket_id))
    threads = [one for one in (sight.thread_id, str(sight.session_ref) if sight.session_ref else None) if one]
    if _wants(sight, "thread") and threads:
        # Whoever is in a shared thread finds what was said in it.
        ways.append(and_(scope == "thread", key.in_(threads)))
    if table is Moment and _wants(sight, "thread") and sight.shared_threads:
        ways.append(and_(scope == "thread", key.in_(sight.shared_threads)))
    return or_(*ways) if ways else false()


def _wants(sight: Sight, scope: str) -> bool:
    return not sight.scopes or scope in sight.scopes


def _without_held(record: EpisodeRecord, held: tuple[str, ...]) -> EpisodeRecord:
    if not held:
        return record
    return replace(
        record,
        summary=without_mentions(record.summary, held),
        tags=tuple(tag for tag in record.tags if not mentions(tag, held)),
        entities=tuple(name for name in record.entities if not mentions(name, held)),
    )


def fact_records(session: Session, tenant_id: UUID, rows: Sequence[Fact]) -> list[FactRecord]:
    """Versions of facts, opened, each with its newest evidence."""
    quoted = [one for row in rows for one in row.evidence_ids[-MAX_QUOTES:]]
    refs = evidence_refs(session, tenant_id, quoted)
    records: list[FactRecord] = []
    for row in rows:
        own = [refs[UUID(one)] for one in row.evidence_ids[-MAX_QUOTES:] if UUID(one) in refs]
        own.sort(key=lambda ref: (ref.at is not None, ref.at), reverse=True)
        records.append(_fact_record(row, tuple(own)))
    return records


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


def _chunks(ids: Sequence[UUID]) -> Iterable[Sequence[UUID]]:
    for start in range(0, len(ids), _IDS_PER_QUERY):
        yield ids[start : start + _IDS_PER_QUERY]

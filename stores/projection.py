"""What the index is told about a record: made from SQL at the moment of writing, never from a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from types import MappingProxyType
from typing import NamedTuple, cast
from uuid import UUID

from sqlmodel import Session, col, select

from memory.moments import IndexTexts, day_text, episode_texts, fact_texts, moment_texts, procedure_texts
from memory.registry import spec_of
from memory.spans import mentions, without_mentions
from memory.terms import exact_terms, terms
from memory.turns import TurnView
from schemas.envelopes import disclose, disclose_json
from schemas.errors import Transient
from schemas.indexing import IndexRow
from schemas.memories import WriteStatus
from schemas.tables import Episode, Evidence, Fact, Moment, ProcedureVersion, Turn
from stores import procedures, spans, turns

_SHOWN = (WriteStatus.AUTO.value, WriteStatus.APPROVED.value)
_QUOTES = 5


_TABLES: Mapping[str, type[Moment | Fact | Episode | ProcedureVersion]] = MappingProxyType(
    {"moment": Moment, "fact": Fact, "episode": Episode, "procedure": ProcedureVersion}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projected:
    """A record as the index takes it, still without its vector.

    `embed` is the text to embed; `neighbours` are the texts before and after it, towards which the vector leans.
    """

    row: IndexRow
    embed: str
    neighbours: tuple[str | None, str | None] = (None, None)


def project(session: Session, kind: str, record_id: UUID) -> Projected | None:
    """The record as it should stand in the index now; None when it should not stand there (gone, held back, merged).

    Raises: Transient for a kind that only a newer version knows: it waits for the upgrade.
    """
    reader = _READERS.get(kind)
    if reader is None:
        msg = f"this version indexes no {kind}"
        raise Transient(msg, code="unknown_kind")
    return reader(session, record_id)


def row_version(session: Session, kind: str, record_id: UUID) -> int | None:
    """The version at which a record stands in SQL; None when it is gone, ended or of no known kind."""
    table = _TABLES.get(kind)
    row = None if table is None else session.get(table, record_id)
    if row is None or (not isinstance(row, ProcedureVersion) and row.deleted_at is not None):
        return None
    return None if isinstance(row, Fact) and row.superseded_at is not None else row.row_version


def _moment(session: Session, record_id: UUID) -> Projected | None:
    moment = session.get(Moment, record_id)
    if moment is None or moment.deleted_at is not None:
        return None
    found = turns.views(session, moment.tenant_id, [moment.event_id])
    if not found:
        return None
    turn = found[0]
    around = turns.neighbours(session, moment.tenant_id, [moment.event_id])[moment.event_id]
    near = [other for other in (turn, around.previous, around.next) if other is not None]
    cuts = spans.cuts(session, moment.tenant_id, [other.event_id for other in near])
    texts = moment_texts(turn, around.previous, around.next, cuts=cuts)
    if texts is None:
        return None
    said = session.get_one(Turn, (moment.tenant_id, moment.event_id))
    keys = _keywords(texts)
    row = IndexRow(
        id=moment.id,
        tenant_id=moment.tenant_id,
        user_ref=moment.user_ref,
        kind="moment",
        scope=moment.scope,
        scope_key=moment.scope_key,
        row_version=moment.row_version,
        created_at=turn.at,
        valid_from=turn.at,
        agent_id=turn.agent_id,
        session_ref=said.session_ref,
        ticket_id=turn.ticket_id,
        own_terms=keys.own,
        context_terms=keys.context,
        exact_terms=keys.exact,
    )
    return Projected(
        row=row, embed=texts.embed, neighbours=(_embed_text(around.previous, cuts), _embed_text(around.next, cuts))
    )


def _embed_text(turn: TurnView | None, cuts: Mapping[UUID, Sequence[tuple[int, int]]]) -> str | None:
    if turn is None:
        return None
    texts = moment_texts(turn, cuts=cuts)
    return None if texts is None else texts.embed


def _fact(session: Session, record_id: UUID) -> Projected | None:
    fact = session.get(Fact, record_id)
    if fact is None or fact.deleted_at or fact.superseded_at or fact.write_status not in _SHOWN:
        return None
    spec = spec_of(fact.key)
    labels = [fact.key.replace("_", " ")] if spec is None else [spec.en, spec.zh, *spec.aliases]
    texts = fact_texts(
        subject=disclose(fact.subject),
        labels=labels,
        value=disclose(fact.value),
        canonical=disclose(fact.canonical),
        quotes=_quotes(session, fact),
        day=day_text(fact.said_at, UTC, fact.language),
        object_=None if fact.object is None else disclose(fact.object),
    )
    keys = _keywords(texts)
    row = IndexRow(
        id=fact.id,
        tenant_id=fact.tenant_id,
        user_ref=fact.user_ref,
        kind="fact",
        scope=fact.scope,
        scope_key=fact.scope_key,
        row_version=fact.row_version,
        created_at=fact.recorded_at,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        expires_at=fact.expires_at,
        agent_id=fact.agent_id,
        session_ref=fact.session_ref,
        ticket_id=fact.ticket_id,
        own_terms=keys.own,
        context_terms=keys.context,
        exact_terms=keys.exact,
    )
    return Projected(row=row, embed=texts.embed)


def _quotes(session: Session, fact: Fact) -> list[str]:
    ids = [UUID(evidence_id) for evidence_id in fact.evidence_ids[-_QUOTES:]]
    rows = session.exec(select(Evidence).where(col(Evidence.id).in_(ids)).order_by(col(Evidence.at).desc())).all()
    held = spans.cuts(session, fact.tenant_id, [row.event_id for row in rows])
    return [
        disclose(row.quote)
        for row in rows
        if not _overlaps(row.quote_start, row.quote_start + len(disclose(row.quote)), held.get(row.event_id, []))
    ]


def _overlaps(start: int, end: int, held: Sequence[tuple[int, int]]) -> bool:
    return any(start < held_end and held_start < end for held_start, held_end in held)


def _episode(session: Session, record_id: UUID) -> Projected | None:
    episode = session.get(Episode, record_id)
    if episode is None or episode.deleted_at or episode.write_status not in _SHOWN:
        return None
    held = spans.words(session, episode.tenant_id, [UUID(event_id) for event_id in episode.turn_ids])
    named = [str(name) for name, _ in cast("list[list[str]]", disclose_json(episode.entities))]
    summary = without_mentions(disclose(episode.summary), held)
    if not summary:
        return None
    tags = tuple(tag for tag in episode.tags if not mentions(tag, held))
    texts = episode_texts(
        summary=summary,
        day=day_text(episode.started_at, UTC, episode.language),
        tags=tags,
        entities=[name for name in named if not mentions(name, held)],
        outcome=episode.outcome,
        procedure=episode.procedure_name,
    )
    keys = _keywords(texts)
    row = IndexRow(
        id=episode.id,
        tenant_id=episode.tenant_id,
        user_ref=episode.user_ref,
        kind="episode",
        scope="user",
        scope_key=str(episode.user_ref),
        row_version=episode.row_version,
        created_at=episode.started_at,
        valid_from=episode.started_at,
        expires_at=episode.expires_at,
        agent_id=episode.agent_id,
        session_ref=episode.session_ref,
        ticket_id=episode.ticket_id,
        tags=tags,
        outcome=episode.outcome,
        own_terms=keys.own,
        context_terms=keys.context,
        exact_terms=keys.exact,
    )
    return Projected(row=row, embed=texts.embed)


def _procedure(session: Session, record_id: UUID) -> Projected | None:
    found = procedures.get(session, record_id)
    if found is None or found[1].write_status not in _SHOWN:
        return None
    procedure, version = found
    steps = [str(step.get("text", "")) for step in cast("list[dict[str, object]]", disclose_json(version.steps))]
    texts = procedure_texts(name=procedure.name, trigger=disclose(version.trigger), steps=steps)
    keys = _keywords(texts)
    row = IndexRow(
        id=version.id,
        tenant_id=version.tenant_id,
        user_ref=version.tenant_id,
        kind="procedure",
        scope=procedure.scope,
        scope_key=procedure.scope_key,
        row_version=version.row_version,
        created_at=version.created_at,
        own_terms=keys.own,
        context_terms=keys.context,
        exact_terms=keys.exact,
    )
    return Projected(row=row, embed=texts.embed)


class _Keywords(NamedTuple):
    own: str
    context: str
    exact: tuple[str, ...]


def _keywords(texts: IndexTexts) -> _Keywords:
    exact = dict.fromkeys([*exact_terms(texts.own), *(term for name in texts.exact for term in exact_terms(name))])
    return _Keywords(" ".join(terms(texts.own)), " ".join(terms(texts.context)), tuple(exact))


_READERS: Mapping[str, Callable[[Session, UUID], Projected | None]] = MappingProxyType(
    {"moment": _moment, "fact": _fact, "episode": _episode, "procedure": _procedure}
)

"""What the index is told about a record: made from SQL at the moment of writing, never from a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Table, bindparam
from sqlalchemy import select as pick
from sqlmodel import Session, SQLModel, col

from memory.moments import IndexTexts, day_text, episode_texts, fact_texts, moment_texts, procedure_texts
from memory.registry import spec_of
from memory.spans import mentions, without_mentions
from memory.terms import exact_terms, terms
from memory.turns import TurnView
from schemas.envelopes import disclose, disclose_json
from schemas.errors import Transient
from schemas.indexing import IndexRow
from schemas.memories import WriteStatus
from schemas.tables import Episode, Evidence, Fact, Moment, Procedure, ProcedureVersion
from stores import spans, turns
from stores.held import chunks

_SHOWN = (WriteStatus.AUTO.value, WriteStatus.APPROVED.value)
_QUOTES = 5


_TABLES: Mapping[str, type[SQLModel]] = MappingProxyType(
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


class Standing(NamedTuple):
    """A record in SQL: the version at which it stands, and whose it is (procedures are their tenant's)."""

    row_version: int
    user_ref: UUID


def project(session: Session, kind: str, record_id: UUID) -> Projected | None:
    """The record as it should stand in the index now; None when it should not stand there (gone, held back, merged).

    Raises: Transient for a kind that only a newer version knows: it waits for the upgrade.
    """
    return project_all(session, kind, [record_id]).get(record_id)


def project_all(session: Session, kind: str, record_ids: Sequence[UUID]) -> dict[UUID, Projected]:
    """`project` for many records of a kind, of any tenants, in a handful of statements a tenant.

    Shape: by id, without those that should not stand in the index. Raises: Transient, as `project`.
    """
    reader = _READERS.get(kind)
    if reader is None:
        msg = f"this version indexes no {kind}"
        raise Transient(msg, code="unknown_kind")
    found: dict[UUID, Projected] = {}
    for chunk in chunks(record_ids):
        by_tenant: dict[UUID, list[Any]] = {}
        for row in session.connection().execute(_rows_of(kind), {"ids": chunk}):
            by_tenant.setdefault(row.tenant_id, []).append(row)
        for tenant_id, rows in by_tenant.items():
            found.update((one.row.id, one) for one in reader(session, tenant_id, rows))
    return found


def standings(session: Session, kind: str, record_ids: Sequence[UUID]) -> dict[UUID, Standing]:
    """Those of the records that stand in SQL; what is gone, ended or of no known kind is left out."""
    if kind not in _TABLES:
        return {}
    found: dict[UUID, Standing] = {}
    for chunk in chunks(record_ids):
        rows = session.connection().execute(_versions_of(kind), {"ids": chunk})
        found.update((row[0], Standing(*row[1:])) for row in map(tuple, rows))
    return found


def table_of(kind: str) -> Table:
    """Where records of this kind are. Raises: KeyError for an unknown kind."""
    return cast("Table", cast("Any", _TABLES[kind]).__table__)


def is_live(kind: str) -> list[ColumnElement[bool]]:
    """What a row of this kind must be to stand in SQL at all."""
    columns = table_of(kind).c
    return [columns[name].is_(None) for name in ("deleted_at", "superseded_at") if name in columns]


def is_shown(kind: str) -> list[ColumnElement[bool]]:
    """What a row of this kind must be to stand in the index, as far as its columns tell."""
    columns = table_of(kind).c
    shown = [columns["write_status"].in_(_SHOWN)] if "write_status" in columns else []
    return [*is_live(kind), *shown]


def owner(kind: str) -> ColumnElement[UUID]:
    """Whose record it is in the index: procedures are their tenant's."""
    columns = table_of(kind).c
    return columns["user_ref" if "user_ref" in columns else "tenant_id"]


@cache
def _rows_of(kind: str) -> Select[Any]:
    columns = table_of(kind).c
    return pick(*columns).where(columns["id"].in_(bindparam("ids", expanding=True)), *is_shown(kind))


@cache
def _versions_of(kind: str) -> Select[Any]:
    columns = table_of(kind).c
    wanted = columns["id"].in_(bindparam("ids", expanding=True))
    query: Select[Any] = pick(columns["id"], columns["row_version"], owner(kind))  # pyright: ignore[reportAssignmentType]  a row of three
    return query.where(wanted, *is_live(kind))


def _moments(session: Session, tenant_id: UUID, rows: Sequence[Moment]) -> Iterator[Projected]:
    event_ids = [row.event_id for row in rows]
    said = {row.event_id: row for row in turns.plain(session, tenant_id, event_ids)}
    opened = {event_id: turns.view(row) for event_id, row in said.items()}
    around = turns.neighbours(session, tenant_id, event_ids)
    beside = {other.event_id for pair in around.values() for other in pair if other is not None}
    cuts = spans.cuts(session, tenant_id, sorted(beside | set(opened)))
    for moment in rows:
        turn = opened.get(moment.event_id)
        if turn is None:
            continue
        previous, following = around[moment.event_id]
        texts = moment_texts(turn, previous, following, cuts=cuts)
        if texts is None:
            continue
        keys = _keywords(texts)
        row = IndexRow(
            id=moment.id,
            tenant_id=tenant_id,
            user_ref=moment.user_ref,
            kind="moment",
            scope=moment.scope,
            scope_key=moment.scope_key,
            row_version=moment.row_version,
            created_at=turn.at,
            valid_from=turn.at,
            agent_id=turn.agent_id,
            session_ref=said[moment.event_id].session_ref,
            ticket_id=turn.ticket_id,
            own_terms=keys.own,
            context_terms=keys.context,
            exact_terms=keys.exact,
        )
        yield Projected(
            row=row, embed=texts.embed, neighbours=(_embed_text(previous, cuts), _embed_text(following, cuts))
        )


def _embed_text(turn: TurnView | None, cuts: Mapping[UUID, Sequence[tuple[int, int]]]) -> str | None:
    if turn is None:
        return None
    texts = moment_texts(turn, cuts=cuts)
    return None if texts is None else texts.embed


def _facts(session: Session, tenant_id: UUID, rows: Sequence[Fact]) -> Iterator[Projected]:
    quotes = _quotes(session, tenant_id, rows)
    for fact in rows:
        spec = spec_of(fact.key)
        labels = [fact.key.replace("_", " ")] if spec is None else [spec.en, spec.zh, *spec.aliases]
        texts = fact_texts(
            subject=disclose(fact.subject),
            labels=labels,
            value=disclose(fact.value),
            canonical=disclose(fact.canonical),
            quotes=quotes[fact.id],
            day=day_text(fact.said_at, UTC, fact.language),
            object_=None if fact.object is None else disclose(fact.object),
        )
        keys = _keywords(texts)
        row = IndexRow(
            id=fact.id,
            tenant_id=tenant_id,
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
        yield Projected(row=row, embed=texts.embed)


_EVIDENCE = pick(
    col(Evidence.id), col(Evidence.at), col(Evidence.event_id), col(Evidence.quote), col(Evidence.quote_start)
).where(col(Evidence.id).in_(bindparam("ids", expanding=True)))


def _quotes(session: Session, tenant_id: UUID, facts: Sequence[Fact]) -> dict[UUID, list[str]]:
    """By fact, the newest quotes it rests on, latest first, without those that are held back."""
    ids = {fact.id: [UUID(evidence_id) for evidence_id in fact.evidence_ids[-_QUOTES:]] for fact in facts}
    found: dict[UUID, Any] = {}
    for chunk in chunks([one for some in ids.values() for one in some]):
        found.update((row.id, row) for row in session.connection().execute(_EVIDENCE, {"ids": chunk}))
    held = spans.cuts(session, tenant_id, sorted({row.event_id for row in found.values()}))
    quotes: dict[UUID, list[str]] = {}
    for fact_id, evidence_ids in ids.items():
        rows = sorted((found[one] for one in evidence_ids if one in found), key=lambda row: row.at, reverse=True)
        said = [(row, disclose(row.quote)) for row in rows]
        quotes[fact_id] = [
            quote
            for row, quote in said
            if not _overlaps(row.quote_start, row.quote_start + len(quote), held.get(row.event_id, []))
        ]
    return quotes


def _overlaps(start: int, end: int, held: Sequence[tuple[int, int]]) -> bool:
    return any(start < held_end and held_start < end for held_start, held_end in held)


def _episodes(session: Session, tenant_id: UUID, rows: Sequence[Episode]) -> Iterator[Projected]:
    turn_ids = [[UUID(event_id) for event_id in row.turn_ids] for row in rows]
    for episode, held in zip(rows, spans.words_of(session, tenant_id, turn_ids), strict=True):
        named = [str(name) for name, _ in cast("list[list[str]]", disclose_json(episode.entities))]
        summary = without_mentions(disclose(episode.summary), held)
        if not summary:
            continue
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
            tenant_id=tenant_id,
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
        yield Projected(row=row, embed=texts.embed)


_PROCEDURES = pick(col(Procedure.id), col(Procedure.name), col(Procedure.scope), col(Procedure.scope_key)).where(
    col(Procedure.id).in_(bindparam("ids", expanding=True)), col(Procedure.deleted_at).is_(None)
)


def _procedures(session: Session, tenant_id: UUID, rows: Sequence[ProcedureVersion]) -> Iterator[Projected]:
    named = {
        row.id: row
        for chunk in chunks(sorted({version.procedure_id for version in rows}))
        for row in session.connection().execute(_PROCEDURES, {"ids": chunk})
    }
    for version in rows:
        procedure = named.get(version.procedure_id)
        if procedure is None:
            continue
        steps = [str(step.get("text", "")) for step in cast("list[dict[str, object]]", disclose_json(version.steps))]
        texts = procedure_texts(name=procedure.name, trigger=disclose(version.trigger), steps=steps)
        keys = _keywords(texts)
        row = IndexRow(
            id=version.id,
            tenant_id=tenant_id,
            user_ref=tenant_id,
            kind="procedure",
            scope=procedure.scope,
            scope_key=procedure.scope_key,
            row_version=version.row_version,
            created_at=version.created_at,
            own_terms=keys.own,
            context_terms=keys.context,
            exact_terms=keys.exact,
        )
        yield Projected(row=row, embed=texts.embed)


class _Keywords(NamedTuple):
    own: str
    context: str
    exact: tuple[str, ...]


def _keywords(texts: IndexTexts) -> _Keywords:
    exact = dict.fromkeys([*exact_terms(texts.own), *(term for name in texts.exact for term in exact_terms(name))])
    return _Keywords(" ".join(terms(texts.own)), " ".join(terms(texts.context)), tuple(exact))


_READERS: Mapping[str, Callable[[Session, UUID, Sequence[Any]], Iterator[Projected]]] = MappingProxyType(
    {"moment": _moments, "fact": _facts, "episode": _episodes, "procedure": _procedures}
)
KINDS = tuple(_READERS)

"""The audit's rules of one tenant's index: it holds exactly what SQL projects, at its version, with its vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import label, literal, select, union_all
from sqlmodel import Session, col

from schemas.tables import Episode, Fact, Moment, OutboxRow, ProcedureVersion
from stores.auditing.reading import ROWS, rows_of
from stores.index import Index
from stores.projection import project


@dataclass(slots=True)
class _Found:
    """What one walk over both sides found, by rule."""

    missing: list[str] = field(default_factory=list[str])
    extra: list[str] = field(default_factory=list[str])
    version: list[str] = field(default_factory=list[str])
    vector: list[str] = field(default_factory=list[str])


def index_checks(session: Session, index: Index, tenant_id: UUID) -> dict[str, Iterable[str]]:
    """Walks SQL and the index side by side, in id order. What the index is still owed is not judged."""
    found = _Found()
    there = index.ids(tenant_id)
    entry = next(there, None)
    for record_id, kind in _records(session, tenant_id):
        while entry is not None and entry[0] < record_id:
            found.extra.append(str(entry[0]))
            entry = next(there, None)
        held = entry if entry is not None and entry[0] == record_id else None
        if held is not None:
            entry = next(there, None)
        _compare(session, found, kind, record_id, held)
    if entry is not None:
        found.extra += [str(one[0]) for one in (entry, *there)]
    owed = _owed(session, [*found.missing, *found.extra, *found.version, *found.vector])
    return {
        "index_missing": [one for one in found.missing if one not in owed],
        "index_extra": [one for one in found.extra if one not in owed],
        "index_version": [one for one in found.version if one not in owed],
        "index_vector": [one for one in found.vector if one not in owed],
    }


def _compare(session: Session, found: _Found, kind: str, record_id: UUID, held: tuple[UUID, int, bool] | None) -> None:
    projected = project(session, kind, record_id)
    session.expunge_all()
    if projected is None:
        if held is not None:
            found.extra.append(str(record_id))
    elif held is None:
        found.missing.append(str(record_id))
    elif held[1] != projected.row.row_version:
        found.version.append(str(record_id))
    elif not held[2]:
        found.vector.append(str(record_id))


def _records(session: Session, tenant_id: UUID) -> Iterator[tuple[UUID, str]]:
    """Every record that could stand in the index, deleted ones too, by id."""
    after = UUID(int=0)
    parts = [
        select(label("id", col(table.id)), label("kind", literal(kind))).where(col(table.tenant_id) == tenant_id)
        for table, kind in ((Moment, "moment"), (Fact, "fact"), (Episode, "episode"), (ProcedureVersion, "procedure"))
    ]
    records = union_all(*parts).subquery()
    while True:
        page = session.connection().execute(
            select(records.c.id, records.c.kind).where(records.c.id > after).order_by(records.c.id).limit(ROWS)
        )
        rows = page.all()
        yield from ((row[0], row[1]) for row in rows)
        if len(rows) < ROWS:
            return
        after = rows[-1][0]


def _owed(session: Session, record_ids: list[str]) -> set[str]:
    owed: set[str] = set()
    for start in range(0, len(record_ids), ROWS):
        ids = [UUID(one) for one in record_ids[start : start + ROWS]]
        owed.update(rows_of(session, select(col(OutboxRow.record_id)).where(col(OutboxRow.record_id).in_(ids))))
    return owed

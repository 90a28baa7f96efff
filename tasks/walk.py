"""A walk over all that one tenant's index should hold, and over all that it does: page by page, from SQL and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from uuid import UUID

from sqlmodel import Session

from stores import reconciling
from stores.index import Index
from stores.kit import Kit
from stores.reconciling import Record

OWNERS_PER_PAGE = 50


@dataclass(slots=True)
class Walk:
    """Where the comparison of one tenant stands: first from SQL to the index, owner by owner, then the other way.

    `everything`: all of SQL's records are owed, whatever the index holds. `owner` is the one under way, `record` the
    last record seen.
    """

    everything: bool = False
    is_back: bool = False
    owner: UUID | None = None
    record: UUID | None = None
    drift: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Walk:
        """As it was kept."""
        owner, record = kept.get("owner"), kept.get("record")
        return cls(
            everything=bool(kept.get("all")),
            is_back=bool(kept.get("back")),
            owner=None if owner is None else UUID(owner),
            record=None if record is None else UUID(record),
            drift=Counter(kept.get("drift", {})),
        )

    def kept(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "all": self.everything,
            "back": self.is_back,
            "owner": None if self.owner is None else str(self.owner),
            "record": None if self.record is None else str(self.record),
            "drift": dict(self.drift),
        }


def next_page(session: Session, tenant_id: UUID, walk: Walk, limit: int) -> list[Record]:
    """The next records of one owner after another, `limit` at most; the walk then stands behind them."""
    records: list[Record] = []
    if walk.owner is not None and walk.record is not None:
        records = reconciling.records_after(session, tenant_id, walk.owner, walk.record, limit)
    owners = reconciling.owners_after(session, tenant_id, walk.owner, OWNERS_PER_PAGE) if len(records) < limit else []
    for owner in owners:
        records += reconciling.records_after(session, tenant_id, owner, None, limit - len(records))
        walk.owner = owner
        if len(records) == limit:
            break
    # An owner whose records did not all fit is gone on with.
    walk.record = records[-1].id if len(records) == limit else None
    if not owners and walk.record is None:
        walk.is_back, walk.owner = True, tenant_id
    return records


def differing_in(index: Index, tenant_id: UUID, records: Sequence[Record]) -> list[tuple[str, Record]]:
    """The records that the index does not hold as SQL has them, each with how."""
    differing: list[tuple[str, Record]] = []
    held = index.held(tenant_id, [record.id for record in records])
    for record in records:
        if record.id not in held:
            differing.append(("missing", record))
        elif held[record.id][0] != record.row_version:
            differing.append(("version", record))
        elif not held[record.id][1]:
            differing.append(("vector", record))
    return differing


def look_back(kit: Kit, index: Index, tenant_id: UUID, walk: Walk, limit: int) -> tuple[list[Record], list[UUID]]:
    """One page from an index to SQL: what should not be there, known to SQL and not.

    Moves the walk on; its owner is None at the end.
    """
    ids = [entry[0] for entry in islice(index.ids(tenant_id, after=walk.record), limit)]
    with kit.db.read() as session:
        shown = reconciling.shown(session, ids)
        hidden = [one for one in ids if one not in shown]
        hidden = sorted(set(hidden) - reconciling.owed(session, hidden))
        known = reconciling.owners_of(session, hidden)
    walk.drift["extra"] += len(hidden)
    walk.owner, walk.record = (tenant_id, ids[-1]) if len(ids) == limit else (None, None)
    return list(known.values()), [one for one in hidden if one not in known]

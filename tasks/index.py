"""Tells the index what it is owed: claim, read SQL anew, embed, write, look again whether anything moved."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlmodel import Session

from memory.moments import pooled
from memory.windows import backoff
from schemas.errors import ServiceError, Transient
from schemas.indexing import IndexRow, Vector
from schemas.tables import OutboxRow, User
from stores import outbox
from stores.kit import Kit, process_kit
from stores.projection import Projected, project
from tasks.app import INDEX
from tasks.base import MemoryTask, hint, memory_task

logger = logging.getLogger(__name__)

BATCH = 64
LEASE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class _Owed:
    claim: OutboxRow
    projected: Projected | None


def index(kit: Kit) -> int:
    """Brings up to BATCH owed records into the index; answers how many were claimed (0: nothing is owed).

    Repeat: harmless. A record that moved meanwhile is due again at once; one that failed waits, longer each time.
    """
    claims = kit.db.write(lambda session: outbox.claim(session, limit=BATCH, lease_seconds=LEASE_SECONDS))
    if not claims:
        return 0
    owed = _read(kit, claims)
    failure = _write(kit, owed)
    kit.db.write(lambda session: _end(session, owed, failure))
    _remove_moved(kit, owed)
    logger.info("index written records=%d failed=%s", len(claims), failure.code if failure else "none")
    return len(claims)


def _read(kit: Kit, claims: Sequence[OutboxRow]) -> list[_Owed]:
    with kit.db.read() as session:
        return [_Owed(row, _projected(session, row)) for row in claims]


def _projected(session: Session, row: OutboxRow) -> Projected | None:
    if _generation(session, row) != row.generation:
        return None
    return project(session, row.kind, row.record_id)


def _generation(session: Session, row: OutboxRow) -> int:
    """The user's generation; an organisation's own records (procedures) belong to nobody and stay at 0."""
    user = session.get(User, row.user_ref)
    return 0 if user is None else user.generation


def _write(kit: Kit, owed: Sequence[_Owed]) -> ServiceError | None:
    """Writes and deletes. What failed, or None; without vectors the keywords are written all the same."""
    present = [item.projected for item in owed if item.projected is not None]
    vectors: Sequence[Vector | None]
    failure: ServiceError | None
    try:
        vectors, failure = _vectors(kit, present), None
    except ServiceError as exc:
        vectors, failure = [None for _ in present], exc
    try:
        for rows in _by_tenant(present, vectors).values():
            kit.index.upsert(rows)
        for tenant_id, ids in _gone(owed).items():
            kit.index.delete(tenant_id, ids)
    except Transient as exc:
        return exc
    return failure


def _vectors(kit: Kit, present: Sequence[Projected]) -> list[Vector]:
    """One vector a record, leaning towards its neighbours; each distinct text is embedded once."""
    texts = dict.fromkeys(
        text for item in present for text in (item.embed, *item.neighbours) if text is not None and text.strip()
    )
    by_text = dict(zip(texts, kit.embedder.embed(list(texts)), strict=True))
    return [_leaning(item, by_text) for item in present]


def _leaning(item: Projected, by_text: Mapping[str, Vector]) -> Vector:
    before, after = (by_text.get(text) if text else None for text in item.neighbours)
    return pooled(by_text[item.embed], before, after)


def _by_tenant(present: Sequence[Projected], vectors: Sequence[Vector | None]) -> dict[UUID, list[IndexRow]]:
    grouped: dict[UUID, list[IndexRow]] = {}
    for item, vector in zip(present, vectors, strict=True):
        grouped.setdefault(item.row.tenant_id, []).append(replace(item.row, vector=vector))
    return grouped


def _gone(owed: Sequence[_Owed]) -> dict[UUID, list[UUID]]:
    grouped: dict[UUID, list[UUID]] = {}
    for item in owed:
        if item.projected is None:
            grouped.setdefault(item.claim.tenant_id, []).append(item.claim.record_id)
    return grouped


def _end(session: Session, owed: Sequence[_Owed], failure: ServiceError | None) -> None:
    for item in owed:
        if failure is None or item.projected is None:
            outbox.settle(session, item.claim)
        else:
            asked = failure.retry_after_seconds if isinstance(failure, Transient) else None
            delay = backoff(item.claim.attempts, asked, random.random())  # noqa: S311 - jitter, not a secret
            outbox.postpone(session, item.claim, delay_seconds=delay, error_code=failure.code)


def _remove_moved(kit: Kit, owed: Sequence[_Owed]) -> None:
    """Deletes what vanished from SQL, or was erased, while it was being written: a missing row counts as moved."""
    with kit.db.read() as session:
        lost = [item for item in owed if item.projected is not None and _projected(session, item.claim) is None]
    for item in lost:
        kit.index.delete(item.claim.tenant_id, [item.claim.record_id])


@memory_task(INDEX)
def index_task(task: MemoryTask) -> None:
    """One hint, one batch; a full batch says that there is more."""
    if index(process_kit()) == BATCH:
        hint(INDEX)

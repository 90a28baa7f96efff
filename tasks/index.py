"""Tells the index what it is owed: claim, read SQL anew, write keywords, then vectors, and look again what moved."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from sqlmodel import Session

from memory.moments import pooled
from memory.windows import backoff
from schemas.errors import BadAnswer, ServiceError, Transient
from schemas.indexing import IndexRow, Vector
from schemas.tables import OutboxRow
from stores import calls, index_states, metrics, outbox, tenancy, tracing
from stores.kit import Kit, process_kit
from stores.projection import Projected, project_all, standings
from tasks import lags
from tasks.app import INDEX, RECONCILE
from tasks.base import MemoryTask, hint, memory_task

logger = logging.getLogger(__name__)

BATCH = 64
#: Beside the embedder's own time: reading, and writing twice.
MARGIN_SECONDS = 60.0
_TEXTS_PER_RECORD = 3
_PROBE = "hello"


@dataclass(slots=True)
class _Owed:
    """One claimed record: as SQL has it (None: it must not stand in the index), and what kept it from being written."""

    claim: OutboxRow
    projected: Projected | None = None
    failure: ServiceError | None = None

    @property
    def tenant_id(self) -> UUID:
        return self.claim.tenant_id


def index(kit: Kit) -> int:
    """Brings up to BATCH owed records into the index; answers how many were claimed (0: nothing is owed).

    Repeat: harmless. A record that moved meanwhile is due again at once; one that failed waits, longer each time.
    """
    lease_seconds = _lease_seconds(kit)
    claims = kit.db.write(lambda session: outbox.claim(session, limit=BATCH, lease_seconds=lease_seconds))
    if not claims:
        _settle(kit)
        return 0
    owed = [_Owed(row) for row in claims]
    attributes = {"gen_ai.operation.name": "upsert_memory", "gen_ai.memory.record.count": len(owed)}
    origins = [row.traceparent for row in claims]
    with tracing.span("upsert_memory", kind="consumer", origins=origins, attributes=attributes) as span:
        with kit.db.read() as session:
            _read(session, owed)
        _write(kit, owed)
        span.note({"afterturn.index.failed": sum(item.failure is not None for item in owed)})
    identities = _identities(kit, owed)
    moved, lost = kit.db.write(lambda session: (_end(session, owed), _note(session, identities)))
    if lost:
        logger.error("index lost tenants=%d", lost)
        hint(RECONCILE)
    # What vanished from SQL, or was erased, while it was written, goes at once; its row stays owed and says so again.
    _each_tenant(
        kit, moved, lambda tenant_id, items: kit.index.delete(tenant_id, [one.claim.record_id for one in items])
    )
    failed = sum(item.failure is not None for item in owed)
    lags.indexed((item.claim for item in owed if item.failure is None), kit.clock())
    logger.info("index written records=%d failed=%d moved=%d", len(owed), failed, len(moved))
    return len(claims)


def _settle(kit: Kit) -> None:
    """With nothing due any more, an index that was lost may be whole again."""
    with kit.db.read() as session:
        has_rebuilt = index_states.has_rebuilt(session)
    if has_rebuilt:
        kit.db.write(index_states.settle)


def _identities(kit: Kit, owed: Sequence[_Owed]) -> dict[UUID, UUID]:
    """Where what was written stands now."""
    identities: dict[UUID, UUID] = {}
    for tenant_id in sorted({item.tenant_id for item in owed if item.failure is None}):
        with suppress(ServiceError):
            identity = kit.index.identity(tenant_id)
            if identity is not None:
                identities[tenant_id] = identity
    return identities


def _note(session: Session, identities: Mapping[UUID, UUID]) -> int:
    """Notes where records are; answers how many tenants' index is another one than SQL believed."""
    return sum(index_states.note(session, tenant_id, identity) for tenant_id, identity in identities.items())


def _lease_seconds(kit: Kit) -> float:
    embed = kit.settings.embed
    requests = -(-BATCH * _TEXTS_PER_RECORD // embed.batch_size)
    return requests * embed.timeout_seconds + MARGIN_SECONDS


def _read(session: Session, owed: Sequence[_Owed]) -> None:
    """All of a batch in a handful of statements."""
    generations = _generations(session, owed)
    for kind, items in _by_kind(owed).items():
        ours = [item for item in items if _is_of_this_generation(item.claim, generations)]
        try:
            found = project_all(session, kind, [item.claim.record_id for item in ours])
        except Transient as exc:
            for item in ours:
                item.failure = exc
            continue
        for item in ours:
            item.projected = found.get(item.claim.record_id)


def _by_kind(owed: Sequence[_Owed]) -> dict[str, list[_Owed]]:
    kinds: dict[str, list[_Owed]] = {}
    for item in owed:
        kinds.setdefault(item.claim.kind, []).append(item)
    return kinds


def _generations(session: Session, owed: Sequence[_Owed]) -> dict[UUID, int]:
    return tenancy.generations(session, sorted({item.claim.user_ref for item in owed}))


def _is_of_this_generation(claim: OutboxRow, generations: Mapping[UUID, int]) -> bool:
    # An organisation's own records (procedures) belong to nobody and stay at 0.
    return generations.get(claim.user_ref, 0) == claim.generation


def _write(kit: Kit, owed: Sequence[_Owed]) -> None:
    """Deletes first, then keywords, then vectors: while the embedder is down or slow, words are found all the same.

    Weaviate heals by it, too: a vector that a kill lost comes back only with a row that stood there without it.
    """
    gone = [item for item in owed if item.projected is None and item.failure is None]
    _each_tenant(
        kit, gone, lambda tenant_id, items: kit.index.delete(tenant_id, [one.claim.record_id for one in items])
    )
    present = [item for item in owed if item.projected is not None]
    _each_tenant(kit, present, lambda _, items: kit.index.upsert([_row(one) for one in items]))
    written = [item for item in present if item.failure is None]
    try:
        vectors = _vectors(kit, [item.projected for item in written if item.projected is not None])
    except ServiceError as exc:
        for item in written:
            item.failure = exc
        return
    by_id = dict(zip([item.claim.record_id for item in written], vectors, strict=True))
    _each_tenant(
        kit,
        [item for item in written if by_id[item.claim.record_id] is not None],
        lambda _, items: kit.index.upsert([_row(one, by_id[one.claim.record_id]) for one in items]),
    )


def _each_tenant(kit: Kit, items: Sequence[_Owed], act: Callable[[UUID, Sequence[_Owed]], None]) -> None:
    """Does it tenant by tenant; what fails for one is noted on its records and holds up no other."""
    grouped: dict[UUID, list[_Owed]] = {}
    for item in items:
        grouped.setdefault(item.tenant_id, []).append(item)
    for tenant_id, ours in grouped.items():
        try:
            act(tenant_id, ours)
        except ServiceError as exc:
            logger.warning("index refused code=%s records=%d", exc.code, len(ours))
            for item in ours:
                item.failure = exc


def _row(item: _Owed, vector: Vector | None = None) -> IndexRow:
    if item.projected is None:
        msg = f"outbox row {item.claim.id} has nothing to write"
        raise ValueError(msg)
    return replace(item.projected.row, vector=vector)


def _vectors(kit: Kit, present: Sequence[Projected]) -> list[Vector | None]:
    """One vector a record, leaning towards its neighbours; each distinct text is embedded once.

    None for a text that the embedder will never take: such a record is found by its words alone.
    """
    texts = dict.fromkeys(
        text for item in present for text in (item.embed, *item.neighbours) if text is not None and text.strip()
    )
    by_text = dict(zip(texts, _embedded(kit, list(texts)), strict=True))
    return [_leaning(item, by_text) for item in present]


def _embedded(kit: Kit, texts: Sequence[str]) -> list[Vector | None]:
    """The vectors of texts; None for those that the embedder refuses while it takes others.

    Raises: ModelBusy; BadAnswer when it takes none, for then it is set up wrong and no text is at fault.
    """
    try:
        with calls.timed("embed", count=len(texts)):
            return list(kit.embedder.embed(texts))
    except BadAnswer as exc:
        metrics.LLM_ERRORS.labels(exc.code).inc()
    kit.embedder.embed([_PROBE])
    return _taken(kit, texts)


def _taken(kit: Kit, texts: Sequence[str]) -> list[Vector | None]:
    """Halves of a refused batch, asked for apart, down to the texts at fault."""
    if len(texts) > 1:
        half = len(texts) // 2
        return [vector for part in (texts[:half], texts[half:]) for vector in _part(kit, part)]
    logger.warning("embedder refuses a text chars=%d", len(texts[0]))
    return [None]


def _part(kit: Kit, texts: Sequence[str]) -> list[Vector | None]:
    try:
        return list(kit.embedder.embed(texts))
    except BadAnswer:
        return _taken(kit, texts)


def _leaning(item: Projected, by_text: Mapping[str, Vector | None]) -> Vector | None:
    own = by_text.get(item.embed)
    if own is None:
        return None
    before, after = (by_text.get(text) if text else None for text in item.neighbours)
    leaning = pooled(own, before, after)
    # Neighbours that cancel it out leave no direction, which no index takes.
    return leaning if leaning.any() else own


def _end(session: Session, owed: Sequence[_Owed]) -> list[_Owed]:
    """Ends the claims that did their work; answers those that were written and whose record is gone since."""
    now = _versions_now(session, owed)
    done: list[OutboxRow] = []
    later: list[tuple[OutboxRow, float, str]] = []
    for item in owed:
        failure = item.failure
        if failure is not None:
            asked = failure.retry_after_seconds if isinstance(failure, Transient) else None
            delay = backoff(item.claim.attempts, asked, random.random())  # noqa: S311 - jitter, not a secret
            later.append((item.claim, delay, failure.code))
        elif item.projected is None or now.get(item.claim.record_id) == item.projected.row.row_version:
            done.append(item.claim)
        else:
            later.append((item.claim, 0.0, "moved"))
    outbox.settle_all(session, done)
    outbox.postpone_all(session, later)
    return [item for item in owed if item.projected is not None and item.claim.record_id not in now]


def _versions_now(session: Session, owed: Sequence[_Owed]) -> dict[UUID, int]:
    """The records' versions; a missing row, or one whose user was erased since, counts as moved and is left out."""
    generations = _generations(session, owed)
    found: dict[UUID, int] = {}
    for kind, items in _by_kind(owed).items():
        ours = [item.claim.record_id for item in items if _is_of_this_generation(item.claim, generations)]
        found.update((one, standing.row_version) for one, standing in standings(session, kind, ours).items())
    return found


@memory_task(INDEX)
def index_task(task: MemoryTask) -> None:
    """One hint, one batch; a full batch says that there is more."""
    if index(process_kit()) == BATCH:
        hint(INDEX)

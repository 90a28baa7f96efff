"""Tells the index what it is owed: claim, read SQL anew, write every generation, and look again what moved."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlmodel import Session

from memory.windows import backoff
from schemas.errors import ServiceError, Transient
from schemas.tables import IndexGeneration, OutboxRow
from stores import index_generations, index_states, outbox, tenancy, tracing
from stores.generations import mark_of
from stores.index_generations import Plan
from stores.kit import Kit, process_kit
from stores.projection import Projected, project_all, standings
from tasks import lags
from tasks.app import INDEX, RECONCILE
from tasks.base import MemoryTask, hint, memory_task
from tasks.write import Wanted, write

logger = logging.getLogger(__name__)

BATCH = 64
#: Beside the embedder's own time: reading, and writing twice.
MARGIN_SECONDS = 60.0
_TEXTS_PER_RECORD = 3


@dataclass(slots=True)
class _Owed:
    """One claimed record: as SQL has it (None: it must not stand in the index), and what kept it from being written."""

    claim: OutboxRow
    projected: Projected | None = None
    failure: ServiceError | None = None

    @property
    def tenant_id(self) -> UUID:
        return self.claim.tenant_id


class _Found(NamedTuple):
    """Where each tenant's records stand in the live generation now, and its embedder's mark where there was none."""

    identities: dict[UUID, UUID]
    probe: bytes | None


def index(kit: Kit) -> int:
    """Brings up to BATCH owed records into the index; answers how many were claimed (0: nothing is owed).

    Into every generation that is being written: one that missed a record leaves it owed. Repeat: harmless. A record
    that moved meanwhile is due again at once; one that failed waits, longer each time.
    """
    lease_seconds = lease_of(kit)
    claims, plan = kit.db.write(
        lambda session: (outbox.claim(session, limit=BATCH, lease_seconds=lease_seconds), kit.generations.read(session))
    )
    if not claims:
        _settle(kit)
        return 0
    owed = [_Owed(row) for row in claims]
    attributes = {"gen_ai.operation.name": "upsert_memory", "gen_ai.memory.record.count": len(owed)}
    origins = [row.traceparent for row in claims]
    with tracing.span("upsert_memory", kind="consumer", origins=origins, attributes=attributes) as span:
        with kit.db.read() as session:
            _read(session, owed)
        _write(kit, plan, owed)
        span.note({"afterturn.index.failed": sum(item.failure is not None for item in owed)})
    found = _Found(_identities(kit, plan, owed), _probe(kit, plan, owed))
    moved, lost = kit.db.write(lambda session: _end(session, kit, plan, owed, found))
    if lost:
        logger.error("index lost tenants=%d", lost)
        hint(RECONCILE)
    # What vanished from SQL, or was erased, while it was written, goes at once; its row stays owed and says so again.
    for row in plan.written if moved else ():
        with suppress(ServiceError):
            write(kit.generations.opened(row), [Wanted(one.tenant_id, one.claim.record_id, None) for one in moved])
    failed = sum(item.failure is not None for item in owed)
    lags.indexed((item.claim for item in owed if item.failure is None), kit.clock())
    logger.info("index written records=%d failed=%d moved=%d", len(owed), failed, len(moved))
    return len(claims)


def lease_of(kit: Kit) -> float:
    """How long one batch may take: two generations are embedded apart."""
    embed = kit.settings.embed
    requests = -(-BATCH * _TEXTS_PER_RECORD // embed.batch_size)
    return 2 * requests * embed.timeout_seconds + MARGIN_SECONDS


def _settle(kit: Kit) -> None:
    """With nothing due any more, an index that was lost may be whole again."""
    with kit.db.read() as session:
        has_rebuilt = index_states.has_rebuilt(session)
    if has_rebuilt:
        kit.db.write(index_states.settle)


def _write(kit: Kit, plan: Plan, owed: Sequence[_Owed]) -> None:
    """Into each generation in turn; the next one's failures are noted where the live one had none."""
    wanted = [Wanted(one.tenant_id, one.claim.record_id, one.projected) for one in owed if one.failure is None]
    for row in plan.written:
        failures: Mapping[UUID, ServiceError]
        try:
            failures = write(kit.generations.opened(row), wanted).failures
        except ServiceError as exc:
            # These settings do not open it: whose do will write these records.
            logger.warning("index generation not open number=%d code=%s", row.number, exc.code)
            failures = dict.fromkeys([one.record_id for one in wanted], exc)
        for item in owed:
            item.failure = item.failure or failures.get(item.claim.record_id)


def _identities(kit: Kit, plan: Plan, owed: Sequence[_Owed]) -> dict[UUID, UUID]:
    """Where in the live generation what was written stands now."""
    identities: dict[UUID, UUID] = {}
    for tenant_id in sorted({item.tenant_id for item in owed if item.failure is None}):
        with suppress(ServiceError):
            identity = kit.generations.opened(plan.live).index.identity(tenant_id)
            if identity is not None:
                identities[tenant_id] = identity
    return identities


def _probe(kit: Kit, plan: Plan, owed: Sequence[_Owed]) -> bytes | None:
    """The live embedder's mark, once for good: by it a worker tells that another one's vectors are not the same."""
    if plan.live.probe is not None or not any(one.projected is not None and one.failure is None for one in owed):
        return None
    try:
        return mark_of(kit.generations.opened(plan.live).embedder)
    except ServiceError as exc:
        logger.warning("embedder not marked code=%s", exc.code)
        return None


def _end(session: Session, kit: Kit, plan: Plan, owed: Sequence[_Owed], found: _Found) -> tuple[list[_Owed], int]:
    """Ends the claims; answers what is gone from SQL since, and how many tenants' index is not the believed one."""
    now = kit.generations.read(session)
    if not plan.is_noted or found.probe is not None:
        index_generations.note(session, plan.live, found.probe)
        now = kit.generations.read(session)
    moved = _end_claims(session, owed, is_behind=bool(_missed(plan, now)))
    if plan.live.number != now.live.number:
        return moved, 0
    return moved, sum(
        index_states.note(session, tenant_id, identity, generation=plan.live.number)
        for tenant_id, identity in found.identities.items()
    )


def _missed(plan: Plan, now: Plan) -> list[IndexGeneration]:
    """Generations that were begun since the batch was, or are of another embedder than it took them for."""
    wrote = {(row.number, row.space) for row in plan.written}
    return [row for row in now.written if (row.number, row.space) not in wrote]


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


def _end_claims(session: Session, owed: Sequence[_Owed], *, is_behind: bool) -> list[_Owed]:
    """Ends the claims that did their work; answers those that were written and whose record is gone since.

    `is_behind`: none did, for another generation wants the records too.
    """
    now = _versions_now(session, owed)
    done: list[OutboxRow] = []
    later: list[tuple[OutboxRow, float, str]] = []
    for item in owed:
        failure = item.failure
        if failure is not None:
            asked = failure.retry_after_seconds if isinstance(failure, Transient) else None
            delay = backoff(item.claim.attempts, asked, random.random())  # noqa: S311 - jitter, not a secret
            later.append((item.claim, delay, failure.code))
        elif is_behind:
            later.append((item.claim, 0.0, "moved"))
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

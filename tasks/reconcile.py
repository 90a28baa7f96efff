"""Compares the index with SQL, record by record, and has what differs written or deleted: drift both ways.

SQL is the truth. What it has and the index lacks, or has in an older version or without a vector, is owed again through
the outbox; what only the index has is deleted. A tenant whose index is another one than SQL believed (lost, moved away,
restored) comes first, then those whose index's server was started again, which may have lost vectors of rows that it
kept. Everything else has its turn once in `reconcile_hours`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from sqlmodel import Session

from schemas.tables import IndexState
from stores import index_states, reconciling
from stores.index import Index
from stores.kit import Kit, process_kit
from stores.projection import project_all
from stores.reconciling import Record
from tasks import chain
from tasks.app import RECONCILE
from tasks.base import MemoryTask, memory_task
from tasks.chain import Link, Step
from tasks.reembed import reembed
from tasks.walk import Walk, differing_in, look_back, next_page

logger = logging.getLogger(__name__)

#: Records of one link, and of one write transaction: about 10 ms on SQLite.
BATCH = 500
TENANTS_PER_LOOK = 200


def reconcile(kit: Kit, *, every_seconds: float | None = None) -> int | None:
    """Looks whether any index was lost, then compares every tenant whose turn it is; answers how many records differed.

    None while another run is on. A run that met its deadline goes on from there next time. Repeat: harmless.
    """
    every = kit.settings.workers.reconcile_hours * 3600 if every_seconds is None else every_seconds
    _look(kit)
    _doubt(kit)
    kit.db.write(index_states.settle)
    return chain.run(kit, RECONCILE, lambda step: _link(kit, step, every))


def reindex(kit: Kit) -> int:
    """Says that everything which SQL shows is owed to the index, of every tenant; `reconcile` then owes it, in batches.

    Answers how many tenants that are. Repeat: begins anew, harmless.
    """
    last: UUID | None = None
    total = 0
    while tenants := _tenants_after(kit, last):
        live = kit.live()
        for tenant_id in tenants:
            identity = live.index.identity(tenant_id)
            kit.db.write(
                lambda session, one=tenant_id, identity=identity, number=live.number: index_states.lose(
                    session, one, identity, generation=number, everything=True
                )
            )
        last, total = tenants[-1], total + len(tenants)
    return total


def _tenants_after(kit: Kit, last: UUID | None) -> Sequence[UUID]:
    with kit.db.read() as session:
        return reconciling.tenants_after(session, last, TENANTS_PER_LOOK)


def _look(kit: Kit) -> None:
    """Has everything of a tenant compared at once whose index is not the one that SQL believed it to be."""
    place: UUID | None = None
    live = kit.live()
    while True:
        with kit.db.read() as session:
            gone, place = index_states.gone(session, live, after=place, limit=TENANTS_PER_LOOK)
        for tenant_id in gone:
            logger.error("index lost tenant_id=%s", tenant_id)
            identity = live.index.identity(tenant_id)
            kit.db.write(
                lambda session, one=tenant_id, now=identity: index_states.lose(
                    session, one, now, generation=live.number
                )
            )
        if place is None:
            return


def _doubt(kit: Kit) -> None:
    """Has every tenant compared at once whose index's server is another run than the one last known."""
    incarnation = kit.index.incarnation()
    if incarnation is None:
        return
    while count := kit.db.write(lambda session: index_states.doubt(session, incarnation, limit=TENANTS_PER_LOOK)):
        logger.warning("index server started again tenants=%d", count)


def _link(kit: Kit, step: Step, every_seconds: float) -> Link:
    with kit.db.read() as session:
        state = index_states.next_walk(session, every_seconds=every_seconds)
    if state is None:
        kit.db.write(step.hold)
        return Link(0, None)
    walk, live = Walk.of(state.walk), kit.live().index
    if walk.is_back:
        owed, alien = look_back(kit, live, state.tenant_id, walk, BATCH)
    else:
        owed, alien = _forth(kit, live, state.tenant_id, walk, is_lost=not state.is_whole), []
    if alien:
        for index in kit.generations.indexes():
            index.delete(state.tenant_id, alien)
    kit.db.write(partial(_keep, step=step, state=state, walk=walk, owed=owed))
    return Link(len(owed) + len(alien), "goes on")


def _keep(session: Session, *, step: Step, state: IndexState, walk: Walk, owed: Sequence[Record]) -> None:
    step.hold(session)
    if owed:
        reconciling.owe(session, state.tenant_id, owed)
    if walk.is_back and walk.owner is None:
        index_states.walked(session, state, dict(walk.drift))
        logger.info("index compared tenant_id=%s %s", state.tenant_id, dict(walk.drift))
    else:
        index_states.keep_place(session, state, walk.kept())


def _forth(kit: Kit, live: Index, tenant_id: UUID, walk: Walk, *, is_lost: bool) -> list[Record]:
    """One page from SQL to the index: what is missing there, older, or without its vector. Moves the walk on."""
    with kit.db.read() as session:
        records = next_page(session, tenant_id, walk, BATCH)
        waiting = reconciling.owed(session, [record.id for record in records])
    open_ones = [record for record in records if record.id not in waiting]
    if walk.everything:
        return open_ones
    differing = differing_in(live, tenant_id, open_ones)
    if not is_lost:
        differing = _without_hidden(kit, differing)
    walk.drift.update(kind for kind, _ in differing)
    return [record for _, record in differing]


def _without_hidden(kit: Kit, differing: Sequence[tuple[str, Record]]) -> list[tuple[str, Record]]:
    """Leaves out what the index rightly lacks: all of it is held back."""
    missing = [record for kind, record in differing if kind == "missing"]
    belongs: set[UUID] = set()
    with kit.db.read() as session:
        for kind in sorted({record.kind for record in missing}):
            belongs |= set(project_all(session, kind, [record.id for record in missing if record.kind == kind]))
    return [(kind, record) for kind, record in differing if kind != "missing" or record.id in belongs]


@memory_task(RECONCILE)
def reconcile_task(task: MemoryTask) -> None:
    """The beat's look at the index, the walk when one is due, and what a new generation still lacks."""
    kit = process_kit()
    reconcile(kit)
    reembed(kit)

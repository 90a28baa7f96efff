"""Builds the next generation of the index beside the live one, switches to it, and drops the one before.

From the moment a generation is begun every worker writes what changes into both. Here everything is compared with SQL,
record by record, in passes: what the new index lacks, holds in another version or without its vector is written, and
what it should not hold is deleted, until a pass over all finds nothing. Then, in one transaction, it becomes the live
one. Wherever this is killed it goes on from the last page: by the command, or by the beat.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from sqlmodel import Session

from schemas.tables import IndexGeneration
from stores import index_generations, reconciling
from stores.generations import GRACE_SECONDS, Opened, space_of
from stores.kit import Kit
from stores.projection import Projected, project_all, standings
from stores.reconciling import Record
from tasks import chain
from tasks.chain import Link, Step
from tasks.index import BATCH, lease_of
from tasks.walk import Walk, differing_in, look_back, next_page
from tasks.write import Wanted, write

logger = logging.getLogger(__name__)

JOB = "afterturn.reembed"

Tell = Callable[["Building"], None]


@dataclass(slots=True)
class Building:
    """How far a generation is: the pass, the tenant under way, and what the pass found so far.

    `counts`: records looked at, those that differed, those whose text the embedder takes never (found by words alone).
    """

    passes: int = 1
    tenant: UUID | None = None
    walk: Walk = field(default_factory=Walk)
    counts: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Building:
        """As it was kept."""
        tenant = kept.get("tenant")
        return cls(
            passes=int(kept.get("passes", 1)),
            tenant=None if tenant is None else UUID(tenant),
            walk=Walk.of(kept.get("walk", {})),
            counts=Counter(kept.get("counts", {})),
        )

    def kept(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "passes": self.passes,
            "tenant": None if self.tenant is None else str(self.tenant),
            "walk": self.walk.kept(),
            "counts": dict(self.counts),
        }


def begin(kit: Kit, model: str, *, dimensions: int | None = None) -> IndexGeneration | None:
    """Begins a generation of this model's vectors; None when the live one is of it already, which gives up another.

    Repeat: the one that was begun. Raises: BadSettings for a model that the settings cannot open or that does not
    answer as one; Permanent while one of a third model is being built.
    """
    space = space_of(kit.settings.embed, model=model, dimensions=dimensions)
    plan = kit.generations.plan(seconds=0)
    if plan.live.space == space.name:
        if kit.db.write(index_generations.abandon):
            logger.warning("index generation given up number=%d", plan.next.number if plan.next else 0)
        return None
    if plan.next is not None and plan.next.space == space.name:
        return plan.next
    place_of = kit.generations.place_of(space.name)
    probe = kit.generations.mark(space)
    live_place = kit.generations.opened(plan.live).index.place()
    begun = kit.db.write(
        lambda session: index_generations.begin(
            session, space, place_of, live=plan.live, live_place=live_place, probe=probe
        )
    )
    logger.info("index generation begun number=%d", begun.number)
    return begun


def start_anew(kit: Kit) -> None:
    """Gives up an index that these settings or this build cannot read, for an empty one; everything is then owed to it.

    Repeat: begins anew.
    """
    plan = kit.generations.plan(seconds=0)
    default = kit.generations.default
    if not plan.is_noted or plan.live.space == default.name:
        # Nothing but its layout is foreign, or nobody knows more of it than the settings say.
        kit.generations.index_of(plan.live).rebuild()
        return
    place_of = kit.generations.place_of(default.name)
    live_place = kit.generations.index_of(plan.live).place()
    made = kit.db.write(lambda session: index_generations.replace(session, default, place_of, live_place=live_place))
    logger.warning("index generation given up number=%d for=%d", plan.live.number, made.number)
    kit.generations.live(seconds=0).index.open()


def reembed(kit: Kit, *, tell: Tell | None = None) -> bool | None:
    """Goes on with the generation that is being built, and drops what was live before; True when nothing is left.

    None while another run is on; False when it met its deadline, and goes on from there next time. Repeat: harmless.
    """
    plan = kit.generations.plan(seconds=0)
    if plan.next is None and not plan.retired:
        return True
    if plan.retired:
        _drop(kit, plan.live)
    if plan.next is None:
        return True
    done = chain.run(kit, JOB, lambda step: _link(kit, step, tell), lease_seconds=lease_of(kit))
    return None if done is None else kit.generations.plan(seconds=0).next is None


def _link(kit: Kit, step: Step, tell: Tell | None) -> Link:
    plan = kit.generations.plan(seconds=0)
    if plan.next is None:
        kit.db.write(step.hold)
        return Link(0, None)
    building = Building.of(plan.next.walk)
    changed = _page(kit, kit.generations.opened(plan.live), kit.generations.opened(plan.next), building)
    if tell is not None:
        tell(building)
    is_done = building.tenant is None and not building.counts["differing"]
    if is_done:
        kit.db.write(partial(_switch, step=step, number=plan.next.number))
        live = kit.generations.live(seconds=0)
        logger.info("index generation live number=%d %s", live.number, dict(building.counts))
        live.index.take_name()
        return Link(changed, None)
    if building.tenant is None:
        building = Building(passes=building.passes + 1)
    kit.db.write(partial(_keep, step=step, number=plan.next.number, walk=building.kept()))
    return Link(changed, "goes on")


def _keep(session: Session, *, step: Step, number: int, walk: dict[str, Any]) -> None:
    step.hold(session)
    index_generations.keep_walk(session, number, walk)


def _switch(session: Session, *, step: Step, number: int) -> None:
    step.hold(session)
    index_generations.switch(session, number)


def _page(kit: Kit, live: Opened, into: Opened, building: Building) -> int:
    """Compares and mends one page; moves the building on, to no tenant at the end of a pass."""
    if building.tenant is None:
        building.tenant = _tenant_after(kit, None)
        if building.tenant is None:
            return 0
    tenant_id, walk = building.tenant, building.walk
    changed = _back(kit, into, building) if walk.is_back else _forth(kit, live, into, building)
    if walk.is_back and walk.owner is None:
        identity = into.index.identity(tenant_id)
        kit.db.write(partial(_identify, tenant_id=tenant_id, identity=identity, live=live.number))
        building.tenant, building.walk = _tenant_after(kit, tenant_id), Walk()
    return changed


def _identify(session: Session, *, tenant_id: UUID, identity: UUID | None, live: int) -> None:
    index_generations.keep_identity(session, tenant_id, identity, live=live)


def _tenant_after(kit: Kit, last: UUID | None) -> UUID | None:
    with kit.db.read() as session:
        return next(iter(reconciling.tenants_after(session, last, 1)), None)


def _forth(kit: Kit, live: Opened, into: Opened, building: Building) -> int:
    """One page from SQL to the new index."""
    tenant_id = building.tenant
    if tenant_id is None:
        raise ValueError("no tenant is under way")
    with kit.db.read() as session:
        records = next_page(session, tenant_id, building.walk, BATCH)
        waiting = reconciling.owed(session, [record.id for record in records])
    differing = [
        record
        for how, record in differing_in(into.index, tenant_id, records)
        # What a worker is about to write anyway, it writes into both.
        if record.id not in waiting or how == "missing"
    ]
    fresh = waiting - set(live.index.held(tenant_id, sorted(waiting)))
    missing = [record for record in differing if record.id not in fresh]
    building.counts["records"] += len(records)
    written, refused = _write(kit, into, tenant_id, missing)
    building.counts["differing"] += written
    building.counts["refused"] += refused
    return written


def _write(kit: Kit, into: Opened, tenant_id: UUID, records: Sequence[Record]) -> tuple[int, int]:
    """Writes records as SQL has them now; how many were written, and how many are there without a vector for good."""
    if not records:
        return 0, 0
    projected = _projected(kit, records)
    held = into.index.held(tenant_id, [record.id for record in records])
    wanted = [
        Wanted(tenant_id, record.id, projected.get(record.id))
        for record in records
        if record.id in projected or record.id in held
    ]
    done = write(into, wanted)
    for failure in done.failures.values():
        raise failure
    _take_back(kit, into, tenant_id, [record for record in records if record.id in projected])
    # One that stood there already, at this version, with a text that the embedder takes never, is as it should be.
    settled = {one for one in done.refused if one in held and held[one] == (projected[one].row.row_version, False)}
    return len(wanted) - len(settled), len(done.refused)


def _projected(kit: Kit, records: Sequence[Record]) -> dict[UUID, Projected]:
    found: dict[UUID, Projected] = {}
    with kit.db.read() as session:
        for kind in sorted({record.kind for record in records}):
            found |= project_all(session, kind, [record.id for record in records if record.kind == kind])
    return found


def _take_back(kit: Kit, into: Opened, tenant_id: UUID, records: Sequence[Record]) -> None:
    """Deletes what vanished from SQL while it was written. What moved is owed, and the worker writes it after us."""
    there: set[UUID] = set()
    with kit.db.read() as session:
        for kind in sorted({record.kind for record in records}):
            there |= set(standings(session, kind, [record.id for record in records if record.kind == kind]))
    gone = [record.id for record in records if record.id not in there]
    if gone:
        into.index.delete(tenant_id, gone)


def _back(kit: Kit, into: Opened, building: Building) -> int:
    """One page from the new index to SQL: what should not stand there goes."""
    tenant_id = building.tenant
    if tenant_id is None:
        raise ValueError("no tenant is under way")
    known, alien = look_back(kit, into.index, tenant_id, building.walk, BATCH)
    if alien:
        into.index.delete(tenant_id, alien)
    written, _ = _write(kit, into, tenant_id, known)
    building.counts["differing"] += written + len(alien)
    return written + len(alien)


def _drop(kit: Kit, live: IndexGeneration) -> None:
    """Drops what was live before once nobody reads it any more."""
    kit.generations.opened(live).index.take_name()
    with kit.db.read() as session:
        left = index_generations.left(session, grace_seconds=GRACE_SECONDS)
    for row in left:
        kit.generations.index_of(row).drop()
        kit.db.write(lambda session, number=row.number: index_generations.dropped(session, number))
        logger.info("index generation dropped number=%d", row.number)
    if left:
        kit.generations.plan(seconds=0)

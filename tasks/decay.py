"""Computes anew how much each memory still matters, from stored base and times only: twice is the same as once."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Session

from memory.strength import StrengthPolicy, effective_importance
from stores import upkeep
from stores.kit import Kit, process_kit
from tasks import chain
from tasks.app import DECAY
from tasks.base import MemoryTask, memory_task
from tasks.chain import Link, Step

BATCH = 500
#: A change below this is not worth a write.
STEP = 0.005


def decay(kit: Kit) -> int | None:
    """Brings every live fact's and episode's strength up to date; how many moved, or None while another run is on."""
    now, policy = kit.world_now(), kit.policies.strength
    return chain.run(kit, DECAY, lambda step: kit.db.write(lambda session: _link(session, step, now, policy)))


def _link(session: Session, step: Step, now: datetime, policy: StrengthPolicy) -> Link:
    step.hold(session)
    kind, _, last = (step.after or "fact:").partition(":")
    rows = (upkeep.facts_after if kind == "fact" else upkeep.episodes_after)(session, last, BATCH)
    moved = 0
    for row in rows:
        strength = round(effective_importance(upkeep.strength_view(row), now, policy), 4)
        if abs(strength - row.strength) >= STEP:
            upkeep.set_strength(session, row, strength)
            moved += 1
    if len(rows) == BATCH:
        return Link(moved, f"{kind}:{rows[-1].id}")
    return Link(moved, "episode:" if kind == "fact" else None)


@memory_task(DECAY)
def decay_task(task: MemoryTask) -> None:
    """The beat's nightly run."""
    decay(process_kit())

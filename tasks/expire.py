"""Ends what is due and does not matter enough to stay; re-dates the rest. Volatile facts end with their session."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlmodel import Session

from memory.strength import StrengthPolicy, expiry
from schemas.decisions import Expire, Fresh, Keep
from stores import moments, upkeep
from stores.kit import Kit, process_kit
from stores.upkeep import Aged
from tasks import chain
from tasks.app import EXPIRE
from tasks.base import MemoryTask, memory_task
from tasks.chain import Link, Step

BATCH = 50
#: A session that never says that it has ended is over after a day without a word.
QUIET = timedelta(days=1)
_STAGES = ("fact", "episode", "volatile")


def expire(kit: Kit) -> int | None:
    """Goes through all that is due; how many rows it ended or re-dated, or None while another run is on."""
    now, policy = kit.world_now(), kit.policies.strength
    return chain.run(kit, EXPIRE, lambda step: kit.db.write(lambda session: _link(session, step, now, policy)))


def _link(session: Session, step: Step, now: datetime, policy: StrengthPolicy) -> Link:
    step.hold(session)
    stage = step.after or _STAGES[0]
    rows: list[Aged] = _due(session, stage, now)
    for row in rows:
        if stage == "volatile":
            upkeep.soft_delete(session, row, now=now)
        else:
            _settle(session, row, now, policy)
    _owe(session, stage, rows, now)
    if len(rows) == BATCH:
        return Link(len(rows), stage)
    following = _STAGES[_STAGES.index(stage) + 1 :]
    return Link(len(rows), following[0] if following else None)


def _due(session: Session, stage: str, now: datetime) -> list[Aged]:
    if stage == "fact":
        return [*upkeep.due_facts(session, now, BATCH)]
    if stage == "episode":
        return [*upkeep.due_episodes(session, now, BATCH)]
    return [*upkeep.outlived_volatile(session, now - QUIET, BATCH)]


def _settle(session: Session, row: Aged, now: datetime, policy: StrengthPolicy) -> None:
    """Every branch moves the row out of what is due, so that a batch always gets further."""
    match expiry(upkeep.strength_view(row), now, policy):
        case Fresh(due_at):
            upkeep.redate(session, row, due_at, extended=False)
        case Keep(extend_until):
            upkeep.redate(session, row, extend_until, extended=True)
        case Expire():
            upkeep.soft_delete(session, row, now=now)
        case _:
            upkeep.exempt(session, row)


def _owe(session: Session, stage: str, rows: list[Aged], now: datetime) -> None:
    """The index takes every row anew: a new date, or its removal; an episode takes its moments with it."""
    kind = "episode" if stage == "episode" else "fact"
    upkeep.owe(session, kind, rows)
    if kind == "episode":
        ended = [row.id for row in rows if row.deleted_at is not None]
        upkeep.owe(session, "moment", moments.soft_delete(session, ended, now=now))


@memory_task(EXPIRE)
def expire_task(task: MemoryTask) -> None:
    """The beat's hourly run."""
    expire(process_kit())

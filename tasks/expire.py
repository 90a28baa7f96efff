"""Ends what is due and does not matter enough to stay; re-dates the rest. Volatile facts end with their session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlmodel import Session

from memory.strength import StrengthPolicy, expiry
from schemas.decisions import Expire, Fresh, Keep
from schemas.tables import Fact
from stores import hot, moments, upkeep
from stores.hot import HotKey
from stores.kit import Kit, process_kit
from stores.sql import after_commit
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
    now = kit.world_now()
    return chain.run(kit, EXPIRE, lambda step: kit.db.write(lambda session: _link(session, kit, step, now)))


def _link(session: Session, kit: Kit, step: Step, now: datetime) -> Link:
    step.hold(session)
    stage = step.after or _STAGES[0]
    rows: list[Aged] = _due(session, stage, now)
    for row in rows:
        if stage == "volatile":
            upkeep.soft_delete(session, row, now=now)
        else:
            _settle(session, row, now, kit.policies.strength)
    _owe(session, stage, rows, now)
    after_commit(session, partial(kit.hot.drop, _marks(rows)))
    if len(rows) == BATCH:
        return Link(len(rows), stage)
    following = _STAGES[_STAGES.index(stage) + 1 :]
    return Link(len(rows), following[0] if following else None)


def _marks(rows: Sequence[Aged]) -> list[HotKey]:
    """Whose profile it changes: those of the facts among the rows."""
    found: list[HotKey] = []
    for row in rows:
        if isinstance(row, Fact):
            users = [row.user_ref, row.tenant_id] if row.scope == "organization" else [row.user_ref]
            threads = [row.scope_key] if row.scope == "thread" else []
            tickets = [row.scope_key] if row.scope == "ticket" else []
            found += hot.marks_of(row.tenant_id, users, threads=threads, tickets=tickets, what=[hot.PROFILE])
    return found


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

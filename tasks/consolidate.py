"""Makes one summary of episodes that say much the same. Members end only once the index holds what stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlmodel import Session

from memory.consolidation import MemberView, clusters, merge
from memory.episodes import merged
from memory.strength import StrengthView, initial_expiry
from schemas.envelopes import disclose
from schemas.tables import Episode
from stores import episodes, moments, tenancy, upkeep
from stores.kit import Kit, process_kit
from stores.sql import after_commit
from tasks import chain
from tasks.app import CONSOLIDATE, INDEX
from tasks.base import MemoryTask, hint, memory_task
from tasks.chain import Link, Step

#: Of one user, the oldest episodes that are compared in one run; the work grows with the square.
MAX_EPISODES = 400


@dataclass(frozen=True, slots=True)
class _Found:
    tenant_id: UUID
    user_ref: UUID
    groups: Sequence[Sequence[Episode]]


def consolidate(kit: Kit) -> int | None:
    """Goes through all users; how many summaries it wrote or finished, or None while another run is on.

    Two steps, so that nothing is out of reach in between: a summary is written in one run, and its members end in a
    later one, when the index has taken it. Repeat: what stands in a summary is not merged again.
    """
    return chain.run(kit, CONSOLIDATE, lambda step: _link(kit, step))


def _link(kit: Kit, step: Step) -> Link:
    with kit.db.read() as session:
        users = upkeep.users_with_episodes_after(session, step.after, 1)
        live = episodes.live(session, *users[0]) if users else []
    if not users:
        return Link(0, None)
    tenant_id, user_ref = users[0]
    found = _Found(tenant_id, user_ref, _alike(kit, live))
    now = kit.world_now()
    changed = kit.db.write(lambda session: _write(session, kit, step, found, now))
    return Link(changed, str(user_ref))


def _alike(kit: Kit, live: Sequence[Episode]) -> list[list[Episode]]:
    """Groups of like episodes that no summary stands for yet. Embeds outside of any transaction."""
    taken = {member_id for row in live for member_id in row.member_ids}
    free = [row for row in live if not row.member_ids and str(row.id) not in taken][:MAX_EPISODES]
    settings = kit.settings.strength
    if len(free) < settings.min_cluster:
        return []
    vectors = kit.embedder.embed([disclose(row.summary) for row in free])
    by_id = {row.id: row for row in free}
    groups = clusters(vectors, list(by_id), threshold=settings.similarity, min_size=settings.min_cluster)
    return [[by_id[episode_id] for episode_id in group] for group in groups]


def _write(session: Session, kit: Kit, step: Step, found: _Found, now: datetime) -> int:
    step.hold(session)
    tenancy.lock_users(session, found.tenant_id, [found.user_ref])
    live = {row.id: row for row in episodes.live(session, found.tenant_id, found.user_ref)}
    finished = _finish(session, found.user_ref, live, now)
    begun = 0
    for group in found.groups:
        members = [live[row.id] for row in group if row.id in live]
        if len(members) == len(group):
            _summarise(session, kit, members, now)
            begun += 1
    if finished or begun:
        after_commit(session, partial(hint, INDEX))
    return finished + begun


def _finish(session: Session, user_ref: UUID, live: dict[UUID, Episode], now: datetime) -> int:
    """Ends the members of summaries that the index has taken; their moments pass to the summary."""
    owed = upkeep.owed_episode_ids(session, user_ref)
    finished = 0
    for summary in [row for row in live.values() if row.member_ids and row.id not in owed]:
        members = [live[UUID(one)] for one in summary.member_ids if UUID(one) in live]
        if not members:
            continue
        ids = [row.id for row in members]
        episodes.merge_into(session, ids, summary.id, now=now)
        moments.pass_on(session, ids, summary.id)
        for row in members:
            session.refresh(row)
        upkeep.owe(session, "episode", members)
        finished += 1
    return finished


def _summarise(session: Session, kit: Kit, members: Sequence[Episode], now: datetime) -> None:
    ordered = sorted(members, key=lambda row: (row.started_at, row.id))
    lines = merge([_member(row) for row in ordered])
    view = merged([episodes.view(row) for row in ordered], "\n".join(lines))
    aged = StrengthView(kind="episode", base_importance=view.importance, at=view.ended_at, recorded_at=now)
    episode_id = kit.new_id()
    episodes.add(
        session,
        view,
        episode_id=episode_id,
        tenant_id=ordered[0].tenant_id,
        user_ref=ordered[0].user_ref,
        session_ref=None,
        window_id=None,
        recorded_at=now,
        expires_at=initial_expiry(aged, kit.policies.strength),
        member_ids=[row.id for row in ordered],
    )
    upkeep.owe(session, "episode", [session.get_one(Episode, episode_id)])


def _member(row: Episode) -> MemberView:
    return MemberView(
        id=row.id,
        summary=disclose(row.summary),
        started_at=row.started_at,
        ended_at=row.ended_at,
        outcome=row.outcome,
        language=row.language,
    )


@memory_task(CONSOLIDATE)
def consolidate_task(task: MemoryTask) -> None:
    """The beat's nightly run."""
    consolidate(process_kit())

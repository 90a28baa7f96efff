"""Makes one summary of episodes that say much the same. Members end only once the index holds what stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlmodel import Session

from memory.consolidation import MemberView, clusters, merge
from memory.episodes import merged
from memory.spans import mentions, without_mentions
from memory.strength import StrengthView, initial_expiry
from schemas.decisions import EpisodeView
from schemas.envelopes import keyed_hash
from schemas.errors import NotFound
from schemas.tables import Episode, Tenant
from stores import episodes, moments, spans, tenancy, upkeep
from stores.kit import Kit, process_kit
from stores.sql import after_commit
from tasks import chain
from tasks.app import CONSOLIDATE, INDEX
from tasks.base import MemoryTask, hint, memory_task
from tasks.chain import Link, Step

#: Of one user, the newest episodes that are compared in one run; the work grows with the square.
MAX_EPISODES = 400
#: One link embeds one user's episodes.
LEASE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class _Told:
    """An episode with what may be told of it: held-back words are neither compared nor merged."""

    row: Episode
    view: EpisodeView


@dataclass(frozen=True, slots=True)
class _Found:
    tenant_id: UUID
    user_ref: UUID
    groups: Sequence[Sequence[UUID]]
    mark: str


def consolidate(kit: Kit) -> int | None:
    """Goes through all users; how many summaries it wrote or finished, or None while another run is on.

    Two steps, so that nothing is out of reach in between: a summary is written in one run, and its members end in a
    later one, when the index has taken it. Repeat: what stands in a summary is not merged again, and episodes that were
    compared to no end are not embedded again until one is added, ends or is told otherwise.
    """
    return chain.run(kit, CONSOLIDATE, lambda step: _link(kit, step), lease_seconds=LEASE_SECONDS)


def undo(kit: Kit, summary_id: UUID) -> int:
    """Takes a summary back: its members live again, each with its moments; answers how many. Repeat: harmless.

    Raises: NotFound for an episode that is no summary of several.
    """
    now = kit.world_now()
    return kit.db.write(lambda session: take_back(session, summary_id, now))


def take_back(session: Session, summary_id: UUID, now: datetime) -> int:
    """`undo` inside a transaction that is open."""
    summary = session.get(Episode, summary_id)
    if summary is None or not summary.member_ids:
        raise NotFound(told=f"episode {summary_id} is no summary of several")
    tenancy.lock_users(session, summary.tenant_id, [summary.user_ref])
    changed = episodes.part(session, summary_id, now=now)
    members = [row for row in changed if row.id != summary_id]
    for row in members:
        moments.pass_on(session, _turn_ids(row), row.tenant_id, row.id)
    upkeep.owe(session, "episode", changed)
    after_commit(session, partial(hint, INDEX))
    return len(members)


def _link(kit: Kit, step: Step) -> Link:
    space = kit.live().space
    with kit.db.read() as session:
        user = upkeep.next_user_with_episodes(session, step.after)
        if user is None:
            return Link(0, None)
        free = _free(session, *user)
        seen, mark = upkeep.compared(session, *user), _mark(session, kit, space, user[0], free)
    tenant_id, user_ref = user
    found = _Found(tenant_id, user_ref, [] if mark == seen else _alike(kit, free), mark)
    now = kit.world_now()
    changed = kit.db.write(lambda session: _write(session, kit, step, found, now))
    return Link(changed, str(user_ref))


def _mark(session: Session, kit: Kit, space: str, tenant_id: UUID, free: Sequence[_Told]) -> str:
    """Tells whether anything has changed by which a comparison could come to something else."""
    settings = kit.settings.strength
    how = (space, repr(settings.similarity), str(settings.min_cluster))
    what = [part for one in free for part in (one.row.agent_id or "", str(one.row.id), one.view.summary)]
    return keyed_hash(session.get_one(Tenant, tenant_id).hash_key, "compared", *how, *what)


def _free(session: Session, tenant_id: UUID, user_ref: UUID) -> list[_Told]:
    """The newest episodes that stand in no summary, without those of which nothing may be told."""
    taken = episodes.merged_ids(session, user_ref)
    live = [row for row in episodes.live(session, tenant_id, user_ref) if not row.member_ids and row.id not in taken]
    told = [_Told(row, _told(session, row)) for row in live[-MAX_EPISODES:]]
    return [one for one in told if one.view.summary]


def _told(session: Session, row: Episode) -> EpisodeView:
    view = episodes.view(row)
    held = spans.words(session, row.tenant_id, view.turn_ids)
    if not held:
        return view
    return replace(
        view,
        summary=without_mentions(view.summary, held),
        tags=tuple(tag for tag in view.tags if not mentions(tag, held)),
        entities=tuple(entity for entity in view.entities if not mentions(entity[0], held)),
    )


def _alike(kit: Kit, free: Sequence[_Told]) -> list[tuple[UUID, ...]]:
    """Groups of like episodes, each of one agent: what one learned is not told in another's name.

    Embeds outside of any transaction.
    """
    settings = kit.settings.strength
    by_agent: dict[str | None, list[_Told]] = {}
    for one in free:
        by_agent.setdefault(one.row.agent_id, []).append(one)
    groups: list[tuple[UUID, ...]] = []
    for ours in by_agent.values():
        if len(ours) >= settings.min_cluster:
            vectors = kit.embedder.embed([one.view.summary for one in ours])
            ids = [one.row.id for one in ours]
            groups += clusters(vectors, ids, threshold=settings.similarity, min_size=settings.min_cluster)
    return groups


def _write(session: Session, kit: Kit, step: Step, found: _Found, now: datetime) -> int:
    step.hold(session)
    users = tenancy.lock_users(session, found.tenant_id, [found.user_ref])
    if not found.groups:
        users[found.user_ref].compared_hash = found.mark
    finished = _finish(session, found, now)
    begun = 0
    # Read anew: an episode may have ended, or lost words, while the others were compared.
    free = {one.row.id: one for one in _free(session, found.tenant_id, found.user_ref)} if found.groups else {}
    for group in found.groups:
        if all(episode_id in free for episode_id in group):
            _summarise(session, kit, [free[episode_id] for episode_id in group], now)
            begun += 1
    if finished or begun:
        after_commit(session, partial(hint, INDEX))
    return finished + begun


def _finish(session: Session, found: _Found, now: datetime) -> int:
    """Ends the members of summaries that the index has taken; their moments pass to the summary."""
    owed = upkeep.owed_episode_ids(session, found.user_ref)
    live = {row.id: row for row in episodes.live(session, found.tenant_id, found.user_ref)}
    finished = 0
    for summary in [row for row in live.values() if row.member_ids and row.id not in owed]:
        members = [live[UUID(one)] for one in summary.member_ids if UUID(one) in live]
        if not members:
            continue
        turn_ids = [event_id for row in members for event_id in _turn_ids(row)]
        moments.pass_on(session, turn_ids, found.tenant_id, summary.id)
        ended = episodes.merge_into(session, [row.id for row in members], summary.id, now=now)
        upkeep.owe(session, "episode", ended)
        finished += 1
    return finished


def _summarise(session: Session, kit: Kit, members: Sequence[_Told], now: datetime) -> None:
    ordered = sorted(members, key=lambda one: (one.row.started_at, one.row.id))
    lines = merge([_member(one) for one in ordered])
    view = merged([one.view for one in ordered], "\n".join(lines))
    aged = StrengthView(kind="episode", base_importance=view.importance, at=view.ended_at, recorded_at=now)
    episode_id = kit.new_id()
    episodes.add(
        session,
        view,
        episode_id=episode_id,
        tenant_id=ordered[0].row.tenant_id,
        user_ref=ordered[0].row.user_ref,
        session_ref=None,
        window_id=None,
        recorded_at=now,
        expires_at=initial_expiry(aged, kit.policies.strength),
        member_ids=[one.row.id for one in ordered],
    )
    upkeep.owe(session, "episode", [session.get_one(Episode, episode_id)])


def _member(one: _Told) -> MemberView:
    return MemberView(
        id=one.row.id,
        summary=one.view.summary,
        started_at=one.row.started_at,
        ended_at=one.row.ended_at,
        outcome=one.row.outcome,
        language=one.row.language,
    )


def _turn_ids(row: Episode) -> list[UUID]:
    return [UUID(event_id) for event_id in row.turn_ids]


@memory_task(CONSOLIDATE)
def consolidate_task(task: MemoryTask) -> None:
    """The beat's nightly run."""
    consolidate(process_kit())

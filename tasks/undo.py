"""Takes back everything from one session, source or event in one step; and takes that back, if it was a mistake.

Statements are rejected by a verdict of their own and their slots folded again; their turns are held back whole, with
what repeats them; episodes that hold nothing else are gone from every sight, and how a procedure fared in them counts
no more. What comes late falls under the same undo.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal
from uuid import UUID

from sqlmodel import Session

from schemas.dossiers import UndoView
from schemas.envelopes import disclose, enclose
from schemas.errors import BadInput, Conflict, NotFound
from schemas.tables import Episode, Evidence, Review, Tenant, Turn, Undo, User
from stores import aliases, catalogue, hot, ledger, repeats, reviews, sessions, spans, tenancy, undos, upkeep
from stores import turns as said
from stores.repeats import UNDONE
from stores.sql import after_commit
from tasks import consolidate, outcomes, slots
from tasks.app import INDEX
from tasks.base import hint
from tasks.holding import hold_undone, owe_touched, release_undone
from tasks.review import MAX_REASON_CHARS, Desk, Who, ground_of, settle_changed, verdict_row
from tasks.work import Ground, Judged, Work

logger = logging.getLogger(__name__)

BATCH = 200
#: Behind every turn: only statements are left to go through.
_END = UUID(int=(1 << 128) - 1)

Kind = Literal["session", "source", "event", "summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is taken back. `name` is the session's id, the source's name, or the id of an event or a summary.

    A session needs its user; a source may be narrowed to one. A summary of several episodes gives them back.
    With `is_ahead` nothing needs to be of a source or an event yet: what is still under way counts as well.
    """

    kind: Kind
    name: str
    user_id: str | None = None
    is_ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What it touched: statements, turns, episodes, and outcomes of procedures."""

    undo_id: UUID
    statements: int = 0
    turns: int = 0
    episodes: int = 0
    outcomes: int = 0


def undo(kit: Desk, tenant_id: UUID, target: Target, who: Who, *, reason: str) -> Undone:
    """Takes everything of the target back. The first transaction holds all of it, up to BATCH statements and turns.

    Of a larger one the rest follows in further transactions; a second undo of the same target ends one that was
    interrupted. Raises: NotFound, BadInput.
    """
    if not reason.strip():
        raise BadInput("reason", "is required")
    if len(reason) > MAX_REASON_CHARS:
        raise BadInput("reason", f"must have at most {MAX_REASON_CHARS} characters")
    undo_id, done, after = kit.db.write(lambda session: _begin(session, kit, tenant_id, target, who=who, reason=reason))
    while after is not None:
        batch = partial(_batch, kit=kit, undo_id=undo_id, tenant_id=tenant_id, who=who, after=after)
        last, after = kit.db.write(batch)
        done = _sum(done, last)
    logger.info("undone kind=%s statements=%d turns=%d", target.kind, done.statements, done.turns)
    return done


def withdraw(kit: Desk, tenant_id: UUID, undo_id: UUID, who: Who, *, reason: str = "") -> Undone:
    """Takes an undo back: its statements are what they were before, unless another undo covers them.

    Raises: NotFound; Conflict when it was withdrawn before; BadInput for a withdrawal, or the undo of a summary.
    """
    done = kit.db.write(lambda session: _withdraw(session, kit, tenant_id, undo_id, who=who, reason=reason))
    logger.info("undo withdrawn statements=%d turns=%d", done.statements, done.turns)
    return done


def listed(kit: Desk, tenant_id: UUID, *, limit: int = 100) -> list[UndoView]:
    """All undos of a tenant and their withdrawals, the newest first."""
    with kit.db.read() as session:
        return [_view(session, row) for row in undos.listed(session, tenant_id, limit=limit)]


def _view(session: Session, row: Undo) -> UndoView:
    user = None if row.user_ref is None else session.get(User, row.user_ref)
    spoken = sessions.find(session, UUID(row.target)) if row.kind == undos.SESSION else None
    return UndoView(
        id=row.id,
        kind=row.kind,
        target=row.target,
        name=row.target if row.kind != undos.SESSION else None if spoken is None else disclose(spoken.session_id),
        user_id=None if user is None else disclose(user.user_id),
        until=row.until,
        withdraws=row.withdraws,
        actor=row.actor,
        reviewer=row.reviewer,
        reason=None if row.reason is None else disclose(row.reason),
        decided_at=row.decided_at,
    )


def enforce(work: Work, stated: Sequence[Judged]) -> None:
    """Puts what a window says under the undos that were there before it was applied, statements and turns."""
    late = [turn for turn in work.said if turn.event_id in work.undone]
    hold_undone(work, work.claim.user_ref, late, work.said)
    verdicts: list[Review] = []
    for one in stated:
        undo_row = work.undone.get(one.verified.event_id)
        evidence_id = slots.evidence_id(work, one.verified)
        row = None if undo_row is None else reviews.find(work.session, work.tenant.id, evidence_id)
        if undo_row is not None and row is not None:
            who = Who(actor=undo_row.actor, reviewer=undo_row.reviewer)
            before = one.decision.write_status
            verdicts.append(
                verdict_row(work, row, "undo", before=before, after=row.write_status, who=who, undo_id=undo_row.id)
            )
    reviews.add(work.session, verdicts)


def _begin(
    session: Session, kit: Desk, tenant_id: UUID, target: Target, *, who: Who, reason: str
) -> tuple[UUID, Undone, UUID | None]:
    ground = ground_of(session, kit, tenant_id)
    name, user_ref = _place(session, ground.tenant, target)
    row = Undo(
        id=kit.new_id(),
        tenant_id=tenant_id,
        kind=target.kind,
        target=name,
        until=ground.now,
        user_ref=user_ref,
        actor=who.actor,
        reviewer=who.reviewer,
        reason=enclose(reason),
        decided_at=ground.now,
    )
    if target.kind != undos.SUMMARY and not target.is_ahead and not undos.holds(session, row):
        _refuse_unheard(session, ground.tenant, target)
    undos.add(session, row)
    if target.kind == undos.SUMMARY:
        return row.id, Undone(undo_id=row.id, episodes=consolidate.take_back(session, UUID(name), ground.now)), None
    done, after = _one_batch(ground, kit, row, who, None)
    # After the users: their windows lock in this order, too.
    counted = outcomes.take_back(session, row, kit.policies.procedures)
    return row.id, replace(done, outcomes=counted), after


def _batch(
    session: Session, *, kit: Desk, undo_id: UUID, tenant_id: UUID, who: Who, after: UUID | None
) -> tuple[Undone, UUID | None]:
    row = undos.find(session, tenant_id, undo_id)
    if row is None:
        raise NotFound("undo", undo_id)
    return _one_batch(ground_of(session, kit, tenant_id), kit, row, who, after)


def _one_batch(ground: Ground, kit: Desk, row: Undo, who: Who, after: UUID | None) -> tuple[Undone, UUID | None]:
    """One batch of turns from `after` on, and of statements that still count. Answers where the turns go on."""
    session = ground.session
    heard = undos.turns_after(session, row, after, limit=BATCH)
    owners = {one.user_ref for one in (*heard, *undos.evidence(session, row, limit=BATCH))}
    aliases.lock_sets(session, row.tenant_id, owners)
    # Read anew under the lock; what others said of it in between stands.
    taken = [one for one in undos.evidence(session, row, limit=BATCH) if one.user_ref in owners]
    verdicts: list[Review] = []
    for one in taken:
        before = one.write_status
        reviews.set_status(session, one, "rejected")
        verdicts.append(verdict_row(ground, one, "undo", before=before, after="rejected", who=who, undo_id=row.id))
    reviews.add(session, verdicts)
    episodes = _hold(ground, heard)
    if taken:
        settle_changed(ground, taken, kit.hot)
    else:
        owe_touched(ground)
    _refresh(ground, kit, heard)
    more = heard[-1].event_id if len(heard) == BATCH else _END if len(taken) == BATCH else None
    return Undone(undo_id=row.id, statements=len(taken), turns=len(heard), episodes=episodes), more


def _hold(ground: Ground, heard: Sequence[Turn]) -> int:
    """Holds turns back whole, and takes episodes of which nothing else is left out of every sight; how many."""
    near = _near(ground.session, ground.tenant.id, heard)
    for user_ref, ours in _by_user(heard).items():
        hold_undone(ground, user_ref, [said.view(one) for one in ours], [said.view(one) for one in near])
    gone: list[UUID] = []
    for episode in undos.episodes_of(ground.session, ground.tenant.id, heard):
        if _is_all_undone(ground, episode):
            if episode.consolidated_into is not None:
                consolidate.take_back(ground.session, episode.consolidated_into, ground.now)
            gone.append(episode.id)
    changed = undos.set_episode_status(ground.session, gone, "rejected")
    upkeep.owe(ground.session, "episode", changed)
    return len(changed)


def _near(session: Session, tenant_id: UUID, heard: Sequence[Turn]) -> list[Turn]:
    """What else was said beside these turns: in their windows, and in answer to them later in their conversations."""
    firsts: dict[UUID, datetime] = {}
    for one in heard:
        firsts[one.session_ref] = min(one.at, firsts.get(one.session_ref, one.at))
    ours = {one.event_id for one in heard}
    later = [row for ref, at in firsts.items() for row in repeats.answers(session, tenant_id, ref, at)]
    found = {row.event_id: row for row in (*said.near(session, tenant_id, heard), *later)}
    return [row for event_id, row in found.items() if event_id not in ours]


def _is_all_undone(ground: Ground, episode: Episode) -> bool:
    ids = [UUID(one) for one in episode.turn_ids]
    held = spans.held(ground.session, ground.tenant.id, ids)
    spoken = [one for one in said.views(ground.session, ground.tenant.id, ids) if one.role in {"user", "staff"}]
    return all(any(span.reason == UNDONE for span in held.get(one.event_id, ())) for one in spoken)


def _withdraw(session: Session, kit: Desk, tenant_id: UUID, undo_id: UUID, *, who: Who, reason: str) -> Undone:
    ground = ground_of(session, kit, tenant_id)
    row = undos.find(session, tenant_id, undo_id)
    if row is None:
        raise NotFound("undo", undo_id)
    if row.withdraws is not None or row.kind == undos.SUMMARY:
        raise BadInput("undo_id", "is not valid")
    taken = reviews.of_undo(session, undo_id)
    heard = _all_turns(session, row)
    aliases.lock_sets(session, tenant_id, {one.user_ref for one in (*taken, *heard)})
    back = Undo(
        id=kit.new_id(),
        tenant_id=tenant_id,
        kind=row.kind,
        target=row.target,
        until=row.until,
        user_ref=row.user_ref,
        withdraws=undo_id,
        actor=who.actor,
        reviewer=who.reviewer,
        reason=enclose(reason) if reason else None,
        decided_at=ground.now,
    )
    if not undos.add(session, back):
        raise Conflict(code="decided_already")
    restored = _restore(ground, taken, undo_id, who)
    free = _release(ground, heard)
    episodes = undos.set_episode_status(
        session, [one.id for one in undos.episodes_of(session, tenant_id, free)], "auto"
    )
    upkeep.owe(session, "episode", episodes)
    if restored:
        settle_changed(ground, restored, kit.hot)
    else:
        owe_touched(ground)
    counted = outcomes.take_back(session, back, kit.policies.procedures)
    _refresh(ground, kit, heard)
    return Undone(undo_id=back.id, statements=len(restored), turns=len(free), episodes=len(episodes), outcomes=counted)


def _restore(ground: Ground, taken: Sequence[Review], undo_id: UUID, who: Who) -> list[Evidence]:
    restored: list[Evidence] = []
    session = ground.session
    for verdict in taken:
        row = reviews.find(session, ground.tenant.id, verdict.evidence_id)
        if row is None or row.write_status != "rejected":
            continue
        other = undos.covering_evidence(session, row)
        if other is not None:
            again = verdict_row(ground, row, "undo", before=verdict.before, after="rejected", who=who, undo_id=other.id)
            reviews.add(session, [again])
            continue
        reviews.set_status(session, row, verdict.before)
        back = verdict_row(ground, row, "redo", before="rejected", after=verdict.before, who=who, undo_id=undo_id)
        reviews.add(session, [back])
        restored.append(row)
    return restored


def _release(ground: Ground, heard: Sequence[Turn]) -> list[Turn]:
    """Gives turns back that no other undo covers."""
    session, tenant_id = ground.session, ground.tenant.id
    near = _near(session, tenant_id, heard)
    asked = [(said.view(one), one.user_ref, one.session_ref) for one in (*heard, *near)]
    covered = undos.covering(session, tenant_id, asked)
    free = [one for one in heard if one.event_id not in covered]
    release_undone(
        ground,
        [said.view(one) for one in free],
        [said.view(one) for one in near],
        [said.view(one) for one in (*heard, *near) if one.event_id in covered],
    )
    return free


def _all_turns(session: Session, row: Undo) -> list[Turn]:
    found: list[Turn] = []
    after: UUID | None = None
    while chunk := undos.turns_after(session, row, after, limit=BATCH):
        found += chunk
        after = chunk[-1].event_id
    return found


def _place(session: Session, tenant: Tenant, target: Target) -> tuple[str, UUID | None]:
    """How the target is named in its row, and the user that it is narrowed to."""
    user_ref: UUID | None = None
    if target.user_id is not None:
        user = tenancy.find_user(session, tenant, target.user_id)
        if user is None:
            raise NotFound("user", unsaid=target.user_id)
        user_ref = user.id
    match target.kind:
        case "session":
            if user_ref is None:
                raise BadInput("user_id", "is required")
            ref = sessions.session_ref(user_ref, sessions.session_hash(tenant, target.name))
            if sessions.find(session, ref) is None:
                raise NotFound("session", unsaid=target.name)
            return str(ref), user_ref
        case "source":
            return target.name, user_ref
        case "event":
            return str(_uuid(target.name)), user_ref
        case "summary":
            summary_id = _uuid(target.name)
            if catalogue.episode(session, tenant.id, summary_id) is None:
                raise NotFound("summary", summary_id)
            return str(summary_id), user_ref


def _refuse_unheard(session: Session, tenant: Tenant, target: Target) -> None:
    """Nothing is of it: a typing error, unless the ledger has heard of the event."""
    if target.kind == "source":
        raise NotFound("source", unsaid=target.name, known=undos.sources(session, tenant.id))
    if target.kind == "event" and not ledger.look_up(session, tenant.id, [_uuid(target.name)]):
        raise NotFound("event", _uuid(target.name))


def _uuid(name: str) -> UUID:
    try:
        return UUID(name)
    except ValueError as exc:
        raise BadInput("name", "must be a UUID") from exc


def _by_user(heard: Sequence[Turn]) -> dict[UUID, list[Turn]]:
    found: dict[UUID, list[Turn]] = {}
    for one in heard:
        found.setdefault(one.user_ref, []).append(one)
    return found


def _refresh(ground: Ground, kit: Desk, heard: Sequence[Turn]) -> None:
    marks = hot.marks_of(
        ground.tenant.id,
        dict.fromkeys(one.user_ref for one in heard),
        threads=[one.thread_id for one in heard],
        tickets=[one.ticket_id for one in heard],
    )
    after_commit(ground.session, partial(kit.hot.drop, marks))
    after_commit(ground.session, partial(hint, INDEX))


def _sum(one: Undone, other: Undone) -> Undone:
    return Undone(
        undo_id=one.undo_id,
        statements=one.statements + other.statements,
        turns=one.turns + other.turns,
        episodes=one.episodes + other.episodes,
        outcomes=one.outcomes + other.outcomes,
    )

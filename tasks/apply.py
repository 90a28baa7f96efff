"""Applies a window's stored answer in one transaction: gate, slots, spans, episode, procedures, moments, outbox.

Who decides is `memory/`; this module loads, asks, and saves. Nothing leaves the transaction but hints, after commit.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import cast
from uuid import UUID

from sqlmodel import Session

from memory import gate
from memory.episodes import build
from memory.gate import Counts, OwnDraft
from memory.guard import flags as guard_flags
from memory.likeness import likeness, shape
from memory.moments import is_moment
from memory.quotas import fullest_day
from memory.spans import RESTORED_BY_PAST
from memory.strength import StrengthView, initial_expiry
from memory.verify import verify
from schemas.decisions import Decision, Dropped, Flag, Verified
from schemas.drafts import Outcome, WindowDraft
from schemas.envelopes import enclose_json
from schemas.tables import Draft, Episode, Tenant
from schemas.tables import Session as SessionRow
from stores import (
    aliases,
    drafts,
    episodes,
    hot,
    moments,
    requests,
    sessions,
    spans,
    tenant_policies,
    turns,
    undos,
    upkeep,
    windows,
)
from stores.hot import HotKey
from stores.kit import Kit
from stores.sql import after_commit
from stores.windows import Claim
from tasks import consent, slots, undo, verdict
from tasks.app import INDEX
from tasks.base import hint
from tasks.holding import hold, owe_touched
from tasks.work import Judged, Work, hear

logger = logging.getLogger(__name__)

_LEAVES_EVIDENCE = frozenset({"auto", "pending_review"})
#: A window's summary is compared with this many before it, to tell the unusual from the usual.
_RECENT = 20


def apply(kit: Kit, claim: Claim, draft: WindowDraft) -> None:
    """Turns an answer into memories, once. Raises: StaleClaim when the window, or the user's generation, moved on."""
    now = kit.world_now()
    # Before the transaction, in which nobody else can write: turns do not change.
    with kit.db.read() as session:
        flags = {
            turn.content: guard_flags(turn.content) for turn in turns.views(session, claim.tenant_id, claim.turn_ids)
        }
    counts = kit.db.write(lambda session: _apply(session, _load(session, kit, claim, now, flags), draft))
    logger.info("window applied %s", " ".join(f"{name}={count}" for name, count in sorted(counts.items())))


def _apply(session: Session, work: Work, draft: WindowDraft) -> Counter[str]:
    judged, dropped, own = _judge(work, draft)
    _save_drafts(work, draft, judged, dropped, own)
    kept = [*judged, *(Judged(one.verified, one.decision) for one in own)]
    stated = [one for one in kept if one.decision.write_status in _LEAVES_EVIDENCE]
    folded = slots.write(work, stated)
    held = hold(work, folded, kept)
    if work.undone:
        undo.enforce(work, stated)
    consent.take(work)
    episode_id = _save_episode(work, draft, kept, held)
    verdict.count(work, draft)
    _save_moments(work, episode_id)
    _open_requests(work)
    windows.finish(session, work.claim)
    after_commit(session, partial(work.kit.hot.drop, _marks(work, folded)))
    after_commit(session, partial(hint, INDEX))
    return Counter(one.decision.write_status for one in kept) + Counter(dropped=len(dropped))


def _marks(work: Work, folded: Sequence[slots.Folded]) -> list[HotKey]:
    """What of recall's cache the window makes old: facts, spans and lag of its user, and of where it was said."""
    owned = [one.slot for one in folded]
    return hot.marks_of(
        work.claim.tenant_id,
        [work.claim.user_ref, *(slot.tenant_id for slot in owned if slot.scope == "organization")],
        threads=[*(turn.thread_id for turn in work.said), *(s.scope_key for s in owned if s.scope == "thread")],
        tickets=[*(turn.ticket_id for turn in work.said), *(s.scope_key for s in owned if s.scope == "ticket")],
    )


def _load(session: Session, kit: Kit, claim: Claim, now: datetime, flags: Mapping[str, tuple[Flag, ...]]) -> Work:
    users = aliases.lock_sets(session, claim.tenant_id, [claim.user_ref])
    windows.hold(session, claim)
    heard = hear(session, claim, context_turns=kit.settings.window.context_turns)
    return Work(
        session=session,
        kit=kit,
        claim=claim,
        tenant=session.get_one(Tenant, claim.tenant_id),
        user=users[claim.user_ref],
        users=frozenset(users),
        said=heard.said,
        context=heard.context,
        now=now,
        undone=undos.covering(
            session, claim.tenant_id, [(turn, claim.user_ref, claim.session_ref) for turn in heard.said]
        ),
        gate=tenant_policies.gate_of(session, claim.tenant_id, kit.policies.gate),
        flags={
            turn.event_id: flags[turn.content] if turn.content in flags else guard_flags(turn.content)
            for turn in heard.said
        },
    )


def _judge(work: Work, draft: WindowDraft) -> tuple[list[Judged], list[Dropped], list[OwnDraft]]:
    """The gate's word on every statement; a flagged sentence that nobody drafted makes a draft of its own."""
    verdicts = verify(draft, work.said, context=work.context)
    verified = [one for one in verdicts if isinstance(one, Verified)]
    policy = work.gate
    # What this window has kept so far, by source, beside what is stored; None stands for all of it.
    tally = Counter[str | None]({None: drafts.kept_in_session(work.session, work.claim.session_ref)})
    judged: list[Judged] = []
    for one in verified:
        counts = _counts(work, one, tally)
        decision = gate.decide(one, work.flags.get(one.event_id, ()), policy=policy, counts=counts)
        if decision.write_status == "auto":
            tally.update({None, one.source})
        judged.append(Judged(one, decision, counts))
    own = [found for turn in work.said for found in gate.own_drafts(turn, work.flags[turn.event_id], verified, policy)]
    return judged, [one for one in verdicts if isinstance(one, Dropped)], own


def _counts(work: Work, one: Verified, tally: Counter[str | None]) -> Counts:
    """What the quotas count before a statement."""
    session = work.session
    by_source = 0
    if one.source is not None and work.gate.source_quota(one.source) is not None:
        kept = drafts.kept_from_source(session, work.users, one.source, around=one.at)
        by_source = fullest_day(kept, one.at) + tally[one.source]
    return Counts(
        kept_in_session=tally[None],
        kept_from_source=by_source,
        identity_changes_today=fullest_day(drafts.identity_changes(session, work.users, around=one.at), one.at),
    )


def _save_drafts(
    work: Work, draft: WindowDraft, judged: Sequence[Judged], dropped: Sequence[Dropped], own: Sequence[OwnDraft]
) -> None:
    facts_said = [fact.model_dump() for fact in draft.facts]
    rows = [_draft_row(work, one.ordinal, facts_said[one.ordinal], _no_evidence(one)) for one in dropped]
    rows += [_judged_row(work, one.verified.ordinal, facts_said[one.verified.ordinal], one) for one in judged]
    for place, one in enumerate(own, len(facts_said)):
        content = {"quote": one.verified.quote, "key": one.verified.key, "event_id": str(one.verified.event_id)}
        rows.append(_judged_row(work, place, content, Judged(one.verified, one.decision)))
    drafts.add(work.session, rows)


def _judged_row(work: Work, ordinal: int, content: Mapping[str, object], one: Judged) -> Draft:
    stated = gate.statement_of(one.verified)
    row = _draft_row(work, ordinal, content, one.decision)
    row.policy_version = work.gate.version
    row.inputs = {
        **asdict(stated),
        **asdict(one.counts),
        "op": one.verified.op,
        "flags": list(one.decision.guard_flags),
    }
    if one.decision.write_status in _LEAVES_EVIDENCE:
        row.evidence_id = slots.evidence_id(work, one.verified)
    return row


def _no_evidence(one: Dropped) -> Decision:
    return Decision(write_status="dropped", reason_codes=(one.reason_code,))


def _draft_row(work: Work, ordinal: int, content: Mapping[str, object], decision: Decision) -> Draft:
    return Draft(
        id=work.kit.new_id(),
        tenant_id=work.claim.tenant_id,
        user_ref=work.claim.user_ref,
        window_id=work.claim.window_id,
        ordinal=ordinal,
        content=enclose_json(content),
        decision=decision.write_status,
        reason_codes=list(decision.reason_codes),
        recorded_at=work.now,
    )


def _save_episode(work: Work, draft: WindowDraft, kept: Sequence[Judged], held: Sequence[str]) -> UUID | None:
    session, claim = work.session, work.claim
    if not work.gate.keeps_episode({turn.source for turn in work.said}, _agent(work)):
        return None
    recent = episodes.recent(session, claim.user_ref, limit=_RECENT)
    # Superseded words stay in what is kept: a question about the past restores them. Reading cuts them.
    never = {
        event_id: [span for span in found if span.reason not in RESTORED_BY_PAST]
        for event_id, found in spans.held(session, claim.tenant_id, claim.turn_ids).items()
    }
    view = build(
        draft,
        work.said,
        never,
        kept=[one.verified for one in kept if one.decision.write_status == "auto"],
        held=held,
        ended_outcome=_ended_outcome(session.get_one(SessionRow, claim.session_ref)),
        uniqueness=1.0 - max((likeness(shape(draft.summary), shape(text)) for text in recent), default=0.0),
    )
    episode_id = work.kit.new_id()
    aged = StrengthView(kind="episode", base_importance=view.importance, at=view.ended_at, recorded_at=work.now)
    episodes.add(
        session,
        view,
        episode_id=episode_id,
        tenant_id=claim.tenant_id,
        user_ref=claim.user_ref,
        session_ref=claim.session_ref,
        window_id=claim.window_id,
        recorded_at=work.now,
        expires_at=initial_expiry(aged, work.kit.policies.strength),
    )
    if all(turn.event_id in work.undone for turn in work.said if turn.role in {"user", "staff"}) and work.undone:
        undos.set_episode_status(session, [episode_id], "rejected")
    upkeep.owe(session, "episode", [session.get_one(Episode, episode_id)])
    return episode_id


def _agent(work: Work) -> str | None:
    return next((turn.agent_id for turn in work.said if turn.agent_id is not None), None)


def _ended_outcome(row: SessionRow) -> Outcome | None:
    """What the agent said of the session's end; its word outranks the model's. "unknown" says nothing."""
    return cast("Outcome", row.outcome) if row.ended_at is not None and row.outcome in ("success", "failure") else None


def _save_moments(work: Work, episode_id: UUID | None) -> None:
    """One a spoken turn. What stands next to the window, and all that tells of a turn whose held-back text changed, is
    owed anew.
    """
    session, claim = work.session, work.claim
    spoken = [turn for turn in work.said if is_moment(turn)]
    threads = {turn.thread_id for turn in spoken if turn.thread_id is not None}
    shared = sessions.shared_threads(session, claim.tenant_id, threads, claim.user_ref)
    moments.add(
        session,
        tenant_id=claim.tenant_id,
        user_ref=claim.user_ref,
        session_ref=claim.session_ref,
        episode_id=episode_id,
        turns=spoken,
        shared_threads=shared,
        new_id=work.kit.new_id,
    )
    ours = {turn.event_id for turn in spoken}
    for thread_id in shared:
        upkeep.owe(session, "moment", moments.share(session, claim.tenant_id, thread_id))
    upkeep.owe(session, "moment", moments.of_turns(session, claim.tenant_id, list(ours)))
    owe_touched(work, ours)


def _open_requests(work: Work) -> None:
    for turn in work.said:
        for kind in gate.requests(turn, work.flags[turn.event_id]):
            requests.open_request(
                work.session,
                tenant_id=work.claim.tenant_id,
                user_ref=work.claim.user_ref,
                event_id=turn.event_id,
                kind=kind,
                at=turn.at,
            )

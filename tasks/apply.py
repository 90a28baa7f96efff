"""Applies a window's stored answer in one transaction: gate, evidence, slots, spans, episode, procedures, moments, outbox.

Who decides is `memory/`; this module loads, asks, and saves. Nothing leaves the transaction but hints, after commit.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlmodel import Session

from memory import gate
from memory.gate import OwnDraft
from memory.guard import flags as guard_flags
from memory.turns import TurnView
from memory.verify import verify
from schemas.decisions import Decision, Dropped, Flag, Verified
from schemas.drafts import WindowDraft
from schemas.envelopes import enclose_json
from schemas.tables import Draft, Tenant, User
from schemas.tables import Session as SessionRow
from stores import drafts, tenancy, turns, windows
from stores.kit import Kit
from stores.sql import after_commit
from stores.windows import Claim
from tasks import outcomes, slots
from tasks.app import INDEX
from tasks.base import hint

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One window being applied: the transaction, whose window it is, and what was said in it."""

    session: Session
    kit: Kit
    claim: Claim
    tenant: Tenant
    user: User
    row: SessionRow
    said: Sequence[TurnView]
    context: Sequence[TurnView]
    now: datetime
    flags: dict[UUID, tuple[Flag, ...]]
    touched: set[UUID] = field(default_factory=set[UUID])


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement that passed verification, and what the gate says of it."""

    verified: Verified
    decision: Decision


def apply(kit: Kit, claim: Claim, draft: WindowDraft) -> None:
    """Turns an answer into memories, once. Raises: StaleClaim when the window, or the user's generation, moved on."""
    now = kit.world_now()
    counts = kit.db.write(lambda session: _apply(session, kit, claim, draft, now))
    logger.info("window applied %s", " ".join(f"{name}={count}" for name, count in sorted(counts.items())))


def _apply(session: Session, kit: Kit, claim: Claim, draft: WindowDraft, now: datetime) -> Counter[str]:
    work = _load(session, kit, claim, now)
    judged, dropped, own = _judge(work, draft)
    _save_drafts(work, draft, judged, dropped, own)
    kept = [*judged, *(Judged(one.verified, one.decision) for one in own)]
    slots.write(work, [one for one in kept if one.decision.write_status in ("auto", "pending_review")])
    slots.hold(work, kept)
    episode_id = _save_episode(work, draft, kept)
    outcomes.count(work, draft)
    _save_moments(work, episode_id)
    _open_requests(work)
    windows.finish(session, claim)
    after_commit(session, partial(kit.hot.forget_session, claim.tenant_id, claim.user_ref, claim.session_ref))
    after_commit(session, partial(hint, INDEX))
    return Counter(one.decision.write_status for one in kept) + Counter(dropped=len(dropped))


def _load(session: Session, kit: Kit, claim: Claim, now: datetime) -> Work:
    users = tenancy.lock_users(session, claim.tenant_id, [claim.user_ref])
    said = turns.views(session, claim.tenant_id, claim.turn_ids)
    return Work(
        session=session,
        kit=kit,
        claim=claim,
        tenant=session.get_one(Tenant, claim.tenant_id),
        user=users[claim.user_ref],
        row=session.get_one(SessionRow, claim.session_ref),
        said=said,
        context=turns.before(session, claim.tenant_id, claim.turn_ids),
        now=now,
        flags={turn.event_id: guard_flags(turn.content) for turn in said},
    )


def _judge(work: Work, draft: WindowDraft) -> tuple[list[Judged], list[Dropped], list[OwnDraft]]:
    """The gate's word on every statement; a flagged sentence that nobody drafted makes a draft of its own."""
    verdicts = verify(draft, work.said, context=work.context)
    verified = [one for one in verdicts if isinstance(one, Verified)]
    policy = work.kit.policies.gate
    quota = drafts.quota(work.session, work.claim.user_ref, work.claim.session_ref, now=work.now)
    judged: list[Judged] = []
    for one in verified:
        decision = gate.decide(
            one,
            work.flags.get(one.event_id, ()),
            policy=policy,
            kept_in_session=quota.kept_in_session,
            identity_changes_today=quota.identity_changes_today,
        )
        judged.append(Judged(one, decision))
    own = [found for turn in work.said for found in gate.own_drafts(turn, work.flags[turn.event_id], verified, policy)]
    return judged, [one for one in verdicts if isinstance(one, Dropped)], own


def _save_drafts(
    work: Work, draft: WindowDraft, judged: Sequence[Judged], dropped: Sequence[Dropped], own: Sequence[OwnDraft]
) -> None:
    rows = [
        _draft_row(
            work, one.ordinal, enclose_json(draft.facts[one.ordinal].model_dump()), "dropped", (one.reason_code,)
        )
        for one in dropped
    ]
    rows += [
        _draft_row(
            work,
            one.verified.ordinal,
            enclose_json(draft.facts[one.verified.ordinal].model_dump()),
            one.decision.write_status,
            one.decision.reason_codes,
        )
        for one in judged
    ]
    first = len(draft.facts)
    rows += [
        _draft_row(
            work,
            first + place,
            enclose_json(
                {"quote": one.verified.quote, "key": one.verified.key, "event_id": str(one.verified.event_id)}
            ),
            one.decision.write_status,
            one.decision.reason_codes,
        )
        for place, one in enumerate(own)
    ]
    drafts.add(work.session, rows)


def _draft_row(work: Work, ordinal: int, content: bytes, decision: str, reason_codes: Sequence[str]) -> Draft:
    return Draft(
        id=work.kit.new_id(),
        tenant_id=work.claim.tenant_id,
        user_ref=work.claim.user_ref,
        window_id=work.claim.window_id,
        ordinal=ordinal,
        content=content,
        decision=decision,
        reason_codes=list(reason_codes),
        recorded_at=work.now,
    )

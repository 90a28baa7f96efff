"""Writes statements into their slots: evidence first, then each slot folded anew over all of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from memory.facts import fold, slot_parts
from memory.registry import spec_of
from memory.strength import StrengthView, initial_expiry
from schemas.decisions import EvidenceView, FactVersion, Fold, Verified
from schemas.envelopes import disclose, enclose, keyed_hash
from schemas.tables import Evidence
from stores import facts, metrics, upkeep
from stores.facts import Kept, Slot
from tasks.work import Ground, Judged, Work


@dataclass(frozen=True, slots=True)
class Folded:
    """A slot after its fold, with all the evidence that the fold read."""

    slot: Slot
    evidence: Sequence[EvidenceView]
    fold: Fold


def write(work: Work, judged: Sequence[Judged]) -> list[Folded]:
    """Keeps the evidence of what counts or waits, and folds every slot that it touches, in the order of the slots."""
    placed = [(_slot(work, one.verified), one) for one in judged]
    rows = {one.verified: _evidence(work, slot, one) for slot, one in placed}
    facts.add_evidence(work.session, list(rows.values()))
    touched = {slot.hash: slot for slot, _ in placed}
    added = {row.id for row in rows.values()}
    return refold(work, touched.values(), added)


def refold(work: Ground, touched: Iterable[Slot], added: Collection[UUID] = ()) -> list[Folded]:
    """Folds slots over all their evidence, in the order of the slots. Whose slots they are is locked already."""
    by_hash = {slot.hash: slot for slot in touched}
    return [_fold(work, by_hash[slot_hash], added) for slot_hash in sorted(by_hash)]


def slot_of(row: Evidence) -> Slot:
    """The slot that a piece of evidence stands in."""
    return Slot(
        tenant_id=row.tenant_id,
        user_ref=UUID(row.scope_key) if row.scope == "user" else row.user_ref,
        scope=row.scope,
        scope_key=row.scope_key,
        subject=disclose(row.subject),
        key=row.key,
        object=None if row.object is None else disclose(row.object),
        hash=row.slot_hash,
    )


def _fold(work: Ground, slot: Slot, added: Collection[UUID]) -> Folded:
    facts.lock_slot(work.session, slot)
    evidence = facts.evidence(work.session, slot.tenant_id, slot.hash)
    result = fold(
        evidence,
        current=facts.versions(work.session, slot.tenant_id, slot.hash),
        now=work.now,
        new_id=work.kit.new_id,
        added=added,
        policy=work.kit.policies.fold,
    )
    changed = facts.write_fold(
        work.session,
        slot,
        result,
        kept=lambda item: _kept(work, slot, item),
        value_hash=lambda canonical: keyed_hash(work.tenant.hash_key, "value", canonical),
        now=work.now,
    )
    upkeep.owe(work.session, "fact", changed)
    ids = (work.kit.new_id() for _ in result.changes)
    facts.add_decisions(work.session, slot, result.changes, ids=ids, now=work.now)
    for change in result.changes:
        metrics.CONFLICTS.labels(change.op).inc()
    return Folded(slot, evidence, result)


def _slot(work: Work, one: Verified, owner: UUID | None = None) -> Slot:
    """Where a statement belongs: with the root of all that its user is, or with `owner`."""
    root = owner or work.user.root_id
    scope_key = _scope_key(work, one, root)
    parts = slot_parts(
        scope=one.scope,
        scope_key=scope_key,
        subject=one.subject,
        key=one.key,
        object_text=one.object,
        canonical=one.canonical,
    )
    return Slot(
        tenant_id=work.claim.tenant_id,
        user_ref=root if one.scope == "user" else work.claim.user_ref,
        scope=one.scope,
        scope_key=scope_key,
        subject=one.subject,
        key=one.key,
        object=one.object,
        hash=keyed_hash(work.tenant.hash_key, "slot", *parts),
    )


def evidence_id(work: Work, one: Verified) -> UUID:
    """The id of the evidence that a statement becomes."""
    # The same statement in the same slot is one row, however often its window is applied, and whoever was joined since.
    own = _slot(work, one, work.claim.user_ref)
    return uuid5(one.event_id, f"{work.claim.window_id}:{own.hash}:{one.op}:{one.quote_start}")


def _scope_key(work: Work, one: Verified, root: UUID) -> str:
    if one.scope_key is not None:
        return one.scope_key
    if one.scope == "thread":
        turn = work.turn(one.event_id)
        return (turn.thread_id if turn is not None else None) or str(work.claim.session_ref)
    return str(root)


def _kept(work: Ground, slot: Slot, item: FactVersion) -> Kept:
    spec = spec_of(slot.key)
    view = StrengthView(
        kind="fact",
        base_importance=item.importance,
        at=item.said_at,
        recorded_at=item.recorded_at,
        key=slot.key,
        type=item.type,
    )
    return Kept(
        volatility="volatile" if spec is not None and spec.volatile else "stable",
        sensitivity="normal" if spec is None else spec.sensitivity,
        expires_at=initial_expiry(view, work.kit.policies.strength),
    )


def _evidence(work: Work, slot: Slot, judged: Judged) -> Evidence:
    one, decision = judged.verified, judged.decision
    return Evidence(
        id=evidence_id(work, one),
        tenant_id=slot.tenant_id,
        user_ref=work.claim.user_ref,
        user_as_said=work.user.user_id,
        scope=slot.scope,
        scope_key=slot.scope_key,
        slot_hash=slot.hash,
        subject=enclose(one.subject),
        key=one.key,
        type=one.type,
        object=None if one.object is None else enclose(one.object),
        op=one.op,
        value=enclose(one.value),
        canonical=enclose(one.canonical),
        value_hash=keyed_hash(work.tenant.hash_key, "value", one.canonical),
        quote=enclose(one.quote),
        quote_start=one.quote_start,
        at=one.at,
        event_id=one.event_id,
        window_id=work.claim.window_id,
        session_ref=work.claim.session_ref,
        valid_from=one.valid_from,
        valid_until=one.valid_until,
        precision=one.precision,
        tz=one.tz,
        role=one.role,
        source=one.source,
        agent_id=one.agent_id,
        language=one.language,
        confidence=one.confidence,
        guard_flags=list(decision.guard_flags),
        write_status="rejected" if one.event_id in work.undone else decision.write_status,
        reason_codes=list(decision.reason_codes),
        policy_version=decision.policy_version,
        prompt_version=work.claim.prompt_version,
        recorded_at=work.now,
    )

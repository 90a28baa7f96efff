"""Holds back what must not come back: spans of every slot that a window touched, and of everything flagged in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from memory.gate import RULE
from memory.guard import flags as guard_flags
from memory.spans import HELD_STATES, RESTORED_BY_PAST, echoes, evidence_states, held_back
from memory.turns import TurnView
from schemas.decisions import EvidenceState, EvidenceView, HeldSpan
from stores import episodes, facts, moments, repeats, spans, turns, upkeep
from stores.repeats import UNDONE
from tasks.slots import Folded
from tasks.work import Ground, Judged, Work

#: Whose sentences are searched for echoes of a held-back value. The user's own words are judged by their own evidence.
_ECHOING = frozenset({"assistant", "tool", "system"})

#: Reasons of a policy that keeps nothing.
_UNWANTED = ("policy_drop", RULE)


def hold(work: Work, folded: Sequence[Folded], judged: Sequence[Judged]) -> tuple[str, ...]:
    """Brings the spans up to the state of the evidence; answers the values that no text may ever tell again.

    A value is held back with the assistant's sentences that repeat it in the same conversation, whichever window they
    stand in, before or after: a fact superseded today is held back where it was said a month ago. Turns whose spans
    changed are noted as touched. Superseded values are not answered: a question about the past restores them, so they
    are cut at reading.
    """
    told = settle(work, folded, work.claim.user_ref, work.said)
    refused = [one for one in judged if one.decision.write_status == "rejected" or _is_unwanted(one)]
    _hold_flagged(work, folded, refused)
    repeated = _hold_repeated(work)
    return tuple(dict.fromkeys([*told, *(one.verified.value for one in refused), *repeated]))


def settle(
    ground: Ground, folded: Sequence[Folded], user_ref: UUID | None = None, said: Sequence[TurnView] = ()
) -> list[str]:
    """Brings the spans of these slots' evidence up to its state; answers the values that no text may ever tell again.

    `said` are turns that are at hand. New spans are the user's, or that of each slot when none is given.
    """
    told: list[str] = []
    tenant_id = ground.tenant.id
    for one in folded:
        states = evidence_states(one.evidence, one.fold.versions, ground.now)
        pairs: list[tuple[EvidenceView, EvidenceState]] = [(held, states[held.id]) for held in one.evidence]
        found = [span for held in held_back(pairs, {}).values() for span in held]
        found += _echoes(ground, pairs, said)
        ids = [statement.id for statement in one.evidence]
        owner = one.slot.user_ref if user_ref is None else user_ref
        ground.touched.update(spans.settle(ground.session, tenant_id, owner, ids, found, now=ground.now))
        told += [statement.value for statement, state in pairs if state in HELD_STATES - RESTORED_BY_PAST]
    return told


def settle_flagged(ground: Ground, event_id: UUID, user_ref: UUID) -> None:
    """Holds back, or releases, what the guard flagged in a turn, now that a statement in it was judged."""
    session, tenant_id = ground.session, ground.tenant.id
    flags = {turn.event_id: guard_flags(turn.content) for turn in turns.views(session, tenant_id, [event_id])}
    here: list[tuple[EvidenceView, EvidenceState]] = [
        (statement, "current") for statement in facts.evidence_of_turn(session, tenant_id, event_id)
    ]
    every = held_back([], flags).get(event_id, ())
    wanted = [span for span in held_back(here, flags).get(event_id, ()) if span.evidence_id is None]
    released = [span for span in every if span not in wanted]
    ground.touched.update(spans.release(session, tenant_id, released, now=ground.now))
    ground.touched.update(spans.hold(session, tenant_id, user_ref, wanted))


def hold_undone(ground: Ground, user_ref: UUID, undone: Sequence[TurnView], near: Sequence[TurnView]) -> None:
    """Holds taken-back turns back whole, and the sentences of `near`, those of their windows, that repeat them."""
    wanted = [*map(whole, undone), *_retold(undone, near)]
    ground.touched.update(spans.hold(ground.session, ground.tenant.id, user_ref, wanted))


def release_undone(
    ground: Ground, free: Sequence[TurnView], near: Sequence[TurnView], undone: Sequence[TurnView]
) -> None:
    """Gives turns back, and what repeats them; not what repeats those that are `undone` still."""
    kept = {*map(whole, undone), *_retold(undone, near)}
    given = [span for span in (*map(whole, free), *_retold(free, near)) if span not in kept]
    ground.touched.update(spans.release(ground.session, ground.tenant.id, given, now=ground.now))


def owe_touched(ground: Ground, ours: Collection[UUID] = ()) -> None:
    """Owes the index all that tells of a turn whose held-back text changed; the moments next to `ours` as well."""
    session, tenant_id = ground.session, ground.tenant.id
    near = turns.neighbours(session, tenant_id, [*ours, *ground.touched])
    around = {other.event_id for pair in near.values() for other in pair if other is not None}
    upkeep.owe(session, "moment", moments.touch(session, tenant_id, list((around | ground.touched) - set(ours))))
    touched = list(ground.touched)
    upkeep.owe(session, "episode", episodes.touch(session, tenant_id, touched))
    upkeep.owe(session, "fact", facts.touch(session, tenant_id, touched))


def whole(turn: TurnView) -> HeldSpan:
    """All of a turn that was taken back."""
    return HeldSpan(turn.event_id, 0, max(1, len(turn.content)), UNDONE)


def _hold_repeated(work: Work) -> list[str]:
    """Holds back what this window's answers repeat of earlier windows of their conversation; answers the values."""
    answered = [turn for turn in work.said if turn.role in _ECHOING]
    if not answered:
        return []
    session, tenant_id, session_ref = work.session, work.tenant.id, work.claim.session_ref
    told: list[str] = []
    wanted = _retold(repeats.taken_back(session, tenant_id, session_ref, answered), answered)
    for one in repeats.untold(session, tenant_id, session_ref, answered):
        found = [
            HeldSpan(turn.event_id, start, end, one.reason, one.evidence_id)
            for turn in answered
            for start, end in echoes(turn.content, [one.value])
        ]
        wanted += found
        if found and one.reason not in RESTORED_BY_PAST:
            told.append(one.value)
    work.touched.update(spans.hold(session, tenant_id, work.claim.user_ref, wanted))
    return told


def _retold(undone: Sequence[TurnView], near: Sequence[TurnView]) -> list[HeldSpan]:
    told = [turn.content for turn in undone if turn.role in {"user", "staff"}]
    return [
        HeldSpan(turn.event_id, start, end, UNDONE)
        for turn in near
        if turn.role in _ECHOING
        for start, end in echoes(turn.content, told)
    ]


def _hold_flagged(work: Work, folded: Sequence[Folded], refused: Sequence[Judged]) -> None:
    here: list[tuple[EvidenceView, EvidenceState]] = [
        (statement, "current") for one in folded for statement in one.evidence if statement.event_id in work.flags
    ]
    held = held_back(here, work.flags)
    flagged = [span for spans_of in held.values() for span in spans_of if span.evidence_id is None]
    for one in refused:
        reason, stated = one.decision.reason_codes[0], one.verified
        if _is_unwanted(one):
            flagged.append(HeldSpan(stated.event_id, stated.quote_start, stated.quote_end, reason))
        flagged += [
            HeldSpan(turn.event_id, start, end, reason)
            for turn in work.said
            if turn.role in _ECHOING
            for start, end in echoes(turn.content, [one.verified.value])
        ]
    claim = work.claim
    work.touched.update(spans.hold(work.session, claim.tenant_id, claim.user_ref, flagged))


def _is_unwanted(one: Judged) -> bool:
    """Whether the tenant's policy keeps nothing of this, so that no text may tell it either."""
    return one.decision.write_status == "dropped" and one.decision.reason_codes[0].startswith(_UNWANTED)


def _echoes(
    ground: Ground, pairs: Sequence[tuple[EvidenceView, EvidenceState]], said: Sequence[TurnView]
) -> list[HeldSpan]:
    """The sentences of a statement's own window, and of the answers after it, that repeat its held-back value."""
    held = {statement.id: (statement, state) for statement, state in pairs if state in HELD_STATES}
    windows = facts.windows_of(ground.session, list(held))
    found: list[HeldSpan] = []
    for evidence_id, (statement, state) in held.items():
        near = {turn.event_id: turn for turn in _turns(ground, windows.get(evidence_id, ()), said)}
        if statement.session_ref is not None:
            later = repeats.answers(ground.session, ground.tenant.id, statement.session_ref, statement.at)
            near.update((row.event_id, turns.view(row)) for row in later if row.event_id not in near)
        for turn in near.values():
            if turn.role in _ECHOING:
                found += [
                    HeldSpan(turn.event_id, start, end, state, evidence_id)
                    for start, end in echoes(turn.content, [statement.value])
                ]
    return found


def _turns(ground: Ground, turn_ids: Sequence[UUID], said: Sequence[TurnView]) -> Sequence[TurnView]:
    if not turn_ids:
        return ()
    if {turn.event_id for turn in said} == set(turn_ids):
        return said
    return turns.views(ground.session, ground.tenant.id, turn_ids)

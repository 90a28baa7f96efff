"""Holds back what must not come back: spans of every slot that a window touched, and of everything flagged in it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memory.spans import HELD_STATES, RESTORED_BY_PAST, echoes, evidence_states, held_back
from memory.turns import TurnView
from schemas.decisions import EvidenceState, EvidenceView, HeldSpan
from stores import facts, spans, turns
from tasks.slots import Folded
from tasks.work import Judged, Work

#: Whose sentences are searched for echoes of a held-back value. The user's own words are judged by their own evidence.
_ECHOING = frozenset({"assistant", "tool", "system"})


def hold(work: Work, folded: Sequence[Folded], judged: Sequence[Judged]) -> tuple[str, ...]:
    """Brings the spans up to the state of the evidence; answers the values that no text may ever tell again.

    A value is held back with the assistant's sentences that repeat it in the same window, whichever window that is:
    a fact superseded today is held back where it was said a month ago. Turns whose spans changed are noted as touched.
    Superseded values are not answered: a question about the past restores them, so they are cut at reading.
    """
    told: list[str] = []
    for one in folded:
        states = evidence_states(one.evidence, one.fold.versions, work.now)
        pairs: list[tuple[EvidenceView, EvidenceState]] = [(held, states[held.id]) for held in one.evidence]
        found = [span for held in held_back(pairs, {}).values() for span in held]
        found += _echoes(work, pairs)
        ids = [statement.id for statement in one.evidence]
        work.touched.update(
            spans.settle(work.session, work.claim.tenant_id, work.claim.user_ref, ids, found, now=work.now)
        )
        told += [statement.value for statement, state in pairs if state in HELD_STATES - RESTORED_BY_PAST]
    refused = [one for one in judged if one.decision.write_status == "rejected"]
    _hold_flagged(work, refused)
    return tuple(dict.fromkeys([*told, *(one.verified.value for one in refused)]))


def _hold_flagged(work: Work, refused: Sequence[Judged]) -> None:
    flagged = [span for held in held_back([], work.flags).values() for span in held]
    for one in refused:
        reason = one.decision.reason_codes[0]
        flagged += [
            HeldSpan(turn.event_id, start, end, reason)
            for turn in work.said
            if turn.role in _ECHOING
            for start, end in echoes(turn.content, [one.verified.value])
        ]
    claim = work.claim
    work.touched.update(spans.hold(work.session, claim.tenant_id, claim.user_ref, flagged))


def _echoes(work: Work, pairs: Sequence[tuple[EvidenceView, EvidenceState]]) -> list[HeldSpan]:
    """The sentences of a statement's own window that repeat its held-back value."""
    held = {statement.id: (statement, state) for statement, state in pairs if state in HELD_STATES}
    found: list[HeldSpan] = []
    for evidence_id, turn_ids in facts.windows_of(work.session, list(held)).items():
        statement, state = held[evidence_id]
        for turn in _turns(work, turn_ids):
            if turn.role in _ECHOING:
                found += [
                    HeldSpan(turn.event_id, start, end, state, evidence_id)
                    for start, end in echoes(turn.content, [statement.value])
                ]
    return found


def _turns(work: Work, turn_ids: Sequence[UUID]) -> Sequence[TurnView]:
    if tuple(turn_ids) == work.claim.turn_ids:
        return work.said
    return turns.views(work.session, work.claim.tenant_id, turn_ids)

"""Tells the story of what has no slot: an episode, a turn, a version of a procedure. Held-back words stay untold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlmodel import Session

from memory.procedures import counting, posterior_mean, wilson
from memory.spans import cut, without_mentions
from memory.turns import TurnView
from memory.wording import reason_words
from schemas.decisions import HeldSpan
from schemas.dossiers import Explanation, SaidView, Step
from schemas.envelopes import disclose
from schemas.tables import Episode, Procedure, ProcedureVersion, Turn, Undo
from stores import procedures, spans, stories, turns, undos
from tasks.holding import UNDONE

_INSTEAD = "reported_instead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who asks, and in which language."""

    tenant_id: UUID
    may_review: bool
    language: str = "en"


def episode(session: Session, row: Episode, reader: Reader) -> Explanation:
    """What was said in an episode, what was made of it, and whether it was taken back."""
    ids = [UUID(one) for one in row.turn_ids]
    held = spans.held(session, row.tenant_id, ids)
    window = stories.window(session, row)
    heard = turns.views(session, row.tenant_id, ids)
    made = Step(
        at=row.recorded_at,
        by="digest" if window is not None else "consolidate",
        op="add",
        rule_id=row.outcome,
        why=", ".join(str(one) for one in row.outcome_turn_ids),
        inputs={} if window is None else {"prompt_version": window.prompt_version, "usage": window.usage},
    )
    about = undos.about_turns(session, row.tenant_id, row.user_ref, row.session_ref, heard)
    about += undos.of_target(session, row.tenant_id, {undos.SUMMARY: {str(row.id)}})
    is_undone, summary = row.write_status == "rejected", row.consolidated_into
    return Explanation(
        id=row.id,
        kind="episode",
        title=disclose(row.summary) if not held else _told(session, row, ids),
        status=UNDONE if is_undone else "merged" if summary is not None else "current",
        said=tuple(_said(one, held.get(one.event_id, ())) for one in heard),
        steps=_in_order([made, *(_undo_step(one, reader) for one in about)]),
        replaced=tuple(UUID(one) for one in row.member_ids),
        replaced_by=() if summary is None else (summary,),
        facts={
            "outcome": row.outcome,
            "outcome_turn_ids": row.outcome_turn_ids,
            "importance": row.importance,
            "confidence": row.confidence,
            "tags": row.tags,
            "held_back_parts": sum(len(found) for found in held.values()),
            "expires_at": row.expires_at,
        },
    )


def turn(session: Session, row: Turn, reader: Reader) -> Explanation:
    """What of a turn may be shown, what of it is held back and why, and whether it was taken back."""
    view = turns.view(row)
    held = spans.held(session, row.tenant_id, [row.event_id]).get(row.event_id, [])
    about = undos.about_turns(session, row.tenant_id, row.user_ref, row.session_ref, [view])
    is_undone = bool(undos.covering(session, row.tenant_id, [(view, row.user_ref, row.session_ref)]))
    holding = [
        Step(
            at=row.at,
            by="spans",
            op="held_back",
            rule_id=one.reason,
            why=reason_words(one.reason, reader.language),
            inputs={"start": one.start, "end": one.end},
            evidence_id=one.evidence_id,
        )
        for one in held
    ]
    return Explanation(
        id=row.event_id,
        kind="turn",
        title=f"{row.role} {row.at:%Y-%m-%d %H:%M}",
        status=UNDONE if is_undone else "held_back" if held else "current",
        said=(_said(view, held),),
        steps=_in_order([*holding, *(_undo_step(one, reader) for one in about)]),
        facts={"window_id": row.window_id, "language": row.language, "held_back_parts": len(held)},
    )


def procedure(session: Session, version: ProcedureVersion, owner: Procedure, reader: Reader) -> Explanation:
    """How a version fared, use by use, and which uses count no more; its rates are the fold of those that count."""
    rows = procedures.outcomes(session, version.id)
    undone = undos.covering_outcomes(session, version.tenant_id, rows)
    counted = {one.event_id for one in counting(procedures.outcome_views(session, version))}
    uses = [
        Step(
            at=row.at,
            by=row.source,
            op="success" if row.succeeded else "failure",
            rule_id=UNDONE if row.id in undone else None if row.event_id in counted else _INSTEAD,
            why=reason_words(UNDONE, reader.language) if row.id in undone else "",
            inputs={"event_id": str(row.event_id), "weight": row.weight},
        )
        for row in rows
    ]
    about = undos.about_outcomes(session, version.tenant_id, rows)
    return Explanation(
        id=version.id,
        kind="procedure",
        title=f"{owner.name} {version.version}",
        status=version.write_status,
        steps=_in_order([*uses, *(_undo_step(one, reader) for one in about)]),
        facts={
            "successes": version.successes,
            "failures": version.failures,
            "ema": version.ema,
            "mean": posterior_mean(version.successes, version.failures),
            "lower": wilson(version.successes, version.failures)[0],
            "taken_back": len(undone),
        },
    )


def _said(one: TurnView, held: Sequence[HeldSpan]) -> SaidView:
    return SaidView(
        event_id=one.event_id,
        role=one.role,
        at=one.at,
        quote=cut(one.content, held),
        source=one.source,
        agent_id=one.agent_id,
        ticket_id=one.ticket_id,
    )


def _undo_step(row: Undo, reader: Reader) -> Step:
    return Step(
        at=row.decided_at,
        by="review",
        op="undo" if row.withdraws is None else "withdraw",
        why=disclose(row.reason) if row.reason is not None and reader.may_review else "",
        inputs={"undo_id": str(row.withdraws or row.id), "kind": row.kind},
        actor=row.actor if row.reviewer is None else f"{row.reviewer} ({row.actor})",
    )


def _in_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(sorted(steps, key=lambda step: step.at))


def _told(session: Session, row: Episode, ids: Sequence[UUID]) -> str:
    return without_mentions(disclose(row.summary), spans.words(session, row.tenant_id, ids))

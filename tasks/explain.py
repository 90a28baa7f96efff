"""Why a memory is as it is: what was said and by whom, what was decided by which rule, what it replaced and by what.

A story is read from rows that are only ever added. Whoever may not review is told in words only what counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlmodel import Session

from memory.facts import EFFECTIVE
from memory.labels import title
from memory.registry import spec_of
from memory.spans import evidence_states
from memory.wording import reason_words, rule_words
from schemas.dossiers import Explanation, SaidView, Step, VersionView
from schemas.envelopes import disclose, disclose_json
from schemas.errors import NotFound
from schemas.tables import Draft, Evidence, Fact, FactDecision, Review
from stores import catalogue, clock, facts, reviews, stories, turns
from stores.stories import SlotStory
from tasks import tell
from tasks.review import Desk
from tasks.tell import Reader

__all__ = ["Reader", "explain"]


def explain(kit: Desk, memory_id: UUID, reader: Reader) -> Explanation:
    """The story of a fact, an episode or a procedure's version.

    For reviewers also of a statement that waits or was refused, of a draft, and of a turn by its event's id.
    Raises: NotFound.
    """
    with kit.db.read() as session:
        now = clock.world_now(session, kit.clock())
        fact = catalogue.fact(session, reader.tenant_id, memory_id)
        if fact is not None and _is_open(fact.write_status, reader):
            return _fact(session, fact, reader, now)
        episode = catalogue.episode(session, reader.tenant_id, memory_id)
        if episode is not None:
            return tell.episode(session, episode, reader)
        procedure = catalogue.procedure(session, reader.tenant_id, memory_id)
        if procedure is not None:
            return tell.procedure(session, *procedure, reader)
        if not reader.may_review:
            raise NotFound("memory", memory_id)
        evidence = reviews.find(session, reader.tenant_id, memory_id)
        if evidence is not None:
            return _evidence(session, evidence, reader, now)
        draft = stories.draft(session, reader.tenant_id, memory_id)
        if draft is not None:
            return _draft(session, draft, reader)
        said = turns.plain(session, reader.tenant_id, [memory_id])
        if not said:
            raise NotFound("memory or event", memory_id)
        return tell.turn(session, said[0], reader)


def _fact(session: Session, row: Fact, reader: Reader, now: datetime) -> Explanation:
    story = stories.slot_story(session, row.tenant_id, row.slot_hash)
    is_past = row.valid_until is not None and row.valid_until <= now
    own = [one for one in story.decisions if one.fact_id == row.id]
    after = [one.fact_id for one in story.decisions if str(row.id) in one.replaced_ids and one.fact_id is not None]
    return Explanation(
        id=row.id,
        kind="fact",
        title=f"{_title(row.key, reader, _quotes(story))}: {row.polarity}{disclose(row.value)}",
        status="superseded" if row.superseded_at is not None else "past" if is_past else "current",
        said=_said(session, story, reader, now),
        steps=_steps(story, reader),
        versions=_versions(story.versions, reader),
        replaced=tuple(dict.fromkeys(UUID(one) for change in own for one in change.replaced_ids)),
        replaced_by=tuple(dict.fromkeys(after)),
        facts={
            "key": row.key,
            "scope": row.scope,
            "confidence": row.confidence,
            "importance": row.importance,
            "volatility": row.volatility,
            "sensitivity": row.sensitivity,
            "contested": row.contested,
            "expires_at": row.expires_at,
            "evidence_ids": row.evidence_ids,
        },
    )


def _evidence(session: Session, row: Evidence, reader: Reader, now: datetime) -> Explanation:
    story = stories.slot_story(session, row.tenant_id, row.slot_hash)
    resting = [one for one in story.versions if str(row.id) in one.evidence_ids]
    return Explanation(
        id=row.id,
        kind="evidence",
        title=f"{_title(row.key, reader, (disclose(row.quote),))}: {row.op}{disclose(row.value)}",
        status=row.write_status,
        said=_said(session, story, reader, now, only=row.id),
        steps=tuple(one for one in _steps(story, reader) if one.evidence_id == row.id),
        versions=_versions(resting, reader),
        replaced=tuple(
            dict.fromkeys(
                UUID(one) for change in story.decisions if change.evidence_id == row.id for one in change.replaced_ids
            )
        ),
        replaced_by=tuple(
            one.replaced_by for one in story.verdicts if one.evidence_id == row.id and one.replaced_by is not None
        ),
        facts={
            "key": row.key,
            "scope": row.scope,
            "reason_codes": row.reason_codes,
            "guard_flags": row.guard_flags,
            "policy_version": row.policy_version,
            "prompt_version": row.prompt_version,
        },
    )


def _draft(session: Session, row: Draft, reader: Reader) -> Explanation:
    content = cast("dict[str, Any]", disclose_json(row.content))
    quote = str(content.get("quote", ""))
    window = stories.window(session, row)
    return Explanation(
        id=row.id,
        kind="draft",
        title=f"{_title(str(content.get('key', '')), reader, (quote,))}: {content.get('value') or quote}",
        status=row.decision,
        steps=(_gate_step(row, reader),),
        replaced_by=() if row.evidence_id is None else (row.evidence_id,),
        facts={
            "content": content,
            "window_id": row.window_id,
            "prompt_version": None if window is None else window.prompt_version,
        },
    )


def _said(
    session: Session, story: SlotStory, reader: Reader, now: datetime, *, only: UUID | None = None
) -> tuple[SaidView, ...]:
    states = evidence_states(
        [facts.evidence_view(row) for row in story.evidence],
        [facts.version(row) for row in story.versions if row.superseded_at is None],
        now,
    )
    shown = [row for row in story.evidence if only in {None, row.id} and _is_open(row.write_status, reader)]
    return tuple(_one_said(row, story, states[row.id]) for row in shown)


def _one_said(row: Evidence, story: SlotStory, state: str) -> SaidView:
    talk = None if row.session_ref is None else story.sessions.get(row.session_ref)
    return SaidView(
        evidence_id=row.id,
        event_id=row.event_id,
        role=row.role,
        user_id=disclose(row.user_as_said),
        at=row.at,
        quote=disclose(row.quote),
        op=row.op,
        key=row.key,
        value=disclose(row.value),
        source=row.source,
        agent_id=row.agent_id,
        session_id=None if talk is None else disclose(talk.session_id),
        ticket_id=row.scope_key if row.scope == "ticket" else None,
        state=state,
        write_status=row.write_status,
        confidence=row.confidence,
    )


def _steps(story: SlotStory, reader: Reader) -> tuple[Step, ...]:
    """All decisions on a slot in the order in which they were made; of one moment: gate, person, fold."""
    steps = [
        *(_gate_step(row, reader) for row in story.drafts),
        *(_person_step(row, reader) for row in story.verdicts),
        *(_fold_step(row, reader) for row in story.decisions),
    ]
    shut = {row.id for row in story.evidence if not _is_open(row.write_status, reader)}
    return tuple(sorted((step for step in steps if step.evidence_id not in shut), key=lambda step: step.at))


def _gate_step(row: Draft, reader: Reader) -> Step:
    return Step(
        at=row.recorded_at,
        by="gate",
        op=row.decision,
        rule_id=row.reason_codes[0] if row.reason_codes else None,
        why="; ".join(reason_words(code, reader.language) for code in row.reason_codes),
        inputs=row.inputs or {},
        policy_version=row.policy_version,
        evidence_id=row.evidence_id,
    )


def _person_step(row: Review, reader: Reader) -> Step:
    reason = disclose(row.reason) if row.reason is not None and reader.may_review else ""
    return Step(
        at=row.decided_at,
        by="review",
        op=row.verdict,
        why=reason,
        inputs={"before": row.before, "after": row.after, "content_hash": row.content_hash},
        evidence_id=row.evidence_id,
        actor=row.actor if row.reviewer is None else f"{row.reviewer} ({row.actor})",
    )


def _fold_step(row: FactDecision, reader: Reader) -> Step:
    return Step(
        at=row.decided_at,
        by="feedback" if row.op == "feedback" else "fold",
        op=row.op,
        rule_id=row.rule_id,
        why=rule_words(row.rule_id, reader.language),
        inputs=row.inputs,
        evidence_id=row.evidence_id,
        fact_id=row.fact_id,
        replaced_ids=tuple(UUID(one) for one in row.replaced_ids),
    )


def _versions(rows: Sequence[Fact], reader: Reader) -> tuple[VersionView, ...]:
    return tuple(
        VersionView(
            fact_id=row.id,
            value=disclose(row.value),
            polarity=row.polarity,
            valid_from=row.valid_from,
            valid_until=row.valid_until,
            recorded_at=row.recorded_at,
            superseded_at=row.superseded_at,
            rule_id=row.rule_id,
            write_status=row.write_status,
            contested=row.contested,
        )
        for row in rows
        if _is_open(row.write_status, reader)
    )


def _is_open(write_status: str, reader: Reader) -> bool:
    return write_status in EFFECTIVE or reader.may_review


def _quotes(story: SlotStory) -> list[str]:
    """What was said of a slot and counts, newest first."""
    counting = [row for row in story.evidence if row.write_status in EFFECTIVE]
    return [disclose(row.quote) for row in sorted(counting, key=lambda row: (row.at, row.event_id), reverse=True)]


def _title(key: str, reader: Reader, said: Iterable[str] = ()) -> str:
    spec = spec_of(key)
    return title(key if spec is None else spec.name, reader.language, said)

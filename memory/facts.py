"""Facts: a slot is a fold over all its evidence, so neither the order of arrival nor a repetition can matter.

`fold` reads every statement of a slot in the order (at, event_id, quote_start) and answers which versions hold on the
world axis, as a difference to the rows that are there. It deletes nothing: a replaced row only gets an end on the
system axis. `memory/timeline.py` holds the rules of the world axis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from memory.codes import fold as fold_text
from memory.registry import KeySpec, spec_of
from memory.timeline import DEFAULT_POLICY, FoldPolicy, Segment, Timeline, order_of
from schemas.decisions import Change, ChangeOp, EvidenceView, FactVersion, Fold

EFFECTIVE = frozenset({"auto", "approved"})
IMPORTANCE: Mapping[str, float] = {
    "constraint": 0.9,
    "identity": 0.8,
    "relation": 0.6,
    "requirement": 0.6,
    "preference": 0.5,
    "habit": 0.5,
}
_VOLATILE_IMPORTANCE = 0.2
_RETRACT: ChangeOp = "retract"
_SUPERSEDE: ChangeOp = "supersede"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def slot_parts(
    *, scope: str, scope_key: str, subject: str, key: str, object_text: str | None, canonical: str
) -> tuple[str, ...]:
    """The texts whose keyed hash is the slot. Equal lists are one slot; only facts of one slot retire each other.

    Multi-valued and free keys are one slot per canonical value, relations one per predicate and value; keys by object
    one per object (a need without one is its own object). A single-valued key has an object only when the speaker split
    it (weekdays here, weekends there).
    """
    spec = spec_of(key)
    name = spec.name if spec is not None else key
    parts = (scope, scope_key, fold_text(subject), name)
    cardinality = spec.cardinality if spec is not None else "free"
    if name == "relation" and object_text:
        return (*parts, object_text, canonical)
    if cardinality in {"multi", "free"}:
        return (*parts, canonical)
    said = fold_text(object_text or "")
    if name == "need" and not said:
        said = canonical
    return (*parts, said) if said or cardinality == "by_object" else parts


def fold(
    evidence: Sequence[EvidenceView],
    *,
    current: Sequence[FactVersion],
    now: datetime,
    new_id: Callable[[], UUID],
    added: Collection[UUID] = (),
    policy: FoldPolicy = DEFAULT_POLICY,
) -> Fold:
    """The slot after all its evidence.

    Shape: `evidence` is every row of the slot in any order; `current` every version row without `superseded_at`, ended
    ones included; `added` the evidence rows that are new, so that one of them without effect is told as a noop;
    those of other slots are passed over.
    Repeat: folding again over the result changes nothing. Raises: ValueError on a naive `now`.
    """
    if now.tzinfo is None:
        msg = "now must be aware"
        raise ValueError(msg)
    ordered = sorted((one for one in evidence if one.write_status in EFFECTIVE), key=order_of)
    spec = spec_of(ordered[0].key) if ordered else None
    timeline = Timeline(spec, policy)
    timeline.read(ordered)
    segments = sorted([*timeline.segments, *timeline.rivals], key=_segment_order)
    wanted = [(seg, _version(seg, spec, policy, now)) for seg in segments]
    effective = {one.id for one in ordered}
    new = [one.id for one in evidence if one.id in added]
    return _difference(wanted, current, timeline, effective=effective, new_id=new_id, added=new)


def current_at(versions: Sequence[FactVersion], when: datetime) -> tuple[FactVersion, ...]:
    """The versions that hold at `when` on the world axis (rows that are superseded must already be left out)."""
    return tuple(
        one
        for one in versions
        if (one.valid_from is None or one.valid_from <= when) and (one.valid_until is None or when < one.valid_until)
    )


def importance(type_: str, spec: KeySpec | None) -> float:
    """Base importance in [0, 1] of a fact of this type: what protects the user most, what changes by itself least."""
    if spec is not None and spec.volatile:
        return _VOLATILE_IMPORTANCE
    return IMPORTANCE.get(type_, 0.5)


def confidence(evidence: Sequence[EvidenceView], policy: FoldPolicy = DEFAULT_POLICY) -> float:
    """How sure one may be, in [0, 1]: the best single statement, raised a fifth of the rest per further session.

    Informs readers; it never decides which of two values holds.
    """
    best = max((one.confidence for one in evidence), default=0.0)
    sessions = len({str(one.session_ref or one.event_id) for one in evidence})
    raised = 1 - (1 - best) * (1 - policy.confirm_gain) ** max(0, sessions - 1)
    return round(min(max(best, min(policy.confidence_cap, raised)), 1.0), 4)


def _difference(
    wanted: Sequence[tuple[Segment, FactVersion]],
    current: Sequence[FactVersion],
    timeline: Timeline,
    *,
    effective: Collection[UUID],
    new_id: Callable[[], UUID],
    added: Collection[UUID],
) -> Fold:
    gone = list(current)
    kept: list[FactVersion] = []
    confirmed: list[FactVersion] = []
    fresh: list[tuple[Segment, FactVersion]] = []
    for seg, version in wanted:
        row = next((row for row in gone if _identity(row) == _identity(version)), None)
        if row is None:
            fresh.append((seg, version))
            continue
        gone.remove(row)
        renewed = replace(
            row, evidence_ids=version.evidence_ids, confidence=version.confidence, said_at=version.said_at
        )
        (kept if renewed == row else confirmed).append(renewed)
    inserted = _with_ids(fresh, gone, new_id)
    changes = [
        *(_shaped(seg, version, gone, timeline) for seg, version in inserted),
        *(_confirmed(version, current) for version in confirmed),
        *(_ended(row, timeline, effective) for row in gone if row.id not in _replaced(inserted)),
    ]
    changes += _noops(added, changes, [*kept, *confirmed, *(version for _, version in inserted)], timeline, effective)
    return Fold(
        insert=tuple(version for _, version in inserted),
        supersede=tuple(row.id for row in gone),
        confirm=tuple(confirmed),
        changes=tuple(changes),
        versions=tuple(sorted([*kept, *confirmed, *(version for _, version in inserted)], key=_version_order)),
    )


def _with_ids(
    fresh: Sequence[tuple[Segment, FactVersion]], gone: Sequence[FactVersion], new_id: Callable[[], UUID]
) -> list[tuple[Segment, FactVersion]]:
    """New ids, and for each the superseded row of the same value that shares most evidence, each row at most once."""
    free = list(gone)
    found: list[tuple[Segment, FactVersion]] = []
    for seg, version in fresh:
        alike = [
            row
            for row in free
            if row.polarity == version.polarity and set(row.evidence_ids) & set(version.evidence_ids)
        ]
        best = max(
            alike, key=lambda row: (len(set(row.evidence_ids) & set(version.evidence_ids)), str(row.id)), default=None
        )
        if best is not None:
            free.remove(best)
        found.append((seg, replace(version, id=new_id(), replaces=best.id if best is not None else None)))
    return found


def _replaced(inserted: Sequence[tuple[Segment, FactVersion]]) -> set[UUID]:
    return {version.replaces for _, version in inserted if version.replaces is not None}


def _shaped(seg: Segment, version: FactVersion, gone: Sequence[FactVersion], timeline: Timeline) -> Change:
    retired = [row.id for row in gone if row.id == version.replaces]
    if seg.op == "supersede" and seg.shaped_by in seg.evidence:
        retired += [row.id for row in gone if row.canonical != version.canonical or row.polarity != version.polarity]
    return Change(
        op=seg.op,
        rule_id=seg.rule,
        evidence_id=seg.shaped_by.id,
        fact_id=version.id,
        replaced_ids=tuple(retired),
        inputs={
            "op": seg.shaped_by.op,
            "role": seg.shaped_by.role,
            "rank": timeline.policy.rank(seg.shaped_by, timeline.spec),
            "segment_rank": seg.rank,
            "sessions": seg.sessions(),
            "contested": seg.contested,
            "at": seg.shaped_by.at.isoformat(),
            "precision": seg.precision,
            "flagged": bool(seg.shaped_by.guard_flags),
        },
    )


def _confirmed(version: FactVersion, current: Sequence[FactVersion]) -> Change:
    before = next(row for row in current if row.id == version.id)
    new = [one for one in version.evidence_ids if one not in before.evidence_ids]
    rule = "same_value" if new else "evidence_withdrawn"
    last = new[-1] if new else version.evidence_ids[-1]
    inputs = {"evidence_before": len(before.evidence_ids), "evidence_after": len(version.evidence_ids)}
    return Change(op="confirm", rule_id=rule, evidence_id=last, fact_id=version.id, inputs=inputs)


def _ended(row: FactVersion, timeline: Timeline, effective: Collection[UUID]) -> Change:
    if not set(row.evidence_ids) & set(effective):
        op, rule = _RETRACT, "evidence_withdrawn"
    elif timeline.forgotten and not timeline.segments:
        op, rule = _RETRACT, "forgotten"
    else:
        op, rule = _SUPERSEDE, "covered_by_newer"
    return Change(
        op=op,
        rule_id=rule,
        evidence_id=None,
        fact_id=None,
        replaced_ids=(row.id,),
    )


def _noops(
    added: Collection[UUID],
    changes: Sequence[Change],
    versions: Sequence[FactVersion],
    timeline: Timeline,
    effective: Collection[UUID],
) -> list[Change]:
    told = {change.evidence_id for change in changes}
    used = {one for version in versions for one in version.evidence_ids}
    silent = sorted(one for one in added if one not in told and one not in used)
    return [
        Change(
            op="noop",
            rule_id=timeline.noops.get(str(one), "already_so") if one in effective else "not_effective",
            evidence_id=one,
            fact_id=None,
        )
        for one in silent
    ]


def _version(seg: Segment, spec: KeySpec | None, policy: FoldPolicy, now: datetime) -> FactVersion:
    """The version of a segment, without an id: `fold` gives one only to what is new. Words are those said first."""
    exact = [one for one in seg.evidence if one.canonical == seg.canonical] or seg.evidence
    first = exact[0]
    return FactVersion(
        id=UUID(int=0),
        key=first.key,
        type=first.type,
        polarity="-" if seg.polarity == "-" else "+",
        value=first.value,
        canonical=seg.canonical,
        language=first.language,
        valid_from=seg.start,
        valid_until=seg.end,
        precision=seg.precision,
        tz=seg.tz,
        recorded_at=now,
        said_at=max(one.at for one in seg.evidence),
        confidence=confidence(seg.evidence, policy),
        importance=importance(first.type, spec),
        evidence_ids=tuple(one.id for one in sorted(seg.evidence, key=order_of)),
        rule_id=seg.rule,
        write_status="auto" if any(one.write_status == "auto" for one in seg.evidence) else "approved",
        contested=seg.contested,
        recorded_by=first.role,
        source=first.source,
        agent_id=first.agent_id,
        session_ref=first.session_ref,
        ticket_id=first.ticket_id,
    )


def _identity(version: FactVersion) -> FactVersion:
    """What makes two versions the same row: all but ids, system times, the rule and what use or a repetition moves."""
    return replace(
        version,
        id=UUID(int=0),
        recorded_at=_EPOCH,
        said_at=_EPOCH,
        confidence=0.0,
        importance=0.0,
        evidence_ids=(),
        rule_id="",
        replaces=None,
    )


def _segment_order(seg: Segment) -> tuple[object, ...]:
    return (*_interval_order(seg.start, seg.end), seg.contested, seg.canonical, seg.polarity)


def _version_order(version: FactVersion) -> tuple[object, ...]:
    interval = _interval_order(version.valid_from, version.valid_until)
    return (*interval, version.contested, version.canonical, version.polarity)


def _interval_order(start: datetime | None, end: datetime | None) -> tuple[float, float]:
    return (
        float("-inf") if start is None else start.timestamp(),
        float("inf") if end is None else end.timestamp(),
    )

"""The world axis of one slot: which value held when, as its statements say it, painted in the order they were made.

A newer statement paints over an older one from its own begin on; a past statement fills only what nobody claims; a
retraction ends what it names. Pure and mutable inside one fold, never kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memory.precision import window_end
from memory.refinement import is_refinement
from memory.registry import SPECIAL, KeySpec
from schemas.decisions import ChangeOp, EvidenceView

TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldPolicy:
    """Whose word counts for more, and when a flagged one does not count as newer.

    `origins` and `tool_origins` rank speakers for ordinary keys and for keys that a tool knows best. A statement that
    the guard flagged and nobody approved is of lesser origin than a value said in `flagged_sessions` sessions or more.
    """

    origins: tuple[tuple[str, int], ...] = (("user", 3), ("staff", 2), ("tool", 1))
    tool_origins: tuple[tuple[str, int], ...] = (("tool", 3), ("staff", 2), ("user", 1))
    flagged_sessions: int = 2
    confirm_gain: float = 0.2
    confidence_cap: float = 0.99

    def rank(self, evidence: EvidenceView, spec: KeySpec | None) -> int:
        """The rank of an origin: higher is better, 0 for one that is not listed."""
        ranks = self.tool_origins if spec is not None and spec.tool else self.origins
        return dict(ranks).get(evidence.role, 0)


DEFAULT_POLICY = FoldPolicy()


@dataclass(slots=True)
class Segment:
    """A value over [start, end). `start` None: unknown.

    `dated`: the speaker named the start; otherwise it is when the value was first said.
    """

    canonical: str
    polarity: str
    start: datetime | None
    end: datetime | None
    dated: bool
    precision: str
    tz: str | None
    rank: int
    evidence: list[EvidenceView]
    op: ChangeOp
    rule: str
    shaped_by: EvidenceView
    contested: bool = False

    def shape(self, op: ChangeOp, rule: str, evidence: EvidenceView) -> None:
        """Notes what last gave this segment its form."""
        self.op, self.rule, self.shaped_by = op, rule, evidence

    def overlaps(self, start: datetime | None, end: datetime | None) -> bool:
        """Whether some instant is in both."""
        return _before(self.start, end) and _before(start, self.end)

    def sessions(self) -> int:
        """In how many independent sessions it was said."""
        return len({str(one.session_ref or one.event_id) for one in self.evidence})


@dataclass(slots=True)
class Timeline:
    """The segments of one slot while its evidence is read. `noops` says why a statement changed nothing."""

    spec: KeySpec | None
    policy: FoldPolicy
    segments: list[Segment] = field(default_factory=list[Segment])
    rivals: list[Segment] = field(default_factory=list[Segment])
    noops: dict[str, str] = field(default_factory=dict[str, str])
    forgotten: bool = False

    def read(self, evidence: Iterable[EvidenceView]) -> None:
        """Takes in statements that are in the order (at, event_id, quote_start)."""
        for one in evidence:
            match one.op:
                case "forget":
                    self._forget(one)
                case "retract":
                    self._close(one, one.valid_from or one.at, "retraction")
                case "past":
                    self._past(one, one.valid_until or one.at)
                case "-" if self._is_single():
                    self._close(one, one.valid_from or one.at, "denial")
                case _ if one.valid_until is not None and one.valid_until <= one.at:
                    self._past(one, one.valid_until)
                case _:
                    self._assert(one)
            self._recheck()

    def _is_single(self) -> bool:
        return self.spec is not None and self.spec.cardinality in {"single", "by_object"}

    def _forget(self, one: EvidenceView) -> None:
        for seg in (*self.segments, *self.rivals):
            self.noops.update((str(said.id), "forgotten") for said in seg.evidence)
        self._noop(one, "tombstone")
        self.segments, self.rivals, self.forgotten = [], [], True

    def _noop(self, one: EvidenceView, rule: str) -> None:
        self.noops[str(one.id)] = rule

    def _recheck(self) -> None:
        """A rival that nothing opposes any more stands for itself; the rest, and what they oppose, are contested."""
        for rival in list(self.rivals):
            if not any(_before(rival.start, seg.end) and _reaches(seg.end, rival.end) for seg in self.segments):
                ends = [
                    seg.end for seg in self.segments if seg.end is not None and seg.overlaps(rival.start, rival.end)
                ]
                rival.start = max([rival.start, *ends]) if rival.start is not None else None
                rival.contested = False
                self.rivals.remove(rival)
                self.segments.append(rival)
        for rival in self.rivals:
            rival.contested = True
        for seg in self.segments:
            seg.contested = any(seg.overlaps(rival.start, rival.end) for rival in self.rivals)

    # Ends

    def _close(self, one: EvidenceView, moment: datetime, rule: str) -> None:
        named = [seg for seg in self.segments if self._names(one, seg) and _before(moment, seg.end)]
        theirs = [seg for seg in named if not self._is_lesser(one, seg)]
        rivals = [seg for seg in self.rivals if self._names(one, seg) and not self._is_lesser(one, seg)]
        self.rivals = [seg for seg in self.rivals if seg not in rivals]
        if not theirs and not rivals:
            self._noop(one, f"{rule}_of_lesser_origin" if named else f"{rule}_of_nothing_held")
        for seg in theirs:
            self._end(seg, _after_its_statement(one, seg, moment), ("retract", rule, one))

    def _names(self, one: EvidenceView, seg: Segment) -> bool:
        same = one.canonical == seg.canonical or self._refines(one.canonical, seg.canonical)
        return not one.canonical or same or self._refines(seg.canonical, one.canonical)

    def _end(self, seg: Segment, moment: datetime, why: tuple[ChangeOp, str, EvidenceView]) -> None:
        """Ends a segment. One that was only said after the moment becomes history of unknown begin."""
        if _before(seg.start, moment):
            seg.end = moment if seg.end is None else min(seg.end, moment)
            seg.shape(*why)
            return
        self.segments.remove(seg)
        if not seg.dated:
            room = self._room(None, moment)
            if room is not None:
                seg.start, seg.end, seg.precision = room[0], room[1], "unknown"
                seg.shape(*why)
                self.segments.append(seg)

    # History

    def _past(self, one: EvidenceView, end: datetime) -> None:
        start = one.valid_from
        own = [seg for seg in self.segments if self._names(one, seg) and seg.polarity == "+"]
        for seg in own:
            if _before(end, seg.end) and _before(seg.start, one.at) and not self._is_lesser(one, seg):
                self._end(seg, _after_its_statement(one, seg, end), ("retract", "said_to_be_past", one))
        own = [seg for seg in own if seg in self.segments]
        room = self._room(start, end)
        if own and start is None:
            # It adds no begin to what is known: when it was first said stays the best word on that.
            own[-1].evidence.append(one)
            return
        touching = next((seg for seg in own if room is None or seg.start == room[1] or seg.overlaps(*room)), None)
        if touching is not None:
            touching.evidence.append(one)
            if room is not None and room[1] == touching.start:
                touching.start, touching.dated, touching.precision = room[0], True, one.precision
                touching.shape("refine", "earlier_begin", one)
        elif room is None:
            self._noop(one, "past_covered_by_others")
        else:
            self.segments.append(self._segment(one, start=room[0], end=room[1], why=("add", "past_statement")))

    def _room(self, start: datetime | None, end: datetime) -> tuple[datetime | None, datetime] | None:
        """The latest part of [start, end) that no segment claims."""
        for seg in sorted(self.segments, key=lambda seg: _key(seg.start), reverse=True):
            if seg.overlaps(start, end):
                if seg.end is not None and seg.end < end:
                    return seg.end, end
                if seg.start is None or (start is not None and seg.start <= start):
                    return None
                end = seg.start
        return (start, end) if _before(start, end) else None

    # Statements

    def _assert(self, one: EvidenceView) -> None:
        start, end = one.valid_from or one.at, one.valid_until
        same = [seg for seg in self.segments if self._says(one, seg) and seg.overlaps(start, end)]
        holding = next((seg for seg in same if seg.start is None or seg.start <= start), None)
        if holding is not None and _before(one.at, holding.end):
            self._confirm(one, holding, end)
            self._settle(one)
            return
        others = [seg for seg in self.segments if seg not in same and seg.overlaps(start, end)]
        better = [seg for seg in others if self._stands_against(one, seg)]
        if better:
            self._contest(one, better, start, end)
        else:
            self._supersede(one, same, others, start, end)

    def _says(self, one: EvidenceView, seg: Segment) -> bool:
        return one.op == seg.polarity and self._names(one, seg)

    def _confirm(self, one: EvidenceView, seg: Segment, end: datetime | None) -> None:
        seg.evidence.append(one)
        seg.rank = max(seg.rank, self.policy.rank(one, self.spec))
        if self._refines(one.canonical, seg.canonical):
            seg.canonical = one.canonical
            seg.shape("refine", "more_specific", one)
        if end is not None and end != seg.end and not self._is_lesser(one, seg):
            # What is known to follow stays: a new end reaches to it, not over it.
            follows = [
                other.start for other in self.segments if other.start is not None and _reaches(other.start, seg.end)
            ]
            seg.end = min([end, *follows])
            seg.shape("refine", "new_end", one)

    def _stands_against(self, one: EvidenceView, seg: Segment) -> bool:
        if self._is_lesser(one, seg):
            return True
        opposed = seg.canonical == one.canonical and seg.polarity != one.op
        # A denied allergy may be stated again at once; what protects the user never ends by a mere denial.
        protects = self._closes_explicitly() and (seg.polarity == "+" or one.key != "allergy")
        return opposed and protects

    def _contest(self, one: EvidenceView, held: list[Segment], start: datetime, end: datetime | None) -> None:
        rival = next((seg for seg in self.rivals if self._says(one, seg)), None)
        if rival is not None:
            rival.evidence.append(one)
            return
        rule = "lesser_origin" if self._is_lesser(one, held[0]) else "closes_only_by_retraction"
        self.rivals.append(self._segment(one, start=start, end=end, why=("contest", rule)))
        for seg in held:
            seg.shape("contest", rule, one)

    def _supersede(
        self, one: EvidenceView, same: list[Segment], others: list[Segment], start: datetime, end: datetime | None
    ) -> None:
        start = max([start, *(_after_its_statement(one, seg, start) for seg in others)])
        seg = self._segment(one, start=start, end=end, why=("add", "first_statement"))
        if others:
            seg.shape("supersede", "newer_statement", one)
        # What ended before this begins, with something else between, stays a span of its own.
        joined = [old for old in same if _reaches(old.end, start)]
        for old in joined:
            self._absorb(seg, old)
        for rival in [rival for rival in self.rivals if self._says(one, rival)]:
            seg.evidence = _in_order([*rival.evidence, *seg.evidence])
        self.segments = [*(old for old in self.segments if old not in joined), seg]
        self._settle(one)
        for old in sorted(others, key=lambda old: _key(old.start)):
            self._end(old, start, ("supersede", "newer_statement", one))

    def _absorb(self, seg: Segment, old: Segment) -> None:
        """Joins an older segment of the same value: the earlier begin, and an end that is still to come."""
        seg.evidence = _in_order([*old.evidence, *seg.evidence])
        seg.shape("refine", "earlier_begin", seg.shaped_by)
        if seg.start is not None and (old.start is None or old.start <= seg.start):
            seg.start, seg.dated, seg.precision, seg.tz = old.start, old.dated, old.precision, old.tz
            seg.shape("refine", "holds_again", seg.shaped_by)
        if seg.end is None and old.end is not None and old.end > seg.shaped_by.at:
            seg.end = old.end
        if self._refines(old.canonical, seg.canonical):
            seg.canonical = old.canonical

    def _settle(self, one: EvidenceView) -> None:
        """A statement of at least their origin ends a contest: rivals go, what they contested stands alone."""
        rank = self.policy.rank(one, self.spec)
        kept = [seg for seg in self.rivals if seg.rank > rank]
        if len(kept) < len(self.rivals):
            for seg in self.segments:
                if seg.contested:
                    seg.shape("confirm", "contest_resolved", one)
        self.rivals = kept

    def _closes_explicitly(self) -> bool:
        return self.spec is not None and self.spec.closes_explicitly

    def _is_lesser(self, one: EvidenceView, seg: Segment) -> bool:
        if self.policy.rank(one, self.spec) < seg.rank:
            return True
        flagged = one.write_status != "approved" and any(not code.startswith(SPECIAL) for code in one.guard_flags)
        return flagged and seg.sessions() >= self.policy.flagged_sessions

    def _refines(self, longer: str, shorter: str) -> bool:
        return self.spec is not None and is_refinement(self.spec.name, longer, shorter)

    def _segment(
        self, one: EvidenceView, *, start: datetime | None, end: datetime | None, why: tuple[ChangeOp, str]
    ) -> Segment:
        dated = one.valid_from is not None
        return Segment(
            canonical=one.canonical,
            polarity="-" if one.op == "-" else "+",
            start=start,
            end=end,
            dated=dated,
            precision=one.precision if dated else "unknown",
            tz=one.tz,
            rank=self.policy.rank(one, self.spec),
            evidence=[one],
            op=why[0],
            rule=why[1],
            shaped_by=one,
        )


def order_of(one: EvidenceView) -> tuple[datetime, str, int, str]:
    """The one order in which evidence is read, whatever the order of arrival."""
    return (one.at, str(one.event_id), one.quote_start, str(one.id))


def _in_order(evidence: Iterable[EvidenceView]) -> list[EvidenceView]:
    return sorted(evidence, key=order_of)


def _after_its_statement(one: EvidenceView, seg: Segment, moment: datetime) -> datetime:
    """`moment`, or just after `seg` was said when "last week" leaves room for both: the least that keeps both true."""
    if moment == one.at or seg.start is None or seg.dated or seg.start < moment:
        return moment
    inside = seg.start < window_end(moment, one.precision, one.tz) and seg.start < one.at
    return seg.start + TICK if inside else moment


def _before(one: datetime | None, other: datetime | None) -> bool:
    """Whether a begin (None: the beginning of time) lies before an end (None: never ends)."""
    return one is None or other is None or one < other


def _reaches(end: datetime | None, other: datetime | None) -> bool:
    """Whether the first end lies no earlier than the other."""
    return end is None or (other is not None and end >= other)


def _key(start: datetime | None) -> float:
    return float("-inf") if start is None else start.timestamp()

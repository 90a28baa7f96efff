"""The time phrase of a statement: from its own clause, and only where the key's truth begins or ends."""

from __future__ import annotations

from dataclasses import replace

from llm.rules.finding import Finding, Piece
from memory.dates import find_times

_TIMED = frozenset({"city", "company", "job", "need", "diet", "budget", "constraint"})
_TIMED_CHANGES = frozenset({"likes", "allergy", "avoid", "tool"})


def timed(finding: Finding, clause: Piece) -> Finding:
    """The finding with the nearest time phrase of its clause, its quote widened to hold the phrase."""
    changes = finding.op in {"retract", "past"} and finding.key in _TIMED_CHANGES
    if not changes and finding.key not in _TIMED:
        return finding
    times = find_times(clause.text)
    if not times:
        return finding
    nearest = min(times, key=lambda span: abs(clause.start + span.start - finding.end))
    start, end = clause.start + nearest.start, clause.start + nearest.end
    return replace(finding, when=nearest.text, start=min(start, finding.start), end=max(end, finding.end))

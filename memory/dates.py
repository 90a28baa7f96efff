"""Times that people say, in English and Chinese: where they stand in a text, and which days they mean.

Relative phrases are resolved from the turn's own time and zone. What is vague (`recently`, 几天前) is not found at all:
no time is better than a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from memory.calendar import Precision, Resolved, Stay
from memory.dates_en import EN_RULES
from memory.dates_rules import Rule, Said, clock_time
from memory.dates_zh import ZH_RULES

__all__ = ["Precision", "Resolved", "TimeSpan", "find_times", "resolve"]

_RULES: tuple[Rule, ...] = (*EN_RULES, *ZH_RULES)
_MAX_SCAN = 2_000


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A phrase that `resolve` reads, at characters [start, end) of the text."""

    start: int
    end: int
    text: str


def resolve(phrase: str, *, said_at: datetime, zone: tzinfo) -> Resolved | None:
    """The world time that `phrase` means when it is said at `said_at` (aware) in `zone`; None when it names none.

    A phrase may carry more words: the longest time in it counts. Raises: ValueError for a naive `said_at`.
    """
    if said_at.tzinfo is None:
        msg = "said_at must be aware"
        raise ValueError(msg)
    spans = find_times(phrase)
    if not spans:
        return None
    span = max(spans, key=lambda found: (found.end - found.start, -found.start))
    said = Said(said_at.astimezone(zone))
    for rule in _RULES:
        match = rule.pattern.fullmatch(span.text)
        if match is None:
            continue
        try:
            stay = rule.read(said, match)
            return None if stay is None else _with_clock(stay, span.text, said, zone)
        except (ValueError, OverflowError):
            return None
    return None


def find_times(text: str) -> list[TimeSpan]:
    """Every time phrase of the first 2,000 characters of `text`, in order, the longest where two overlap."""
    text = text[:_MAX_SCAN]
    found = [match.span() for rule in _RULES for match in rule.pattern.finditer(text) if match.end() > match.start()]
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0] - span[1], span[0])):
        if all(end <= other_start or start >= other_end for other_start, other_end in kept):
            kept.append((start, end))
    return [TimeSpan(start, end, text[start:end]) for start, end in sorted(kept)]


def _with_clock(stay: Stay | datetime, phrase: str, said: Said, zone: tzinfo) -> Resolved:
    if isinstance(stay, datetime):
        moment = stay.astimezone(UTC)
        return Resolved(moment, moment, "instant")
    at = clock_time(phrase) if stay.first == stay.last else None
    if at is None:
        return stay.in_zone(zone)
    moment = datetime.combine(stay.first, at, said.local.tzinfo).astimezone(UTC)
    return Resolved(moment, moment + timedelta(0), "instant")

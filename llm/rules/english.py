"""All English findings of one turn."""

from __future__ import annotations

from dataclasses import replace

from llm.rules import identity_en, needs_en, taste_en
from llm.rules.clauses_en import JOKING, clauses
from llm.rules.finding import Finding
from llm.rules.masking import masked
from memory.dates import find_times


def findings(text: str) -> list[Finding]:
    """What the user of an English turn states, in order of appearance."""
    same = masked(text)
    if JOKING.search(same) or needs_en.NOT_STORED.search(same):
        return []
    parts = list(clauses(same))
    found: list[Finding] = []
    for clause in parts:
        for finder in (identity_en.find, taste_en.find, needs_en.find):
            found += [_timed(finding, same) for finding in finder(clause, same)]
    found += needs_en.find_budgets(parts, found)
    found += taste_en.find_topic(same, 0)
    found += needs_en.find_other(same, 0, found)
    return found


def _timed(finding: Finding, text: str) -> Finding:
    if finding.when is not None:
        return finding
    times = find_times(text[finding.start : finding.end + 40].split(". ", maxsplit=1)[0])
    return replace(finding, when=times[0].text) if times else finding

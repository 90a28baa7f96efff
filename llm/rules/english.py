"""All English findings of one turn."""

from __future__ import annotations

from llm.rules import identity_en, needs_en, taste_en
from llm.rules.clauses_en import JOKING, clauses
from llm.rules.finding import Finding
from llm.rules.masking import masked
from llm.rules.timing import timed


def findings(text: str) -> list[Finding]:
    """What the user of an English turn states, in order of appearance."""
    same = masked(text)
    if JOKING.search(same) or needs_en.NOT_STORED.search(same):
        return []
    parts = list(clauses(same))
    found: list[Finding] = []
    for clause in parts:
        needs = list(needs_en.find(clause, same))
        # "I prefer email" is a channel, not a taste.
        reached = any(finding.key in {"contact", "language"} for finding in needs)
        tastes = [] if reached else taste_en.find(clause, same)
        found += [timed(finding, clause.piece) for finding in (*identity_en.find(clause, same), *tastes, *needs)]
    found += needs_en.find_budgets(parts, found)
    found += taste_en.find_topic(same, 0)
    found += needs_en.find_other(same, 0, found)
    return found

"""All Chinese findings of one turn."""

from __future__ import annotations

from llm.rules import identity_zh, needs_zh, taste_zh
from llm.rules.clauses_zh import clauses
from llm.rules.finding import Finding
from llm.rules.masking import masked
from llm.rules.timing import timed


def findings(text: str) -> list[Finding]:
    """What the user of a Chinese turn states, in order of appearance."""
    same = masked(text)
    if needs_zh.NOT_STORED.search(same):
        return []
    parts = list(clauses(same))
    found: list[Finding] = []
    for clause in parts:
        needs = list(needs_zh.find(clause))
        reached = any(finding.key in {"contact", "language"} for finding in needs)
        tastes = [] if reached else taste_zh.find(clause)
        found += [timed(finding, clause.piece) for finding in (*identity_zh.find(clause), *tastes, *needs)]
    found += needs_zh.find_budgets(parts, found)
    found += needs_zh.find_other(same, found)
    return found

"""All Chinese findings of one turn."""

from __future__ import annotations

from llm.rules import body_zh, contact_zh, home_zh, identity_zh, links_zh, needs_zh, taste_zh, work_zh
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
        reached = list(contact_zh.find(clause))
        body = list(body_zh.find(clause))
        # "I prefer email" is a channel and "I'm vegan" a diet: neither is a taste, and a standing order is no need.
        about = any(finding.key in {"contact", "language"} for finding in reached)
        tastes = () if about or body else taste_zh.find(clause)
        needs = () if reached else needs_zh.find(clause)
        identity = (*identity_zh.find(clause), *home_zh.find(clause), *work_zh.find(clause))
        # What contains, concerns or was bought with what: a need or a like of the same words would be a guess.
        links = list(links_zh.find(clause))
        found += [timed(finding, clause.piece) for finding in (*identity, *body, *tastes, *reached, *needs, *links)]
    found += [one for one in work_zh.find_next(parts, found) if one.value not in {known.value for known in found}]
    if any(finding.key == "diet" and finding.op == "retract" for finding in found):
        # Who eats meat again says by it that the diet is over.
        found = [finding for finding in found if (finding.key, finding.op) != ("avoid", "retract")]
    found += needs_zh.find_budgets(parts, found)
    found += needs_zh.find_other(same, found)
    return found

"""All English findings of one turn."""

from __future__ import annotations

from llm.rules import body_en, contact_en, home_en, identity_en, links_en, needs_en, taste_en, work_en
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
        reached = list(contact_en.find(clause))
        body = list(body_en.find(clause))
        # "I prefer email" is a channel and "I'm vegan" a diet: neither is a taste, and a standing order is no need.
        about = any(finding.key in {"contact", "language"} for finding in reached)
        tastes = () if about or body else taste_en.find(clause)
        needs = () if reached else needs_en.find(clause)
        identity = (*identity_en.find(clause, same), *home_en.find(clause), *work_en.find(clause))
        # What contains, concerns or was bought with what: a need or a like of the same words would be a guess.
        links = list(links_en.find(clause))
        found += [timed(finding, clause.piece) for finding in (*identity, *body, *tastes, *reached, *needs, *links)]
    found += [one for one in work_en.find_next(parts, found) if one.value not in {known.value for known in found}]
    if any(finding.key == "diet" and finding.op == "retract" for finding in found):
        # Who eats meat again says by it that the diet is over.
        found = [finding for finding in found if (finding.key, finding.op) != ("avoid", "retract")]
    found += needs_en.find_budgets(parts, found)
    found += taste_en.find_topic(same, 0)
    found += needs_en.find_other(same, 0, found)
    return found

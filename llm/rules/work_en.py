"""For whom someone works, and as what: English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from llm.rules.lexicon_en import FIELDS
from schemas.drafts import Polarity

_WE = re.compile(r"we\b", re.IGNORECASE)
_TITLE_LEAD = re.compile(
    r"(?:an?\s+(?P<age>\d{1,3})[- ]years?[- ]old\s+|an?\s+(?P<former>retired|former|ex-)\s*|(?:an?|the)\s(?=.)"
    r"|(?=(?:head|director|vp|ceo|cto|cfo|coo|founder|co-founder) (?:of|at)\b))",
    re.IGNORECASE,
)
_OPS: dict[str, Polarity] = {"holds": "+", "over": "retract", "was": "past"}
_WORK = re.compile(
    r"(?:work(?:s|ed|ing)?|employed)\s+(?:(?:full[- ]time|part[- ]time|remotely|mainly|mostly|here"
    r"|now|currently|freelance|over)\s+)*(?:in\s+(?-i:[A-Z])[\w-]+\s+)?(?:at|for|by|with)\s+",
    re.IGNORECASE,
)
_WORK_AS = re.compile(
    r"(?:work(?:s|ed|ing)?|employed|hired|job|started(?: working)?|training"
    r"|trained)\s+(?:(?:full[- ]time|part[- ]time|freelance|here|remotely|now"
    r"|currently)\s+)*as\s+(?=an?\b|the\b|head\b|[a-z])",
    re.IGNORECASE,
)
_AS = re.compile(r"^[^,.;]{0,60}?\bas\s+(?=an?\s)", re.IGNORECASE)
_DOES = re.compile(
    r"(?:do|does|did|doing)\s+(?P<field>[a-z-]+(?:\s+[a-z-]+)??)\s+(?:(?P<filler>stuff|work|dev"
    r"|development|things)\s+)?(?:at|for|over at)\s+",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"(?:joined|(?:just\s+)?started\s+(?:(?:a\s+)?(?:new\s+)?(?:job|role|position)\s+|working\s+"
    r"|work\s+)?(?:at|with|for)|(?:got|landed|took|accepted)\s+an?\s+(?:new\s+)?(?:job|role"
    r"|position|offer)\s+(?:at|with|from)|(?:got\s+)?hired\s+(?:by|at)|switched\s+(?:jobs\s+)?to"
    r"|transferred to)\s+",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"(?:left|quit|quitted|resigned\s+from|departed(?:\s+from)?|(?:got\s+)?(?:laid\s+off|fired"
    r"|let\s+go|made\s+redundant)\s+(?:from|by|at)|lost\s+my\s+job\s+at|retired\s+from|(?:quit"
    r"|left)\s+my\s+job\s+at|parted\s+ways\s+with|hand(?:ed)?\s+in\s+my\s+(?:notice|resignation)\s+at|gave\s+(?:in\s+)?my\s+notice\s+at|finished\s+at|stopped\s+working\s+(?:at"
    r"|for))\s+(?:my\s+job\s+at\s+)?",
    re.IGNORECASE,
)
_BECAME = re.compile(
    r"(?:became|become|got\s+promoted\s+to|promoted\s+to|trained\s+as|qualified\s+as|retrained\s+as)\s+", re.IGNORECASE
)
_WITH = re.compile(r"(?:(?:working|employed)\s+)?(?:at|for|with|by)\s+", re.IGNORECASE)
# "I'm with Aldi now" tells of an employer only beside the one that was left.
_NOW_WITH = re.compile(
    r"(?:now\s+)?(?:working\s+)?(?:with|at|for)\s+(?=[A-Z0-9])(?!.*\b(?:team|friend|family|hotel|airport)\b)", 0
)
_KINDS = frozenset({"student", "model", "guard", "officer"})


def find(clause: Clause) -> Iterator[Finding]:
    """Employer and occupation of one clause."""
    if not clause.subject or clause.hedged or clause.state == "cannot" or _WE.match(clause.whole.text):
        return
    if clause.copula:
        yield from _titles(clause)
    yield from _leaving(clause) or _working(clause) or _starting(clause)


def find_next(clauses: Sequence[Clause], known: Sequence[Finding]) -> Iterator[Finding]:
    """Where someone works now, told right after the employer that they left: `I'm with Aldi now`."""
    for left, clause in pairwise(clauses):
        over = [one for one in known if (one.key, one.op) in {("company", "retract"), ("company", "past")}]
        if not any(left.start <= one.start < left.whole.end and one.subject == clause.subject for one in over):
            continue
        match = _NOW_WITH.match(clause.body.text) if clause.copula and clause.state == "holds" else None
        company = values.employer(clause.body.tail(match.end())) if match else None
        if company and not clause.hedged and company.text.split()[0].lower() not in values.NAMES:
            yield stated(clause, "company", company, "+", end=clause.whole.end)


def _leaving(clause: Clause) -> list[Finding]:
    body = clause.body
    match = _LEFT.match(body.text) if clause.state == "holds" or (clause.copula and clause.state == "was") else None
    if match is None and clause.copula and clause.state == "over":
        match = _WITH.match(body.text)
    company = values.employer(body.tail(match.end())) if match else None
    return [stated(clause, "company", company, "retract", end=clause.whole.end)] if company else []


def _working(clause: Clause) -> list[Finding]:
    body, op = clause.body, _OPS.get(clause.state)
    if op is None:
        return []
    if (match := _WORK.match(body.text)) is not None:
        return _working_at(clause, body.tail(match.end()), "past" if _is_over(clause, match) else op)
    match = _DOES.match(body.text)
    if match is None or match["field"].lower() not in FIELDS:
        return []
    company = values.employer(body.tail(match.end()))
    if company is None:
        return []
    return [
        stated(clause, "company", company, op, end=clause.whole.end),
        stated(clause, "job", part(body, match, "field"), op),
    ]


def _working_at(clause: Clause, rest: Piece, op: Polarity) -> list[Finding]:
    found: list[Finding] = []
    if (company := values.employer(rest)) is not None:
        found.append(stated(clause, "company", company, op, end=clause.whole.end))
        rest = rest.tail(company.end - rest.start)
    if (as_ := _AS.match(rest.text)) and (title := values.occupation(rest.tail(as_.end()), strict=False)):
        found.append(stated(clause, "job", title, op, end=_end(clause, op)))
    return found


def _is_over(clause: Clause, match: re.Match[str]) -> bool:
    """Simple past without `have`: `I worked at ...` tells of what is over."""
    past = re.match(r"worked", match[0], re.IGNORECASE) is not None
    return past and not clause.perfect and not clause.copula and clause.state == "holds"


def _titles(clause: Clause) -> Iterator[Finding]:
    """`I'm a nurse at ...`, `I'm the head of ...`, `I'm a 45-year-old electrician`, `I'm a retired teacher`."""
    body, op = clause.body, _OPS.get(clause.state)
    if op is None or not (match := _TITLE_LEAD.match(body.text)):
        return
    aged = match["age"] is not None
    if aged and op == "+":
        yield stated(clause, "age", part(body, match, "age"), "+")
    if match["former"]:
        op = "past"
    title = values.occupation(body.tail(match.end()) if aged or match["former"] else body, strict=True)
    if title is None or (title.text.lower() in _KINDS and clause.subject != USER):
        return
    yield stated(clause, "job", title, op, end=_end(clause, op))
    after = body.tail(title.end - body.start).stripped()
    at = _WITH.match(after.text) if op != "past" and "student" not in title.text.lower() else None
    company = values.employer(after.tail(at.end())) if at else None
    if company is not None:
        yield stated(clause, "company", company, op, end=_end(clause, op))


def _end(clause: Clause, op: Polarity) -> int | None:
    """What ended is quoted to the end of its clause, where the words that say so may stand."""
    return clause.whole.end if op == "retract" else None


def _starting(clause: Clause) -> list[Finding]:
    body, op = clause.body, _OPS.get(clause.state)
    if op is None:
        return []
    if match := _WORK_AS.match(body.text):
        return _employed_as(clause, body.tail(match.end()), "past" if _is_over(clause, match) else op)
    if clause.state != "holds":
        return []
    if match := _JOINED.match(body.text):
        return _working_at(clause, body.tail(match.end()), "+")
    if (match := _BECAME.match(body.text)) and (title := values.occupation(body.tail(match.end()), strict=True)):
        return [stated(clause, "job", title, "+")]
    return []


def _employed_as(clause: Clause, rest: Piece, op: Polarity) -> list[Finding]:
    title = values.occupation(rest, strict=False)
    if title is None:
        return []
    found = [stated(clause, "job", title, op, end=_end(clause, op))]
    after = rest.tail(title.end - rest.start).stripped()
    if (at := _WITH.match(after.text)) and (company := values.employer(after.tail(at.end()))):
        found.append(stated(clause, "company", company, op, end=_end(clause, op)))
    return found

"""Where someone lives, lived, moved to and from: English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece, stated
from schemas.drafts import Polarity

_OPS: dict[str, Polarity] = {"holds": "+", "over": "retract", "was": "past"}
_LIVE = re.compile(
    r"(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|based|located|settled|staying "
    r"permanently)\s+(?:(?:right|just|alone|together|happily|full-time|with (?:my|his|her|their"
    r"|a) [a-z]+(?: and [a-z ]+)?)\s+)?(?:in|out of)\s+",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"(?:moved|relocated|moving|emigrated|immigrated)\s+(?:(?:back|over|here|out|down|up|away"
    r"|house|home|again|permanently|with (?:my|his|her) [a-z]+)\s+)*",
    re.IGNORECASE,
)


_TITLED = re.compile(r"an?\s[^,.;]{2,50}?\s(?:based|living)\s+(?:in|out of)\s+", re.IGNORECASE)
_LEFT_PLACE = re.compile(r"left\s+", re.IGNORECASE)
_MOVED_OUT = re.compile(r"(?:moved|moving)\s+(?:away from|out of)\s+(?!.*\b(?:to|into)\b)", re.IGNORECASE)
_LEFT_END = re.compile(r"\s*(?:$|[,.]|for good|last|in (?:19|20)|and)", re.IGNORECASE)
_HOME_IS = re.compile(
    r"^home\s+(?:for\s+(?:me|us)\s+)?(?:is|these days is)\s+(?:now\s+|still\s+)?(?:in\s+)?", re.IGNORECASE
)
_PASSING = re.compile(r"\b(?:before|once|twice|all over|both)\b", re.IGNORECASE)
_DAYS = (
    r"(?:on (?:weekdays|weekends|[a-z]+days)|during the week|(?:from )?[a-z]+days? (?:to|through) [a-z]+days?"
    r"|in (?:the )?(?:summers?|winters?)|at (?:the )?weekends?)"
)
_FIRST_DAYS = re.compile(rf",?\s*(?P<days>{_DAYS}),?\s+(?:and|but)\s+(?:in\s+)?", re.IGNORECASE)
_SECOND_DAYS = re.compile(rf",?\s*(?P<days>{_DAYS})", re.IGNORECASE)


def find(clause: Clause) -> Iterator[Finding]:
    """Where someone lives, lived, moved to and from."""
    if not clause.hedged and not clause.subject and (match := _HOME_IS.match(clause.whole.text)):
        where = values.place(clause.whole.tail(match.end()))
        yield from [stated(clause, "city", where, "+", subject=USER)] if where else ()
    if not clause.subject or clause.hedged or clause.state == "cannot":
        return
    body = clause.body
    if match := _LIVE.match(body.text) or (_TITLED.match(body.text) if clause.copula else None):
        yield from _living(clause, body.tail(match.end()), match[0])
    elif clause.state != "holds":
        return
    elif match := _MOVED_OUT.match(body.text):
        where = values.place(body.tail(match.end()))
        if where and match[0].lower().startswith("moved"):
            yield stated(clause, "city", where, "retract", end=clause.whole.end)
    elif (match := _MOVED.match(body.text)) and not match[0].lower().startswith("moving"):
        yield from _move(clause, body.tail(match.end()))
    elif match := _LEFT_PLACE.match(body.text):
        rest = body.tail(match.end())
        where = values.place(rest)
        if where and where.text.lower() in values.CITIES and _LEFT_END.match(rest.text, where.end - rest.start):
            yield stated(clause, "city", where, "past")


def _living(clause: Clause, rest: Piece, verb: str) -> Iterator[Finding]:
    op, where = _OPS.get(clause.state), values.place(rest)
    if op is None or where is None or (clause.perfect and _PASSING.search(clause.body.text)):
        return
    if halves := _by_days(clause, rest, where):
        yield from halves
        return
    over = verb.lower().startswith(("lived", "resided")) and not clause.perfect and clause.state == "holds"
    yield stated(clause, "city", where, "past" if over else op, end=clause.whole.end)


def _by_days(clause: Clause, rest: Piece, where: Piece) -> list[Finding]:
    """`in Lisbon during the week and Porto at weekends`: two homes, each with its days."""
    after = rest.tail(where.end - rest.start)
    first = _FIRST_DAYS.match(after.text)
    other = values.place(after.tail(first.end())) if first else None
    second = _SECOND_DAYS.match(rest.text, other.end - rest.start) if other else None
    if first is None or other is None or second is None:
        return []
    end = clause.whole.end
    return [
        replace(stated(clause, "city", where, "+", end=end), object=first["days"]),
        replace(stated(clause, "city", other, "+", end=end), object=second["days"]),
    ]


def _move(clause: Clause, rest: Piece) -> Iterator[Finding]:
    parts: dict[str, Piece] = {}
    for match in re.finditer(r"\b(from|to|into|out of)\s+", rest.text, re.IGNORECASE):
        side = "to" if match[1].lower() in {"to", "into"} else "from"
        if side not in parts and (where := values.place(rest.tail(match.end()))) is not None:
            parts[side] = where
    if "to" in parts:
        yield stated(clause, "city", parts["to"], "+", end=clause.whole.end)
    if "from" in parts and ("to" in parts or "here" in clause.body.text):
        yield stated(clause, "city", parts["from"], "past", end=clause.whole.end)

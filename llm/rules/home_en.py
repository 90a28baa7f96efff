"""Where someone lives, lived, moved to and from: English."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def find(clause: Clause) -> Iterator[Finding]:
    """Where someone lives, lived, moved to and from."""
    if not clause.subject or clause.hedged or clause.state == "cannot":
        return
    body = clause.body
    if (
        clause.subject == USER
        and re.match(r"(?i)we\b", clause.whole.text)
        and not re.match(r"(?i)liv|mov|reloc", body.text)
    ):
        return
    op = _OPS.get(clause.state)
    if (match := _LIVE.match(body.text)) and op is not None and (where := values.place(body.tail(match.end()))):
        past = re.match(r"lived|resided", match[0], re.IGNORECASE) and not clause.perfect and clause.state == "holds"
        if not (clause.perfect and re.search(r"\b(?:before|once|twice|all over|both)\b", body.text)):
            yield stated(clause, "city", where, "past" if past else op, end=clause.whole.end)
        return
    if (
        clause.state == "holds"
        and (match := _MOVED.match(body.text))
        and not re.match("moving", match[0], re.IGNORECASE)
    ):
        yield from _move(clause, body.tail(match.end()))
    elif clause.state == "holds" and (
        match := re.match(r"(?:left|moved away from|moved out of)\s+", body.text, re.IGNORECASE)
    ):
        where = values.place(body.tail(match.end()))
        if (
            where is not None
            and where.text.lower() in values.CITIES
            and re.match(r"\s*(?:$|[,.]|for good|last|in (?:19|20)|and)", body.text[where.end - body.start :])
        ):
            yield stated(clause, "city", where, "past")


def _move(clause: Clause, rest: Piece) -> Iterator[Finding]:
    parts: dict[str, Piece] = {}
    for match in re.finditer(r"\b(from|to|into|out of)\s+", rest.text, re.IGNORECASE):
        side = "to" if match[1].lower() in {"to", "into"} else "from"
        if side not in parts and (where := values.place(rest.tail(match.end()))) is not None:
            parts[side] = where
    if (match := re.match(r"in\s+with\b", rest.text, re.IGNORECASE)) is None and "to" in parts:
        yield stated(clause, "city", parts["to"], "+", end=clause.whole.end)
    if "from" in parts and ("to" in parts or "here" in clause.body.text):
        yield stated(clause, "city", parts["from"], "past", end=clause.whole.end)

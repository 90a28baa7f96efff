"""How orders, tickets, products and policies belong together, in English. Only what is numbered is sure enough."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece, part
from memory.predicates import predicate_of

_ID = r"#?\s?(?=[\w/-]*\d)[A-Za-z0-9][\w/-]*"
_KIND = r"(?:purchase order|order|ticket|case)(?:\s+(?:number|no\.?|id))?"
_THING = rf"{_KIND}\s+{_ID}|{_KIND}\s?#\s?{_ID}"
_CODE = r"(?-i:[A-Z][A-Za-z]{0,7}-?\d{2,6}[A-Za-z]{0,3})"
_PRODUCT = rf"(?:[a-z]+\s+){{0,3}}?{_CODE}(?:\s+(?!and\b|or\b|under\b|in\b|on\b|with\b|from\b|for\b)[a-z]+){{0,2}}"
_COUNT = r"(?:an?|the|my|our|one|two|three|four|five|some|\d+\s?x?)\s+"
_OF = r"(?:the|my|our|this|that|your)\s+"
_KIND_WORD = re.compile(rf"^{_KIND}", re.IGNORECASE)
_CONTAINS = re.compile(
    rf"^(?:{_OF})?(?P<s>{_THING})\s+(?:only\s+|also\s+|just\s+)?(?:contains|contained|includes|included|has|had"
    rf"|holds|consists of|is for|was for)\s+(?P<v>.+)$",
    re.IGNORECASE,
)
_ITEM = re.compile(rf"^(?:{_COUNT})?(?P<v>{_PRODUCT})\s*$", re.IGNORECASE)
_LIST = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+plus\s+", re.IGNORECASE)
_LINKED = re.compile(
    rf"^(?:(?:{_OF})?[a-z]+\s+in\s+)?(?:{_OF})?(?P<s>{_THING}|{_CODE})\s+"
    rf"(?P<p>(?:is|was)\s+(?:about|regarding|related to|linked to|part of|covered by)|concerns|concerned|relates to"
    rf"|refers to|belongs to|falls under|was opened (?:for|about))\s+"
    rf"(?:{_COUNT}|{_OF})?(?P<v>{_THING}|{_PRODUCT}|(?:[a-z-]+\s+){{1,3}}policy)\s*$",
    re.IGNORECASE,
)
_PREDICATES = {
    **dict.fromkeys(("is regarding", "was opened for", "was opened about", "concerned"), "about"),
    **dict.fromkeys(("is related to", "was about", "was regarding", "was related to", "was linked to"), "about"),
    "was part of": "belongs_to",
    "was covered by": "falls_under",
}
_OWN_NUMBER = re.compile(
    rf"^(?:it's\s+)?(?:my|the|our)?\s*(?P<k>order|ticket|case)\s*(?:number|no\.?|id|#)?\s*(?:is|:|=|was)\s*"
    rf"(?P<v>{_ID})\s*$",
    re.IGNORECASE,
)
_OWN = re.compile(rf"\bmy\s+(?P<k>order|ticket|case)\s+(?:number\s+|no\.?\s+)?(?P<v>{_ID})(?![\w-])", re.IGNORECASE)
_BOUGHT = re.compile(
    rf"(?:bought|ordered|purchased|got)\s+(?:{_COUNT})?(?P<v>{_PRODUCT})\s+"
    rf"(?:under|in|with|on|through|as part of|from)\s+(?:{_OF})?(?P<s>order\s+(?:number\s+)?{_ID})(?![\w-])",
    re.IGNORECASE,
)
_OWNS = re.compile(
    rf"(?:own|have|bought|purchased|ordered)\s+(?:{_COUNT})(?P<v>{_PRODUCT})"
    r"(?=\s*(?:$|,|last|yesterday|on|in|from|two|three|a))",
    re.IGNORECASE,
)


def find(clause: Clause) -> Iterator[Finding]:
    """Order - contains - product, ticket - is about - order, user - has - order, of one clause."""
    if clause.hedged:
        return
    whole = clause.whole
    if match := _CONTAINS.match(whole.text):
        yield from _contents(clause, part(whole, match, "s"), part(whole, match, "v"))
    elif match := _LINKED.match(whole.text):
        said = " ".join(match["p"].lower().split())
        predicate = _PREDICATES.get(said) or predicate_of(said)
        yield _link(clause, predicate, part(whole, match, "v"), subject=match["s"])
    elif match := _OWN_NUMBER.match(whole.text):
        yield _link(clause, _kind(match["k"]), _number(part(whole, match, "v")))
    yield from _owned(clause)


def _owned(clause: Clause) -> Iterator[Finding]:
    whole, body = clause.whole, clause.body
    if match := _OWN.search(whole.text):
        yield _link(clause, _kind(match["k"]), _number(part(whole, match, "v")))
    if clause.subject != USER or clause.state != "holds" or clause.copula:
        return
    if match := _BOUGHT.match(body.text):
        order = part(body, match, "s")
        yield _link(clause, "contains", part(body, match, "v"), subject=order.text, end=order.end)
        yield _link(clause, "order", _number(order))
        yield _link(clause, "owns", part(body, match, "v"))
    elif match := _OWNS.match(body.text):
        yield _link(clause, "owns", part(body, match, "v"))


def _contents(clause: Clause, subject: Piece, listed: Piece) -> Iterator[Finding]:
    at = 0
    for text in _LIST.split(listed.text):
        start = listed.text.index(text, at)
        at = start + len(text)
        if match := _ITEM.match(text):
            yield _link(clause, "contains", part(Piece(text, listed.start + start), match, "v"), subject=subject.text)


def _number(said: Piece) -> Piece:
    """The number alone of `order number 4711`, `#4711`."""
    match = re.search(r"(?=[\w/-]*\d)[A-Za-z0-9][\w/-]*$", said.text)
    return said if match is None else Piece(match[0], said.start + match.start())


def _kind(said: str) -> str:
    return "order" if said.lower() == "order" else "ticket"


def _link(clause: Clause, predicate: str, value: Piece, *, subject: str = USER, end: int = 0) -> Finding:
    return Finding(
        key="relation",
        value=value.text.strip(),
        op="+",
        start=clause.start,
        end=max(value.end, end),
        rule="en.relation",
        subject=subject if subject == USER else _KIND_WORD.sub(lambda kind: kind[0].lower(), subject),
        object=predicate,
    )

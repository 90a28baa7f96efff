"""Allergies, diets and special categories: English."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from llm.rules.taste_en import each_taste
from memory.codes import DIET, code_of
from schemas.drafts import Polarity

_MY_ALLERGY = re.compile(
    r"my\s+(?:(?:severe|bad|mild|serious|known)\s+)?(?P<v>[a-z]+(?:\s[a-z]+)?)\s+allergy\b"
    r"|my\s+allerg(?:y|ies)\s+(?:is|are|include)\s*:?\s*|allerg(?:y|ies)\s*:\s*",
    re.IGNORECASE,
)
_KINDS = frozenset({"food", "seasonal", "skin", "severe", "old", "childhood", "drug", "bad"})
_HAS = re.compile(r"have|has|got", re.IGNORECASE)
_ALLERGY_OPS: dict[str, Polarity] = {"holds": "+", "not": "-", "over": "retract", "was": "past"}
_ALLERGIC = re.compile(
    r"(?:(?:[a-z]+ly|very|so|a bit|a little)\s+)?allerg(?:ic|y)\s+(?:reaction\s+)?to\s+", re.IGNORECASE
)
_ALLERGY = re.compile(
    r"(?:have|has|having|had|got|have got|suffer from|suffers from|living with"
    r"|developed)\s+(?:an?\s+|some\s+)?(?:(?:severe|serious|bad|mild|terrible|slight|major|deadly"
    r"|life-threatening|nasty|known|strong|seasonal|diagnosed)\s+)*(?P<v>[a-z][a-z "
    r"-]{1,40}?)\s+allerg(?:y|ies)\b",
    re.IGNORECASE,
)
_ALLERGY_TO = re.compile(
    r"(?:have|has|having|had|got|have got|suffer from|suffers from|developed"
    r"|with)\s+(?:an?\s+)?(?:(?:severe|serious|bad|mild|terrible|slight|major|deadly"
    r"|life-threatening|nasty|strong)\s+)*allerg(?:y|ies|ic reactions?)\s+to\s+",
    re.IGNORECASE,
)
_INTOLERANT = re.compile(
    r"(?P<v>lactose|gluten|fructose|histamine|dairy|milk|eggs?|wheat|soya?|alcohol|caffeine|sul(?:ph|f)ites?"
    r"|salicylate)[ -]intoleran(?:t|ce)\b",
    re.IGNORECASE,
)
_INTOLERANT_TO = re.compile(
    r"(?:(?:[a-z]+ly|very|a bit|quite)\s+)?(?:intolerant|(?:have|has|got)\s+an?\s+(?:[a-z]+\s+)?intolerance)\s+"
    r"(?:to|of)\s+(?!(?:people|others|criticism|change|noise|mistakes|delays?|opinions?|fools|nonsense)\b)",
    re.IGNORECASE,
)
_OUTGREW = re.compile(
    r"(?:outgrew|outgrown|grew out of|lost)\s+(?:my|his|her|the)\s+(?P<v>[a-z]+(?:\s[a-z]+)?)\s+allergy", re.IGNORECASE
)
_DIET = re.compile(
    r"(?:an?\s+)?(?:(?:strict|strictly|lifelong|life-long|committed|mostly|total|proud|devout|on a"
    r"|on an?|following an?|follow an?|eat(?:s|ing)?|keep(?:s|ing)?|gone|went|going|turned|became"
    r"|(?:switched|changed|moved) to(?: an?)?"
    r"|become|started|back to being|being|eat only|eats only|stick(?:s)? to an?|following|full-time|100%"
    r"|ovo-lacto|lacto-ovo|lacto)\s+)*(?:an?\s+)?"
    r"(?P<v>vegetarian|veggie|vegan|pescatarian|pescetarian|flexitarian|halal|kosher|keto"
    r"|ketogenic|paleo|plant[- ]based|gluten[- ]free|dairy[- ]free|lactose[- ]free|low[- ]carb"
    r"|low[- ]salt|low[- ]sodium|low[- ]sugar)\b(?!\s+(?:restaurant|place|option|recipe|food "
    r"options|meal|cake|lover|wife|friend|shop|cheese|butcher|burger|protein|milk|sausage|dish"
    r"|menu|leather))",
    re.IGNORECASE,
)
_SPECIALS = (
    (
        "pregnancy",
        re.compile(
            r"(?:(?:\d+|[a-z]+)\s+(?:weeks|months)\s+)?(?P<v>pregnant)\b|(?P<w>expecting a baby)\b", re.IGNORECASE
        ),
    ),
    (
        "religion",
        re.compile(
            r"(?:an?\s+)?(?:(?:practising|practicing|devout|observant|strict|orthodox)\s+)?(?P<v>muslim"
            r"|christian|catholic|protestant|jewish|jew|buddhist|hindu|sikh|atheist|agnostic"
            r"|mormon)\b(?=\s*(?:$|[,.;!]|and\b|so\b|but\b))",
            re.IGNORECASE,
        ),
    ),
    (
        "orientation",
        re.compile(
            r"(?:an?\s+)?(?P<v>gay|lesbian|bisexual|queer|asexual|pansexual)\b(?=\s*(?:$|[,.;!]|and\b"
            r"|man\b|woman\b|so\b|but\b))",
            re.IGNORECASE,
        ),
    ),
    (
        "health",
        re.compile(
            r"(?:an?\s+)?(?:(?:type (?:1|2|one|two))\s+)?(?P<v>diabetic|asthmatic|epileptic|autistic"
            r"|dyslexic|hiv[- ]positive|coeliac|celiac|bipolar|anaemic|anemic)\b",
            re.IGNORECASE,
        ),
    ),
    ("union", re.compile(r"an?\s+(?P<v>(?:trade[- ])?union member)\b", re.IGNORECASE)),
    (
        "politics",
        re.compile(
            r"an?\s+(?:(?:registered|lifelong|staunch)\s+)?(?P<v>democrat|republican|socialist|communist"
            r"|libertarian|conservative voter|labour voter|(?:member of the [A-Z][a-z]+ Party))\b",
            re.IGNORECASE,
        ),
    ),
)
_ILL = re.compile(
    r"(?:have|has|suffer from|suffers from|was diagnosed with|diagnosed with|got diagnosed with"
    r"|live with|lives with|living with)\s+(?:(?:severe|chronic|mild|bad|type (?:1|2|one"
    r"|two))\s+)*(?P<v>(?:type (?:1|2|one|two) )?diabetes|asthma|epilepsy|cancer|depression"
    r"|anxiety disorder|adhd|autism|dyslexia|high blood pressure|hypertension|arthritis|migraines?"
    r"|ibs|crohn's(?: disease)?|c(?:o)?eliac disease|hiv|multiple sclerosis|parkinson's"
    r"|alzheimer's|dementia|ptsd|ocd|endometriosis|insomnia|heart (?:disease|condition)|a heart "
    r"condition)\b",
    re.IGNORECASE,
)


def find(clause: Clause) -> Iterator[Finding]:
    """Allergies, else a diet, else a special category, of one clause."""
    if clause.hedged:
        return
    yield from _diet_here(clause)
    yield from _listed(clause)
    if clause.subject:
        yield from list(_allergies(clause)) or list(_diet(clause)) or list(_special(clause))


def _allergies(clause: Clause) -> Iterator[Finding]:
    body, op = clause.body, _ALLERGY_OPS.get(clause.state)
    holds = clause.state == "holds"
    if op and (clause.copula or clause.bare) and (match := _ALLERGIC.match(body.text)):
        yield from each_taste(clause, "allergy", body.tail(match.end()), op, end=_end(clause, op))
    elif not clause.copula and clause.state in {"holds", "was"} and (match := _ALLERGY_TO.match(body.text)):
        yield from each_taste(clause, "allergy", body.tail(match.end()), "+" if holds else "past")
    elif op and (match := _INTOLERANT_TO.match(body.text)):
        yield from each_taste(clause, "allergy", body.tail(match.end()), op, end=_end(clause, op))
    elif (op in {"retract", "past"}) and clause.copula and (match := _INTOLERANT.match(body.text)):
        yield stated(clause, "allergy", part(body, match, "v"), op, end=clause.whole.end)
    elif not holds:
        return
    elif not clause.copula and (match := _ALLERGY.match(body.text)):
        yield from each_taste(clause, "allergy", part(body, match, "v"), "+", end=body.start + match.end())
    elif (match := _INTOLERANT.search(body.text)) and (clause.copula or _HAS.match(body.text)):
        yield stated(clause, "allergy", part(body, match, "v"), "+", end=body.start + match.end())
    elif match := _OUTGREW.match(body.text):
        yield stated(clause, "allergy", part(body, match, "v"), "retract", end=body.start + match.end())


def _listed(clause: Clause) -> Iterator[Finding]:
    """`My allergies are dust and mold`, `my peanut allergy`."""
    match = _MY_ALLERGY.match(clause.whole.text)
    if match is None or clause.subject:
        return
    if match["v"] is None:
        yield from each_taste(clause, "allergy", clause.whole.tail(match.end()), "+")
    elif match["v"].lower() not in _KINDS:
        yield stated(clause, "allergy", part(clause.whole, match, "v"), "+", end=clause.start + match.end())


def _end(clause: Clause, op: Polarity) -> int | None:
    return clause.whole.end if op == "retract" else None


def _diet(clause: Clause) -> Iterator[Finding]:
    match = _DIET.match(clause.body.text)
    if match is None or clause.state in {"not", "cannot"}:
        return
    lead = clause.body.text[: match.start("v")].lower()
    verb = re.match(r"(?:eat|keep|follow|stick|went|gone|turned|became|become|started|switched|changed|moved)", lead)
    if not (clause.copula or verb or clause.perfect or clause.state in {"over", "was"}):
        return
    rest = clause.body.text[match.end() :]
    if (
        clause.copula
        and lead in {"", "a ", "an "}
        and match["v"].lower() in {"halal", "kosher", "keto", "paleo"}
        and "on" not in lead
    ):
        return
    if re.match(
        r"\s+(?:for (?:a|one|the) (?:day|week|month)|-?ish|when|except|sometimes|on mondays)", rest, re.IGNORECASE
    ):
        return
    op: Polarity = {"holds": "+", "over": "retract", "was": "past"}[clause.state]  # pyright: ignore[reportAssignmentType]
    value = match["v"]
    yield stated(
        clause,
        "diet",
        Piece(code_of(DIET, value) or value, clause.body.start + match.start("v")),
        op,
        end=clause.body.start + match.end(),
    )


def _diet_here(clause: Clause) -> Iterator[Finding]:
    """`Vegetarian here`: no verb at all."""
    match = re.match(r"(?P<v>vegetarian|vegan|pescatarian|veggie)\s+here\b", clause.whole.text, re.IGNORECASE)
    if match:
        yield stated(
            clause,
            "diet",
            Piece(code_of(DIET, match["v"]) or match["v"], clause.start),
            "+",
            end=clause.start + match.end(),
            subject=USER,
        )


def _special(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if clause.state != "holds":
        return
    if clause.copula:
        for key, pattern in _SPECIALS:
            if match := pattern.match(body.text):
                name = "v" if match["v"] else "w"
                yield stated(clause, key, Piece(match[name], body.start + match.start(name)), "+")
                return
    if match := _ILL.match(body.text):
        yield stated(clause, "health", part(body, match, "v"), "+")

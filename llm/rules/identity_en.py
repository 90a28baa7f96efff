"""Who someone is, in English: name, age, birth, gender, languages; what is labelled (`job: ...`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from memory.codes import LANGUAGE, code_of

_I_AM = re.compile(r"(?:i'm|im|i\s+am)\b", re.IGNORECASE)
_NUMBERS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_AGE = re.compile(
    rf"(?:(?:aged?|turning)\s+)?(?P<age>\d{{1,3}}|(?:{_NUMBERS})(?:[- ](?:one|two|three|four|five"
    rf"|six|seven|eight|nine))?)"
    r"(?P<unit>\s*(?:years?|yrs?)[- ]?(?:old|of age)?\b|\s*y/?o\b|-year-old\b)?(?P<rest>\s*(?:$"
    r"|[,.;!)(]|and\b|now\b|btw\b|but\b|this year\b|today\b|from\b|with\b|female\b|male\b|f\b|m\b"
    r"|man\b|woman\b|[a-z]+))?",
    re.IGNORECASE,
)
_AGE_END = re.compile(r"\s*(?:$|[,.;!)(]|(?:and|now|btw|but|this year|today|female|male|f|m|as of)\b)", re.IGNORECASE)
_TURNED = re.compile(
    rf"(?:just\s+)?turned\s+(?P<age>\d{{1,3}}|(?:{_NUMBERS})(?:[- ](?:one|two|three|four|five|six|seven|eight"
    r"|nine))?)\b(?!\s*(?:%|degrees|points|items|people|km|miles|into))",
    re.IGNORECASE,
)
_BORN = re.compile(
    r"born\s+(?:and raised\s+)?(?:in\s+|on\s+)(?P<birth>(?:(?:\d{1,2}(?:st|nd|rd"
    r"|th)?\s+(?:of\s+)?)?[A-Z][a-z]+\.?\s+(?:\d{1,2}(?:st|nd|rd|th)?,?\s+)?)?(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_GENDER = re.compile(
    r"(?:an?\s+)?(?:\d{1,2}[- ]year[- ]old\s+)?(?P<v>woman|man|female|male"
    r"|non-?binary)\b(?=\s*(?:$|[,.;!]|and\b|from\b|in\b|who\b))",
    re.IGNORECASE,
)
_SPEAK = re.compile(
    r"speaks?\s+(?:(?:fluent|native|some|good|both|only|a (?:little|bit of)|conversational"
    r"|fluently)\s+)*(?P<v>[A-Z][a-z]+(?:(?:\s*,\s*|\s+and\s+|,\s+and\s+)[A-Z][a-z]+)*)"
)
_MY = re.compile(
    r"^(?:my|the(?=\s+name))\s+(?:(?:full|first|last|real|actual|given|current|new|current job"
    r"|official)\s+)?(?P<key>name|age|job|job title|occupation|profession|employer|company"
    r"|workplace|home ?town|home|city|location|birthday|date of birth|pronouns|role|nickname"
    r"|address|wife's name|title|time ?zone)s?\s*(?:is\s+(?:now\s+|actually\s+|spelled\s+)?|'s\s+"
    r"|(?<=s)\s+(?=[A-Z])|:\s*|=\s*|\s+should be\s+)(?:(?P<not>not)\s+)?",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^(?P<key>name|age|job|occupation|employer|company|city|location|based in|dob)\s*(?:[:=]|\s+is\b)\s*",
    re.IGNORECASE,
)
_CALL_ME = re.compile(
    r"^(?:(?:please|pls|just|you can|you may|feel free to|everyone|everybody|people|friends|my "
    r"friends|they|most people|folks)\s+(?:just\s+)?)*calls?\s+me\s+(?=[A-Z]|[a-z]+)"
    r"|^i\s+go\s+by\s+(?:the name (?:of )?)?",
    re.IGNORECASE,
)
_SPEAKING = re.compile(
    r"^(?:[Tt]his is|[Ii]t's|[Ii]t is)\s+(?=(?:[A-Z][a-z'-]+\s*){1,3}(?:speaking|here|again|from"
    r"|calling|writing|at|with)\b)"
    r"|^[Tt]his is\s+(?=[A-Z][a-z'-]+(?:\s[A-Z][a-z'-]+)?\s*$)"
)
_HERE = re.compile(r"^(?P<v>[A-Z][a-z]+(?:\s[A-Z][a-z]+)?)\s+here\b", 0)
_ON_THE_LINE = re.compile(
    r"^(?P<v>[A-Z][a-z]+(?:[ '-][A-Z]?[a-z]+){0,2})\s+(?:speaking|calling|on the (?:line|phone)|writing)"
    r"(?=\s*(?:$|[,.;!]|from\b|again\b))"
)
_NO_CALLER = frozenset({"just", "still", "keep", "anyone", "somebody", "someone", "nobody", "strictly", "generally"})
_KNOWN_NAME = re.compile(r"(?P<v>(?P<first>[A-Z][a-z]+)(?:\s[A-Z][a-z'-]+)?)$")
_JOKED = re.compile(r"\b(?:obviously|lol|lmao|haha+|of course)\b", re.IGNORECASE)
_GREETED = re.compile(r"\W*(?:(?:hi|hello|hey|hiya|yo|there|good|morning|afternoon|evening)\b\W*)*", re.IGNORECASE)
_CALL_TIMES = re.compile(
    r"(?:back|when|if|at|on|in|now|tomorrow|today|later|tonight|asap|crazy|old-fashioned|old"
    r"|anytime|any|after|before|between|every|again|for|only|instead|about|first|directly|maybe"
    r"|names?|a|an|the|stupid|picky|paranoid)\b",
    re.IGNORECASE,
)


def find(clause: Clause, text: str) -> Iterator[Finding]:
    """Name, age, birth, gender, languages of one clause of `text`, and the name that kin is introduced by."""
    if clause.subject and not clause.hedged:
        yield from _of_subject(clause, text)
        if clause.named and clause.subject != USER:
            at = clause.start + clause.whole.text.index(clause.named)
            yield stated(clause, "name", Piece(clause.named, at), "+")
    yield from _whole(clause, text)


def _of_subject(clause: Clause, text: str) -> Iterator[Finding]:
    if clause.subject != USER and clause.state == "holds":
        yield from _kin_name(clause)
    if clause.copula and clause.state == "was" and (match := _BORN.match(clause.body.text)) is not None:
        yield stated(clause, "birth", part(clause.body, match, "birth"), "+")
    elif clause.copula and clause.state == "holds":
        yield from _introduced(clause, is_joked=_JOKED.search(text) is not None)
    elif clause.state == "holds":
        yield from _turned_or_speaks(clause)


def _turned_or_speaks(clause: Clause) -> Iterator[Finding]:
    if match := _TURNED.match(clause.body.text):
        yield stated(clause, "age", part(clause.body, match, "age"), "+")
    elif match := _SPEAK.match(clause.body.text):
        for spoken in values.split_list(part(clause.body, match, "v")):
            if code_of(LANGUAGE, spoken.text) is not None:
                yield stated(clause, "skill", spoken, "+")


def _introduced(clause: Clause, *, is_joked: bool) -> Iterator[Finding]:
    """Name, age, gender after `I'm`, or after `she is`; a known first name alone, where the turn jokes."""
    body = clause.body
    is_named = clause.subject == USER and _I_AM.match(clause.whole.text) is not None
    found = values.person(body, sure=False) if is_named else None
    if found is not None and is_joked and found.text.split()[0].lower() not in values.NAMES:
        return
    if found is not None:
        yield stated(clause, "name", found, "+")
        yield from _age_after(clause, found)
        return
    if (age := _age(body, clause.subject != USER)) is not None:
        yield stated(clause, "age", age, "+")
    if (match := _GENDER.match(body.text)) is not None:
        yield stated(clause, "gender", part(body, match, "v"), "+")


def _age_after(clause: Clause, name: Piece) -> Iterator[Finding]:
    """`I'm Ann Lee, 52, from ...`."""
    match = re.match(
        r"\s*,\s*(?P<age>[1-9]\d)(?=\s*(?:$|,|and\b|from\b|years?\b))", clause.whole.text[name.end - clause.start :]
    )
    if match:
        yield stated(clause, "age", Piece(match["age"], name.end + match.start("age")), "+")


def _age(body: Piece, kin: bool) -> Piece | None:
    match = _AGE.match(body.text)
    if match is None:
        return None
    rest = body.text[match.end("unit") if match["unit"] else match.end("age") :]
    number = int(match["age"]) if match["age"].isdigit() else 30
    whole_unit = match["unit"] and re.search(r"old|y/?o|of age", match["unit"], re.IGNORECASE)
    if whole_unit or (_AGE_END.match(rest) and (12 <= number <= 110 or (kin and number >= 1)) and not match["unit"]):
        return part(body, match, "age") if 0 < number <= 120 else None
    return None


def _kin_name(clause: Clause) -> Iterator[Finding]:
    text = clause.whole.text
    named = re.match(
        r"(?:my|our)\s+(?:\w+\s+){0,3}?[\w-]+'s\s+name\s+is\s+|(?:my|our)\s+(?:\w+\s+){0,3}?[\w-]+(?:'s|,)?\s+(?:is\s+)?(?:called|named)\s+",
        text,
        re.IGNORECASE,
    )
    if named and (found := values.person(clause.whole.tail(named.end()), sure=True)):
        yield stated(clause, "name", found, "+")
    elif clause.copula and (match := _KNOWN_NAME.match(clause.body.text)) and match["first"].lower() in values.NAMES:
        yield stated(clause, "name", part(clause.body, match, "v"), "+")


def _whole(clause: Clause, text: str) -> Iterator[Finding]:
    whole = clause.whole
    if clause.hedged and not _CALL_ME.match(whole.text):
        return
    label = _MY.match(whole.text) or _LABEL.match(whole.text)
    if label and not label.groupdict().get("not"):
        yield from _labelled(clause, label["key"].lower(), whole.tail(label.end()))
    elif label is None and (match := _SPEAKING.match(whole.text)) and _GREETED.fullmatch(text[: clause.start]):
        if found := values.person(whole.tail(match.end()), sure=False):
            yield stated(clause, "name", found, "+", subject=USER)
    elif label is None and (match := _CALL_ME.match(whole.text)) and not _CALL_TIMES.match(whole.text[match.end() :]):
        if found := values.person(whole.tail(match.end()), sure=True):
            yield stated(clause, "name", found, "+", subject=USER)
    elif found := _caller(whole, text[: clause.start]):
        yield stated(clause, "name", found, "+", subject=USER)


def _caller(whole: Piece, before: str) -> Piece | None:
    """`Ann Lee speaking`, `Daniel here`: the name that a greeting is followed by."""
    if not _GREETED.fullmatch(before):
        return None
    if match := _ON_THE_LINE.match(whole.text):
        first = match["v"].split()[0].lower()
        return None if first in _NO_CALLER or first.endswith("ly") else part(whole, match, "v")
    match = _HERE.match(whole.text)
    return part(whole, match, "v") if match and match["v"].split()[0].lower() in values.NAMES else None


def _labelled(clause: Clause, key: str, rest: Piece) -> Iterator[Finding]:
    if key in {"name", "nickname"}:
        found, key = values.person(rest, sure=True), "name"
    elif key == "age":
        match = re.match(r"\d{1,3}\b", rest.text)
        found = Piece(match[0], rest.start) if match else None
    elif key in {"job", "job title", "occupation", "profession", "title"}:
        found, key = (
            values.occupation(rest, strict=key in {"job", "title"} and not re.match(r"an?\s", rest.text)),
            "job",
        )
    elif key in {"employer", "company", "workplace"}:
        found, key = values.employer(rest), "company"
    elif key in {"city", "location", "home", "based in"}:
        found, key = values.place(rest), "city"
    elif key in {"birthday", "date of birth", "dob"}:
        match = re.match(
            r"(?:on\s+)?(\d{4}-\d\d-\d\d|(?:\d{1,2}(?:st|nd|rd|th)?\s+)?[A-Z][a-z]+\s+(?:\d{1,2}(?:st|nd"
            r"|rd|th)?,?\s+)?(?:19|20)\d\d)",
            rest.text,
        )
        found, key = (Piece(match[1], rest.start + match.start(1)) if match else None), "birth"
    else:
        return
    if found is not None:
        yield stated(clause, key, found, "+", subject=USER)

"""Who someone is, in English: name, age, birth, city, employer, occupation, gender, languages spoken."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece
from llm.rules.lexicon_en import FIELDS
from memory.codes import LANGUAGE, code_of
from schemas.drafts import Polarity

_OPS: dict[str, Polarity] = {"holds": "+", "over": "retract", "was": "past"}
_NUMBERS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_AGE = re.compile(
    rf"(?:(?:aged?|turning)\s+)?(?P<age>\d{{1,3}}|(?:{_NUMBERS})(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)"
    r"(?P<unit>\s*(?:years?|yrs?)[- ]?(?:old|of age)?\b|\s*y/?o\b|-year-old\b)?(?P<rest>\s*(?:$|[,.;!)(]|and\b|now\b|btw\b|but\b|this year\b|today\b|from\b|with\b|female\b|male\b|f\b|m\b|man\b|woman\b|[a-z]+))?",
    re.IGNORECASE,
)
_AGE_END = re.compile(r"\s*(?:$|[,.;!)(]|(?:and|now|btw|but|this year|today|female|male|f|m|as of)\b)", re.IGNORECASE)
_TURNED = re.compile(
    r"(?:just\s+)?turned\s+(?P<age>\d{1,3})\b(?!\s*(?:%|degrees|points|items|people|km|miles|into))", re.IGNORECASE
)
_BORN = re.compile(
    r"born\s+(?:and raised\s+)?(?:in\s+|on\s+)(?P<birth>(?:(?:\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?)?[A-Z][a-z]+\.?\s+(?:\d{1,2}(?:st|nd|rd|th)?,?\s+)?)?(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_LIVE = re.compile(
    r"(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|based|located|settled|staying permanently)\s+(?:(?:right|just|alone|together|happily|full-time|with (?:my|his|her|their|a) [a-z]+(?: and [a-z ]+)?)\s+)?(?:in|out of)\s+",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"(?:moved|relocated|moving|emigrated|immigrated)\s+(?:(?:back|over|here|out|down|up|away|house|home|again|permanently|with (?:my|his|her) [a-z]+)\s+)*",
    re.IGNORECASE,
)
_WORK = re.compile(
    r"(?:work(?:s|ed|ing)?|employed)\s+(?:(?:full[- ]time|part[- ]time|remotely|mainly|mostly|here|now|currently|freelance|over)\s+)*(?:at|for|by|with)\s+",
    re.IGNORECASE,
)
_WORK_AS = re.compile(
    r"(?:work(?:s|ed|ing)?|employed|hired|job|started(?: working)?|training|trained)\s+(?:(?:full[- ]time|part[- ]time|freelance|here|remotely|now|currently)\s+)*as\s+(?=an?\b|the\b|head\b|[a-z])",
    re.IGNORECASE,
)
_AS = re.compile(r"^[^,.;]{0,60}?\bas\s+(?=an?\s)", re.IGNORECASE)
_DOES = re.compile(
    r"(?:do|does|did|doing)\s+(?P<field>[a-z-]+(?:\s+[a-z-]+)??)\s+(?:(?P<filler>stuff|work|dev|development|things)\s+)?(?:at|for|over at)\s+",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"(?:joined|(?:just\s+)?started\s+(?:(?:a\s+)?(?:new\s+)?(?:job|role|position)\s+|working\s+|work\s+)?(?:at|with|for)|(?:got|landed|took|accepted)\s+an?\s+(?:new\s+)?(?:job|role|position|offer)\s+(?:at|with|from)|(?:got\s+)?hired\s+(?:by|at)|switched\s+(?:jobs\s+)?to|transferred to)\s+",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"(?:left|quit|quitted|resigned\s+from|departed(?:\s+from)?|(?:got\s+)?(?:laid\s+off|fired|let\s+go|made\s+redundant)\s+(?:from|by|at)|lost\s+my\s+job\s+at|retired\s+from|(?:quit|left)\s+my\s+job\s+at|parted\s+ways\s+with|finished\s+at|stopped\s+working\s+(?:at|for))\s+(?:my\s+job\s+at\s+)?",
    re.IGNORECASE,
)
_BECAME = re.compile(
    r"(?:became|become|got\s+promoted\s+to|promoted\s+to|trained\s+as|qualified\s+as|retrained\s+as)\s+", re.IGNORECASE
)
_WITH = re.compile(r"(?:(?:working|employed)\s+)?(?:at|for|with|by)\s+", re.IGNORECASE)
_AT = re.compile(r"^[^,.;]{0,60}?\s(?:at|for|with)\s+(?=[A-Z]|[a-z]+(?:\s|$))")
_GENDER = re.compile(
    r"(?:an?\s+)?(?:\d{1,2}[- ]year[- ]old\s+)?(?P<v>woman|man|female|male|non-?binary)\b(?=\s*(?:$|[,.;!]|and\b|from\b|in\b|who\b))",
    re.IGNORECASE,
)
_AGED_NOUN = re.compile(r"an?\s+(?P<age>\d{1,3})[- ]years?[- ]old\s+", re.IGNORECASE)
_SPEAK = re.compile(
    r"speaks?\s+(?:(?:fluent|native|some|good|both|only|a (?:little|bit of)|conversational|fluently)\s+)*(?P<v>[A-Z][a-z]+(?:(?:\s*,\s*|\s+and\s+|,\s+and\s+)[A-Z][a-z]+)*)"
)
_MY = re.compile(
    r"^(?:my|the)\s+(?:(?:full|first|last|real|actual|given|current|new|current job|official)\s+)?(?P<key>name|age|job|job title|occupation|profession|employer|company|workplace|home ?town|home|city|location|birthday|date of birth|pronouns|role|nickname|address|wife's name|title|time ?zone)s?\s*(?:is\s+(?:now\s+|actually\s+|spelled\s+)?|'s\s+|(?<=s)\s+(?=[A-Z])|:\s*|=\s*|\s+should be\s+)(?:(?P<not>not)\s+)?",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^(?P<key>name|age|job|occupation|employer|company|city|location|based in|dob)\s*(?:[:=]|\s+is\b)\s*",
    re.IGNORECASE,
)
_CALL_ME = re.compile(
    r"^(?:(?:please|pls|just|you can|you may|feel free to|everyone|everybody|people|friends|my friends|they|most people|folks)\s+(?:just\s+)?)*calls?\s+me\s+(?=[A-Z]|[a-z]+)|^i\s+go\s+by\s+(?:the name (?:of )?)?",
    re.IGNORECASE,
)
_SPEAKING = re.compile(
    r"^(?:[Tt]his is|[Ii]t's|[Ii]t is)\s+(?=(?:[A-Z][a-z'-]+\s*){1,3}(?:speaking|here|again|from|calling|writing|at|with)\b)"
)
_HERE = re.compile(r"^(?P<v>[A-Z][a-z]+(?:\s[A-Z][a-z]+)?)\s+here\b", 0)
_CALL_TIMES = re.compile(
    r"(?:back|when|if|at|on|in|now|tomorrow|today|later|tonight|asap|crazy|old-fashioned|old|anytime|any|after|before|between|every|again|for|only|instead|about|first|directly|maybe|names?|a|an|the|stupid|picky|paranoid)\b",
    re.IGNORECASE,
)
_FAVOURITE_BREAK = re.compile(r"^\s*(?:'s|\s+is)\s+", re.IGNORECASE)


def find(clause: Clause, text: str) -> Iterator[Finding]:
    """Identity facts of one clause of `text`."""
    if clause.subject and not clause.hedged:
        found = list(_of_subject(clause))
        yield from found
        if clause.named and clause.subject != USER and any(found):
            yield _finding(
                clause, "name", Piece(clause.named, clause.start + clause.whole.text.index(clause.named)), "+"
            )
    yield from _whole(clause, text)


def _of_subject(clause: Clause) -> Iterator[Finding]:
    if clause.state == "cannot":
        return
    yield from _kin_name(clause)
    if clause.copula:
        yield from _being(clause)
    yield from _living(clause)
    yield from _working(clause)
    if clause.state == "holds" and (match := _SPEAK.match(clause.body.text)):
        for part in values.split_list(Piece(match["v"], clause.body.start + match.start("v"))):
            if code_of(LANGUAGE, part.text) is not None:
                yield _finding(clause, "skill", part, "+")


def _being(clause: Clause) -> Iterator[Finding]:
    body, op = clause.body, _OPS.get(clause.state)
    if clause.state == "was":
        if (match := _BORN.match(body.text)) is not None:
            yield _finding(clause, "birth", _group(body, match, "birth"), "+")
            return
    if clause.state == "holds":
        if (
            clause.subject == USER
            and re.match(r"(?i)(?:i'm|i am|im|i\s+am)\b", clause.whole.text)
            and (found := values.person(body, sure=False))
        ):
            yield _finding(clause, "name", found, "+")
            yield from _age_after(clause, found)
            return
        if (age := _age(body, clause.subject != USER)) is not None:
            yield _finding(clause, "age", age, "+")
        if (match := _GENDER.match(body.text)) is not None:
            yield _finding(clause, "gender", _group(body, match, "v"), "+")
    if op is None:
        return
    aged = _AGED_NOUN.match(body.text)
    title_body = body.tail(aged.end()) if aged else body
    if aged and op == "+":
        yield _finding(clause, "age", _group(body, aged, "age"), "+")
    article = re.match(r"(?:an?|the)\s", body.text, re.IGNORECASE) is not None
    head = (
        re.match(r"(?:head|director|vp|ceo|cto|cfo|coo|founder|co-founder) (?:of|at)\b", body.text, re.IGNORECASE)
        is not None
    )
    retired = re.match(r"an?\s+(?:retired|former|ex-?)\s*", body.text, re.IGNORECASE)
    if retired:
        title_body, op = body.tail(retired.end()), "past"
    if (article or head or aged) and (title := values.occupation(title_body, strict=True)) is not None:
        if title.text.lower() not in _KINDS or clause.subject == USER:
            yield _finding(clause, "job", title, op)
            after = clause.body.tail(title.end - clause.body.start)
            if "student" not in title.text.lower() and (match := _WITH.match(after.text.lstrip())):
                rest = after.stripped().tail(match.end())
                if (company := values.employer(rest)) is not None and op != "past":
                    yield _finding(clause, "company", company, op)
    if (
        clause.state == "over"
        and (match := _WITH.match(body.text))
        and (company := values.employer(body.tail(match.end())))
    ):
        yield _finding(clause, "company", company, "retract")


def _age_after(clause: Clause, name: Piece) -> Iterator[Finding]:
    """`I'm Ann Lee, 52, from ...`."""
    match = re.match(
        r"\s*,\s*(?P<age>[1-9]\d)(?=\s*(?:$|,|and\b|from\b|years?\b))", clause.whole.text[name.end - clause.start :]
    )
    if match:
        yield _finding(clause, "age", Piece(match["age"], name.end + match.start("age")), "+")


_KINDS = frozenset({"student", "model", "guard", "officer"})


def _age(body: Piece, kin: bool) -> Piece | None:
    match = _AGE.match(body.text)
    if match is None:
        return None
    rest = body.text[match.end("unit") if match["unit"] else match.end("age") :]
    number = int(match["age"]) if match["age"].isdigit() else 30
    whole_unit = match["unit"] and re.search(r"old|y/?o|of age", match["unit"], re.IGNORECASE)
    if whole_unit or (_AGE_END.match(rest) and (12 <= number <= 110 or (kin and number >= 1)) and not match["unit"]):
        return _group(body, match, "age") if 0 < number <= 120 else None
    return None


def _living(clause: Clause) -> Iterator[Finding]:
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
            yield _finding(clause, "city", where, "past" if past else op, cue=True)
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
            yield _finding(clause, "city", where, "past")


def _move(clause: Clause, rest: Piece) -> Iterator[Finding]:
    parts: dict[str, Piece] = {}
    for match in re.finditer(r"\b(from|to|into|out of)\s+", rest.text, re.IGNORECASE):
        side = "to" if match[1].lower() in {"to", "into"} else "from"
        if side not in parts and (where := values.place(rest.tail(match.end()))) is not None:
            parts[side] = where
    if (match := re.match(r"in\s+with\b", rest.text, re.IGNORECASE)) is None and "to" in parts:
        yield _finding(clause, "city", parts["to"], "+", cue=True)
    if "from" in parts and ("to" in parts or "here" in clause.body.text):
        yield _finding(clause, "city", parts["from"], "past", cue=True)


def _working(clause: Clause) -> Iterator[Finding]:
    body, op = clause.body, _OPS.get(clause.state)
    if re.match(r"(?i)we\b", clause.whole.text):
        return
    if (clause.state == "holds" or (clause.copula and clause.state == "was")) and (match := _LEFT.match(body.text)):
        if company := values.employer(body.tail(match.end())):
            yield _finding(clause, "company", company, "retract", cue=True)
        return
    if op is None:
        return
    if (match := _WORK.match(body.text)) is not None:
        past = (
            re.match(r"worked", match[0], re.IGNORECASE)
            and not clause.perfect
            and not clause.copula
            and clause.state == "holds"
        )
        op = "past" if past else op
        rest = body.tail(match.end())
        if (company := values.employer(rest)) is not None:
            yield _finding(clause, "company", company, op, cue=True)
            rest = rest.tail(company.end - rest.start)
        if (as_ := _AS.match(rest.text)) and (title := values.occupation(rest.tail(as_.end()), strict=False)):
            yield _finding(clause, "job", title, op)
        return
    if (
        (match := _DOES.match(body.text))
        and match["field"].lower() in FIELDS
        and (company := values.employer(body.tail(match.end())))
    ):
        yield _finding(clause, "company", company, op, cue=True)
        yield _finding(clause, "job", _group(body, match, "field"), op)
        return
    yield from _starting(clause, op)


def _starting(clause: Clause, op: Polarity) -> Iterator[Finding]:
    body = clause.body
    if (match := _WORK_AS.match(body.text)) and (title := values.occupation(body.tail(match.end()), strict=False)):
        past = (
            re.match(r"worked", match[0], re.IGNORECASE)
            and not clause.perfect
            and not clause.copula
            and clause.state == "holds"
        )
        op = "past" if past else op
        yield _finding(clause, "job", title, op)
        rest = body.tail(title.end - body.start).stripped()
        if (at := _WITH.match(rest.text)) and (company := values.employer(rest.tail(at.end()))):
            yield _finding(clause, "company", company, op)
    elif clause.state == "holds" and (match := _JOINED.match(body.text)):
        rest = body.tail(match.end())
        if (company := values.employer(rest)) is not None:
            yield _finding(clause, "company", company, "+", cue=True)
            if (as_ := _AS.match(rest.text)) and (title := values.occupation(rest.tail(as_.end()), strict=False)):
                yield _finding(clause, "job", title, "+")
    elif clause.state == "holds" and (match := _BECAME.match(body.text)):
        if title := values.occupation(body.tail(match.end()), strict=True):
            yield _finding(clause, "job", title, "+")
    elif clause.state == "holds" and (match := _TURNED.match(body.text)):
        yield _finding(clause, "age", _group(body, match, "age"), "+")


def _kin_name(clause: Clause) -> Iterator[Finding]:
    if clause.subject == USER or clause.state != "holds":
        return
    text = clause.whole.text
    named = re.match(
        r"my\s+(?:\w+\s+){0,3}?[\w-]+'s\s+name\s+is\s+|my\s+(?:\w+\s+){0,3}?[\w-]+,?\s+(?:is\s+)?(?:called|named)\s+",
        text,
        re.IGNORECASE,
    )
    if named and (found := values.person(clause.whole.tail(named.end()), sure=True)):
        yield _finding(clause, "name", found, "+")


def _whole(clause: Clause, text: str) -> Iterator[Finding]:
    whole = clause.whole
    if clause.hedged and not _CALL_ME.match(whole.text):
        return
    label = _MY.match(whole.text) or _LABEL.match(whole.text)
    if label and not label.groupdict().get("not"):
        yield from _labelled(clause, label["key"].lower(), whole.tail(label.end()))
    elif (
        label is None and (match := _SPEAKING.match(whole.text)) and not text[: clause.start].strip(" ,.!hiHIeElLoOyY")
    ):
        if found := values.person(whole.tail(match.end()), sure=False):
            yield _finding(clause, "name", found, "+", subject=USER)
    elif label is None and (match := _CALL_ME.match(whole.text)) and not _CALL_TIMES.match(whole.text[match.end() :]):
        if found := values.person(whole.tail(match.end()), sure=True):
            yield _finding(clause, "name", found, "+", subject=USER)
    elif (
        (match := _HERE.match(whole.text))
        and match["v"].split()[0].lower() in values.NAMES
        and clause.start < len(text)
        and not text[: clause.start].strip(" ,.!hiHIeElLoO")
    ):
        yield _finding(clause, "name", Piece(match["v"], whole.start), "+", subject=USER)


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
            r"(?:on\s+)?(\d{4}-\d\d-\d\d|(?:\d{1,2}(?:st|nd|rd|th)?\s+)?[A-Z][a-z]+\s+(?:\d{1,2}(?:st|nd|rd|th)?,?\s+)?(?:19|20)\d\d)",
            rest.text,
        )
        found, key = (Piece(match[1], rest.start + match.start(1)) if match else None), "birth"
    else:
        return
    if found is not None:
        yield _finding(clause, key, found, "+", subject=USER)


def _group(body: Piece, match: re.Match[str], name: str) -> Piece:
    return Piece(match[name], body.start + match.start(name))


def _finding(
    clause: Clause, key: str, value: Piece, op: Polarity, *, subject: str | None = None, cue: bool = False
) -> Finding:
    end = clause.whole.end if cue or op in {"retract"} else value.end
    return Finding(
        key=key,
        value=value.text,
        op=op,
        start=clause.start,
        end=max(end, value.end),
        subject=subject or clause.subject,
        rule=f"en.{key}",
    )

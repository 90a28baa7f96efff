"""What someone likes, avoids, is allergic to, eats, gave up, does by habit: English."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece
from memory.codes import DIET, code_of
from schemas.drafts import Polarity

_LIKE = re.compile(
    r"(?:likes?|loves?|enjoys?|adores?|prefers?|fancy|fancies|appreciates?|loved|enjoyed|liked|dig)\s+", re.IGNORECASE
)
_HATE = re.compile(
    r"(?:hates?|dislikes?|detests?|loathes?|despises?|hated|disliked|can'?t (?:stand|bear|abide)|cannot (?:stand|bear|abide)|can not stand)\s+",
    re.IGNORECASE,
)
_NOT_LIKE = re.compile(
    r"(?:likes?|enjoys?|fancy|care (?:much )?for|dig|liked|enjoyed|(?:like|care for) the (?:taste|smell) of)\s+",
    re.IGNORECASE,
)
_FOND = re.compile(
    r"(?:into|fond of|crazy about|mad about|keen on|obsessed with|passionate about|hooked on|addicted to|partial to|(?:an?\s+)?(?:really\s+)?(?:big|huge|massive|great|avid|die-?hard|lifelong|total|real)?\s*fan of|(?:an?\s+)?(?:big\s+)?believer in)\s+",
    re.IGNORECASE,
)
_LOVER = re.compile(
    r"an?\s+(?:(?:big|huge|massive|real|total|avid|passionate|lifelong|true)\s+)?(?P<v>[a-z]+(?:\s[a-z]+)?)[ -](?:lover|fan|enthusiast|fanatic|aficionado|addict|buff|person)\b",
    re.IGNORECASE,
)
_CONSUME = r"(?:eat(?:s|ing)?|drink(?:s|ing)?|ate|drank|consum(?:e|es|ing)|touch(?:ing)?|have|having|do|doing)"
_EAT = re.compile(
    r"(?:eat|eats|drink|drinks|consume|consumes|wear|wears|touch|use)\s+(?!out\b|in\b|at\b|up\b|from\b)", re.IGNORECASE
)
_CONSUMED = re.compile(r"(?:eat|eats|drink|drinks|have|has|consume|digest|tolerate|do)\s+", re.IGNORECASE)
_ONLY = re.compile(r"^(?:i|we)?\s*(?:now\s+)?only\s+(?:eat|drink)s?\s+", re.IGNORECASE)
_AVOIDS = re.compile(
    r"(?:(?:try(?:ing)? to\s+)?avoid(?:s|ing)?|stay(?:s|ing)? (?:away from|off|clear of)|steer(?:s)? clear of|keep(?:s)? away from|abstain(?:s)? from|cut(?:ting)? out|have to avoid|must avoid|need to avoid)\s+(?!the\b)",
    re.IGNORECASE,
)
_STOPPED = re.compile(
    rf"(?:stopped|quit|quitted|gave\s+up(?:\s+on)?|given\s+up(?:\s+on)?|cut\s+out|swore\s+off|kicked|gone\s+off|went\s+off|dropped|had to give up|lost interest in|grew out of|outgrown|grown out of|done with|over)\s+(?:{_CONSUME}\s+|(?:liking|playing|using|enjoying)\s+)?",
    re.IGNORECASE,
)
_STOP_ONLY = re.compile(
    r"(?:stopped|quit|gave\s+up|given\s+up|cut\s+out|swore\s+off|kicked|gone\s+off|went\s+off|lost interest in|grew out of|grown out of)",
    re.IGNORECASE,
)
_DROPPED_TOPIC = re.compile(
    r"(?P<v>[A-Za-z][A-Za-z ]{1,30})\?\s+(?:nah|no|nope|not any ?more|never again)?[,.!\s]*(?:i\s+|i've\s+)?(?:gave (?:that|it|them) up|given (?:that|it|them) up|stopped|quit(?: that| it)?|don't (?:drink|eat|touch|do) (?:that|it) any ?more|went off it)",
    re.IGNORECASE,
)
_ALLERGIC = re.compile(
    r"(?:(?:[a-z]+ly|very|so|a bit|a little)\s+)?allerg(?:ic|y)\s+(?:reaction\s+)?to\s+", re.IGNORECASE
)
_ALLERGY = re.compile(
    r"(?:have|has|having|had|got|have got|suffer from|suffers from|living with|developed)\s+(?:an?\s+|some\s+)?(?:(?:severe|serious|bad|mild|terrible|slight|major|deadly|life-threatening|nasty|known|strong|seasonal|diagnosed)\s+)*(?P<v>[a-z][a-z -]{1,40}?)\s+allerg(?:y|ies)\b",
    re.IGNORECASE,
)
_ALLERGY_TO = re.compile(
    r"(?:have|has|having|had|got|have got|suffer from|suffers from|developed|with)\s+(?:an?\s+)?(?:(?:severe|serious|bad|mild|terrible|slight|major|deadly|life-threatening|nasty|strong)\s+)*allerg(?:y|ies|ic reactions?)\s+to\s+",
    re.IGNORECASE,
)
_MY_ALLERGY = re.compile(
    r"^my\s+(?:(?:severe|bad|mild|serious|known)\s+)?(?P<v>[a-z]+(?:\s[a-z]+)?)\s+allergy\b|^my\s+allerg(?:y|ies)\s+(?:is|are|include)\s*:?\s*|^allerg(?:y|ies)\s*:\s*",
    re.IGNORECASE,
)
_INTOLERANT = re.compile(
    r"(?P<v>lactose|gluten|fructose|histamine|dairy|egg|wheat|soy)[ -]intoleran(?:t|ce)\b", re.IGNORECASE
)
_OUTGREW = re.compile(
    r"(?:outgrew|outgrown|grew out of|lost)\s+(?:my|his|her|the)\s+(?P<v>[a-z]+(?:\s[a-z]+)?)\s+allergy", re.IGNORECASE
)
_DIET = re.compile(
    r"(?:an?\s+)?(?:(?:strict|strictly|lifelong|life-long|committed|mostly|total|proud|devout|on a|on an?|following an?|follow an?|eat(?:s|ing)?|keep(?:s|ing)?|gone|went|going|turned|became|become|back to being|being|eat only|eats only|stick(?:s)? to an?|following|full-time|100%|ovo-lacto|lacto-ovo|lacto)\s+)*"
    r"(?P<v>vegetarian|veggie|vegan|pescatarian|pescetarian|flexitarian|halal|kosher|keto|ketogenic|paleo|plant[- ]based|gluten[- ]free|dairy[- ]free|lactose[- ]free|low[- ]carb|low[- ]salt|low[- ]sodium|low[- ]sugar)\b(?!\s+(?:restaurant|place|option|recipe|food options|meal|cake|lover|wife|friend|shop|cheese|butcher|burger|protein|milk|sausage|dish|menu|leather))",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"^(?P<whose>my|(?:my\s+(?P<kin>[a-z-]+)'s))\s+(?:all[- ]time\s+|absolute\s+|current\s+)?(?P<least>least[- ])?(?:favou?rite|fave|fav)(?:\s+(?!thing about|part about)[a-z-]+){0,4}?\s+(?:is|are|has always been|would be|will always be)\s+(?:(?:definitely|probably|still|always|now|actually|by far|either)\s+)*",
    re.IGNORECASE,
)
_IS_FAVOURITE = re.compile(
    r"^(?:i(?:'d| would)? say\s+)?(?P<v>[A-Za-z][\w' &-]{1,40}?)\s+(?:is|are)\s+(?:definitely\s+|still\s+)?my\s+(?:all[- ]time\s+|absolute\s+)?(?P<least>least[- ])?(?:favou?rite|fave|fav)(?:\s+(?P<what>[a-z]+))?",
    re.IGNORECASE,
)
_HABIT = re.compile(
    r"(?:(?:usually|normally|typically|generally|always|often)\s+)?(?P<v>(?:run|jog|swim|cycle|bike|walk|meditate|exercise|work out|work from home|train|practi[sc]e|do yoga|play|read|cook|go|get up|wake up|drink|eat|have|skip|take|watch|study|journal|stretch|volunteer)\b[^,.;!?]{0,50}?\b(?:every (?:single )?(?:other )?(?:day|morning|evening|night|weekend|week|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|each (?:day|morning|evening|night|week)|on (?:weekends|weekdays|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays)|(?:once|twice|three times|four times|five times) a (?:day|week|month)|daily|before bed))\b",
    re.IGNORECASE,
)
_FREQUENCY_END = re.compile(
    r"\b(?:much|often|a lot|every day|that often|enough|all the time|very often|either|yet|today|tonight|right now|at the moment|this (?:week|month|time|one)|that|it|there|for now)\s*$",
    re.IGNORECASE,
)
_USE = re.compile(
    r"uses?\s+(?:an?\s+|my\s+)?(?P<v>[A-Z][\w+#.-]*(?:\s+[A-Z0-9][\w+#.-]*){0,4})(?=\s*(?:$|[,.;]|for\b|at\b|every\b|as\b|daily\b|on\b|and\b|with\b|most\b))"
)
_SPECIALS = (
    ("pregnancy", re.compile(r"(?:(?:\d+|[a-z]+)\s+(?:weeks|months)\s+)?(?P<v>pregnant)\b|(?P<w>expecting a baby)\b", re.IGNORECASE)),
    ("religion", re.compile(r"(?:an?\s+)?(?:(?:practising|practicing|devout|observant|strict|orthodox)\s+)?(?P<v>muslim|christian|catholic|protestant|jewish|jew|buddhist|hindu|sikh|atheist|agnostic|mormon)\b(?=\s*(?:$|[,.;!]|and\b|so\b|but\b))", re.IGNORECASE)),
    ("orientation", re.compile(r"(?:an?\s+)?(?P<v>gay|lesbian|bisexual|queer|asexual|pansexual)\b(?=\s*(?:$|[,.;!]|and\b|man\b|woman\b|so\b|but\b))", re.IGNORECASE)),
    ("health", re.compile(r"(?:an?\s+)?(?:(?:type (?:1|2|one|two))\s+)?(?P<v>diabetic|asthmatic|epileptic|autistic|dyslexic|hiv[- ]positive|coeliac|celiac|bipolar|anaemic|anemic)\b", re.IGNORECASE)),
    ("union", re.compile(r"an?\s+(?P<v>(?:trade[- ])?union member)\b", re.IGNORECASE)),
    ("politics", re.compile(r"an?\s+(?:(?:registered|lifelong|staunch)\s+)?(?P<v>democrat|republican|socialist|communist|libertarian|conservative voter|labour voter|(?:member of the [A-Z][a-z]+ Party))\b", re.IGNORECASE)),
)  # fmt: skip
_ILL = re.compile(
    r"(?:have|has|suffer from|suffers from|was diagnosed with|diagnosed with|got diagnosed with|live with|lives with|living with)\s+(?:(?:severe|chronic|mild|bad|type (?:1|2|one|two))\s+)*(?P<v>(?:type (?:1|2|one|two) )?diabetes|asthma|epilepsy|cancer|depression|anxiety disorder|adhd|autism|dyslexia|high blood pressure|hypertension|arthritis|migraines?|ibs|crohn's(?: disease)?|c(?:o)?eliac disease|hiv|multiple sclerosis|parkinson's|alzheimer's|dementia|ptsd|ocd|endometriosis|insomnia|heart (?:disease|condition)|a heart condition)\b",
    re.IGNORECASE,
)


def find(clause: Clause, text: str) -> Iterator[Finding]:
    """Preferences, avoidances, allergies, diets and habits of one clause."""
    del text
    if clause.subject and clause.hedged:
        if clause.state == "holds" and (match := _AVOIDS.match(clause.body.text)) and "try" in match[0]:
            yield from _tastes(clause, "avoid", clause.body.tail(match.end()), "-")
        return
    if clause.hedged:
        return
    if clause.subject:
        found = list(_allergies(clause)) or list(_diet(clause))
        yield from found
        if not found:
            yield from _special(clause) if clause.state == "holds" else ()
            yield from _liking(clause)
    yield from _favourite(clause)
    yield from _diet_here(clause)


def find_topic(text: str, start: int) -> Iterator[Finding]:
    """`Coffee? Nah, gave that up`: the topic stands in one sentence, what became of it in the next."""
    for match in _DROPPED_TOPIC.finditer(text):
        words = match["v"].split()
        if 1 <= len(words) <= 3 and values.is_taste(match["v"]):
            yield Finding(
                key="likes",
                value=match["v"],
                op="retract",
                start=start + match.start(),
                end=start + match.end(),
                rule="en.topic",
            )


def _allergies(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    op: Polarity | None = {"holds": "+", "not": "-", "over": "retract", "was": "past", "cannot": None}[clause.state]
    if clause.copula and op and (match := _ALLERGIC.match(body.text)):
        yield from _tastes(clause, "allergy", body.tail(match.end()), op)
    elif not clause.copula and clause.state in {"holds", "was"} and (match := _ALLERGY_TO.match(body.text)):
        yield from _tastes(clause, "allergy", body.tail(match.end()), "+" if clause.state == "holds" else "past")
    elif not clause.copula and clause.state == "holds" and (match := _ALLERGY.match(body.text)):
        yield from _tastes(
            clause, "allergy", Piece(match["v"], body.start + match.start("v")), "+", end=body.start + match.end()
        )
    elif (
        clause.state == "holds"
        and (match := _INTOLERANT.search(body.text))
        and (clause.copula or re.match(r"(?i)have|has|got", body.text))
    ):
        yield _finding(
            clause, "allergy", Piece(match["v"], body.start + match.start("v")), "+", end=body.start + match.end()
        )
    elif clause.state == "holds" and (match := _OUTGREW.match(body.text)):
        yield _finding(
            clause, "allergy", Piece(match["v"], body.start + match.start("v")), "retract", end=body.start + match.end()
        )
    elif re.match(r"allergic\b", body.text, re.IGNORECASE) and clause.bare and (match := _ALLERGIC.match(body.text)):
        yield from _tastes(clause, "allergy", body.tail(match.end()), "+")


def _diet(clause: Clause) -> Iterator[Finding]:
    match = _DIET.match(clause.body.text)
    if match is None or clause.state in {"not", "cannot"}:
        return
    lead = clause.body.text[: match.start("v")].lower()
    verb = re.match(r"(?:eat|keep|follow|stick|went|gone|turned|became|become)", lead)
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
    yield _finding(
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
        yield _finding(
            clause,
            "diet",
            Piece(code_of(DIET, match["v"]) or match["v"], clause.start),
            "+",
            end=clause.start + match.end(),
            subject=USER,
        )


def _special(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if clause.copula:
        for key, pattern in _SPECIALS:
            if match := pattern.match(body.text):
                name = "v" if match["v"] else "w"
                yield _finding(clause, key, Piece(match[name], body.start + match.start(name)), "+")
                return
    if match := _ILL.match(body.text):
        yield _finding(clause, "health", Piece(match["v"], body.start + match.start("v")), "+")


def _liking(clause: Clause) -> Iterator[Finding]:
    body, state = clause.body, clause.state
    if re.match(r"(?i)we\b", clause.whole.text):
        return
    if clause.copula:
        yield from _fondness(clause)
        return
    if state == "holds":
        yield from _positive(clause)
    elif state in {"not", "cannot"}:
        if state == "not" and (match := _NOT_LIKE.match(body.text)):
            yield from _tastes(clause, "likes", body.tail(match.end()), "-")
        elif (match := (_EAT if state == "not" else _CONSUMED).match(body.text)) and not _FREQUENCY_END.search(
            body.text
        ):
            yield from _tastes(clause, "avoid", body.tail(match.end()), "-", strict=state == "cannot")
    elif state == "over":
        match = (
            _LIKE.match(body.text)
            or re.match(rf"{_CONSUME}\s+", body.text, re.IGNORECASE)
            or re.match(r"(?:play|watch|smoke|listen to)\s+", body.text, re.IGNORECASE)
        )
        if match:
            yield from _tastes(clause, "likes", body.tail(match.end()), "retract", end=clause.whole.end)
    elif match := _LIKE.match(body.text) or re.match(r"(?:eat|drink)\s+", body.text, re.IGNORECASE):
        yield from _tastes(clause, "likes", body.tail(match.end()), "past")
    elif match := _HATE.match(body.text):
        return


def _positive(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    spoken = clause.whole.text[: body.start - clause.whole.start].lower()
    if (match := _LIKE.match(body.text)) and not (
        re.match(r"(?:loved|liked|enjoyed)", match[0], re.IGNORECASE) and not clause.perfect
    ):
        yield from _split_likes(clause, body.tail(match.end()), "+")
    elif (match := _HATE.match(body.text)) and not re.match(r"(?:hated|disliked)", match[0], re.IGNORECASE):
        yield from _tastes(clause, "likes", body.tail(match.end()), "-")
    elif match := _AVOIDS.match(body.text):
        yield from _tastes(clause, "avoid", body.tail(match.end()), "-")
    elif _STOP_ONLY.match(body.text) and (match := _STOPPED.match(body.text)):
        yield from _tastes(clause, "likes", body.tail(match.end()), "retract", end=clause.whole.end)
    elif re.search(r"\bonly\s*$", spoken) and (match := re.match(r"(?:eat|drink)s?\s+", body.text, re.IGNORECASE)):
        yield from _tastes(clause, "likes", body.tail(match.end()), "+")
    elif (match := _HABIT.match(body.text)) or (
        re.search(r"\b(?:usually|always|normally|typically)\s*$", spoken) and (match := _HABIT.match(body.text))
    ):
        yield _finding(clause, "habit", Piece(match["v"], body.start + match.start("v")), "+")
    elif match := _USE.match(body.text):
        yield _finding(clause, "tool", Piece(match["v"], body.start + match.start("v")), "+")


def _fondness(clause: Clause) -> Iterator[Finding]:
    op: Polarity | None = {"holds": "+", "not": "-", "over": "retract", "was": None, "cannot": None}[clause.state]
    body = clause.body
    if op is None:
        return
    if match := _FOND.match(body.text):
        yield from _tastes(clause, "likes", body.tail(match.end()), op)
    elif op == "+" and (match := _LOVER.match(body.text)) and match["v"].lower().split()[-1] not in _NOT_LOVED:
        yield _finding(clause, "likes", Piece(match["v"], body.start + match.start("v")), "+")
    elif clause.state == "holds" and (
        match := re.match(
            r"(?:off|done with|over)\s+(?=(?:coffee|alcohol|sugar|meat|dairy|caffeine|caffeinated|cigarettes|social media|gluten)\b)",
            body.text,
            re.IGNORECASE,
        )
    ):
        yield from _tastes(clause, "likes", body.tail(match.end()), "retract")


_NOT_LOVED = frozenset(["morning", "night", "nice", "good", "bad", "people", "private", "busy", "patient", "shy", "quiet", "religious", "creative", "calm", "funny", "happy", "big", "huge", "different", "kind", "new", "honest", "positive", "real", "family", "old", "great", "young", "practical", "visual", "detail", "details", "evening", "social", "outgoing", "spiritual", "simple"])  # fmt: skip


def _split_likes(clause: Clause, rest: Piece, op: Polarity) -> Iterator[Finding]:
    """Likes, and after `but not` or `not` what is not liked."""
    denial = re.search(r",?\s+(?:but\s+)?not\s+", rest.text)
    yield from _tastes(clause, "likes", Piece(rest.text[: denial.start()], rest.start) if denial else rest, op)
    if denial and "but" in denial[0]:
        tail = rest.tail(denial.end())
        for part in values.taste_values(tail):
            yield _finding(
                clause,
                "likes",
                part,
                "-",
                start=rest.start + denial.start() + len(denial[0]) - len(denial[0].lstrip(" ,")),
            )


def _favourite(clause: Clause) -> Iterator[Finding]:
    if match := _FAVOURITE.match(clause.whole.text):
        subject = match["kin"].lower() if match["kin"] else USER
        rest = clause.whole.tail(match.end())
        region = values.until(values.FAVOURITE_END, rest)
        for part in values.split_list(region):
            if (
                part.text
                and not re.match(r"(?i)(?:not|when|how|that|this|it|to be|the (?:one|part|way)|what|your)\b", part.text)
                and len(part.text.split()) <= 6
            ):
                yield _finding(clause, "likes", part, "-" if match["least"] else "+", subject=subject)
    elif (match := _IS_FAVOURITE.match(clause.whole.text)) and not re.match(
        r"(?i)(?:that|this|it|which|what|you|he|she|they|there|the one)\b", match["v"]
    ):
        yield _finding(
            clause,
            "likes",
            Piece(match["v"], clause.whole.start + match.start("v")),
            "-" if match["least"] else "+",
            end=clause.whole.start + match.end(),
            subject=USER,
        )


def _tastes(
    clause: Clause, key: str, rest: Piece, op: Polarity, *, end: int | None = None, strict: bool = False
) -> Iterator[Finding]:
    for part in values.taste_values(rest):
        if key in {"allergy", "avoid"} and (
            len(part.text.split()) > 4
            or part.text.lower()
            in {"food", "foods", "meals", "much", "breakfast", "lunch", "dinner", "people", "work", "anything", "out"}
        ):
            continue
        if strict and not re.fullmatch(r"[A-Za-z][A-Za-z '-]*", part.text):
            continue
        cue = end
        if op == "retract" and end is None:
            cue = clause.whole.end
        yield _finding(clause, key, part, op, end=cue)


def _finding(
    clause: Clause,
    key: str,
    value: Piece,
    op: Polarity,
    *,
    end: int | None = None,
    start: int | None = None,
    subject: str | None = None,
) -> Finding:
    return Finding(
        key=key, value=value.text, op=op, start=clause.start if start is None else start, end=max(end or 0, value.start + len(value.text) if end is None else end),
        subject=subject or clause.subject or USER, rule=f"en.{key}",
    )  # fmt: skip

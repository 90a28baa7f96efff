"""What someone likes, dislikes, avoids, gave up, does by habit, works with: English."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from llm.rules.words import words
from schemas.drafts import Polarity

_WE = re.compile(r"we\b", re.IGNORECASE)
_LIKE = re.compile(
    r"(?:(?:can'?t|cannot|could ?n[o']t) get enough(?: of)?"
    r"|likes?|loves?|enjoys?|adores?|prefers?|fancy|fancies|appreciates?|loved|enjoyed|liked|dig"
    r"|(?:started|begun|began)\s+(?:to\s+(?:like|love|enjoy)|liking|loving|enjoying))\s+",
    re.IGNORECASE,
)
_HATE = re.compile(
    r"(?:hates?|dislikes?|detests?|loathes?|despises?|hated|disliked|can'?t (?:stand|bear|abide)"
    r"|cannot (?:stand|bear|abide)|can not stand)\s+",
    re.IGNORECASE,
)
_NOT_LIKE = re.compile(
    r"(?:likes?|enjoys?|fancy|care (?:much )?for|dig|liked|enjoyed|(?:like|care for) the (?:taste|smell) of)\s+",
    re.IGNORECASE,
)
_FOND = re.compile(
    r"(?:into|fond of|crazy about|mad about|keen on|obsessed with|passionate about|hooked on"
    r"|addicted to|partial to|(?:an?\s+)?(?:really\s+)?(?:big|huge|massive|great|avid|die-?hard"
    r"|lifelong|total|real)?\s*fan of|(?:an?\s+)?(?:big\s+)?believer in)\s+",
    re.IGNORECASE,
)
_LOVER = re.compile(
    r"an?\s+(?:(?:big|huge|massive|real|total|avid|passionate|lifelong"
    r"|true)\s+)?(?P<v>[a-z]+(?:\s[a-z]+)?)[ -](?:lover|fan|enthusiast|fanatic|aficionado|addict"
    r"|buff|person)\b",
    re.IGNORECASE,
)
_CONSUME = r"(?:eat(?:s|ing)?|drink(?:s|ing)?|ate|drank|consum(?:e|es|ing)|touch(?:ing)?|have|having|do|doing)"
_ATE = re.compile(r"(?:eat|drink|smoke)\s+", re.IGNORECASE)
_CONSUMING = re.compile(rf"(?:{_CONSUME}|play|watch|smoke|listen to)\s+", re.IGNORECASE)
_EAT = re.compile(
    r"(?:eat|eats|drink|drinks|consume|consumes|wear|wears|touch|use)\s+(?!out\b|in\b|at\b|up\b|from\b)", re.IGNORECASE
)
_CONSUMED = re.compile(r"(?:eat|eats|drink|drinks|have|has|consume|digest|tolerate|do)\s+", re.IGNORECASE)
# "Cut out the coupon", "avoid the rush": what has an article is a single thing, and no kind that somebody does without.
_AVOIDS = re.compile(
    r"(?:(?:try(?:ing)? to\s+)?avoid(?:s|ing|ed)?|(?:try(?:ing)? to\s+)?(?:stay(?:s|ing|ed)? (?:away from|off|clear of)"
    r"|steer(?:s|ing|ed)? clear of|(?:keep(?:s|ing)?|kept) away from|abstain(?:s|ing|ed)? from|cut(?:ting)? out"
    r"|cut(?:ting)? back on|eliminat(?:e[sd]?|ing)|exclud(?:e[sd]?|ing))|have to avoid|must avoid|need to avoid)\s+"
    r"(?:(?:all|any)\s+(?=[a-z]))?(?!the\b|an?\b|this\b|that\b|eye contact\b|early\b|on\b|of\b|for\b)",
    re.IGNORECASE,
)
_FROM_DIET = re.compile(
    r"(?:cut(?:ting)?|eliminat(?:e[sd]?|ing)|exclud(?:e[sd]?|ing)|remov(?:e[sd]?|ing)|drop(?:s|ped|ping)?|banish(?:ed)?)\s+"
    r"(?P<v>[a-z][a-z ,&-]{1,40}?)\s+(?:out of|from)\s+(?:my|his|her|their|our)\s+(?:diet|meals|food)\b",
    re.IGNORECASE,
)
# "I eat gluten again", "back on dairy": what was avoided is no more.
_EATS_AGAIN = re.compile(
    r"(?:(?:can|could|am able to)\s+(?:now\s+|finally\s+)?(?:eat|drink|have|tolerate|digest)"
    r"|(?:(?:have\s+)?(?:started|begun|began|gone back to|went back to|resumed)|back to)\s+(?:eating|drinking|having)"
    r"|eats?|eating|drinks?|drinking)\s+(?P<v>[a-z][a-z ,&-]{1,40}?)(?:\s+(?:once\s+)?again)"
    r"(?:\s+(?:now|these days|for now))?\s*$"
    r"|(?:(?:gone back to|went back to|resumed)\s+(?:eating|drinking)|back\s+to\s+(?:eating|drinking))\s+"
    r"(?P<w>[a-z][a-z ,&-]{1,40}?)(?:\s+now)?\s*$",
    re.IGNORECASE,
)
_AVOIDS_NO_MORE = re.compile(
    r"(?:stopped|quit|gave up|given up|done)\s+(?=avoiding\b|cutting out\b|staying away\b)", re.IGNORECASE
)
_STOPPED = re.compile(
    rf"(?:stopped|quit|quitted|gave\s+up(?:\s+on)?|given\s+up(?:\s+on)?|cut\s+out|swore\s+off"
    rf"|kicked|gone\s+off|went\s+off|dropped|had to give up|lost interest in|grew out of|outgrown"
    rf"|grown out of|done with|over)\s+(?:{_CONSUME}\s+|(?:liking|playing|using|enjoying)\s+)?",
    re.IGNORECASE,
)
_STOP_ONLY = re.compile(
    r"(?:stopped|quit|gave\s+up|given\s+up|cut\s+out|swore\s+off|kicked|gone\s+off|went\s+off"
    r"|lost interest in|grew out of|grown out of)",
    re.IGNORECASE,
)
_DROPPED_TOPIC = re.compile(
    r"(?P<v>[A-Za-z][A-Za-z ]{1,30})\?\s+(?:nah|no|nope|not any ?more|never again)?[,.!\s]*(?:i\s+"
    r"|i've\s+)?(?:gave (?:that|it|them) up|given (?:that|it|them) up|stopped|quit(?: that| it)?"
    r"|don't (?:drink|eat|touch|do) (?:that|it) any ?more|went off it)",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"^(?P<whose>my|(?:my\s+(?P<kin>[a-z-]+)'s))\s+(?:all[- ]time\s+|absolute\s+"
    r"|current\s+)?(?P<least>least[- ])?(?:favou?rite|fave|fav)(?:\s+(?!thing about|part "
    r"about)[a-z-]+){0,4}?\s+(?:is|are|has always been|would be|will always be)\s+(?:(?:definitely"
    r"|probably|still|always|now|actually|by far|either)\s+)*",
    re.IGNORECASE,
)
_IS_FAVOURITE = re.compile(
    r"^(?:i(?:'d| would)? say\s+)?(?P<v>[A-Za-z][\w' &-]{1,40}?)\s+(?:is|are)\s+(?:definitely\s+"
    r"|still\s+)?my\s+(?:all[- ]time\s+|absolute\s+)?(?P<least>least[- ])?(?:favou?rite|fave"
    r"|fav)(?:\s+(?P<what>[a-z]+))?",
    re.IGNORECASE,
)
_HABIT = re.compile(
    r"(?:(?:usually|normally|typically|generally|always|often)\s+)?(?P<v>(?:run|jog|swim|cycle"
    r"|bike|walk|meditate|exercise|work out|work from home|train|practi[sc]e|do yoga|play|read"
    r"|cook|go|get up|wake up|drink|eat|have|skip|take|watch|study|journal|stretch"
    r"|volunteer)\b[^,.;!?]{0,50}?\b(?:every (?:single )?(?:other )?(?:day|morning|evening|night"
    r"|weekend|week|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|each (?:day"
    r"|morning|evening|night|week)|on (?:weekends|weekdays|mondays|tuesdays|wednesdays|thursdays"
    r"|fridays|saturdays|sundays)|(?:once|twice|three times|four times|five times) a (?:day|week"
    r"|month)|daily|before bed))\b",
    re.IGNORECASE,
)
_FREQUENCY_END = re.compile(
    r"\b(?:much|often|a lot|every day|that often|enough|all the time|very often|either|yet|today"
    r"|tonight|right now|at the moment|this (?:week|month|time|one)|that|it|there|for now)\s*$",
    re.IGNORECASE,
)
_USE = re.compile(
    r"uses?\s+(?:an?\s+|my\s+)?(?P<v>[A-Z][\w+#.-]*(?:\s+[A-Z0-9][\w+#.-]*){0,4})(?=\s*(?:$|[,.;]"
    r"|for\b|at\b|every\b|as\b|daily\b|on\b|and\b|with\b|most\b))"
)
_NOT_LOVED = words(
    "morning night nice good bad people private busy patient shy quiet religious creative calm funny "
    "happy big huge different kind new honest positive real family old great young practical visual "
    "detail details evening social outgoing spiritual simple"
)


def find(clause: Clause) -> Iterator[Finding]:
    """Likes, dislikes, what was given up, avoidances, habits, tools of one clause."""
    if clause.hedged:
        trying = clause.subject and clause.state == "holds" and _AVOIDS.match(clause.body.text)
        if trying and "try" in trying[0]:
            yield from each_taste(clause, "avoid", clause.body.tail(trying.end()), "-")
        return
    if clause.subject and not _WE.match(clause.whole.text):
        yield from _fondness(clause) if clause.copula else _liking(clause)
    yield from _favourite(clause)


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


def _liking(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if clause.state == "holds":
        yield from _positive(clause)
    elif clause.state in {"over", "was"}:
        yield from _liked(clause, "retract" if clause.state == "over" else "past")
    elif clause.state == "not" and (match := _NOT_LIKE.match(body.text)):
        yield from each_taste(clause, "likes", body.tail(match.end()), "-")
    elif not _FREQUENCY_END.search(body.text):
        match = (_EAT if clause.state == "not" else _CONSUMED).match(body.text)
        if match:
            yield from each_taste(clause, "avoid", body.tail(match.end()), "-", strict=clause.state == "cannot")


def _liked(clause: Clause, op: Polarity) -> Iterator[Finding]:
    """What is over, or was."""
    body = clause.body
    end = clause.whole.end if op == "retract" else None
    if match := _AVOIDS.match(body.text):
        yield from each_taste(clause, "avoid", body.tail(match.end()), op, end=end)
    elif match := _LIKE.match(body.text) or (_CONSUMING if op == "retract" else _ATE).match(body.text):
        yield from each_taste(clause, "likes", body.tail(match.end()), op, end=end)


def _positive(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    spoken = clause.whole.text[: body.start - clause.whole.start].lower()
    avoided = list(_avoided(clause))
    if avoided:
        yield from avoided
    elif (match := _LIKE.match(body.text)) and not (
        re.match(r"(?:loved|liked|enjoyed)", match[0], re.IGNORECASE) and not clause.perfect
    ):
        yield from _split_likes(clause, body.tail(match.end()), "+")
    elif (match := _HATE.match(body.text)) and not re.match(r"(?:hated|disliked)", match[0], re.IGNORECASE):
        yield from each_taste(clause, "likes", body.tail(match.end()), "-")
    elif _STOP_ONLY.match(body.text) and (match := _STOPPED.match(body.text)):
        yield from each_taste(clause, "likes", body.tail(match.end()), "retract", end=clause.whole.end)
    elif re.search(r"\bonly\s*$", spoken) and (match := re.match(r"(?:eat|drink)s?\s+", body.text, re.IGNORECASE)):
        yield from each_taste(clause, "likes", body.tail(match.end()), "+")
    elif (match := _HABIT.match(body.text)) or (
        re.search(r"\b(?:usually|always|normally|typically)\s*$", spoken) and (match := _HABIT.match(body.text))
    ):
        yield stated(clause, "habit", part(body, match, "v"), "+")
    elif match := _USE.match(body.text):
        yield stated(clause, "tool", part(body, match, "v"), "+")


def _avoided(clause: Clause) -> Iterator[Finding]:
    """What somebody does without, whatever the tense, and what they take again."""
    body = clause.body
    if match := _FROM_DIET.match(body.text):
        yield from each_taste(clause, "avoid", part(body, match, "v"), "-", end=body.start + match.end())
    elif match := _AVOIDS.match(body.text):
        yield from each_taste(clause, "avoid", body.tail(match.end()), "-")
    elif match := _EATS_AGAIN.match(body.text):
        eaten = part(body, match, "v" if match["v"] else "w")
        yield from each_taste(clause, "avoid", eaten, "retract", end=clause.whole.end)
    elif (match := _AVOIDS_NO_MORE.match(body.text)) and (avoids := _AVOIDS.match(body.text, match.end())):
        yield from each_taste(clause, "avoid", body.tail(avoids.end()), "retract", end=clause.whole.end)


_FOND_OPS: dict[str, Polarity] = {"holds": "+", "not": "-", "over": "retract"}


def _fondness(clause: Clause) -> Iterator[Finding]:
    op = _FOND_OPS.get(clause.state)
    body = clause.body
    if op is None:
        return
    if op == "+" and (avoided := list(_avoided(clause))):
        yield from avoided
    elif op == "retract" and (match := _AVOIDS.match(body.text)):
        yield from each_taste(clause, "avoid", body.tail(match.end()), "retract", end=clause.whole.end)
    elif match := _FOND.match(body.text):
        yield from each_taste(clause, "likes", body.tail(match.end()), op)
    elif op == "+" and (match := _LOVER.match(body.text)) and match["v"].lower().split()[-1] not in _NOT_LOVED:
        yield stated(clause, "likes", part(body, match, "v"), "+")
    elif clause.state == "holds" and (
        match := re.match(
            r"(?:off|done with|over)\s+(?=(?:coffee|alcohol|sugar|meat|dairy|caffeine|caffeinated"
            r"|cigarettes|social media|gluten)\b)",
            body.text,
            re.IGNORECASE,
        )
    ):
        yield from each_taste(clause, "likes", body.tail(match.end()), "retract")


def _split_likes(clause: Clause, rest: Piece, op: Polarity) -> Iterator[Finding]:
    """Likes, and after `but not` or `not` what is not liked."""
    denial = re.search(r",?\s+(?:but\s+)?not\s+", rest.text)
    yield from each_taste(clause, "likes", Piece(rest.text[: denial.start()], rest.start) if denial else rest, op)
    if denial and "but" in denial[0]:
        tail = rest.tail(denial.end())
        for part in values.taste_values(tail):
            yield stated(
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
                yield stated(clause, "likes", part, "-" if match["least"] else "+", subject=subject)
    elif (match := _IS_FAVOURITE.match(clause.whole.text)) and not re.match(
        r"(?i)(?:that|this|it|which|what|you|he|she|they|there|the one)\b", match["v"]
    ):
        yield stated(
            clause,
            "likes",
            Piece(match["v"], clause.whole.start + match.start("v")),
            "-" if match["least"] else "+",
            end=clause.whole.start + match.end(),
            subject=USER,
        )


def each_taste(
    clause: Clause, key: str, rest: Piece, op: Polarity, *, end: int | None = None, strict: bool = False
) -> Iterator[Finding]:
    """One finding per thing that `rest` names."""
    for thing in values.taste_values(rest, choice=key == "likes" and op in {"+", "past"}):
        if key in {"allergy", "avoid"} and (
            len(thing.text.split()) > 4
            or thing.text.lower()
            in {"food", "foods", "meals", "much", "breakfast", "lunch", "dinner", "people", "work", "anything", "out"}
        ):
            continue
        if strict and not re.fullmatch(r"[A-Za-z][A-Za-z '-]*", thing.text):
            continue
        cue = end
        if op == "retract" and end is None:
            cue = clause.whole.end
        yield stated(clause, key, thing, op, end=cue)

"""English values: where a value ends, how a list splits, and what is no value at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.finding import Piece
from llm.rules.lexicon_en import CITIES, COMPANIES, JOBS, NAMES, NOT_JOBS, NOT_NAMES
from llm.rules.words import words

_TASTE_END = re.compile(
    r"[,.;!?()\"]|\s+(?:because|cause|cuz|since|when|whenever|if|but|so|as|than|over|although"
    r"|though|while|which|who|that|until|now|any ?more|any longer|a lot|a bit"
    r"|very much|so much|too much|much|the most|most of all|the best|best|too|either|as well"
    r"|lately|these days|nowadays|right now|instead|please|btw|lol|haha|again|today"
    r"|every|each|ages ago|years ago|at all|more|better|though|by the way|tbh|ever|for (?:a|the|my"
    r"|years|ages|breakfast|lunch|dinner)|not|in (?:19|20)\d\d|last (?:week|month|year)|yesterday"
    r"|on \w+days?"
    r"|before|after|during|recently|completely|entirely|all the time|anymore|due to|thanks to|back"
    r"|here|there|especially|particularly|like|such as|with my|with me|to me|with him|with her"
    r"|together|would|is|are|was|were|has|have|had|can|will|could|should|do|does|did|makes|make"
    r"|whereas|compared|rather|except|unless|and it|and that)\b",
    re.IGNORECASE,
)
# "stories that tackle ...", "how it is ...": the thing is only named by a clause, so it is not the thing.
_CLAUSAL = re.compile(
    r"\s*,?\s+(?:that|who|which|are|is|was|were|can|will|has|have|had|would|could|should|do|does|when|whenever|if)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"\b(?:rock and roll|rock & roll|fish and chips|mac and cheese|drum and bass|bed and breakfast"
    r"|dungeons and dragons|black and white|salt and vinegar|peanut butter and jelly|arts and "
    r"crafts|r&b|bread and butter|gin and tonic|rhythm and blues|cheese and wine)\b",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*,\s*(?:and\s+|or\s+|but\s+)?(?:also\s+)?|\s+(?:and|or|plus|&|nor)\s+(?:also\s+)?", re.IGNORECASE)
_OR = re.compile(r"[\s,]or\s", re.IGNORECASE)
_NO_TASTE = re.compile(
    r"^(?:it|that|this|these|those|them|him|her|you|your|his|their|our|its|how|what|when|where|why"
    r"|who|if|whether|being|having|getting|hearing|seeing|doing|waiting|knowing|thinking|saying"
    r"|asking"
    r"|dealing|everything|anything|nothing|something|someone|anyone|everyone|everybody|nobody|both"
    r"|all|one|ones|me|my|us|i|he|she|we|they|there|not|no|so|too|very|much|many|more|most|less"
    r"|any|some of"
    r"|a lot|lots|another|each|every|few|several|such|same|here|now|yes|ok|okay|just|even|also|as"
    r"|like|for|from|with|about|to (?:be|bother|say|ask|admit|see|hear|know|think|complain"
    r"|interrupt|rush|push|disappoint|break|nag|have|get|make|let|keep|inform|report|point|cancel"
    r"|return|order|buy|change|request|book|speak|talk|apply|add|update|know|find|confirm|thank"
    r"|hear|give|do)"
    r"|two|three|four|five|six|\d|an? (?:lot|bit|few|couple|good|great|bad|nice|new|better)\b|the "
    r"idea|the thought|the fact|the way|bothering|to\b.*\byou)\b",
    re.IGNORECASE,
)
_INNER_PRONOUN = re.compile(
    r"\b(?:it|you|your|yours|he|him|his|she|her|hers|they|them|their|we|us|our|me|my|mine|i|i'm"
    r"|this|that|these|those|what|how|it's|there|who|myself|yourself|himself|herself)\b",
    re.IGNORECASE,
)
_THE_IDEA = re.compile(
    r"^the\s+(?!(?:beach|sea|seaside|outdoors|mountains?|cold|heat|rain|snow|sun|piano|violin"
    r"|cello|guitar|drums|flute|theatre|theater|opera|ocean|countryside|gym|smell|taste|sound|city"
    r"|woods|forest|desert|night|summer|winter|cinema|movies|ballet|beatles|cure|office|simpsons"
    r"|witcher|lord|great)\b)",
    re.IGNORECASE,
)
_ADJECTIVE_LEFT = re.compile(
    r"\ban?\s+(?:safe|nice|warm|cosy|cozy|quiet|good|big|small|long|short|calm|clean|new|old"
    r"|strong|simple|friendly|fun|positive|healthy|happy|supportive)$",
    re.IGNORECASE,
)
_OPEN_ENDED = words("to of with for in on at from by and or the a an my into about as sure")
_VAGUE = words(
    "thing things stuff idea ideas way one ones part time fact look looks app service product "
    "products order item items company people person guy"
    " place job work day days option options feature features change changes update design "
    "version result results answer answers question questions"
    " plan deal sound feeling feel weather team good bad great nice new old blue red green "
    "better best long short help school life it both either"
    " support response delivery shop store store site website page chat bot assistant advice "
    "reply replies suggestion suggestions recommendation"
    " being surprise surprises news trip event events moment moments story experience memories "
    "memory challenge challenges adventure process progress sharing spending taking"
)
_TIME_TAIL = re.compile(
    r"\s+(?:this|next|last|by|before|until|tomorrow|today|tonight|asap|as soon as|right away"
    r"|urgently|immediately|within|in (?:the )?(?:next|two|three|a|\d))\b.*$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:an?|the|some|my|any)\s+", re.IGNORECASE)
_WORD = re.compile(r"[\w&'’/+#-]+(?:\.\w+)*")
_CAPITAL_RUN = re.compile(
    r"(?:[A-Z][\w&'’+-]*(?:\.[A-Za-z]+)?|\d[A-Za-z][\w]*)(?:\s+(?:(?:of|the|de|la|del|di|da|do|el"
    r"|and|&|upon|on|van|von|le|les|am|an|der)\s+(?=[A-Z]))*[A-Z0-9&][\w&'’+-]*(?:\.[A-Za-z]+)?)*"
)
_NOT_PLACES = words(
    "i a an the my our your his her it this that fear peace room building apartment flat house "
    "hope style english french german chinese monday tuesday wednesday thursday friday saturday "
    "sunday"
)
_NOT_EMPLOYERS = words(
    "home night nights day days weekend weekends school church hospital bank university college "
    "restaurant cafe shop store factory lab least most all"
    " work once times first last that this the a an my our free myself hours monday tuesday "
    "wednesday thursday friday saturday sunday christmas easter i him her them you us"
    " january february march april may june july august september october november december english"
)


def taste_values(text: Piece, *, choice: bool = False) -> Iterator[Piece]:
    """The things of a liking, one by one; nothing at all when the first of them is not a thing.

    `choice`: what is joined by "or" is weighed, not listed, and stays one thing as it was said.
    """
    region = until(_TASTE_END, text)
    if _CLAUSAL.match(text.text[len(region.text) :]) and region.text:
        return
    parts = [_trim_lead(part) for part in _whole_phrases(list(split_list(region)), region)]
    if choice and len(parts) > 1 and _OR.search(region.text) and all(is_taste(part.text) for part in parts):
        first, last = parts[0].start - region.start, parts[-1].end - region.start
        yield Piece(region.text[first:last], parts[0].start)
    elif parts and is_taste(parts[0].text):
        yield from (part for part in parts if is_taste(part.text))


def _whole_phrases(parts: list[Piece], region: Piece) -> list[Piece]:
    """`going on trips with friends and family` is one thing: the bare noun belongs to the phrase before it."""
    if len(parts) > 1 and _ADJECTIVE_LEFT.search(parts[0].text):
        return []
    phrase = len(parts) > 1 and re.search(r"\b(?:with|of|between|for|about)\s+(?:\w+\s+)?\w+$", parts[0].text)
    if not phrase or re.match(r"[a-z]+ing\b", parts[1].text):
        return parts
    end = parts[1].end
    return [Piece(region.text[parts[0].start - region.start : end - region.start], parts[0].start), *parts[2:]]


def until(end: re.Pattern[str], text: Piece) -> Piece:
    """`text` up to the first `end` that is not a comma of a list."""
    at = 0
    while match := end.search(text.text, at):
        if match[0] != ",":
            return Piece(text.text[: match.start()], text.start).stripped()
        at = match.end()
    return text.stripped()


def split_list(region: Piece) -> Iterator[Piece]:
    """The parts of `a, b and c`; fixed pairs such as fish and chips stay together."""
    held = [match.span() for match in _JOINED.finditer(region.text)]
    at = 0
    for match in _AND.finditer(region.text):
        if any(start <= match.start() < end for start, end in held):
            continue
        if match.start() > at:
            yield Piece(region.text[at : match.start()], region.start + at).stripped()
        at = match.end()
    if at < len(region.text):
        yield Piece(region.text[at:], region.start + at).stripped()


def _trim_lead(part: Piece) -> Piece:
    match = re.match(
        r"(?:to\s+(?!(?:be|bother|say|ask|admit|see|hear|know)\b)|drinking\s+|eating\s+|(?:my"
        r"|some)\s+(?=[a-z]+$)|all kinds of\s+|all things\s+|any kind of\s+)",
        part.text,
        re.IGNORECASE,
    )
    return part.tail(match.end()) if match and match[0].strip() not in {"my"} else part


def is_taste(value: str) -> bool:
    """Whether a bare phrase can be a thing that someone likes."""
    words = _WORD.findall(value)
    if words and words[-1].lower() in _OPEN_ENDED:
        return False
    if not 1 <= len(words) <= 6 or len(value) < 2:
        return False
    if _NO_TASTE.match(value) or _INNER_PRONOUN.search(value) or _THE_IDEA.match(value):
        return False
    bare = _ARTICLE.sub("", value).lower()
    return bare not in _VAGUE and not (
        len(words) <= 3
        and words[-1].lower() in _VAGUE
        and words[0].lower() in {"the", "a", "an", "good", "great", "new"}
    )


def thing(text: Piece, end: re.Pattern[str], *, most: int = 8) -> Piece | None:
    """One noun phrase of at most `most` words, without a time at its end."""
    region = until(end, text)
    cut = _TIME_TAIL.search(region.text)
    if cut:
        region = Piece(region.text[: cut.start()], region.start).stripped()
    words = _WORD.findall(region.text)
    return region if 1 <= len(words) <= most and not _INNER_PRONOUN.search(region.text) else None


def place(text: Piece) -> Piece | None:
    """A place at the start of `text`: a run of capitals, or a known name however it is written."""
    text = _after(
        text,
        r"(?:the\s+)?(?:(?:downtown|central|north|south|east|west|northern|southern|eastern|western"
        r"|greater|upper|lower|inner|rural|beautiful|sunny|rainy)\s+|(?:city|town|village|suburbs"
        r"|outskirts|heart|centre|center|north|south|east|west)\s+of\s+)*",
    )
    known = _known(text, CITIES, most=4)
    run = _CAPITAL_RUN.match(text.text)
    if run:
        found = _with_region(text, run.end())
        first = run[0].split()[0].lower()
        if first in _NOT_PLACES or any(char.isdigit() for char in found.text) or len(found.text.split()) > 6:
            return None
        return found
    return known


def _with_region(text: Piece, end: int) -> Piece:
    more = re.match(r",\s+(?=[A-Z])", text.text[end:])
    if more:
        region = _CAPITAL_RUN.match(text.text, end + more.end())
        if (
            region
            and len(region[0].split()) <= 2
            and region[0].split()[0].lower() not in _NOT_PLACES
            and not re.match(r"\s+(?:and|is|was|works|loves|said)\b", text.text[region.end() :])
        ):
            return Piece(text.text[: region.end()], text.start)
    return Piece(text.text[:end], text.start)


def employer(text: Piece) -> Piece | None:
    """An employer at the start of `text`: a run of capitals or digits, a web name, or a known one in any case."""
    text = _after(
        text, r"(?:a\s+(?:company|startup|start-up|firm|place|store|shop|small company)\s+called\s+|the\s+(?=[A-Z]))"
    )
    if (known := _known(text, COMPANIES, most=2)) is not None:
        run = _CAPITAL_RUN.match(text.text)
        return Piece(run[0], text.start) if run and len(run[0]) > len(known.text) else known
    web = re.match(r"[a-z][\w-]*\.(?:com|io|ai|co|net|org)\b", text.text)
    run = _CAPITAL_RUN.match(text.text) or web
    if run is None or run[0].split()[0].lower() in _NOT_EMPLOYERS or len(run[0]) < 2 or len(run[0].split()) > 6:
        return None
    return None if run[0].lower() in CITIES else Piece(run[0], text.start)


def occupation(text: Piece, *, strict: bool) -> Piece | None:
    """A job title at the start of `text`, without its article. `strict`: it must end with a known occupation."""
    region = until(
        _JOB_END,
        _after(
            text,
            r"(?:an?|the|their|our)\s+(?:(?:proud|full-time|part-time|freelance|self-employed|retired"
            r"|newly qualified|licensed|certified|qualified|professional|practising|fellow|busy|humble"
            r"|simple|mere|lowly|single mum and)\s+)?",
        ),
    )
    words = region.text.split()
    if words and words[-1].lower() in _OPEN_ENDED:
        return None
    if not words or len(words) > 5 or _INNER_PRONOUN.search(region.text) or any(char.isdigit() for char in region.text):
        return None
    lower = " ".join(words).lower()
    if lower in NOT_JOBS or lower in {
        "result",
        "matter of fact",
        "whole",
        "team",
        "rule",
        "gift",
        "favour",
        "favor",
        "joke",
        "kid",
        "child",
        "beginner",
        "test",
        "customer",
    }:
        return None
    heads = {" ".join(words[-count:]).lower() for count in (1, 2, 3)} | {
        words[0].lower() if " of " in f" {lower} " else ""
    }
    known = bool(heads & JOBS) or re.search(r"(?:^|\s)(?:head|director|vp|manager|chief) of \w+", lower) is not None
    return (
        region if known or (not strict and re.fullmatch(r"[A-Za-z/ '&-]+", region.text) and len(words) <= 4) else None
    )


_JOB_END = re.compile(
    r"[,.;!?()\"]|\s+(?:at|for|in|with|and|but|who|which|that|from|since|now|by|on|so|because"
    r"|working|living|based|here|near|these days|right now|currently|while|when|where|specializing"
    r"|specialising|of (?:\d+|ten|two|three|many) years|today|then|until|if|though|to|myself"
    r"|anymore|any more|during|after|before|as well|too|again|about|yesterday|last|this|next"
    r"|tomorrow|recently|ago)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"[A-Z][a-zéèüöáíóñç]+(?:['’-][A-Z]?[a-z]+)*(?:\s+(?:[A-Z]\.\s+)?(?:(?:de|van|von|da|del|al"
    r"|bin|O['’])\s?)?[A-Z][a-zéèüöáíóñç]+(?:['’-][A-Z]?[a-z]+)*){0,2}|[A-Z][a-z]?[A-Z][a-z]+"
)
_NAME_STOP = re.compile(
    r"\s*(?:$|[,.!?;()-]|(?:and|from|btw|by|here|but|speaking|at|with|again|the|a|your|not|i"
    r"|calling|writing|aka|or|if|please|so|in|for)\b)",
    re.IGNORECASE,
)


def person(text: Piece, *, sure: bool) -> Piece | None:
    """A name at the start of `text`. `sure`: the words before leave no doubt, so any name counts, in any case."""
    text = _after(text, r"(?:called\s+|actually\s+|just\s+|still\s+|\"|')")
    text = _after(text, r"(?:dr|mr|mrs|ms|miss|prof|professor|sir|dame|rev)\.?\s+")
    match = _NAME.match(text.text)
    if match:
        first = match[0].split()[0].lower()
        good = first not in NOT_NAMES or (sure and first in NAMES)
        if (
            good
            and (sure or _NAME_STOP.match(text.text[match.end() :]))
            and (sure or first in NAMES or not first.endswith(("ing", "ed", "ly")))
        ):
            return Piece(match[0], text.start)
        return None
    word = re.match(r"[a-z]{2,15}(?:\s+[a-z]{2,15})?(?=$|[,.!?;)]|\s)", text.text)
    if word is None:
        return None
    first = word[0].split()[0]
    rest = text.text[len(first) :]
    if ((first in NAMES and first not in NOT_NAMES) or (sure and first not in NOT_NAMES and len(first) > 2)) and (
        _NAME_STOP.match(rest)
    ):
        return Piece(first, text.start)
    return None


def _after(text: Piece, pattern: str) -> Piece:
    match = re.match(pattern, text.text, re.IGNORECASE if "[A-Z]" not in pattern else 0)
    return text.tail(match.end()) if match else text


def _known(text: Piece, names: frozenset[str], *, most: int) -> Piece | None:
    words = list(re.finditer(r"[\w'’.&-]*[\w'’&-]", text.text[:80]))[:most]
    for count in range(len(words), 0, -1):
        candidate = text.text[: words[count - 1].end()]
        if words[0].start() == 0 and " ".join(candidate.lower().split()) in names:
            return Piece(candidate, text.start)
    return None


FAVOURITE_END = re.compile(
    r"[.;!?()]|,\s+(?=(?:i|my|but|so|because|and (?:i|my|it))\b)|\s+(?:because|since|but|so|which"
    r"|who|though|when|if|by far|these days|right now|and (?:i|my|it|that))\b",
    re.IGNORECASE,
)

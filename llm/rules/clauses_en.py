"""English text to clauses: who speaks of whom, and whether it holds, holds not, is over, or was.

Questions, suppositions, reported speech and irony never become a clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from llm.rules.finding import USER, Piece
from llm.rules.lexicon_en import FEMALE, KIN, MALE

State = Literal["holds", "not", "over", "was", "cannot"]

_SENTENCE = re.compile(r"(?:[^.!?\n]|[.](?=\w)|(?<=\b[A-Z])[.]|(?<=\b(?:Dr|Mr|Ms|St|vs))[.]|(?<=\bMrs)[.])+[.!?…]*")
_VERB = (
    r"am|live|lives|living|work|works|working|hate|hates|love|loves|like|likes|prefer|prefers"
    r"|enjoy|enjoys|dislike|dislikes|have|has|need|needs|want|wants"
    r"|don'?t|doesn'?t|do|does|can'?t|cannot|never|moved|relocated|used|been|doing|recently|drink"
    r"|drinks|eat|eats|avoid|avoids|allergic|based|detest|detests|adore|adores"
    r"|currently|no\s+longer|just|started|joined|left|quit|stopped|gave|speak|speaks|use|uses|is"
    r"|was|were|are|he|she|they|we|i|i'm|i'd|i've|i'll|im|ive|my|it|its|it's"
    r"|you|your|please|pls|plz|actually|also|always|can|could|would|will|should|if|when|what|where"
    r"|how|who|which|why|so|but|because|though|there|that's|this|these|the"
    r"|thanks|thank|btw|by the way|call|email|text|message|contact|not|then|now|mine|our|our's"
    r"|turned|became|got|lost|call me|let|make|keep|send|maybe|perhaps|whereas|while|since|until"
    r"|looking"
    r"|budget|aged|never"
)
_BREAK = re.compile(
    rf"\s*[;:()\[\]]\s*|\s+[-–—]+\s+|—|\.{{3}}|…"
    rf"|\s*,?\s+(?:but(?!\s+not\b)|because|although|though|whereas|while|cos|cuz|coz|so\s+(?=i\b|i'"
    rf"|my\b|please\b|we\b))\s+"
    rf"|\s*,\s*(?:and\s+|or\s+|then\s+|plus\s+)?(?=(?:{_VERB})(?![\w-]))(?!like\b|likes\b)"
    rf"|\s+and\s+(?:please\s+|then\s+)?(?=(?:reply|respond|answer|write|speak|talk)\s+(?:(?:to\s+)?me\s+|back\s+)?"
    rf"in\s+(?-i:[A-Z]))"
    rf"|\s+and\s+(?:also\s+|then\s+)?(?=(?:{_VERB})(?![\w-]))|\s+(?=(?:who|which)\s)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:hi|hello|hey|hiya|yo|dear|ok|okay|well|so|actually|oh|ah|yes|yeah|yep|no(?=\s*[,.!])"
    r"|nope|nah|and|but|also|plus|btw|by the way|fyi|honestly|frankly|personally"
    r"|to be (?:honest|clear|precise|fair)|tbh|anyway|anyways|now|nowadays|these days|at the "
    r"moment|right now|sorry|thanks|thank you|thx|just so you know"
    r"|for the record|for reference|for context|as (?:i|you) (?:said|mentioned|know|may know)"
    r"|like i said|as mentioned|please (?:also )?(?:note|remember|know|be aware)(?: that)?"
    r"|(?:also )?(?:note|remember|keep in mind|bear in mind|be aware)(?: that)?|don't forget(?: "
    r"that)?|you should know(?: that)?|i should (?:mention|add|say)(?: that)?"
    r"|i (?:just )?want(?:ed)? (?:you )?to (?:let you know|mention|add|say|know)(?: that)?|i told "
    r"you(?: that)?|i mean|you know|look|listen|first(?: of all|ly)?|second(?:ly)?"
    r"|correction|hmm+|um+|uh|er|there|everyone|everybody|all|guys|team|folks|again|then|oops|wait"
    r"|additionally|furthermore|moreover|besides|in fact|in short|fwiw|p\.?s\.?"
    r"|these days|luckily|fortunately|unfortunately|sadly|obviously|clearly|of course|good "
    r"(?:morning|afternoon|evening)|(?:morning|afternoon|evening)(?=\s*,)|since you asked"
    r"|if (?:it helps|that helps|it matters|you must know|you're curious|possible)"
    r"|last (?:week|month|year|summer|spring|winter|autumn|fall)|yesterday|recently|today|in (?:19"
    r"|20)\d\d|let me introduce myself|a bit about me|about me|quick intro|intro|the thing is"
    r"|truth is|turns out|just|finally)"
    r"(?![\w'])[\s,!.:-]*)*(?:(?:after|before|since|for|in|during|until|over"
    r"|with)\s[^,.;]{2,40}?,?\s+(?=(?:i|i'm|i've|my)\s))?",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?:(?:really|absolutely|totally|truly|definitely|also|still|just|actually|currently|now"
    r"|always|recently|personally|honestly|simply|quite|rather|especially"
    r"|particularly|mostly|mainly|generally|so|kind of|very much|both|obviously|clearly|certainly"
    r"|genuinely|already|usually|normally|typically|all|ever|since|only"
    r"|deeply|seriously|severely|badly|highly|mildly|deathly|extremely|strongly|fully|strictly"
    r"|officially|happily|proudly|finally|originally|today|btw|even|super|very|too|pretty|well"
    r"|fucking|bloody|damn|have always|'ve always|has always|temporarily|permanently|fairly|more"
    r"|full-time|part-time)\s+){0,4}"
)
_ADJECTIVES = (
    r"(?:(?:older|elder|eldest|oldest|younger|youngest|little|big|best(?!\s+friend)|closest|late"
    r"|dear|new|current|lovely|own|twin|ex|beloved|poor|middle|adopted|step|\d+[- ]year[- "
    r"]old)\s+){0,3}"
)
_KIN = re.compile(
    rf"^(?:[Bb]oth\s+)?(?:[Mm]y|MY|[Oo]ur)\s+{_ADJECTIVES}(?P<kin>(?:[a-zé]+-in-law|ex-[a-z]+|best friend"
    rf"|[a-zé-]+))(?P<name>,?\s+[A-Z][a-z]+(?=,?\s)(?!\s+(?:and|or)\b),?)?"
    r"(?P<next>\s|'s\s|'s$|$)",
)
_FIRST = re.compile(r"^(?:(?:me|my \w+) and i\b|i\b|we\b|im\b|ive\b)", re.IGNORECASE)
_THIRD = re.compile(r"^(?:(?P<she>she)|(?P<he>he)|(?P<they>they))\b(?=['\s])", re.IGNORECASE)
_BARE = re.compile(
    rf"^(?:currently\s+|now\s+|recently\s+|just\s+|also\s+|been\s+|no longer\s+|never\s+)*(?:{_VERB})\b", re.IGNORECASE
)
# Without its subject, "love" is mostly a noun and "like" a comparison: a gerund, plural or infinitive makes them verbs.
_LOVE_NOUN = re.compile(
    r"(?:(?:also|really|absolutely|just)\s+)?(?P<verb>love|like)s?\s+"
    r"(?!to\s+\w|[a-z]+ing\b|[a-z]+s\b(?!\s*['’])|(?-i:[A-Z])|for\s+(?-i:[A-Z])|at\s|as\s|an?\s|the\s)"
    r"|(?:loves?|likes?)\s+(?:is|was|always|has|as|exists)\b",
    re.IGNORECASE,
)
_OTHER_SUBJECT = re.compile(
    r"^(?:you|your|he|she|it|its|it's|they|that|that's|this|these|those|the|there|what|where|how"
    r"|who|which|why|when|if|please|pls|plz|our|can|could|would"
    r"|will|should|thanks|thank|is|are|was|were|does|call|email|text|message|contact|let|make|keep"
    r"|send|maybe|perhaps|budget|mine|not|then|so|btw|looking|until|since|while|i'll)\b",
    re.IGNORECASE,
)

_ASKS = re.compile(
    r"^(?:can|could|would|will|do|does|did|is|are|am|was|were|what|what's|where|where's|when|why"
    r"|how|how's|which|who|who's|whose|should|may|shall|have|has|any|isn't"
    r"|aren't|don't|doesn't|didn't|won't|can't|couldn't|wouldn't|got any|know any|remember (?:when"
    r"|what|where|how|if|who)|guess (?:what|who|where))\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|imagine|imagining|suppose|supposing|supposed|assuming|assume|pretend|let's say|let "
    r"us say|hypothetically|hypothetical|what if|wish|wished|unless|in case|whether|as though"
    r"|role-?play|dreamt|dreamed|in (?:my|a|the) dream|were to|for (?:example|instance)|e\.g|say i"
    r"|would have|had i|fictional|in another life|in theory|lorem)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:might|may|maybe|perhaps|probably|possibly|would|could|should|must've|hope|hoping"
    r"|planning|plan to|plans to|thinking (?:of|about)|considering|consider"
    r"|want(?:s|ed)? to|wanna|going to|gonna|will|won't|'ll|'d|supposed to|almost|nearly|try to"
    r"|tried to|think|thought|guess|not sure|unsure|seem|seems|feel like|feels like|apparently"
    r"|as if|about to|used to think|hardly|barely|sort of|someday|one day|soon|tempted|next "
    r"(?:week|month|year)|tomorrow|intend to|learning to)\b",
    re.IGNORECASE,
)
_SAYING = (
    r"(?:say|says|said|saying|tell|tells|told|telling|think|thinks|thought|claim|claims|claimed"
    r"|ask|asks|asked|suggest|suggests|suggested|mention|mentions|mentioned|insist|insists"
    r"|insisted|believe|believes|believed|swear|swears|swore|heard|hear|hears|reckon|reckons"
    r"|recommend|recommends|recommended|joke|jokes|joked|keeps saying|wrote|writes|texted"
    r"|announced|warned|assume|assumes|assumed|figured)"
)
_REPORTED = re.compile(
    rf"\b(?:(?!i\b|i'|you\b)[a-z]+)\s+(?:(?:just|always|once|also|often|keeps?|kept|has|have|had"
    rf"|already|even|really)\s+)?{_SAYING}\b"
    rf"|\bi\s+(?:heard|read|was told|am told|hear|thought|told (?:him|her|them|my))\b|\bi'm told\b"
    rf"|\baccording to\b|\bapparently\b|\brumou?r|\byou\s+(?:just\s+)?(?:said|told|mentioned|wrote"
    rf"|think|claimed|asked|keep saying)\b|\bquote\b|\blyrics?\b",
    re.IGNORECASE,
)
_IRONY = re.compile(
    r"(?:^|\b)(?:oh,? (?:great|wonderful|fantastic|joy|lovely|perfect|good|brilliant|nice|sure"
    r"|yay)|yeah,? right|just (?:love|adore)\b(?=.*\b(?:waiting|when|how|being|getting|having"
    r"|spending|paying|hold)\b)"
    r"|(?:wow|yay|great|awesome|fantastic|wonderful|brilliant)[,!]? i (?:just |really |absolutely )?"
    r"(?:love|adore|enjoy) (?:getting|losing|being|paying|having to|redoing|waiting|missing|spending)\b"
    r"|gotta love|don't you just love|said no one|what a joy|how wonderful that|thanks a lot for "
    r"nothing|\bnot!+$|as if i|/s\b|sarcasm|lucky me|my favou?rite (?:thing|part|hobby) (?:is"
    r"|about).*\b(?:waiting|hold|queue|bug|crash))",
    re.IGNORECASE,
)
JOKING = re.compile(
    r"\b(?:just kidding|only kidding|kidding|jk|j/k|just joking|only joking|(?:i'm|was|im) joking"
    r"|just messing|not really|psych|that's a joke|was a joke|pulling your leg)\b(?!\s+(?:sure"
    r"|into|a fan|a big|keen|fond))",
    re.IGNORECASE,
)
_REACH_ME = re.compile(
    r"\b(?:if|when|whenever|in case)\s+(?:(?:you|anyone|someone)\s+(?:ever\s+)?(?:need|want|have"
    r"|wish|are going|must|do)(?:\s+me)?\s*(?:to\s+(?:reach|contact|call|get (?:hold|in touch)"
    r"|talk|speak|update|notify)?[^,.;]{0,40}?)?"
    r"|(?:there(?:'s| is| are)|anything|something|any)\b[^,.;]{0,40})(?=[,;]|\s(?:please|just"
    r"|email|text|call|use|contact|message|write|reach)\b|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause. `body` is what is said of `subject` once adverbs, auxiliaries and negation are read into `state`.

    `subject` is "user", a kin word, or "" (something else: only whole-clause rules may look at it).
    `piece` is the clause with the words that lead it in.
    """

    whole: Piece
    piece: Piece
    subject: str
    body: Piece
    start: int
    copula: bool
    state: State
    hedged: bool
    perfect: bool = False
    named: str | None = None
    bare: bool = False

    @property
    def language(self) -> str:
        """The language of its words."""
        return "en"


def clauses(text: str, start: int = 0) -> Iterator[Clause]:
    """The clauses of a masked text that may state something, in order."""
    if JOKING.search(text):
        return
    last_kin, fresh = "", False
    for sentence in _SENTENCE.finditer(text):
        said = sentence[0]
        reach = _REACH_ME.sub(lambda match: ";" * len(match[0]), said)
        if _IRONY.search(said):
            continue
        previous, before, met = "", "", False
        for number, piece in enumerate(_pieces(reach, start + sentence.start())):
            clause = _clause(piece, previous, last_kin, before, first=number == 0)
            previous, before = clause.subject, clause.whole.text
            if clause.subject not in {"", USER}:
                last_kin, met = clause.subject, True
            yield clause
        # "She" means the kin of this sentence or of the one before, no further back.
        last_kin, fresh = (last_kin, met) if met or fresh else ("", False)


def _pieces(sentence: str, start: int) -> Iterator[Piece]:
    """Clauses of one sentence up to its first supposition or report; a question loses its asking end."""
    asked = sentence.rstrip(" \"')").endswith("?")
    pieces: list[Piece] = []
    at = 0
    for match in _BREAK.finditer(sentence):
        pieces.append(Piece(sentence[at : match.start()], start + at).stripped())
        at = match.end()
    pieces.append(Piece(sentence[at:].rstrip(" .!?…"), start + at).stripped())
    pieces = [piece.tail(len(piece.text) - len(piece.text.lstrip(" ,"))) for piece in pieces if piece.text.strip(" ,")]
    if asked:
        question = next((n for n, piece in enumerate(pieces) if _ASKS.match(_LEAD.sub("", piece.text))), None)
        pieces = pieces[: question if question is not None else 0]
    for number, piece in enumerate(pieces):
        if _SUPPOSED.search(piece.text) and not re.match(
            r"(?i)if (?:it helps|that helps|possible|you must know)", piece.text
        ):
            # A supposition spreads over its whole sentence, backwards too: "I'd move if ...".
            return
        if _REPORTED.search(piece.text):
            pieces = pieces[:number]
            break
    supposed = any(_SUPPOSED.search(piece.text) for piece in pieces)
    if not supposed:
        yield from pieces


def _clause(piece: Piece, previous: str, last_kin: str, before: str, *, first: bool) -> Clause:
    lead = _LEAD.match(piece.text)
    rest = piece.tail(lead.end()).stripped() if lead else piece
    hedged = _HEDGED.search(rest.text) is not None
    subject, named, body, bare = _subject(rest, previous, last_kin, before, first=first)
    state, copula, perfect, body = _predicate(body)
    return Clause(
        whole=rest, piece=piece, subject=subject, body=body, start=rest.start, copula=copula, state=state,
        hedged=hedged, perfect=perfect, named=named, bare=bare,
    )  # fmt: skip


def _subject(
    rest: Piece, previous: str, last_kin: str, before: str, *, first: bool
) -> tuple[str, str | None, Piece, bool]:
    if mine := _FIRST.match(rest.text):
        return (
            USER,
            None,
            rest.tail(mine.end() - (1 if mine[0].lower() == "im" else 2 if mine[0].lower() == "ive" else 0)),
            False,
        )
    if (kin := _KIN.match(rest.text)) and kin["kin"].lower() in KIN:
        named = kin["name"].strip(" ,") if kin["name"] else None
        return kin["kin"].lower(), named, rest.tail(kin.start("next")), False
    if third := _THIRD.match(rest.text):
        fits = (
            (third["she"] and last_kin not in MALE)
            or (third["he"] and last_kin not in FEMALE)
            or (third["they"] and last_kin.endswith("s"))
        )
        return (last_kin if fits else ""), None, rest.tail(third.end()), False
    noun = _LOVE_NOUN.match(rest.text)
    # "I live in Rome and love coffee" is a verb; "I love the peace and love theme" is not.
    if noun and noun["verb"] and previous == USER and noun["verb"].lower() not in before.lower():
        noun = None
    if previous and not noun and _BARE.match(rest.text) and not _OTHER_SUBJECT.match(rest.text):
        return previous, None, rest, True
    if (
        first
        and not _LOVE_NOUN.match(rest.text)
        and re.match(
            r"^(?:used to|started (?:at|working)|joined|got an?|relocated to|got (?:hired|promoted)"
            r"|allergic to|currently (?:living|based|working)|based in|been (?:living|working|doing)"
            r"|living in|working (?:at|as|for)|born in|can'?t stand|love|hate|moved to|just moved)\b",
            rest.text,
            re.IGNORECASE,
        )
    ):
        return USER, None, rest, True
    return "", None, rest, False


_COPULA = re.compile(
    r"^\s*(?:'m|m|'s|'re|am|is|are|was|were|(?:'ve|ve|have|has|'s)\s+(?:always\s+)?been|been|be"
    r"|isn't|aren't|ain't|wasn't|weren't|isnt|aint)(?![\w'])\s*",
    re.IGNORECASE,
)
_PERFECT = re.compile(
    r"^\s*(?:'ve|ve|have|has|had|'s)\s+(?=(?:just|recently|always|never|also|now|already|since"
    r"|finally|lived|worked|moved|joined|left|quit|stopped|given|gone|switched|become|turned"
    r"|relocated|loved|liked|hated|enjoyed|got|started|taken|grown|outgrown|settled|retired"
    r"|cut|eliminated|excluded|dropped|sworn|avoided|stayed|steered|kept)\b)",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"^\s*(?:did\s+)?used? to\s+(be\b\s*)?", re.IGNORECASE)
_NO_LONGER = re.compile(r"^\s*no longer\s+", re.IGNORECASE)
_DO_NOT = re.compile(r"^\s*(?:do|does|did)(?:\s+not|n'?t)\s+", re.IGNORECASE)
_CANNOT = re.compile(r"^\s*(?:can't|cannot|cant|can not|couldn't|am not able to)\s+", re.IGNORECASE)
_NEVER = re.compile(r"^\s*never\s+", re.IGNORECASE)
_NOT = re.compile(r"^\s*(?:not|never)\s+", re.IGNORECASE)
_ADVERB_RUN = re.compile(rf"^\s*{_ADVERBS}", re.IGNORECASE)
_ANY_MORE = re.compile(r"\b(?:any ?more|any longer|nowadays|these days)\b", re.IGNORECASE)
_CANT_STAND = re.compile(
    r"^\s*(?:can't|cannot|cant|can not)\s+(?:stand|bear|abide|tolerate|get enough)\b", re.IGNORECASE
)


def _predicate(body: Piece) -> tuple[State, bool, bool, Piece]:
    state, copula, perfect = "holds", False, False
    body = _skip(_ADVERB_RUN, body)
    if match := _USED_TO.match(body.text):
        return "was", bool(match[1]), False, _skip(_ADVERB_RUN, body.tail(match.end()))
    if match := _PERFECT.match(body.text):
        perfect, body = True, _skip(_ADVERB_RUN, body.tail(match.end()))
    if match := _COPULA.match(body.text):
        copula = True
        word = match[0].strip().lower()
        state = "was" if word in {"was", "were"} else "not" if "n't" in word or word in {"isnt", "aint"} else "holds"
        body = _skip(_ADVERB_RUN, body.tail(match.end()))
    if match := _NO_LONGER.match(body.text):
        return "over", copula, perfect, _skip(_ADVERB_RUN, body.tail(match.end()))
    if not copula and _CANT_STAND.match(body.text):
        return state, False, perfect, body
    denial = (_NOT if copula else None, _DO_NOT, _CANNOT, _NEVER)
    for pattern in denial:
        if pattern is not None and (match := pattern.match(body.text)):
            state = "cannot" if pattern is _CANNOT else "not"
            body = _skip(_ADVERB_RUN, body.tail(match.end()))
            break
    if state in {"not", "cannot"} and _ANY_MORE.search(body.text):
        state = "over"
    return state, copula, perfect, body


def _skip(pattern: re.Pattern[str], piece: Piece) -> Piece:
    match = pattern.match(piece.text)
    return piece.tail(match.end()) if match else piece

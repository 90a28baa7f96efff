"""What someone needs and may spend, and what was to be remembered: English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding
from llm.rules.words import words
from memory.amounts import find_amounts

_NEED = re.compile(
    r"^(?:i|im)\b(?P<aux>'m|'d|'ve|\s+am|\s+would|\s+have|\s+do)?(?:\s+been)?\s*"
    r"(?:(?:also|really|just|still|currently|now|urgently|actually|badly|desperately|only|mainly|mostly)\s+){0,3}"
    r"(?:(?P<buy>(?:looking|need|want|like|love|trying|hoping)\s+to\s+(?:buy|get|purchase|rent"
    r"|book|order|find|receive))"
    r"|(?P<seek>looking\s+for|searching\s+for|in\s+search\s+of|shopping\s+for|in\s+the\s+market\s+for|after)"
    r"|(?P<need>need|require)|(?P<wish>want|like|love))\s+",
    re.IGNORECASE,
)
_NOT_GOODS = re.compile(
    r"(?:the\s+(?:one|best|other|same|right|way|chance|job|world|most|truth)"
    r"|my\s+(?:money|order|refund|husband|wife|kids?|life|mom|dad|own)|you\b|your\b|it\b|that\b"
    r"|this\b|him\b|her\b|them\b|out\b|rid\b|back\b"
    r"|up\b|in touch\b|better\b|started\b|used to\b|ready\b|going\b|home\b|married\b|to\b|a "
    r"(?:ride|sense|feel|grip|good look)\b)",
    re.IGNORECASE,
)
_BARE_GOODS = re.compile(r"[a-z-]+(?:\s+[a-z-]+){0,3}\s*(?:$|[,.]|\b(?:by|before|for|with|in)\b)")
_NEED_START = re.compile(
    r"(?:an?|the|some|my|two|three|four|five|six|seven|eight|nine|ten|\d{1,4}|another|new|at least"
    r"|about|more|extra)\s+(?!$)",
    re.IGNORECASE,
)
# To have a thing by a day is to need it; to have a shower is not.
_TO_HAVE = re.compile(r"to\s+(?:have|get|receive|collect|pick\s+up|be\s+sent)\s+", re.IGNORECASE)
_CERTAIN = re.compile(r"(?:the|my|our|both|all|two|three|four|five|\d{1,4})\s", re.IGNORECASE)
_BY_DATE = re.compile(
    r"\b(?:by|before|no later than|until)\s+(?:the\s+)?(?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul"
    r"|aug"
    r"|sep|oct|nov|dec|next|this|tomorrow|tonight|noon|end|weekend|christmas|easter)",
    re.IGNORECASE,
)
_NEED_END = re.compile(
    r"[,.;!?()\"]|\s+(?:(?:because|since|when|if|but|so|as soon|as|until|now|too|as well|please|asap|that (?:is"
    r"|i)|which|who|and (?:i|my|it|a budget|want|need)|urgently|immediately|today|tonight|tomorrow"
    r"|within|by|before|instead|right away|anymore|again|in order|ideally|preferably|to (?:be"
    r"|finish|go|send|give|make|fix|get|do|replace|use|help|complete|submit|return|cancel|know"
    r"|understand|talk|speak)|for (?:my|the|our|a|his|her)|with a budget)\b"
    r"|under (?=[$€£¥]|\d)|for (?=(?:under|less|around|about|up)\b|[$€£¥]|\d)|around (?=[$€£¥]|\d)"
    r"|below (?=[$€£¥]|\d)|up to (?=[$€£¥]|\d))",
    re.IGNORECASE,
)
_NO_NEED = re.compile(
    r"^(?:(?:an?|some|the|your|more|another|extra|my)\s+)?(?:(?:little|quick|bit of|few|lot of"
    r"|lots of|good|big|second|real|human|live)\s+)*(?:help|hand|favou?r|break|minutes?|moments?"
    r"|seconds?|time|advice|info|information|assistance|support|rest|sleep|money|hug|drink"
    r"|vacation|holiday|nap|way|chance|answer|answers|reason|idea|ideas|clarification|update"
    r"|explanation|confirmation|hint|tip|tips|suggestion|suggestions|word|thing|things|something"
    r"|someone|somebody|anything|everything|nothing|one|ones|it|that|this|these|those|you|him|her"
    r"|them|us|me|to|be|more|less|know|distraction|change|moment|coffee|person|agent"
    r"|representative|link|opinion|permission|space|challenge|best|job|reminder"
    r"|manager)\b(?!\s+(?:tracker|planner|machine))",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"\b(?:budget|spend|afford|price (?:range|limit)|go (?:over|above|beyond|higher than)|pay "
    r"(?:more than|up to|at most|over)|max(?:imum)?(?: price)?|looking to pay|willing to pay"
    r"|spending limit)\b",
    re.IGNORECASE,
)
# A ceiling that is the whole of a sentence: "No more than 40 euros per person, please."
_CEILING = re.compile(
    r"^(?:(?:it should be|let's say|preferably|ideally)\s+)?(?:no|not|nothing)\s+(?:more|over|above)(?:\s+than)?\s+"
    r"(?:about\s+|around\s+)?(?:[$€£¥]\s*\d|\d[\d.,]*k?\s*(?:euros?|dollars?|pounds?|bucks|usd|eur|gbp|yuan|rmb|[$€£¥]))",
    re.IGNORECASE,
)
_NO_BUDGET = re.compile(
    r"\b(?:spent|paid|cost|costs|refund|charged|deducted|invoice|salary|earn|fee|last (?:year"
    r"|month|week)|(?:he|she|they|company's|team's|their|his|her|your|government)\s+(?:budget"
    r"|spend)|(?:the|this) (?:film|movie|project|bill|state|city)'s)\b",
    re.IGNORECASE,
)
_BUDGET_OBJECT = re.compile(
    r"\b(?:for|on)\s+(?:(?:an?|the|my|this|our|some|new)\s+)*(?P<o>[a-z][a-z0-9' "
    r"-]{1,40}?)(?=\s+(?:is|was|would|at|of|up|under|around|about|below|and|but|so|right|this|next"
    r"|by|max|tops|i|we)\b|\s*(?:$|[,.;!?(:=]|\d|[$€£¥]))",
    re.IGNORECASE,
)
_OBJECT_BUDGET = re.compile(r"\b(?:my|the|our)\s+(?P<o>[a-z]+(?:\s[a-z]+)?)\s+budget\b", re.IGNORECASE)
_PLAIN_BUDGET = words(
    "total overall maximum max monthly whole entire rough current new actual full approximate tight small "
    "limited it them this that everything all now me us myself"
)
_REMEMBER = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|and|also|so|btw|oh|by the way)[,!\s]+)*(?:please\s+|pls\s+|can "
    r"you\s+(?:please\s+)?|could you\s+(?:please\s+)?|(?:i\s+)?(?:want|need)\s+you\s+to\s+)?"
    r"(?:remember|note|make a note|take note|keep in mind|bear in mind|don't forget|do not forget"
    r"|write down|jot down|save|record|for your (?:records|notes))(?:\s+(?:this|the following"
    r"|down))?(?P<sep>\s+that\b|\s*[:,-])\s*(?P<v>[^\n.!?]{3,200}(?:\.\w[^\n.!?]{0,80})*)",
    re.IGNORECASE | re.MULTILINE,
)
_STATING = re.compile(
    r"^(?:i|i'm|my|we|our|the|all|ticket|order|room|gate|flat|meeting)\b.*\b(?:is|are|has|have"
    r"|will|must|need|needs|can't|don't|works?|closes?|opens?|prefers?|likes?)\b",
    re.IGNORECASE,
)
NOT_STORED = re.compile(
    r"\b(?:don'?t|do not|never|please don't)\s+(?:you\s+)?(?:save|store|remember|record|keep|note"
    r"|log|memori[sz]e)\s+(?:this|that|it|any of (?:this|it)|what i|anything)\b|\boff the record\b"
    r"|\b(?:forget|delete|erase)\s+(?:everything|all|what(?:ever)?)\b.*\b(?:about me|i (?:said"
    r"|told)|you know)\b",
    re.IGNORECASE,
)


def find(clause: Clause) -> Iterator[Finding]:
    """What is needed or looked for, in one clause."""
    if clause.subject != USER:
        return
    text = clause.whole.text
    match = _NEED.match(text)
    if match is None or re.search(r"\b(?:might|may|maybe|perhaps|probably)\b", text, re.IGNORECASE):
        return
    conditional = (match["aux"] or "").strip().lower() in {"'d", "would"}
    if match["wish"] and (match["wish"].lower() != "want") != conditional:
        return
    rest = clause.whole.tail(match.end())
    bought = match["buy"] and (_NEED_START.match(rest.text) or not re.search(r"\bget$", match["buy"], re.IGNORECASE))
    if match["buy"] and (not bought or (re.match(r"like|love", match["buy"], re.IGNORECASE) and not conditional)):
        return
    stated = (
        match["buy"]
        or match["seek"]
        or _NEED_START.match(rest.text)
        or (match["need"] and _BARE_GOODS.match(rest.text))
    )
    if had := (match["need"] or match["wish"]) and _TO_HAVE.match(rest.text):
        rest = rest.tail(had.end())
        stated = _CERTAIN.match(rest.text) is not None and _BY_DATE.search(rest.text) is not None
    if not stated or _NO_NEED.match(rest.text) or _NOT_GOODS.match(rest.text):
        return
    found = values.thing(rest, _NEED_END, most=10)
    if found is not None and not re.search(r"\b(?:to|for|with|of|and|or|in|on|at)$", found.text):
        yield Finding(
            key="need",
            value=found.text,
            op="+",
            start=clause.start,
            end=clause.whole.end,
            object=_bare(found.text),
            rule="en.need",
        )


def find_budgets(clauses: Sequence[Clause], needs: Sequence[Finding]) -> Iterator[Finding]:
    """Budgets, each with what it is for: named beside it, else the last thing that was needed before."""
    for number, clause in enumerate(clauses):
        text = clause.whole.text
        if clause.subject not in {USER, ""} or _NO_BUDGET.search(text):
            continue
        before = clauses[number - 1] if number else None
        told = (
            _BUDGET.search(text)
            or _CEILING.match(text)
            or (
                clause.subject == USER
                and re.search(
                    r"\b(?:something|anything|it|one)\s+(?:under|below|for (?:less than|under))\b", text, re.IGNORECASE
                )
            )
        )
        amounts = find_amounts(text, money_only=not _BUDGET.search(text) or bool(find_amounts(text)))
        needed = [need for need in needs if need.key == "need" and need.start <= clause.start]
        priced = [need for need in needed if need.start >= clause.start and need.start < clause.whole.end]
        if (
            not amounts
            or not (told or priced)
            or len(amounts) > 2
            or (before is not None and before.subject not in {USER, ""} and not told)
        ):
            continue
        if clause.state != "holds" and not re.search(
            r"\b(?:more than|over|above|beyond|higher)\b", text, re.IGNORECASE
        ):
            continue
        amount = amounts[0]
        if len(amounts) == 2 and not re.search(r"\bbetween\b|-|\bto\b", text):
            continue
        amount = amounts[-1]
        named = _budget_object(text) or (needed[-1].object if needed else None)
        yield Finding(
            key="budget", value=text[amount.start : amount.end], op="+",
            start=clause.start, end=max(clause.start + amount.end, clause.whole.end), object=named, rule="en.budget",
        )  # fmt: skip


def find_other(text: str, start: int, known: Sequence[Finding]) -> Iterator[Finding]:
    """What was to be remembered and fits no key: kept as said."""
    for match in _REMEMBER.finditer(text):
        value = match["v"].strip()
        begin = start + match.start("v")
        if text[match.end("v") :].lstrip()[:1] == "?":
            continue
        if match["sep"].strip() == "that" and not _STATING.search(" ".join(value.split()[:7])):
            continue
        if (
            re.match(
                r"(?i)(?:to|when|how|what|who|where|me\b|my (?:password|pin|card)|the (?:time|day) (?:when|we)"
                r"|if|about it|for|these|us)\b",
                value,
            )
            or value.endswith("?")
            or len(value.split()) < 2
        ):
            continue
        if any(finding.start < begin + len(value) and finding.end > begin for finding in known):
            continue
        yield Finding(key="other", value=value, op="+", start=begin, end=begin + len(value), rule="en.remember")


def _bare(phrase: str) -> str:
    return re.sub(r"^(?:(?:an?|the|some|my|new|another|extra|more)\s+)+", "", phrase, flags=re.IGNORECASE).lower()


def _budget_object(text: str) -> str | None:
    for pattern in (_OBJECT_BUDGET, _BUDGET_OBJECT):
        for match in pattern.finditer(text):
            if (
                match["o"].split()[0].lower() not in _PLAIN_BUDGET
                and match["o"].split()[-1].lower() not in _PLAIN_BUDGET
            ):
                return _bare(match["o"].strip())
    return None

"""What someone needs, may spend, and how to be reached or answered: English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from llm.rules import values_en as values
from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding
from memory.amounts import find_amounts
from memory.codes import CONTACT, LANGUAGE, code_of
from schemas.drafts import Polarity

_CHANNEL = r"(?:e-?mails?|phone(?: calls?)?|telephone|calls?|texts?|text messages?|sms|whatsapp|wechat|telegram|signal|slack|teams|zoom|video calls?|live chat|chat|post|letters?|mail)"
_REACH = re.compile(
    rf"^(?:please\s+|pls\s+|plz\s+|just\s+|always\s+|only\s+|kindly\s+|you\s+can\s+(?:always\s+|only\s+|best\s+)?|it's\s+(?:best|better|easier)\s+to\s+|better\s+to\s+|feel free to\s+|in (?:the )?future,?\s+|from now on,?\s+|going forward,?\s+)*"
    rf"(?:contact|ping|dm|reach(?:\s+out\s+to)?|get\s+(?:hold\s+of|in\s+touch\s+with)|write\s+to|message|notify|update|send\s+(?:me\s+)?(?:updates|notifications|news|information|everything|messages)|keep\s+me\s+(?:updated|posted|informed)|get back to|reply to|respond to|inform|talk to|communicate with)(?:\s+(?:me|us))?\s+(?:only\s+|just\s+|instead\s+|best\s+|directly\s+|back\s+)?(?:by|via|on|through|over|using|with|in|at my)\s+(?:my\s+)?(?P<v>{_CHANNEL})\b",
    re.IGNORECASE,
)
_PREFER = re.compile(
    rf"(?:prefer|rather)\s+(?:(?:to\s+)?(?:be\s+(?:contacted|reached|notified|updated)\s+(?:by|via|on|through|over)|(?:have\s+)?(?:get|receive|communicate|talk|chat|keep in touch|correspond|hear from you)(?:\s+(?:things|updates|news|messages|everything))?\s*(?:by|via|on|through|over|in)?)\s+)?(?:an?\s+)?(?P<v>{_CHANNEL})\b(?!\s+(?:with|my|your))"
    rf"(?P<rest>(?:\s*,?\s*(?:rather than|instead of|and not|not)\s+(?:by\s+)?(?:the\s+|a\s+|getting\s+)?(?P<w>{_CHANNEL})\b)?)",
    re.IGNORECASE,
)
_BEST_WAY = re.compile(
    rf"^(?:the\s+)?(?:best|easiest|preferred|quickest|only|my preferred|fastest)\s+(?:way|method|channel|contact method|contact|means)\b[^,.;]{{0,40}}?\s(?:is|would be)\s+(?:by\s+|via\s+|through\s+|on\s+|over\s+|always\s+|to\s+)*(?P<v>{_CHANNEL})\b",
    re.IGNORECASE,
)
_IS_BEST = re.compile(
    rf"^(?:an?\s+)?(?P<v>{_CHANNEL})\s+(?:is|are|'s|works)\s+(?:always\s+|usually\s+|the\s+|my\s+)*(?:best|better|preferred|preferable|easier|easiest|ideal)(?!\s+(?:than|friend))\b",
    re.IGNORECASE,
)
_ONLY = re.compile(
    rf"^(?:please\s+)?(?P<v>{_CHANNEL})\s+(?:only|instead)(?:\s+please)?$|^only\s+(?:by\s+)?(?P<w>{_CHANNEL})(?:\s+please)?$",
    re.IGNORECASE,
)
_SEND = re.compile(
    r"^(?:please\s+|pls\s+|just\s+|only\s+|always\s+|kindly\s+|you\s+can\s+)*(?P<v>e-?mail|text|message|whatsapp|call|phone|ring|slack|wechat|dm)\s+(?:me|us)(?P<rest>.*)$",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"^\s*(?:$|instead\b|only\b|rather\b|from now on|in (?:the )?future|going forward|any ?time|whenever|for (?:any|all|everything|updates)|with (?:any|all) (?:updates|news|questions)|when (?:there|you have|anything|something)|if (?:there|anything|you need|you have)|please$|not\b)",
    re.IGNORECASE,
)
_DO_NOT_REACH = re.compile(
    rf"^(?:(?:and|but|so)\s+)?(?:please\s+|pls\s+|just\s+)*(?:don'?t|do\s+not|never|stop|no\s+more|quit|avoid|no)\s+(?:ever\s+)?(?:(?P<v>e-?mail|text|message|whatsapp|call|phone|ring|slack|dm)(?:ing)?(?:\s+(?:me|us)|(?=\s*$))|(?:(?:contact|reach|messag|writ|notify|reply)(?:ing|e)?\s*(?:to\s+)?(?:me\s+|us\s+)?(?:by|via|on|through|over)|use|giv(?:e|ing) me|send(?:ing)? me|mak(?:e|ing))\s+(?:any\s+|the\s+|a\s+)?(?P<w>{_CHANNEL})|(?P<x>phone\s+calls?|calls|texts|emails|text messages|sms))\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_PLAINLY = re.compile(r"^(?:please|just|only)\s+(?P<v>email|text|message)$", re.IGNORECASE)
_NOT_BY = re.compile(
    rf"(?:^|,\s*|\s)(?:and\s+|but\s+)?(?P<q>(?:not|never|rather than|instead of|no|don't)\s+(?:by\s+|via\s+|on\s+|over\s+|through\s+|use\s+|the\s+)*(?P<v>{_CHANNEL}))\b(?=\s*(?:$|[,.;!]|please\b|calls?\b))",
    re.IGNORECASE,
)
_NOT_HANDLE = re.compile(
    r"^\s*(?:$|again$|please$|anymore$|any more$|at all$|under any circumstances$|ever(?: again)?$|ever$|unless (?:it's )?urgent)",
    re.IGNORECASE,
)
_WHEN_LIMIT = r"(?:after|before|during|between|until|at|on|in the|outside|past|while|when|without|unless|more than|for at least|earlier than|later than|over the)\b"
_CONSTRAINT_NOT = re.compile(
    r"^(?:please\s+|pls\s+|also\s+|just\s+|again\s+)*(?P<cue>never|don'?t\s+ever|do\s+not\s+ever|don'?t|do\s+not|no)\s+(?P<v>(?:call|text|phone|ring|email|message|contact|disturb|wake|schedule|book|deliver|ship|send|leave|visit|knock|share|give|charge|use|put|add|include|mention|show|sign|bring|order|assign|cc|forward|tell|ask|address|calls|meetings|deliveries|emails|messages|phone calls)\b[^,;]*)$",
    re.IGNORECASE,
)
_CONSTRAINT = re.compile(
    r"^(?:please\s+|pls\s+|from now on,?\s+|in (?:the )?future,?\s+|going forward,?\s+|so\s+)*(?P<cue>always|only(?:\s+ever)?|make\s+sure\s+(?:that\s+)?(?:you\s+|to\s+)*(?:always\s+)?|be sure to(?:\s+always)?|keep)\s+"
    r"(?P<v>(?:answer|reply|respond|write|use|format|address|explain|show|give|send|ask|cc|include|call|text|email|message|contact|deliver|ship|leave|knock|ring|confirm|notify|check|keep|quote|wrap|pack|seat|book|schedule|your (?:answers|replies|responses)|(?:the\s+)?(?:answers|replies|responses|it|things|messages))\b[^,;]*)$",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    r"^(?:please\s+)?(?:from now on|in (?:the )?future|going forward|every time),?\s+(?:please\s+)?(?P<v>(?:answer|reply|respond|write|use|format|address|explain|give|keep|avoid|add|include|send|ask|skip|quote|sign)\b[^;]*)$",
    re.IGNORECASE,
)
_UNAVAILABLE = re.compile(
    rf"(?P<v>(?:(?:available|free|around|reachable)\s+{_WHEN_LIMIT}[^,;]*|(?:take|do|have|make|attend|join|answer|receive|accept)\s+(?:any\s+)?(?:phone\s+)?(?:calls?|meetings?|deliveries|parcels|appointments?|visits?|packages)\s+{_WHEN_LIMIT}[^,;]*))",
    re.IGNORECASE,
)
_GENERALITY = re.compile(rf"\b(?:me|us|my|our)\b|\b{_WHEN_LIMIT}", re.IGNORECASE)
_ANSWER_IN = re.compile(
    r"^(?:please\s+|pls\s+|always\s+|only\s+|from now on,?\s+|in (?:the )?future,?\s+|going forward,?\s+|you\s+can\s+|could\s+you\s+please\s+)*(?:reply|answer|respond|write|speak|talk|communicate|chat|text|address me)(?:\s+(?:to\s+)?(?:me|us))?(?:\s+(?:back|only|always))*\s+in\s+(?P<v>(?:traditional\s+|simplified\s+)?[A-Za-z]+)\b",
    re.IGNORECASE,
)
_PREFER_LANGUAGE = re.compile(
    r"(?:prefer|rather (?:use|speak|write|talk in))\s+(?:to\s+(?:speak|write|talk|communicate|chat|read|be answered|get answers)\s*(?:in)?\s+|answers\s+in\s+|replies\s+in\s+)?(?P<v>[A-Z][a-z]+)\b",
    re.IGNORECASE,
)
_MY_LANGUAGE = re.compile(
    r"^my\s+(?:(?:preferred|native|first|main|mother)\s+)(?:language|tongue)\s+is\s+(?P<v>[A-Z][a-z]+)\b", re.IGNORECASE
)
_TIME_ZONE = re.compile(
    r"^(?:my\s+time\s?zone\s+is|i'?m\s+(?:in|on)|i\s+am\s+(?:in|on)|time\s?zone\s*:)\s+(?:the\s+)?(?P<v>(?:UTC|GMT)\s?[+-]\s?\d{1,2}(?::\d\d)?|(?:Eastern|Pacific|Central|Mountain|Beijing|Tokyo|London)\s+time|[A-Z][a-z]+/[A-Z][A-Za-z_]+)",
    re.IGNORECASE,
)
_NEED = re.compile(
    r"^(?:i|im)\b(?P<aux>'m|'d|'ve|\s+am|\s+would|\s+have|\s+do)?(?:\s+been)?\s*"
    r"(?:(?:also|really|just|still|currently|now|urgently|actually|badly|desperately|only|mainly|mostly)\s+){0,3}"
    r"(?:(?P<buy>(?:looking|need|want|like|love|trying|hoping)\s+to\s+(?:buy|get|purchase|rent|book|order|find|receive))"
    r"|(?P<seek>looking\s+for|searching\s+for|in\s+search\s+of|shopping\s+for|in\s+the\s+market\s+for|after)"
    r"|(?P<need>need|require)|(?P<wish>want|like|love))\s+",
    re.IGNORECASE,
)
_NOT_GOODS = re.compile(
    r"(?:the\s+(?:one|best|other|same|right|way|chance|job|world|most|truth)"
    r"|my\s+(?:money|order|refund|husband|wife|kids?|life|mom|dad|own)|you\b|your\b|it\b|that\b|this\b|him\b|her\b|them\b|out\b|rid\b|back\b"
    r"|up\b|in touch\b|better\b|started\b|used to\b|ready\b|going\b|home\b|married\b|to\b|a (?:ride|sense|feel|grip|good look)\b)",
    re.IGNORECASE,
)
_BARE_GOODS = re.compile(r"[a-z-]+(?:\s+[a-z-]+){0,3}\s*(?:$|[,.]|\b(?:by|before|for|with|in)\b)")
_NEED_START = re.compile(
    r"(?:an?|the|some|my|two|three|four|five|six|seven|eight|nine|ten|\d{1,4}|another|new|at least|about|more|extra)\s+(?!$)",
    re.IGNORECASE,
)
_NEED_END = re.compile(
    r"[,.;!?()\"]|\s+(?:because|since|when|if|but|so|as soon|as|until|now|please|asap|that (?:is|i)|which|who|and (?:i|my|it|a budget|want|need)|urgently|immediately|today|tonight|tomorrow|within|by|before|instead|right away|anymore|again|in order|ideally|preferably|to (?:be|finish|go|send|give|make|fix|get|do|replace|use|help|complete|submit|return|cancel|know|understand|talk|speak)|for (?:my|the|our|a|his|her)|under (?=[$€£¥]|\d)|for (?=(?:under|less|around|about|up)\b|[$€£¥]|\d)|around (?=[$€£¥]|\d)|below (?=[$€£¥]|\d)|up to (?=[$€£¥]|\d)|with a budget)",
    re.IGNORECASE,
)
_NO_NEED = re.compile(
    r"^(?:(?:an?|some|the|your|more|another|extra|my)\s+)?(?:(?:little|quick|bit of|few|lot of|lots of|good|big|second|real|human|live)\s+)*(?:help|hand|favou?r|break|minutes?|moments?|seconds?|time|advice|info|information|assistance|support|rest|sleep|money|hug|drink|vacation|holiday|nap|way|chance|answer|answers|reason|idea|ideas|clarification|update|explanation|confirmation|hint|tip|tips|suggestion|suggestions|word|thing|things|something|someone|somebody|anything|everything|nothing|one|ones|it|that|this|these|those|you|him|her|them|us|me|to|be|more|less|know|distraction|change|moment|coffee|person|agent|representative|link|opinion|permission|space|challenge|best|job|reminder|manager)\b(?!\s+(?:tracker|planner|machine))",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"\b(?:budget|spend|afford|price (?:range|limit)|go (?:over|above|beyond|higher than)|pay (?:more than|up to|at most|over)|max(?:imum)?(?: price)?|looking to pay|willing to pay|spending limit)\b",
    re.IGNORECASE,
)
_NO_BUDGET = re.compile(
    r"\b(?:spent|paid|cost|costs|refund|charged|deducted|invoice|salary|earn|fee|last (?:year|month|week)|(?:he|she|they|company's|team's|their|his|her|your|government)\s+(?:budget|spend)|(?:the|this) (?:film|movie|project|bill|state|city)'s)\b",
    re.IGNORECASE,
)
_BUDGET_OBJECT = re.compile(
    r"\b(?:for|on)\s+(?:(?:an?|the|my|this|our|some|new)\s+)*(?P<o>[a-z][a-z0-9' -]{1,40}?)(?=\s+(?:is|was|would|at|of|up|under|around|about|below|and|but|so|right|this|next|by|max|tops|i|we)\b|\s*(?:$|[,.;!?(:=]|\d|[$€£¥]))",
    re.IGNORECASE,
)
_OBJECT_BUDGET = re.compile(r"\b(?:my|the|our)\s+(?P<o>[a-z]+(?:\s[a-z]+)?)\s+budget\b", re.IGNORECASE)
_PLAIN_BUDGET = frozenset(["total", "overall", "maximum", "max", "monthly", "whole", "entire", "rough", "current", "new", "actual", "full", "approximate", "tight", "small", "limited", "it", "them", "this", "that", "everything", "all", "now", "me", "us", "myself"])  # fmt: skip
_REMEMBER = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|and|also|so|btw|oh|by the way)[,!\s]+)*(?:please\s+|pls\s+|can you\s+(?:please\s+)?|could you\s+(?:please\s+)?|(?:i\s+)?(?:want|need)\s+you\s+to\s+)?"
    r"(?:remember|note|make a note|take note|keep in mind|bear in mind|don't forget|do not forget|write down|jot down|save|record|for your (?:records|notes))(?:\s+(?:this|the following|down))?(?P<sep>\s+that\b|\s*[:,-])\s*(?P<v>[^\n.!?]{3,200}(?:\.\w[^\n.!?]{0,80})*)",
    re.IGNORECASE | re.MULTILINE,
)
_STATING = re.compile(
    r"^(?:i|i'm|my|we|our|the|all|ticket|order|room|gate|flat|meeting)\b.*\b(?:is|are|has|have|will|must|need|needs|can't|don't|works?|closes?|opens?|prefers?|likes?)\b",
    re.IGNORECASE,
)
NOT_STORED = re.compile(
    r"\b(?:don'?t|do not|never|please don't)\s+(?:you\s+)?(?:save|store|remember|record|keep|note|log|memori[sz]e)\s+(?:this|that|it|any of (?:this|it)|what i|anything)\b|\boff the record\b|\b(?:forget|delete|erase)\s+(?:everything|all|what(?:ever)?)\b.*\b(?:about me|i (?:said|told)|you know)\b",
    re.IGNORECASE,
)


def find(clause: Clause, text: str) -> Iterator[Finding]:
    """Contact, constraints, reply language, time zone and needs of one clause."""
    del text
    reached = list(_contact(clause))
    yield from reached
    if not reached:
        yield from _language(clause)
        yield from _constraint(clause)
    if clause.subject == USER and not re.match(r"(?i)we\b", clause.whole.text):
        yield from _need(clause)


def find_budgets(clauses: Sequence[Clause], needs: Sequence[Finding]) -> Iterator[Finding]:
    """Budgets, each with what it is for: named beside it, else the last thing that was needed before."""
    for number, clause in enumerate(clauses):
        text = clause.whole.text
        if clause.subject not in {USER, ""} or _NO_BUDGET.search(text):
            continue
        before = clauses[number - 1] if number else None
        told = _BUDGET.search(text) or (
            clause.subject == USER
            and re.search(
                r"\b(?:something|anything|it|one)\s+(?:under|below|for (?:less than|under))\b", text, re.IGNORECASE
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
        start = _ceiling_start(text, amount.start)
        named = _budget_object(text) or (needed[-1].object if needed else None)
        yield Finding(
            key="budget", value=text[start : amount.end], op="+", start=clause.start, end=max(clause.start + amount.end, clause.whole.end),
            object=named, rule="en.budget",
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
                r"(?i)(?:to|when|how|what|who|where|me\b|my (?:password|pin|card)|the (?:time|day) (?:when|we)|if|about it|for|these|us)\b",
                value,
            )
            or value.endswith("?")
            or len(value.split()) < 2
        ):
            continue
        if any(finding.start < begin + len(value) and finding.end > begin for finding in known):
            continue
        yield Finding(key="other", value=value, op="+", start=begin, end=begin + len(value), rule="en.remember")


def _contact(clause: Clause) -> Iterator[Finding]:
    whole = clause.whole
    text = whole.text
    if re.search(
        r"\b(?:the (?:code|invoice|link|receipt|file|document|details|address|quote|ticket)|right now|in (?:a|an|\d+|five|ten|two) (?:minutes?|hours?|moment|bit|sec)|tomorrow|today|tonight|this (?:afternoon|evening|morning)|at \d|when (?:it's|it is|the|my))\b",
        text,
        re.IGNORECASE,
    ):
        return
    if clause.subject not in {USER, ""}:
        return
    positive = _REACH.match(text) or _BEST_WAY.match(text) or _IS_BEST.match(text) or _PLAINLY.match(text)
    only = _ONLY.match(text)
    if positive and not (clause.hedged and not re.match(r"(?i)(?:it's|you can|please|the best)", text)):
        yield from _channel(clause, positive, "v", "+")
    elif only:
        yield from _channel(clause, only, "v" if only["v"] else "w", "+")
    elif (
        clause.subject == USER
        and (match := _PREFER.search(text))
        and re.match(r"(?i)(?:i|i'd|i would|i'll|i do)\b", text)
        and clause.state == "holds"
    ):
        yield from _channel(clause, match, "v", "+")
        if match["w"]:
            yield _reached(
                clause,
                match["w"],
                "-",
                whole.start + match.start("rest") + len(match["rest"]) - len(match["rest"].lstrip(" ,")),
                whole.start + match.end("w"),
            )
        return
    elif (match := _DO_NOT_REACH.match(text)) and _NOT_HANDLE.match(match["rest"]):
        name = next(group for group in ("v", "w", "x") if match[group])
        yield from _channel(clause, match, name, "-")
        return
    elif (
        (match := _SEND.match(text))
        and _GENERAL.match(match["rest"])
        and not (match["v"].lower() == "call" and not match["rest"].strip() and "please" not in text.lower())
    ):
        if match["v"].lower() in {"call", "phone", "ring"} and not match["rest"].strip():
            return
        yield from _channel(clause, match, "v", "+")
    elif not (bare := re.match(r"(?i)not\s", text)):
        return
    for match in _NOT_BY.finditer(text):
        yield _reached(clause, match["v"], "-", whole.start + match.start("q"), whole.start + match.end("q"))


def _channel(clause: Clause, match: re.Match[str], name: str, op: Polarity) -> Iterator[Finding]:
    end = clause.start + match.end(name)
    yield _reached(clause, match[name], op, clause.start, end)


def _reached(clause: Clause, said: str, op: Polarity, start: int, end: int) -> Finding:
    return Finding(key="contact", value=code_of(CONTACT, said) or said, op=op, start=start, end=end, rule="en.contact")


def _language(clause: Clause) -> Iterator[Finding]:
    text = clause.whole.text
    match = (
        _ANSWER_IN.match(text)
        or _MY_LANGUAGE.match(text)
        or (_PREFER_LANGUAGE.search(text) if clause.subject == USER and clause.state == "holds" else None)
    )
    if match and (code := code_of(LANGUAGE, match["v"])):
        yield Finding(
            key="language",
            value=code,
            op="+",
            start=clause.start,
            end=clause.start + match.end("v"),
            rule="en.language",
        )
    elif match := _TIME_ZONE.match(text):
        yield Finding(
            key="timezone",
            value=match["v"],
            op="+",
            start=clause.start,
            end=clause.start + match.end("v"),
            rule="en.timezone",
        )


def _constraint(clause: Clause) -> Iterator[Finding]:
    whole, text = clause.whole, clause.whole.text
    if clause.subject == USER and clause.state in {"not", "cannot"} and (match := _UNAVAILABLE.match(clause.body.text)):
        at = clause.body.start + match.start("v")
        yield _rule(clause, match["v"], "-", at)
        return
    if clause.subject:
        return
    if (match := _CONSTRAINT_NOT.match(text)) is not None:
        firm = re.match(r"never|don'?t\s+ever|do\s+not\s+ever", match["cue"], re.IGNORECASE)
        limited = re.search(rf"\b{_WHEN_LIMIT}", match["v"], re.IGNORECASE)
        if _momentary(match["v"]):
            return
        if (firm and _GENERALITY.search(match["v"])) or (
            limited
            and re.search(
                r"\b(?:me|us|my|calls|meetings|deliveries|emails|messages)\b|^(?:call|deliver|schedule|book|knock|disturb|ship|ring|leave|visit)",
                match["v"],
                re.IGNORECASE,
            )
        ):
            yield _rule(clause, match["v"], "-", whole.start + match.start("v"))
    elif (match := _FROM_NOW.match(text) or _CONSTRAINT.match(text)) is not None:
        keeps = "cue" in match.groupdict() and match["cue"].lower() == "keep"
        if (
            keeps
            and not re.search(
                r"\b(?:short|brief|concise|simple|formal|informal|casual|polite|to the point|under)\b",
                match["v"],
                re.IGNORECASE,
            )
        ) or _momentary(match["v"]):
            return
        yield _rule(clause, match["v"], "+", whole.start + match.start("v"))


def _momentary(text: str) -> bool:
    return (
        re.search(
            r"\b(?:this (?:one|time|order|is)|right now|today|tonight|tomorrow|it again|that again|yet|the order|back)\b",
            text,
            re.IGNORECASE,
        )
        is not None
    )


def _rule(clause: Clause, value: str, op: Polarity, at: int) -> Finding:
    value = value.rstrip(" .!")
    value = re.sub(r"\s+(?:please|thanks|ok|okay)$", "", value, flags=re.IGNORECASE)
    return Finding(
        key="constraint",
        value=value,
        op=op,
        start=clause.start,
        end=max(at + len(value), clause.start + 1),
        rule="en.constraint",
    )


def _need(clause: Clause) -> Iterator[Finding]:
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


def _ceiling_start(text: str, start: int) -> int:
    """Words of a ceiling before the amount that the amount grammar does not read: `not more than`, `go over`."""
    lead = re.search(
        r"(?:no more than|not more than|more than|over|above|beyond|higher than)\s*$", text[:start], re.IGNORECASE
    )
    return (
        lead.start()
        if lead and re.search(r"\b(?:not|n't|no|cannot|never)\b|n't\b", text[: lead.start()] + lead[0], re.IGNORECASE)
        else start
    )

"""How someone wants to be reached and answered, and what must always or never be done: English."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.clauses_en import Clause
from llm.rules.finding import USER, Finding
from memory.codes import CONTACT, LANGUAGE, code_of
from schemas.drafts import Polarity

_I_MYSELF = re.compile(r"i(?:'d|'ll| would| do)?\b", re.IGNORECASE)
_POLITE = re.compile(r"it's|you can|please|the best", re.IGNORECASE)
_MOMENT = re.compile(
    r"\b(?:the (?:code|invoice|link|receipt|file|document|details|address|quote|ticket)|right now"
    r"|in (?:a|an|\d+|five|ten|two) (?:minutes?|hours?|moment|bit|sec)|tomorrow|today|tonight"
    r"|this (?:afternoon|evening|morning)|at \d|when (?:it's|it is|the|my))\b",
    re.IGNORECASE,
)
_CHANNEL = (
    r"(?:e-?mails?|phone(?: calls?)?|telephone|calls?|texts?|text messages?|sms|whatsapp|wechat"
    r"|telegram|signal|slack|teams|zoom|video calls?|live chat|chat|post|letters?|mail)"
)
_REACH = re.compile(
    rf"^(?:please\s+|pls\s+|plz\s+|just\s+|always\s+|only\s+|kindly\s+|you\s+can\s+(?:always\s+"
    rf"|only\s+|best\s+)?|it's\s+(?:best|better|easier)\s+to\s+|better\s+to\s+|feel free to\s+|in "
    rf"(?:the )?future,?\s+|from now on,?\s+|going forward,?\s+)*"
    rf"(?:contact|ping|dm|reach(?:\s+out\s+to)?|get\s+(?:hold\s+of|in\s+touch\s+with)|write\s+to"
    rf"|message|notify|update|send\s+(?:me\s+)?(?:updates|notifications|news|information|everything"
    rf"|messages)|keep\s+me\s+(?:updated|posted|informed)|get back to|reply to|respond to|inform"
    rf"|talk to|communicate with)(?:\s+(?:me|us))?\s+(?:only\s+|just\s+|instead\s+|best\s+"
    rf"|directly\s+|back\s+)?(?:by|via|on|through|over|using|with|in|at "
    rf"my)\s+(?:my\s+)?(?P<v>{_CHANNEL})\b",
    re.IGNORECASE,
)
_PREFER = re.compile(
    rf"(?:prefer|rather)\s+(?:(?:to\s+)?(?:be\s+(?:contacted|reached|notified|updated)\s+(?:by|via"
    rf"|on|through|over)|(?:have\s+)?(?:get|receive|communicate|talk|chat|keep in touch|correspond"
    rf"|hear from you)(?:\s+(?:things|updates|news|messages|everything))?\s*(?:by|via|on|through"
    rf"|over|in)?)\s+)?(?:an?\s+)?(?P<v>{_CHANNEL})\b(?!\s+(?:with|my|your))"
    rf"(?P<rest>(?:\s*,?\s*(?:rather than|instead of|and not|not)\s+(?:by\s+)?(?:the\s+|a\s+"
    rf"|getting\s+)?(?P<w>{_CHANNEL})\b)?)",
    re.IGNORECASE,
)
_BEST_WAY = re.compile(
    rf"^(?:the\s+)?(?:best|easiest|preferred|quickest|only|my preferred|fastest)\s+(?:way|method"
    rf"|channel|contact method|contact|means)\b[^,.;]{{0,40}}?\s(?:is|would be)\s+(?:by\s+|via\s+"
    rf"|through\s+|on\s+|over\s+|always\s+|to\s+)*(?P<v>{_CHANNEL})\b",
    re.IGNORECASE,
)
_IS_BEST = re.compile(
    rf"^(?:an?\s+)?(?P<v>{_CHANNEL})\s+(?:is|are|'s|works)\s+(?:always\s+|usually\s+|the\s+"
    rf"|my\s+)*(?:best|better|preferred|preferable|easier|easiest|ideal)(?!\s+(?:than|friend))\b",
    re.IGNORECASE,
)
_ONLY = re.compile(
    rf"^(?:please\s+)?(?P<v>{_CHANNEL})\s+(?:only|instead)(?:\s+please)?$"
    rf"|^only\s+(?:by\s+)?(?P<w>{_CHANNEL})(?:\s+please)?$",
    re.IGNORECASE,
)
_SEND = re.compile(
    r"^(?:please\s+|pls\s+|just\s+|only\s+|always\s+|kindly\s+|you\s+can\s+)*(?P<v>e-?mail|text"
    r"|message|whatsapp|call|phone|ring|slack|wechat|dm)\s+(?:me|us)(?P<rest>.*)$",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"^\s*(?:$|instead\b|only\b|rather\b|from now on|in (?:the )?future|going forward|any ?time"
    r"|whenever|for (?:any|all|everything|updates)|with (?:any|all) (?:updates|news|questions)"
    r"|when (?:there|you have|anything|something)|if (?:there|anything|you need|you have)|please$"
    r"|not\b)",
    re.IGNORECASE,
)
_DO_NOT_REACH = re.compile(
    rf"^(?:(?:and|but|so)\s+)?(?:please\s+|pls\s+|just\s+)*(?:don'?t|do\s+not|never|stop|no\s+more"
    rf"|quit|avoid|no)\s+(?:ever\s+)?(?:(?P<v>e-?mail|text|message|whatsapp|call|phone|ring|slack"
    rf"|dm)(?:ing)?(?:\s+(?:me|us)|(?=\s*$))|(?:(?:contact|reach|messag|writ|notify|reply)(?:ing"
    rf"|e)?\s*(?:to\s+)?(?:me\s+|us\s+)?(?:by|via|on|through|over)|use|giv(?:e|ing) me"
    rf"|send(?:ing)? me|mak(?:e|ing))\s+(?:any\s+|the\s+|a\s+)?(?P<w>{_CHANNEL})"
    rf"|(?P<x>phone\s+calls?|calls|texts|emails|text messages|sms))\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_PLAINLY = re.compile(r"^(?:please|just|only)\s+(?P<v>email|text|message)$", re.IGNORECASE)
_BARE = re.compile(r"^(?P<v>e-?mail|text|message|whatsapp)$", re.IGNORECASE)
_INSTEAD = re.compile(
    r"^(?:send|drop|shoot)\s+(?:me\s+)?an?\s+(?P<v>e-?mail|text(?:\s+message)?|message|sms)(?:\s+(?:instead|please))*$",
    re.IGNORECASE,
)
_SIMPLY = re.compile(r"^(?:please\s+)?(?:just|simply|only|rather)\b", re.IGNORECASE)
_GERUNDS = {"calling": "phone", "phoning": "phone", "ringing": "phone", "emailing": "email", "texting": "sms"}
_NOT_DOING = re.compile(
    r"\b(?P<q>(?:instead of|rather than|not by|without)\s+(?P<v>calling|phoning|ringing|e-?mailing|texting)"
    r"(?:\s+(?:me|us))?)"
    r"\s*(?:$|[,.;!]|please\b)",
    re.IGNORECASE,
)
_NOT_BY = re.compile(
    rf"(?:^|,\s*|\s)(?:and\s+|but\s+)?(?P<q>(?:not|never|rather than|instead of|no"
    rf"|don't)\s+(?:by\s+|via\s+|on\s+|over\s+|through\s+|use\s+"
    rf"|the\s+)*(?P<v>{_CHANNEL}))\b(?=\s*(?:$|[,.;!]|please\b|calls?\b))",
    re.IGNORECASE,
)
_NOT_HANDLE = re.compile(
    r"^\s*(?:$|again$|please$|anymore$|any more$|at all$|under any circumstances$|ever(?: again)?$"
    r"|ever$|unless (?:it's )?urgent)",
    re.IGNORECASE,
)
_WHEN_LIMIT = (
    r"(?:after|before|during|between|until|at|on|in the|outside|past|while|when|without|unless"
    r"|more than|for at least|earlier than|later than|over the)\b"
)
_CONSTRAINT_NOT = re.compile(
    r"^(?:please\s+|pls\s+|also\s+|just\s+|again\s+)*(?P<cue>never|don'?t\s+ever|do\s+not\s+ever"
    r"|don'?t|do\s+not|no)\s+(?P<v>(?:call|text|phone|ring|email|message|contact|disturb|wake"
    r"|schedule|book|deliver|ship|send|leave|visit|knock|share|give|charge|use|put|add|include"
    r"|mention|show|sign|bring|order|assign|cc|forward|tell|ask|address|calls|meetings|deliveries"
    r"|emails|messages|phone calls)\b[^,;]*)$",
    re.IGNORECASE,
)
_CONSTRAINT = re.compile(
    r"^(?:please\s+|pls\s+|from now on,?\s+|in (?:the )?future,?\s+|going forward,?\s+"
    r"|so\s+)*(?P<cue>always|only(?:\s+ever)?|make\s+sure\s+(?:that\s+)?(?:you\s+"
    r"|to\s+)*(?:always\s+)?|be sure to(?:\s+always)?|keep)\s+"
    r"(?P<v>(?:answer|reply|respond|write|use|format|address|explain|show|give|send|ask|cc|include"
    r"|call|text|email|message|contact|deliver|ship|leave|knock|ring|confirm|notify|check|keep"
    r"|quote|wrap|pack|seat|book|schedule|your (?:answers|replies|responses)|(?:the\s+)?(?:answers"
    r"|replies|responses|it|things|messages))\b[^,;]*)$",
    re.IGNORECASE,
)
_ADDRESS_BY = re.compile(
    r"^(?:please\s+|pls\s+|always\s+|just\s+|only\s+)*(?P<v>(?:use|call me by|address me by|stick to)\s+my\s+"
    r"(?:first|last|full|given|family|middle)\s+name(?:\s+only)?)$",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    r"^(?:please\s+)?(?:from now on|in (?:the )?future|going forward|every "
    r"time),?\s+(?:please\s+)?(?P<v>(?:answer|reply|respond|write|use|format|address|explain|give"
    r"|keep|avoid|add|include|send|ask|skip|quote|sign)\b[^;]*)$",
    re.IGNORECASE,
)
_UNAVAILABLE = re.compile(
    rf"(?P<v>(?:(?:available|free|around|reachable)\s+{_WHEN_LIMIT}[^,;]*|(?:take|do|have|make"
    rf"|attend|join|answer|receive|accept)\s+(?:any\s+)?(?:phone\s+)?(?:calls?|meetings?|deliveries"
    rf"|parcels|appointments?|visits?|packages)\s+{_WHEN_LIMIT}[^,;]*))",
    re.IGNORECASE,
)
_GENERALITY = re.compile(rf"\b(?:me|us|my|our)\b|\b{_WHEN_LIMIT}", re.IGNORECASE)
_ANSWER_IN = re.compile(
    r"^(?:please\s+|pls\s+|always\s+|only\s+|from now on,?\s+|in (?:the )?future,?\s+|going "
    r"forward,?\s+|you\s+can\s+|could\s+you\s+please\s+)*(?:reply|answer|respond|write|speak|talk"
    r"|communicate|chat|text|address me)(?:\s+(?:to\s+)?(?:me|us))?(?:\s+(?:back|only"
    r"|always))*\s+in\s+(?P<v>(?:traditional\s+|simplified\s+)?[A-Za-z]+)\b",
    re.IGNORECASE,
)
_PREFER_LANGUAGE = re.compile(
    r"(?:prefer|rather (?:use|speak|write|talk in))\s+(?:to\s+(?:speak|write|talk|communicate|chat"
    r"|read|be answered|get answers)\s*(?:in)?\s+|answers\s+in\s+"
    r"|replies\s+in\s+)?(?P<v>[A-Z][a-z]+)\b",
    re.IGNORECASE,
)
_LIKE_IN = re.compile(
    r"^i(?:'d|\s+would)\s+(?:like|love|prefer)\s+(?:(?:all|any|your|the|to\s+get|to\s+have|to\s+receive)\s+)*(?:answers?|repl(?:y|ies)"
    r"|responses?|messages|everything)\s+(?:to\s+be\s+)?in\s+(?P<v>[A-Z][a-z]+)\b",
    re.IGNORECASE,
)
_MY_LANGUAGE = re.compile(
    r"^my\s+(?:(?:preferred|native|first|main|mother)\s+)(?:language|tongue)\s+is\s+(?P<v>[A-Z][a-z]+)\b", re.IGNORECASE
)
_TIME_ZONE = re.compile(
    r"^(?:my\s+time\s?zone\s+is|i'?m\s+(?:in|on)|i\s+am\s+(?:in|on)"
    r"|time\s?zone\s*:)\s+(?:the\s+)?(?P<v>(?:UTC|GMT)\s?[+-]\s?\d{1,2}(?::\d\d)?|(?:Eastern"
    r"|Pacific|Central|Mountain|Beijing|Tokyo|London)\s+time|[A-Z][a-z]+/[A-Z][A-Za-z_]+)",
    re.IGNORECASE,
)


def find(clause: Clause) -> Iterator[Finding]:
    """How to reach someone, which language to answer in, standing constraints, of one clause."""
    reached = list(_contact(clause))
    yield from reached
    if not reached:
        yield from list(_language(clause)) or list(_constraint(clause))


def _contact(clause: Clause) -> Iterator[Finding]:
    whole, text = clause.whole, clause.whole.text
    if clause.subject not in {USER, ""} or _MOMENT.search(text):
        return
    if (match := _DO_NOT_REACH.match(text)) and _NOT_HANDLE.match(match["rest"]):
        yield from _channel(clause, match, "v" if match["v"] else "w" if match["w"] else "x", "-")
        return
    wish = _wish(clause)
    if wish is not None:
        match, name = wish
        yield from _channel(clause, match, name, "+")
    if wish is not None or re.match(r"not\s", text, re.IGNORECASE):
        for denied in _NOT_DOING.finditer(text):
            said = _GERUNDS[denied["v"].lower().replace("-", "")]
            yield _reached(clause, said, "-", whole.start + denied.start("q"), whole.start + denied.end("q"))
        for denied in _NOT_BY.finditer(text):
            yield _reached(clause, denied["v"], "-", whole.start + denied.start("q"), whole.start + denied.end("q"))


def _wish(clause: Clause) -> tuple[re.Match[str], str] | None:
    """The pattern that asks for a channel, and the group that names it."""
    text = clause.whole.text
    if match := _REACH.match(text) or _BEST_WAY.match(text) or _IS_BEST.match(text):
        return None if clause.hedged and not _POLITE.match(text) else (match, "v")
    instead = _INSTEAD.match(text) if _SIMPLY.match(clause.piece.text) else None
    bare = _BARE.match(text) if _SIMPLY.match(clause.piece.text) else None
    if match := instead or bare or _PLAINLY.match(text):
        return match, "v"
    if match := _ONLY.match(text):
        return match, "v" if match["v"] else "w"
    if clause.subject == USER and clause.state == "holds" and _I_MYSELF.match(text) and (match := _PREFER.search(text)):
        return match, "v"
    match = _SEND.match(text)
    if match is None or not _GENERAL.match(match["rest"]):
        return None
    # A bare "call me" asks for a call now, not for calls in general.
    now = match["v"].lower() in {"call", "phone", "ring"} and not match["rest"].strip()
    return None if now else (match, "v")


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
        or _LIKE_IN.match(text)
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
                r"\b(?:me|us|my|calls|meetings|deliveries|emails|messages)\b|^(?:call|deliver|schedule|book"
                r"|knock|disturb|ship|ring|leave|visit)",
                match["v"],
                re.IGNORECASE,
            )
        ):
            yield _rule(clause, match["v"], "-", whole.start + match.start("v"))
    elif (match := _ADDRESS_BY.match(text)) is not None:
        yield _rule(clause, match["v"], "+", whole.start + match.start("v"))
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
            r"\b(?:this (?:one|time|order|is)|right now|today|tonight|tomorrow|it again|that again|yet"
            r"|the order|back)\b",
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

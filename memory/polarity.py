"""Whether a quote really says what its draft claims: negation, retraction, past, supposition. Chinese and English.

Closed lists of cues. A draft whose polarity its own quote contradicts is dropped; a quote that mixes cues around the
value is given the benefit of the doubt only where the words before the value are clear.
"""

from __future__ import annotations

import re

_NOT = (
    r"\b(?:not|never|no|none|neither|nor|without|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't|wasn't"
    r"|haven't|hasn't"
    r"|shouldn't|wouldn't|couldn't|dont|cant|wont|hardly|nothing but trouble)\b"
    r"|不|没|别|勿|无法|未曾|并非|讨厌|拒绝"
)
_AGAINST = (
    r"\b(?:hate[sd]?|dislike[sd]?|detest|loathe|despise|can't stand|cannot stand|can't bear|avoid(?:s|ing)?"
    r"|allergic|sick of|tired of"
    r"|intolerant|refuse|terrible|awful|gross|disgust\w*|not a fan|instead of|rather than|stop|over my dead body)\b"
    r"|讨厌|反感|受不了|忍不了|恨|厌恶|嫌|避免|忌|怕|过敏|想吐|难吃|不行|除了"
)
_RETRACT = (
    r"\b(?:no longer|any ?more|any longer|not .{0,40}\bnow|quit|quitting|gave (?:\w+ )?up|given up|giving up"
    r"|stopped|stop|left|resigned"
    r"|cancel(?:l?ed)?|used to|don't need|doesn't need|changed my mind|never mind|nevermind|forget (?:it|that"
    r"|about)|over it|broke up"
    r"|divorced|sold|lost|retired|laid off|fired|moved (?:out|away)|scratch that|actually not|isn't (?:true"
    r"|right)|not true"
    r"|(?:i'm|am|is|are|been|gone|went|swore|sworn) off|kicked|lost interest|grown out of|done with"
    r"|handed in my|gave (?:in )?my notice|jumped ship|outgrew|outgrown|grew out of|cured|gone)\b"
    r"|不再|不.{0,16}了|没.{0,12}了|戒了|戒掉|戒|离职|辞职|跳槽|裸辞|辞了|退休|分手|离婚|取消|放弃|作废|算了|卖掉|卖了"
    r"|换掉|停了|停止|搬走|搬离|搬出|离开|别.{0,10}了|不用了|已经好了|治好|早就不|改主意"
)
_STRONG_RETRACT = r"\b(?:no longer|any ?more|any longer)\b|不再|戒了|戒掉|离职|早就不"
_PAST = (
    r"\b(?:used to|formerly|former|previously|previous|before|back then|once|ago|earlier|past|ex|old"
    r"|last (?:year|month|week)"
    r"|was|were|had|did|went|grew up|lived|worked|studied|moved from|from|until|till|when i was|years? ago"
    r"|\w{2,}ed|born"
    r"|spent|kept|ran|drove|taught|left|came|been|in (?:19|20)\d\d)\b"
    r"|以前|之前|曾经?|过去|原来|原先|从前|当时|小时候|那时|年轻时|上学时|去年|前年|上个?月|上周|当年|早年|过"
    r"|从|本来|旧|前"
)
_STRONG_PAST = r"\b(?:used to|formerly|previously|back then)\b|以前|曾经?|从前|原先|小时候"
_DOUBLE = (
    r"\b(?:don't|do not|doesn't|didn't|never|not)\b\W+(?:\w+\W+){0,2}?(?:hate|dislike|mind|detest|loathe|unlike)\b"
    r"|\bnot (?:un|dis)\w+\b|\bcan't not\b|\bnot bad\b|不是不|并非不|没有不|不讨厌|不反感|不是没|不得不|不能不"
    r"|不介意|没说不"
)
_SUPPOSED = (
    r"(?:^|[\s,;(])(?:if|imagine|suppose|supposing|assuming|what if|unless|say i|wish(?:ed)?|would(?: be)?"
    r"|could have|might|maybe|perhaps"
    r"|as if|pretend|hypothetically|in case)\b"
    r"|如果|假如|要是|假设|倘若|若是|万一|想象一下|就好了|也许|可能会|说不定|打算|假装|即使|除非"
)
_FLAGS = re.IGNORECASE
_NOT_RE, _AGAINST_RE = re.compile(_NOT, _FLAGS), re.compile(_AGAINST, _FLAGS)
_RETRACT_RE, _STRONG_RETRACT_RE = re.compile(_RETRACT, _FLAGS), re.compile(_STRONG_RETRACT, _FLAGS)
_PAST_RE, _STRONG_PAST_RE = re.compile(_PAST, _FLAGS), re.compile(_STRONG_PAST, _FLAGS)
_DOUBLE_RE, _SUPPOSED_RE = re.compile(_DOUBLE, _FLAGS), re.compile(_SUPPOSED, _FLAGS)
_CLAUSE = re.compile(
    r"[,;.!?，。；！？、\n]+|\s(?:and|but|though|although|while|yet|so)\s|但是?|不过|而且|然而|可是|现在|现", _FLAGS
)
# 不 in these is no negation of what follows.
_HARMLESS = re.compile(
    r"不错|不管|不论|不仅|不但|不只|不过|不久|不断|不同|了不起|差不多|对不起|不好意思|没关系|没问题|没错|特别"
    r"|欲罢不能|爱不释手|别人|级别|区别|类别|性别|告别|不超过|不到|不少于|不多于"
    r"|\b(?:no more than|not more than|no less than|not only|no problem|no worries|why not|no doubt|nothing but"
    r"|(?:can'?t|can ?not|couldn'?t) get enough"
    r"|no later than)\b",
    _FLAGS,
)

# A supposition reaches over commas, not over a turn of the thought.
_TURN = re.compile(r"\b(?:but|however|anyway)\b|[;；]|但是?|不过|然而", _FLAGS)
_POLITE = re.compile(
    r"\bif (?:it'?s |that'?s |at all )?(?:possible|ok(?:ay)?|needed|necessary|not too much"
    r"|you (?:can|could|like|want|don't mind|please))\b"
    # Whom they need, and when, says nothing against how the speaker wants to be reached.
    r"|\b(?:if|when(?:ever)?|in case) (?:you|anyone|someone)(?: ever)? (?:needs?|wants?|has|have|wish(?:es)?|must)\b"
    r"(?: me\b| us\b)?(?: to (?:reach|contact|call|talk to|get hold of|get in touch)\b[^,.;]{0,20})?"
    r"(?=\s*(?:,|(?:please|just|then|ping|text|email|call|message|contact|write)\b))"
    r"|(?:如果|要是|若|万一)(?:你们?|您)?(?:以后)?(?:需要|要|想|有)[^，。]{0,8}?(?:联系|找|通知|事|问题|消息)(?:到?我)?(?:的话)?(?=，)"
    r"|\bwould (?:like|prefer|rather)\b|\bas if\b|(?:如果|要是)(?:可以|可能|方便|行|需要|不麻烦)的?话?",
    _FLAGS,
)

_ASKS = re.compile(
    r"\W*(?:and |so |but )?(?:do|does|did|am|is|are|was|were|have|has|had|will|would|should|could|can|may|what"
    r"|why|how|when|where|who"
    r"|which|isn't|aren't|don't|didn't)\b|\W*(?:是不是|为什么|怎么|难道|你觉得|你认为|你知道|谁|哪|什么|会不会|能不能)",
    _FLAGS,
)

# Who eats something again avoids it no more; who is off something has given it up.
_AGAIN = re.compile(r"\b(?:again|(?:back|return(?:ed)?) to|resumed)\b|又|恢复|重新|终于", _FLAGS)

NEGATIVE_BY_NATURE = frozenset(
    {"avoid", "constraint", "allergy", "need", "budget", "other", "habit", "relation", "past_approval"}
)
"""Keys whose positive statements are often worded as negations: what to avoid, what must not happen."""


def agrees(polarity: str, quote: str, value: str, key: str) -> str | None:
    """None when the quote bears the polarity out; else the reason code of what contradicts it.

    Judged in the clause that holds the value, where that can be found. Codes: double_negation, polarity_negative,
    polarity_positive, polarity_retract, polarity_past.
    """
    plain = quote.replace("\u2019", "'")
    clause = clause_of(plain, value)
    if _DOUBLE_RE.search(clause) and polarity in {"+", "-"}:
        return "double_negation"
    words = _HARMLESS.sub(" ", clause)
    match polarity:
        case "retract":
            over = _RETRACT_RE.search(plain) or _DENIED.search(plain) or (key == "avoid" and _AGAIN.search(plain))
            return None if over else "polarity_retract"
        case "past":
            return None if _PAST_RE.search(plain) else "polarity_past"
        case "-":
            return None if _NOT_RE.search(words) or _AGAINST_RE.search(plain) or key == "avoid" else "polarity_negative"
        case _:
            return _positive(words, value, key)


def is_supposed(sentence: str, quote: str) -> bool:
    """Whether the sentence supposes rather than states what the quote says: a cue before it, or inside it."""
    before = sentence[: sentence.find(quote)] if quote in sentence else ""
    tail = sentence[sentence.find(quote) + len(quote) :] if quote in sentence else ""
    scope = _POLITE.sub(" ", _TURN.split(before)[-1] + quote)
    return bool(_SUPPOSED_RE.search(scope)) or "就好了" in tail[:6]


def is_question(sentence: str, quote: str) -> bool:
    """Whether the quote is asked rather than stated: it ends as a question, or its sentence asks from the begin."""
    if quote.rstrip().endswith(("?", "？", "吗")):
        return True
    asked = sentence.rstrip().endswith(("?", "？", "吗", "吗。"))
    before = sentence[: sentence.find(quote)] if quote in sentence else sentence
    return asked and bool(_ASKS.match(before if before.strip() else quote)) and not re.search(r"[,，;；:：]", before)


def clause_of(quote: str, value: str) -> str:
    """The clause of the quote that holds the value; the whole quote when the value stands in none."""
    low, sought = quote.casefold(), value.casefold()
    place = low.find(sought) if sought else -1
    if place < 0 or len(low) != len(quote):
        return quote
    start, end = 0, len(quote)
    for found in _CLAUSE.finditer(quote):
        if found.end() <= place:
            start = found.end()
        elif found.start() >= place + len(sought):
            end = found.start()
            break
    return quote[start:end]


def _positive(words: str, value: str, key: str) -> str | None:
    if _STRONG_RETRACT_RE.search(words):
        return "polarity_retract"
    if _STRONG_PAST_RE.search(words):
        return "polarity_past"
    bare = words.replace(value, " ") if value else words
    negated = bool(_NOT_RE.search(bare)) or (key == "likes" and bool(_AGAINST_RE.search(bare)))
    return "polarity_positive" if negated and key not in NEGATIVE_BY_NATURE else None


_DENIED = re.compile(r"\b(?:i(?:'m| am) not|it(?:'s| is) not|isn't|never was)\b|我不是|不是|并不", _FLAGS)

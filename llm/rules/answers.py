"""Short replies to an assistant's question: the question names the key, the reply the value; a bare yes confirms.

Only the last question counts: a yes to `Address as before, submit now?` says nothing about the address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from llm.rules import values_en, values_zh
from llm.rules.finding import Finding, Piece
from memory.amounts import find_amounts
from memory.codes import CONTACT, DIET, LANGUAGE, Code, code_of
from memory.informative import is_bare_no, is_bare_yes
from memory.language import language_of

Extract = Callable[[str], list[Finding]]

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_EN_KEYS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (key, re.compile(pattern, re.IGNORECASE))
    for key, pattern in (
        ("allergy", r"\ballerg(?:y|ies|ic)\b"),
        ("diet", r"\b(?:diet|dietary|vegetarian or|vegan or)\b"),
        (
            "name",
            r"\b(?:what(?:'s| is)(?: your)? (?:full |first )?name|your name(?:,| please|\?)|who am i "
            r"(?:speaking|talking|chatting) (?:to|with)|what (?:should|can|do|may) i call you|how "
            r"(?:should|may) i address you|have your name)",
        ),
        ("age", r"\bhow old are you|your age\b"),
        (
            "company",
            r"\b(?:where do you work|who do you work for|which (?:company|employer)|what company|your "
            r"(?:employer|company)|where are you employed)\b",
        ),
        (
            "job",
            r"\b(?:what do you do(?: for (?:a living|work))?|your (?:job|occupation|profession|role|job "
            r"title)|what(?:'s| is) your line of work|what kind of work)\b",
        ),
        (
            "city",
            r"\b(?:where (?:do you live|are you (?:based|located|living))|(?:which|what) (?:city|town)"
            r"|your (?:city|home city|location))\b",
        ),
        (
            "contact",
            r"\b(?:how (?:should|can|would you like|do you (?:want|prefer)|would you "
            r"prefer)[^?]*(?:contact|reach|update|notif|hear)|(?:preferred|best) (?:contact|channel"
            r"|way)[^?]*|email or (?:phone|text|sms|call)|phone or (?:email|text)|text or (?:email|call))",
        ),
        ("language", r"\b(?:which|what) language\b"),
        (
            "budget",
            r"\b(?:budget|how much (?:do you want|would you like|are you (?:willing|looking|planning)|can "
            r"you)[^?]*(?:spend|pay)|price range)\b",
        ),
        (
            "avoid",
            r"\b(?:anything (?:you|that you) (?:don't|do not|can't|cannot|avoid)[^?]*(?:eat|drink)?"
            r"|foods? (?:you|to) avoid|(?:don't|can't) you eat)\b",
        ),
        (
            "likes",
            r"\b(?:what(?:'s| is| are) your (?:favou?rite|hobb)|your hobbies|what (?:kind|type|sort) of "
            r"[a-z ]+ do you (?:like|enjoy|prefer)|what do you (?:like|enjoy)|do you (?:like|enjoy"
            r"|prefer))\b",
        ),
        (
            "need",
            r"\bwhat (?:are you (?:looking for|shopping for)|(?:product|item|model) (?:are|do) you|would "
            r"you like to (?:buy|order))\b",
        ),
    )
)
_ZH_KEYS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (key, re.compile(pattern))
    for key, pattern in (
        ("allergy", r"过敏"),
        ("avoid", r"忌口|不吃的|不能吃|不喝的"),
        ("diet", r"饮食(?:习惯|要求|偏好)|吃素还是"),
        ("name", r"(?:怎么|如何)称呼|(?:你|您)?(?:的)?(?:名字|姓名|贵姓|大名)|叫什么"),
        ("age", r"多大(?:了|年纪|岁数)?|几岁|年龄|贵庚"),
        (
            "company",
            r"在哪(?:里|儿|家公司|个公司)?(?:工作|上班|高就)|(?:哪家|什么|哪个)(?:公司|单位)|(?:公司"
            r"|单位)(?:名称|叫什么)",
        ),
        ("job", r"(?:做什么|什么)(?:工作|职业|行业)|(?:职业|工作)是(?:什么|做什么)|做什么的"),
        ("city", r"(?:住|居住|生活|定居)在?(?:哪|什么地方)|哪(?:个|座)城市|所在(?:的)?城市|在哪个城市|城市是"),
        (
            "contact",
            r"(?:怎么|如何|什么方式|哪种方式|用什么)[^？]*(?:联系|通知|沟通)|联系方式|(?:电话|邮件|短信"
            r"|微信)还是(?:电话|邮件|短信|微信)",
        ),
        ("language", r"(?:什么|哪种)语言|中文还是英文|英文还是中文"),
        ("budget", r"预算|价位|想花多少|心理价"),
        ("likes", r"(?:喜欢|爱)(?:吃|喝|看|听|玩|用)?(?:什么|哪)|(?:爱好|兴趣)|偏好"),
        ("need", r"(?:需要|想要|想买|找)(?:什么|哪)"),
    )
)
_CODES: dict[str, dict[str, Code]] = {"diet": dict(DIET), "contact": dict(CONTACT), "language": dict(LANGUAGE)}
_NOTHING = re.compile(
    r"^(?:no(?:ne|pe|thing)?\b|not (?:really|that|any)|n/?a\b|没|无|不|没有|都(?:行|可以|没)|随便"
    r"|any\b|whatever|i don't|i'm not|don't|no idea|not sure|不知道|不清楚|不确定)",
    re.IGNORECASE,
)
_REPLY_LEAD = re.compile(
    r"^(?:(?:yes|yeah|yep|sure|well|um+|uh|oh|ok|okay|only|just|mostly|mainly|it's|it is|that's"
    r"|that would be|i'd say|i think it's|probably|at|in|by|via|around|about|the|my name is|to"
    r"|from|是的?|对|有|嗯|主要是?|就是|是|叫|在|大概|大约|用|通过|就|我|只有"
    r"|只)[\s,，.。、:：]*)+",
    re.IGNORECASE,
)
_SURE_LEAD = re.compile(r"\b(?:think|probably|maybe|perhaps|not sure)\b|可能|也许|大概是?(?!\d)", re.IGNORECASE)
_SWAPS = (
    (re.compile(r"\b(?:are|were) you\b", re.IGNORECASE), "I am"),
    (re.compile(r"\byou're\b", re.IGNORECASE), "I'm"),
    (re.compile(r"\byou are\b", re.IGNORECASE), "I am"),
    (
        re.compile(
            r"\bdo you (?:still |currently |now |also )?(?=live|work|like|love|hate|prefer|enjoy|have|eat|drink|need)",
            re.IGNORECASE,
        ),
        "I ",
    ),
    (re.compile(r"\bis your name\b", re.IGNORECASE), "my name is"),
    (re.compile(r"\byour\b", re.IGNORECASE), "my"),
    (re.compile(r"\byou\b", re.IGNORECASE), "I"),
)
_QUESTION_TAIL = re.compile(
    r"[,，]?\s*(?:right|correct|is that (?:right|correct)|isn't it|aren't you|don't you|yes"
    r"|ok(?:ay)?|(?:是)?(?:对吗|对吧|对不对|是吗|是吧|没错吧|吗|么|吧|呢))?\s*[?？。.!！]*\s*$",
    re.IGNORECASE,
)
_CONFIRM_LEAD = re.compile(
    r"^(?:(?:so|and|ok|okay|great|just to confirm|to confirm|let me confirm|shall i (?:note"
    r"|remember|save|record) (?:down )?that|should i (?:note|remember|save|record) (?:down )?that"
    r"|can i confirm(?: that)?|i see|got it|confirming|am i right that|is it (?:right|correct"
    r"|true) that|did you say(?: that)?"
    r"|所以|那么?|确认一下|我确认一下|跟您确认一下|请问|需要我记(?:住|下)|要我记(?:住|下)|您是说"
    r"|你是说|也就是说)[\s,，:：]*)+",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:what|where|who|which|how|when|why|any|anything|or)\b|什么|哪|怎么|如何|几|多少|多大|谁|还是|有没有",
    re.IGNORECASE,
)
_SUBMIT = re.compile(
    r"\b(?:shall|should|may|can|could|would|want|like) (?:i|we|me|you)\b(?! (?:note|remember|save"
    r"|record))|提交|继续|下单|帮您|为您|可以吗|好吗|行吗|需要我(?!记)",
    re.IGNORECASE,
)


def last_question(text: str) -> Piece | None:
    """The last asking sentence of an assistant's turn."""
    found = None
    for match in _SENTENCE.finditer(text):
        if re.search(r"[?？]\s*$", match[0]) or re.search(r"(?:吗|呢|什么|哪里|多少|多大)\s*$", match[0]):
            found = Piece(match[0], match.start()).stripped()
    return found


def asked_key(question: str) -> str | None:
    """The registry key that a question asks for, when it asks for one."""
    table = _ZH_KEYS if language_of(question) == "zh" else _EN_KEYS
    return next((key for key, pattern in table if pattern.search(question)), None)


def reply_findings(question: str, reply: str) -> Iterator[Finding]:
    """What a short reply states, read with the key of the question. Places are in the reply."""
    key = asked_key(question)
    if key is None or len(reply) > 80 or re.search(r"[?？]", reply) or is_bare_yes(reply) or is_bare_no(reply):
        return
    lead = _REPLY_LEAD.match(reply)
    rest = Piece(reply[lead.end() :] if lead else reply, lead.end() if lead else 0).stripped()
    rest = Piece(rest.text.rstrip(" .!。！~"), rest.start)
    if not rest.text or _NOTHING.match(reply.strip()) or _NOTHING.match(rest.text) or _SURE_LEAD.search(reply):
        return
    for part in _values(key, rest, language_of(reply)):
        yield Finding(
            key=key,
            value=part[0],
            op="-" if key == "avoid" else "+",
            start=part[1].start,
            end=part[1].end,
            rule="answer." + key,
        )


def confirmed(question: Piece, extract: Extract) -> list[Finding]:
    """What a bare yes confirms: the statement inside a closed question. Places are in the assistant's turn."""
    lead = _CONFIRM_LEAD.match(question.text)
    body = question.text[lead.end() :] if lead else question.text
    if _SUBMIT.search(question.text) or _OPEN.search(body):
        return []
    clause = re.split(r"[,，;；]\s*(?=\S{4,})", _QUESTION_TAIL.sub("", body))[-1]
    statement = clause
    for pattern, own in _SWAPS:
        statement = pattern.sub(own, statement)
    statement = re.sub(r"是不是", "是", statement).replace("您", "我").replace("你", "我")
    at = question.start + question.text.rindex(clause)
    return [
        Finding(
            key=found.key,
            value=found.value,
            op=found.op,
            start=at,
            end=question.end,
            rule="confirmed." + found.key,
            subject=found.subject,
            object=found.object,
        )
        for found in extract(statement)
        if found.key not in {"need", "budget", "other", "constraint"} and found.value in question.text
    ]


def _values(key: str, rest: Piece, language: str) -> Iterator[tuple[str, Piece]]:
    if key in _CODES:
        if (code := code_of(_CODES[key], rest.text)) is not None and len(rest.text.split()) <= 4:
            yield code, rest
        return
    if key == "age":
        match = re.match(r"\d{1,3}(?=\D*$)", rest.text)
        if match and 0 < int(match[0]) < 120 and len(rest.text) <= 14:
            yield match[0], rest
        return
    if key == "budget":
        amounts = find_amounts(rest.text, money_only=False)
        if len(amounts) == 1:
            yield rest.text[amounts[0].start : amounts[0].end], rest
        return
    yield from _named_values(key, rest, language)


def _named_values(key: str, rest: Piece, language: str) -> Iterator[tuple[str, Piece]]:
    zh = language == "zh"
    single = {
        "name": lambda: values_zh.person(rest, sure=True) if zh else values_en.person(rest, sure=True),
        "city": lambda: values_zh.home(rest) if zh else values_en.place(rest),
        "company": lambda: values_zh.employer(rest) if zh else values_en.employer(rest),
        "job": lambda: values_zh.occupation(rest) if zh else values_en.occupation(rest, strict=True),
    }
    if key in single:
        found = single[key]()
        if found is not None and (
            found.end >= rest.end - 2 or (key in {"city", "name"} and len(rest.text) <= len(found.text) + 14)
        ):
            yield found.text, found
        return
    parts = list(values_zh.split_list(rest) if zh else values_en.split_list(rest))
    good = values_zh.is_thing if zh else values_en.is_taste
    if len(parts) > 6 or not all(good(part.text) for part in parts):
        return
    for part in parts:
        bare = re.sub(r"^(?:吃|喝)(?=.)", "", part.text) if zh else part.text
        yield bare, part

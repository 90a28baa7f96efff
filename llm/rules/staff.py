"""What a human of the organisation says in a conversation: what they approve or refuse, what they note of a customer.

An approval is theirs to give: the same words of a user are none. What they note of the customer is read as if the
customer had said it; where it counts, and for how much, is its origin's matter and decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from llm.rules.finding import USER, Finding
from memory.language import language_of
from memory.turns import TurnView

_SENTENCE = re.compile(r"(?:[^.!?;。！？；\n]|\.(?=\d|\w))+")
_THING = re.compile(
    r"\b(?:refunds?|credits?|vouchers?|coupons?|discounts?|rebates?|exchanges?|replacements?|returns?|repairs?|upgrades?"
    r"|extensions?|compensation|waivers?|waiving|reimbursements?|cancellations?|fees?|shipping|deliver(?:y|ies)|orders?"
    r"|claims?|requests?|payments?|instal?ments?|goodwill|gestures?|access|visits?|loans?)\b"
    r"|退款|退货|换货|赔付|赔偿|补偿|补发|折扣|优惠|减免|免运费|运费|券|红包|积分|升级|延期|延长|维修|分期|取消|订单|申请|额度|费用"
    r"|报销|上门",
    re.IGNORECASE,
)
#: What a grant is for, or how it is meant, rather than what is granted.
_BEARING = re.compile(r"orders?|requests?|claims?|goodwill|gestures?|payments?|订单|申请|额度", re.IGNORECASE)
_YES = r"(?:approve[ds]?|authori[sz]e[ds]?|sign(?:ed)? off(?: on)?|grant(?:ed|s)?)"
_NO = r"(?:decline[ds]?|refuse[ds]?|reject(?:ed|s)?|den(?:y|ied|ies))"
_EN = (
    re.compile(
        rf"\b(?:i|we|(?:my|the|our) (?:manager|supervisor|team|boss))(?:'ve| have| has| hereby| am| are)?"
        r" (?P<neg>(?:can't|won't|don't|didn't|haven't|hasn't|cannot|(?:(?:can|will|do|did|have|has) )?not|never) )?"
        r"(?:hereby |now |already )?"
        rf"(?P<verb>{_YES}|{_NO}) (?P<what>.{{3,160}})",
        re.IGNORECASE,
    ),
    re.compile(rf"^\W*(?P<neg>not )?(?P<verb>{_YES}|{_NO})\s*[:,—–-]\s*(?P<what>.{{3,160}})", re.IGNORECASE),
    re.compile(
        rf"(?P<what>\b[^,:]{{3,160}}?) (?:is|was|are|were|has been|have been|got)(?P<neg>n't| not| never)?"
        rf"(?: hereby| now| already)? (?P<verb>{_YES}|{_NO})\b",
        re.IGNORECASE,
    ),
)
_ZH_NO = r"(?:驳回|拒绝|否决)"
_ZH = (
    re.compile(
        rf"(?:^|[，,：:]|我|我们|本人|主管|经理|店长|公司|这边|领导)(?:已经?|现|特|特此)?(?P<neg>不予|不能|不|未|没有?|无法)?"
        rf"(?P<verb>批准|同意|核准|准许|准予|授权|审批通过|{_ZH_NO})了?(?:为|给|对|该|此|这笔|本次)?[：:]?(?P<what>[^，,]{{2,80}})"
    ),
    re.compile(
        rf"(?P<what>[^，,：:]{{2,60}}?)(?:已经?|现已)?(?:获得?|被|经(?:我|主管|经理))?(?P<neg>不予|未|没有?)?"
        rf"(?:获得?)?(?P<verb>批准|核准|审批通过|通过审批|获批|{_ZH_NO})"
    ),
)
_NUMBER = re.compile(
    r"(?:\b(?:order|ticket|case|return|exchange|invoice|claim)\b\W{0,2}(?:no\.?|number|#)?\s*|#|(?:订单|工单|单号|编号)号?\s*[:：]?\s*)"
    r"(?P<id>[A-Za-z]{0,4}-?\d[A-Za-z0-9-]{2,24})",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|when|once|unless|until|whether|should|would|could|might|may|pending|subject to)\b"
    r"|如果|要是|若|假如|等[^，,]{0,12}(?:后|再)|待|一旦|除非|是否|能否|是不是|需要?[^，,]{0,6}(?:批准|同意|核准)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^(?:that|the|a|an|your|their|this)\s+", re.IGNORECASE)
_TAIL = re.compile(r"(?:\s+(?:please|today|now|thanks?|thank you))+\W*$|[\s，,。.]+$", re.IGNORECASE)

_BORDER = re.compile(r"[.!?;。！？；\n]+")
_OWN = re.compile(r"\b(?:i|i'm|i've|we|my|our|me|us)\b|我|咱", re.IGNORECASE)
_CUSTOMER_EN = re.compile(
    r"(?:^|(?<=[.!?;,:\n]))(?P<lead>\s*(?:note:\s*|fyi[,:]?\s*|btw[,:]?\s*)?)"
    r"(?P<who>(?:the |this |our )?(?:customer|client|user|caller|guest))"
    r"(?P<own>'s)?(?: (?P<verb>isn't|doesn't|hasn't|is|has|does not|does|was|[a-z]+s)\b)?",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"[^.!?;\n]{1,60}?\b(?:and|but) (?P<verb>is|has|doesn't|does not|(?!was|his|this|its)[a-z]+s)\b(?= )", re.I
)
_VERBS = {
    "is": "am",
    "isn't": "am not",
    "has": "have",
    "hasn't": "haven't",
    "does": "do",
    "doesn't": "don't",
    "does not": "don't",
    "was": "was",
}
_CUSTOMER_ZH = re.compile(
    r"(?:^|(?<=[。！？；，,：:\n]))(?P<lead>\s*(?:备注[：:]?)?)"
    r"(?P<who>(?:该|这位|本)?(?:客户|顾客|用户|客人)(?:本人|自己)?(?:说|表示|反映|称)?)(?![：:名编])"
)


def findings(turn: TurnView, extract: Callable[[str], list[Finding]]) -> list[Finding]:
    """All that a staff turn states. `extract` reads a text in which somebody speaks of themselves."""
    return [*_approvals(turn), *_of_customer(turn.content, extract)]


def _approvals(turn: TurnView) -> list[Finding]:
    said = [one for piece in _SENTENCE.finditer(turn.content) for one in _approved(piece[0], piece.start())]
    if said or "approved" not in turn.flags:
        return said
    # An approval that came as such needs no verb: its first line says what it is about.
    what = turn.content.split("\n", 1)[0]
    return [_finding(what, what, start=0, end=len(what))] if what.strip() else []


def _approved(sentence: str, start: int) -> list[Finding]:
    if _SUPPOSED.search(sentence):
        return []
    for pattern in (*_EN, *_ZH):
        found = pattern.search(sentence)
        if found is None or not _THING.search(found["what"]):
            continue
        is_refused = bool(found["neg"]) or re.fullmatch(rf"{_NO}|{_ZH_NO}", found["verb"], re.IGNORECASE) is not None
        first = min(place for place in (found.start("neg"), found.start("verb"), found.start("what")) if place >= 0)
        end = max(found.end("what"), found.end("verb"))
        value = sentence[first:end] if is_refused else found["what"]
        return [_finding(value, sentence, start=start, end=start + end)]
    return []


def _finding(words: str, sentence: str, *, start: int, end: int) -> Finding:
    """A refusal is kept in its own words: it takes the place of an approval of the same thing, as a newer word does."""
    value = _TAIL.sub("", _LEADING.sub("", words.strip()))
    number = _NUMBER.search(words) or _NUMBER.search(sentence)
    things = [found[0] for found in _THING.finditer(words)]
    named = [one for one in things if not _BEARING.fullmatch(one)] or things
    return Finding(
        key="past_approval",
        value=value,
        op="+",
        start=start,
        end=end,
        rule="staff.past_approval",
        object=" ".join(part for part in ((named or [""])[0], number["id"] if number else "") if part) or value[:60],
    )


def _of_customer(text: str, extract: Callable[[str], list[Finding]]) -> list[Finding]:
    """What is noted of the customer, each finding with its place in the text as it stands."""
    told, places = _as_their_own(text)
    if told == text:
        return []
    found: list[Finding] = []
    for one in extract(told):
        start = places[one.start]
        end = places[one.end - 1] + 1
        if one.subject == USER and one.value in text[start:end] and _speaks_of_customer(text, start, end):
            found.append(
                Finding(
                    key=one.key,
                    value=one.value,
                    op=one.op,
                    start=start,
                    end=end,
                    rule=f"staff.{one.rule}",
                    object=one.object,
                    when=one.when,
                )
            )
    return found


def _speaks_of_customer(text: str, start: int, end: int) -> bool:
    """Whether a sentence about the customer says it: what staff say of themselves is nothing about the user."""
    before = [found.end() for found in _BORDER.finditer(text, 0, start)]
    first = before[-1] if before else 0
    pattern = _CUSTOMER_ZH if language_of(text) == "zh" else _CUSTOMER_EN
    return pattern.search(text, first, end) is not None and _OWN.search(text, start, end) is None


def _own_verb(verb: str) -> str:
    return _VERBS.get(verb.lower(), verb.removesuffix("s"))


def _as_their_own(text: str) -> tuple[str, list[int]]:
    """The text as the customer would say it, and where each of its characters stands in the original."""
    pieces: list[str] = []
    places: list[int] = []
    at = 0

    def put(words: str, start: int, end: int) -> None:
        pieces.append(words)
        places.extend(min(start + n, max(start, end - 1)) for n in range(len(words)))

    pattern = _CUSTOMER_ZH if language_of(text) == "zh" else _CUSTOMER_EN
    for found in pattern.finditer(text):
        put(text[at : found.start("who")], at, found.start("who"))
        at = found.end()
        if pattern is _CUSTOMER_ZH:
            put("我", found.start("who"), found.end("who"))
            continue
        put("my" if found["own"] else "I", found.start("who"), found.end("own" if found["own"] else "who"))
        verb = found["verb"]
        if verb is not None:
            put(" ", found.start("verb") - 1, found.start("verb"))
            put(verb if found["own"] else _own_verb(verb), found.start("verb"), found.end("verb"))
        also = _ALSO.match(text, at)
        if also is not None and not found["own"]:
            put(text[at : also.start("verb")], at, also.start("verb"))
            put(_own_verb(also["verb"]), also.start("verb"), also.end("verb"))
            at = also.end()
    put(text[at:], at, len(text))
    return "".join(pieces), [*places, len(text)]

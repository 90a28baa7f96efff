"""What happened, in the conversation's own words: an extractive summary, tags, entities."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.rules.finding import Finding
from memory.informative import asks, is_informative
from memory.language import language_of
from memory.turns import TurnView
from schemas.drafts import EntityDraft

_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.](?=\w)[^.!?。！？\n]*)*[.!?。！？]*")
_QUOTE_LIMIT = 160
_MAX_TAGS = 5
_MAX_ENTITIES = 12
_AGREED = re.compile(
    r"\b(?:i(?:'ve| have)|we(?:'ve| have)|i'll|we'll|i will|we will|has been|have been|is (?:now "
    r")?(?:booked|confirmed|scheduled|approved|on its way)|your (?:order|refund|exchange"
    r"|replacement|booking|ticket|appointment|new)|done|confirmed|booked|scheduled|refunded"
    r"|approved|created|sent)\b"
    r"|已经?(?:为您|帮您|给您)?|我(?:会|来)|我们会|将(?:会|于|在)|预计|安排|提交|登记|确认|成功"
    r"|批准|同意|退款|换货单|寄出|发货",
    re.IGNORECASE,
)
_TAGS: tuple[tuple[str, str, str], ...] = (
    ("order", "订单", r"\borders?\b|订单|下单"),
    ("refund", "退款", r"\brefund(?:s|ed)?\b|退款|退钱"),
    ("return", "退货", r"\breturn(?:s|ed|ing)?\b(?! to)|退货"),
    ("exchange", "换货", r"\bexchang(?:e|ed|ing)\b|\breplacement\b|换货|换新|更换"),
    ("delivery", "物流", r"\b(?:deliver(?:y|ed)|shipping|shipment|parcel|package|tracking)\b|物流|快递|包裹|发货|配送"),
    ("invoice", "发票", r"\binvoices?\b|\breceipt\b|发票"),
    ("billing", "账单", r"\b(?:bill(?:ing)?|charged?|payment|paid)\b|账单|扣款|支付|付款"),
    ("account", "账号", r"\b(?:account|login|log in|password|sign in)\b|账号|账户|登录|密码"),
    (
        "defect",
        "故障",
        r"\b(?:broken|defect(?:ive)?|noise|noisy|crash(?:es|ed)?|bug|error|doesn't work|not working)\b"
        r"|故障|杂音|坏了|报错|崩溃|用不了",
    ),
    ("warranty", "保修", r"\bwarrant(?:y|ies)\b|\brepair(?:ed|s)?\b|保修|维修"),
    ("price", "价格", r"\b(?:price|discount|coupon|voucher|budget)\b|价格|优惠|折扣|预算|补偿券"),
    ("booking", "预订", r"\b(?:book(?:ing|ed)?|reserv(?:e|ation)|appointment)\b|预订|预约|订票"),
    ("travel", "旅行", r"\b(?:flight|hotel|trip|travel(?:ling|ing)?|vacation|holiday)\b|航班|机票|酒店|旅行|旅游"),
    ("food", "饮食", r"\b(?:restaurant|recipe|dinner|lunch|meal|food|allerg(?:y|ic|ies))\b|餐厅|吃饭|菜|过敏|忌口"),
    ("work", "工作", r"\b(?:job|work(?:s|ing)?|meeting|project|colleague|deadline)\b|工作|上班|会议|项目|同事"),
    (
        "family",
        "家人",
        r"\bmy (?:wife|husband|son|daughter|mother|father|mom|dad|kids?|sister|brother|family)\b"
        r"|我(?:的)?(?:老婆|老公|妈妈?|爸爸?|儿子|女儿|孩子|家人)",
    ),
    ("health", "健康", r"\b(?:doctor|hospital|medicine|therapy|sick)\b|医生|医院|生病|体检"),
    ("home", "住家", r"\b(?:moved|moving|apartment|flat|house|rent)\b|搬家|搬到|租房|装修"),
)
_COMPILED = tuple((en, zh, re.compile(pattern, re.IGNORECASE)) for en, zh, pattern in _TAGS)
_ENTITIES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "order",
        re.compile(
            r"(?:\border(?:\s+(?:number|no\.?|id))?\s*[#:]?\s*|订单(?:号|编号)?(?:是|为|："
            r"|:)?\s*#?)(?P<v>(?=[A-Z-]*\d)[A-Z]{0,4}-?\d[\w-]{2,20})",
            re.IGNORECASE,
        ),
    ),
    (
        "ticket",
        re.compile(
            r"(?:\b(?:ticket|case)(?:\s+(?:number|no\.?|id))?\s*[#:]?\s*|工单(?:号)?(?:是|为|："
            r"|:)?\s*#?)(?P<v>(?=[A-Z-]*\d)[A-Z]{0,4}-?\d[\w-]{0,20})",
            re.IGNORECASE,
        ),
    ),
    (
        "exchange",
        re.compile(
            r"(?:\b(?:exchange|rma|return)\s+(?:number|no\.?|id)?\s*[#:]?\s*|(?:换货|退货)单号?(?:是|为|："
            r"|:)?\s*#?)(?P<v>(?=[A-Z-]*\d)[A-Z]{1,4}-?\d[\w-]{1,20})",
            re.IGNORECASE,
        ),
    ),
    (
        "product",
        re.compile(
            r"(?<![A-Za-z0-9-])(?P<v>(?:[A-Z][A-Za-z]+\s)?(?:[A-Z]{2,6}-?\d{1,5}[A-Z]{0,3}"
            r"|[A-Z][a-z]?[A-Za-z]+\s\d{1,4}(?:\s(?:Pro|Max|Plus|Ultra|Mini|Air))*))(?![A-Za-z0-9-])"
        ),
    ),
    (
        "amount",
        re.compile(
            r"(?P<v>(?:[$€£¥￥]|(?:USD|EUR|CNY|RMB|GBP)\s?)\d[\d,]{0,15}(?:\.\d{1,2})?(?:k|万)?"
            r"|(?<![\d,.])\d[\d,]{0,15}(?:\.\d{1,2})?\s?(?:万元|元|块钱|美元|欧元|dollars|euros|pounds|yuan))"
        ),
    ),
)
_NOT_PRODUCT = re.compile(
    r"^(?:UTC|GMT|COVID|January|February|March|April|May|June|July|August|September|October"
    r"|November|December|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Monday|Tuesday|Wednesday|Thursday|Friday"
    r"|Saturday|Sunday|The|In|At|By|On|I|Order|Ticket|Case|Room|Level|Page|Chapter|Version|Day"
    r"|Week|Year|About|Around|Over|Under|Only|Just|From|For|And|We|My|USD|EUR|CNY|RMB|GBP|Since"
    r"|Until|Before|After|Age|Aged|Turned|Type|Part|Step|Top)\b"
)
_KIND = {"company": "organisation", "city": "place", "name": "person"}


def language_of_window(turns: Sequence[TurnView]) -> str:
    """The language the user uses in a window: zh or en."""
    said = " ".join(turn.content for turn in turns if turn.role == "user") or " ".join(turn.content for turn in turns)
    return "zh" if language_of(said) == "zh" else "en"


def summary_of(turns: Sequence[TurnView], *, volatile: bool) -> str:
    """The first request and the last state, each in the words that were said; what was agreed when it was.

    `volatile`: a tool reported something that changes, so the last state carries its time.
    """
    zh = language_of_window(turns) == "zh"
    first = next(
        (
            n
            for n, turn in enumerate(turns)
            if turn.role in {"user", "staff"} and is_informative(turn, turns[n - 1] if n else None)
        ),
        None,
    )
    if first is None:
        return ""
    lines = [_line(turns[first], zh, first=True)]
    if asks(turns[first - 1]) if first else False:
        question = _shorten(_last_sentence(turns[first - 1].content))
        lines = [f"助手问：{question}" if zh else f"The assistant asked: {question}", *lines]
    for number in _later(turns, first):
        told = turns[number].role != "user" and volatile
        lines.append(_line(turns[number], zh, first=False) + (_as_of(turns[number], zh) if told else ""))
    return "\n".join(lines)


def _later(turns: Sequence[TurnView], first: int) -> list[int]:
    """The last thing that was agreed or done, and the last thing that the user said, in order."""
    after = range(len(turns) - 1, first, -1)
    agreed = (n for n in after if _is_agreed(turns[n]))
    said = (n for n in after if turns[n].role == "user" and is_informative(turns[n], turns[n - 1]))
    return sorted({number for found in (agreed, said) if (number := next(found, None)) is not None})


def _is_agreed(turn: TurnView) -> bool:
    if turn.role == "staff":
        return is_informative(turn)
    return turn.role == "assistant" and not asks(turn) and _AGREED.search(turn.content) is not None


def _line(turn: TurnView, zh: bool, *, first: bool) -> str:
    text = (
        _key_sentence(turn.content)
        if first
        else _shorten(_last_sentence(turn.content) if turn.role == "user" else _agreed_sentence(turn.content))
    )
    who = {"user": ("User", "用户"), "assistant": ("Assistant", "助手"), "staff": ("Staff", "人工")}.get(
        turn.role, ("User", "用户")
    )
    name = turn.name if turn.role == "user" and turn.name else (who[1] if zh else who[0])
    return f"{name}：{text}" if zh else f"{name}: {text}"


def _key_sentence(text: str) -> str:
    """The first sentence that says something, with a second one when both are short."""
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text[:4_000]) if match[0].strip(" ,，.!。！")]
    said = [
        sentence
        for sentence in sentences
        if len(sentence) > 8 or not re.match(r"(?i)(?:hi|hello|hey|你好|您好|嗨|thanks)\b", sentence)
    ] or sentences
    picked = said[0] if said else text.strip()
    if len(said) > 1 and len(picked) + len(said[1]) <= _QUOTE_LIMIT:
        joint = "" if picked[-1:] in "。！？" else " "
        picked = f"{picked}{joint}{said[1]}"
    return _shorten(picked)


def _last_sentence(text: str) -> str:
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text[-4_000:]) if match[0].strip(" ,，.!。！")]
    return sentences[-1] if sentences else text.strip()


def _agreed_sentence(text: str) -> str:
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text[:4_000])]
    return next((sentence for sentence in sentences if _AGREED.search(sentence)), _last_sentence(text))


def _shorten(text: str) -> str:
    bare = " ".join(text.split())
    if len(bare) <= _QUOTE_LIMIT:
        return bare
    cut = max(bare.rfind(mark, 0, _QUOTE_LIMIT) for mark in " ，,、")
    return bare[: cut if cut > _QUOTE_LIMIT // 2 else _QUOTE_LIMIT].rstrip(" ,，、") + "…"


def _as_of(turn: TurnView, zh: bool) -> str:
    at = turn.at.astimezone(turn.zone()).strftime("%Y-%m-%d %H:%M")
    return f"（截至 {at}）" if zh else f" (as of {at})"


def tags_of(turns: Sequence[TurnView], zh: bool) -> list[str]:
    """At most five topic words in the conversation's language, the most frequent first."""
    text = "\n".join(turn.content for turn in turns if turn.role in {"user", "assistant", "staff"})[:20_000]
    counts = [
        (len(pattern.findall(text)), number, zh_tag if zh else en_tag)
        for number, (en_tag, zh_tag, pattern) in enumerate(_COMPILED)
    ]
    return [tag for count, _, tag in sorted(counts, key=lambda row: (-row[0], row[1])) if count][:_MAX_TAGS]


def entities_of(turns: Sequence[TurnView], findings: Sequence[Finding]) -> list[EntityDraft]:
    """Orders, tickets, products with model numbers, amounts; and the places, employers and people of the facts."""
    found: dict[tuple[str, str], EntityDraft] = {}
    for finding in findings:
        if finding.key in _KIND:
            _keep(found, finding.value, _KIND[finding.key])
    for turn in turns:
        if turn.role not in {"user", "assistant", "staff"}:
            continue
        for kind, pattern in _ENTITIES:
            for match in pattern.finditer(turn.content[:8_000]):
                name = _product(match["v"].strip()) if kind == "product" else match["v"].strip()
                if name and not (kind == "product" and any(name.endswith(known) for known, _ in found)):
                    _keep(found, name, kind)
    return list(found.values())[:_MAX_ENTITIES]


def _product(name: str) -> str:
    """`My BT-500` is BT-500, `May 2024` is nothing."""
    bare = name.split(" ", 1)[1] if _NOT_PRODUCT.match(name) and " " in name else name
    return "" if _NOT_PRODUCT.match(bare) or bare.isdigit() else bare


def _keep(found: dict[tuple[str, str], EntityDraft], name: str, kind: str) -> None:
    if not any(name.lower() == known.lower() for known, _ in found):
        found[name, kind] = EntityDraft(name=name, kind=kind)

"""How someone wants to be reached and answered, and what must always or never be done: Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.clauses_zh import Clause
from llm.rules.finding import USER, Finding
from memory.codes import CONTACT, LANGUAGE, code_of
from schemas.drafts import Polarity

_CHANNEL = (
    r"(?:电子邮件|邮件|邮箱|电邮|email|Email|短信|电话|手机|微信|企业微信|QQ|qq|钉钉|飞书|站内信"
    r"|私信|在线客服|WhatsApp|Telegram|信件)"
)
_LEAD = (
    r"(?:有(?:什么)?(?:事情?|问题|消息|进展|更新|情况|需要)(?:的话)?(?:就|都|请)?|请|麻烦|最好"
    r"|尽量|以后|今后|平时|都|就|可以|直接|优先|一般|还是|统一|一律|务必|您|你|们|只|请您|希望"
    r"|首选|更)*"
)
_REACH = re.compile(
    rf"^{_LEAD}(?:(?:用|通过|以|走|在|靠)(?P<a>{_CHANNEL})(?:上|的?方式|来|里)?(?:跟我|和我|与我"
    rf"|给我)?(?:联系|沟通|通知|找|回复|交流|聊|发|告知|反馈)"
    rf"|(?:给我)?发(?P<b>{_CHANNEL})(?:到我[^，]{{0,6}})?(?:给我|来)?(?:联系|通知|告诉|沟通|就行"
    rf"|就好|即可)?|(?P<c>{_CHANNEL})(?:上)?(?:联系|沟通|通知|找|回复|告知)(?:我)?(?:就行|就好|即可"
    rf"|吧|最方便)?|(?:给我)?打(?P<d>电话)(?:给我|来)?联系)"
)
_PREFER = re.compile(
    rf"^{_LEAD}(?:更|比较|最|还是|一般|都|就|只)*(?:喜欢|习惯|倾向于?|偏向|希望|愿意|想|接受)(?:用"
    rf"|通过|以|走|收|在|靠)*(?P<a>{_CHANNEL})(?:上|方式|来)?(?:联系|沟通|通知|交流|聊"
    rf"|回复)?(?:我)?$|^(?:联系(?:我)?(?:的)?(?:方式|请)?(?:最好)?(?:是|用|以|走|首选|优先|请用|选)"
    rf"|首选|优先)(?P<b>{_CHANNEL})(?:为主|联系)?$|^(?:联系(?:方式)?)?以?(?P<c>{_CHANNEL})(?:为主"
    rf"|优先|最方便|就行|就好|即可|为准)$"
)
_REACH_BY = re.compile(rf"^联系我(?:的话)?(?:请|就|都|最好|尽量|可以|一般|直接)*(?:用|发|走|通过|打)(?P<a>{_CHANNEL})")
_NO_REACH = re.compile(
    rf"^(?:{_LEAD})(?:而)?(?:不要|别|请勿|勿|不用|不想|不接|不接受|不喜欢|不方便|拒绝|不是|千万别"
    rf"|不要再|别再|别老|少)(?:给我|跟我|再|总|老|用|通过|接|发|收|打|任何|过来"
    rf"|以)*(?P<v>{_CHANNEL})(?:给我|联系|沟通|通知|了|我|推销|打扰|骚扰|找我|来)*$"
)
# 发短信给我，别打电话: of two channels one is refused, so the other is wished for in general.
_REFUSED = re.compile(rf"(?:不要|别|请勿|不用|不想|勿)(?:再|总|老)?(?:给我|跟我)?(?:打|发|用|接)?(?:{_CHANNEL})")
_MOMENTARY = re.compile(
    r"现在|马上|立刻|立即|今天|明天|今晚|明晚|等下|等会|一会�?|稍后|待会|打字不方便|不方便打字"
    r"|刚刚|这会儿|尽快|赶紧|验证码|发票|合同|文件|链接|截图|照片|单号|地址|回单|二维码"
    r"|[一二三四五六七八九十\d]+点|分钟"
)
_GENERAL = re.compile(
    r"有(?:什么)?(?:事|问题|消息|进展|更新|情况|需要)|以后|今后|平时|请|尽量|最好|优先|首选|习惯"
    r"|喜欢|一般|都|为主|统一|一律|就行|就好|即可|希望|倾向|方便|只|更|务必"
)
_LIMIT_TIME = re.compile(
    r"(?:(?:工作日|周末|节假日|晚上|早上|中午|午休|上午|下午|夜里|凌晨|上班|开会|休息"
    r"|睡觉)?[^，。]{0,8}?(?:以后|之后|以前|之前|期间|时间|时候|点(?:后|前|半)?|[后前])|工作日"
    r"|周末|周[一二三四五六日天]|节假日|晚上|早上|中午|午休|上班时间?|夜里|凌晨|开会时)"
)
_CONSTRAINT_NOT = re.compile(
    r"(?P<q>(?:请)?(?:不要|别|请勿|勿|不准|不许|禁止|不能|不可以|不接|千万别|千万不要))(?P<v>(?:再"
    r"|总|老)?(?:给我|跟我|对我|把|在|向我)?[^，。]{0,4}?(?:打电话|来电|电话|发(?:短信|消息|邮件"
    r"|微信)|联系|打扰|送(?:货|件|快递)|派送|配送|上门|敲门|按门铃|把[^，]{1,8}?(?:放|丢|扔|留|交)|放门口|安排|推送|推荐|催|叫我"
    r"|寄|发货|开发票|透露|告诉)[^，。]{0,12})"
)
_STRICT = re.compile(
    r"^(?:以后|今后|从现在开始|往后|每次|一直|永远|始终|务必|一定要?|请(?:始终|务必|一定|每次|以后"
    r"|都)|麻烦(?:以后|每次))(?:请|都|要|你|您|给我|记得|务必|一定|跟我|对我|的?回复"
    r"|的?回答)*(?P<v>(?:回答|回复|说话|用|叫|称呼|发|写|给|先|提前|确认|通知|联系|送|放|开|附|列"
    r"|保持|简短|简洁|直接|不要|别)[^，。]{1,20})$"
)
_STYLE = re.compile(
    r"^(?:请|麻烦|希望|以后|都|尽量|最好|你|您)*(?P<v>(?:回答|回复|说话|解释|语气|表达)(?:得"
    r"|的时候|时|要|请|能|可以|尽量|都)*(?:再|更)?(?:简短|简洁|简单|精简|直接|正式|口语化?|通俗"
    r"|详细|幽默|温柔|专业|客气)(?:一?[点些])?(?:儿)?)(?:吧|就好|就行)?$"
)
_ANSWER_IN = re.compile(
    r"^(?:请|麻烦|以后|今后|都|你|您|可以|能|统一|一律|最好|尽量|希望|从现在起|要|务必|始终"
    r"|一直)*用(?P<v>简体中文|繁体中文|中文|英文|英语|日文|日语|韩文|韩语|法语|法文|德语|德文"
    r"|西班牙语|粤语|普通话|俄语|葡萄牙语|意大利语|泰语|越南语)(?:来|和我|跟我|给我|与我)*(?:回复"
    r"|回答|交流|沟通|说|聊|写|对话|答复|联系|讲)"
)
_MOTHER_TONGUE = re.compile(r"^(?:我的)?母语(?:是|：)(?P<v>[\u4e00-\u9fff]{2,5})$")
_TIME_ZONE = re.compile(
    r"(?:时区(?:是|在|：|:|为)?|在)(?P<v>东[一二三四五六七八九十]+区|UTC[+-]\d{1,2}|GMT[+-]\d{1,2}"
    r"|北京时间|东京时间|美东时间|美西时间|伦敦时间)"
)


def find(clause: Clause) -> Iterator[Finding]:
    """How to reach someone, which language to answer in, standing constraints, of one clause."""
    if clause.subject in {USER, ""}:
        yield from list(_contact(clause)) or list(_language(clause)) or list(_constraint(clause))


def _contact(clause: Clause) -> Iterator[Finding]:
    if _MOMENTARY.search(clause.sentence):
        return
    inner = clause.body if clause.subject == USER and not clause.dropped else clause.whole
    no = _NO_REACH.match(inner.text)
    if no:
        if not _LIMIT_TIME.search(inner.text[: no.start("v")]):
            yield _reached(clause, no["v"], "-", inner.start + no.end("v"))
        return
    match = _REACH_BY.match(clause.whole.text) or _PREFER.match(inner.text) or _REACH.match(inner.text)
    if match is None or re.search(r"不|别|勿", inner.text[: match.end()]):
        return
    name = next((group for group in ("a", "b", "c", "d") if match.groupdict().get(group)), None)
    if name is None or (
        name == "b"
        and match.re is _REACH
        and not re.search(r"联系|通知|有(?:什么)?(?:事|问题)|以后|就行|就好|即可|尽量|最好", clause.sentence)
        and not _REFUSED.search(clause.sentence)
    ):
        return
    if _GENERAL.search(clause.sentence):
        yield _reached(clause, match[name], "+", inner.start + match.end())


def _reached(clause: Clause, said: str, op: Polarity, end: int) -> Finding:
    return Finding(
        key="contact", value=code_of(CONTACT, said) or said, op=op, start=clause.start, end=end, rule="zh.contact"
    )


def _language(clause: Clause) -> Iterator[Finding]:
    text = clause.whole.text
    if (match := _ANSWER_IN.match(text) or _MOTHER_TONGUE.match(text)) and (code := code_of(LANGUAGE, match["v"])):
        yield Finding(
            key="language", value=code, op="+", start=clause.start, end=clause.start + match.end(), rule="zh.language"
        )
    elif match := _TIME_ZONE.search(text):
        yield Finding(
            key="timezone",
            value=match["v"],
            op="+",
            start=clause.start,
            end=clause.start + match.end("v"),
            rule="zh.timezone",
        )


def _constraint(clause: Clause) -> Iterator[Finding]:
    text = clause.whole.text
    if (match := _CONSTRAINT_NOT.search(text)) and not re.search(r"现在|今天|明天|这次|这单|马上", text):
        limited = _LIMIT_TIME.search(text[: match.start()])
        lasting = re.match(r"(?:请|麻烦)?(?:以后|今后|永远|任何|千万|从现在|一律)", text)
        if limited or (lasting and re.search(r"我|永远|一律|任何", text)):
            yield Finding(
                key="constraint",
                value=text.rstrip("了哦啊吧"),
                op="-",
                start=clause.start,
                end=clause.whole.end,
                rule="zh.constraint",
            )
    elif (match := _STYLE.match(text) or _STRICT.match(text)) and not re.search(r"现在|今天|明天|这次|这单", text):
        negative = re.match(r"不要|别", match["v"]) is not None
        yield Finding(
            key="constraint",
            value=match["v"],
            op="-" if negative else "+",
            start=clause.start,
            end=clause.whole.end,
            rule="zh.constraint",
        )

"""What someone needs, may spend, and how to be reached or answered: Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from llm.rules.clauses_zh import Clause
from llm.rules.finding import USER, Finding
from memory.amounts import find_amounts
from memory.codes import CONTACT, LANGUAGE, code_of
from memory.dates import find_times
from schemas.drafts import Polarity

_CHANNEL = r"(?:电子邮件|邮件|邮箱|电邮|email|Email|短信|电话|手机|微信|企业微信|QQ|qq|钉钉|飞书|站内信|私信|在线客服|WhatsApp|Telegram|信件)"
_LEAD = r"(?:有(?:什么)?(?:事情?|问题|消息|进展|更新|情况|需要)(?:的话)?(?:就|都|请)?|请|麻烦|最好|尽量|以后|今后|平时|都|就|可以|直接|优先|一般|还是|统一|一律|务必|您|你|们|只|请您|希望|首选|更)*"
_REACH = re.compile(
    rf"^{_LEAD}(?:(?:用|通过|以|走|在|靠)(?P<a>{_CHANNEL})(?:上|的?方式|来|里)?(?:跟我|和我|与我|给我)?(?:联系|沟通|通知|找|回复|交流|聊|发|告知|反馈)|(?:给我)?发(?P<b>{_CHANNEL})(?:到我[^，]{{0,6}})?(?:给我|来)?(?:联系|通知|告诉|沟通|就行|就好|即可)?|(?P<c>{_CHANNEL})(?:上)?(?:联系|沟通|通知|找|回复|告知)(?:我)?(?:就行|就好|即可|吧|最方便)?|(?:给我)?打(?P<d>电话)(?:给我|来)?联系)"
)
_PREFER = re.compile(
    rf"^{_LEAD}(?:更|比较|最|还是|一般|都|就|只)*(?:喜欢|习惯|倾向于?|偏向|希望|愿意|想|接受)(?:用|通过|以|走|收|在|靠)*(?P<a>{_CHANNEL})(?:上|方式|来)?(?:联系|沟通|通知|交流|聊|回复)?(?:我)?$|^(?:联系(?:我)?(?:的)?(?:方式|请)?(?:最好)?(?:是|用|以|走|首选|优先|请用|选)|首选|优先)(?P<b>{_CHANNEL})(?:为主|联系)?$|^(?:联系(?:方式)?)?以?(?P<c>{_CHANNEL})(?:为主|优先|最方便|就行|就好|即可|为准)$"
)
_REACH_BY = re.compile(rf"^联系我(?:的话)?(?:请|就|都|最好|尽量|可以|一般|直接)*(?:用|发|走|通过|打)(?P<a>{_CHANNEL})")
_NO_REACH = re.compile(
    rf"^(?:{_LEAD})(?:而)?(?:不要|别|请勿|勿|不用|不想|不接|不接受|不喜欢|不方便|拒绝|不是|千万别|不要再|别再|别老|少)(?:给我|跟我|再|总|老|用|通过|接|发|收|打|任何|过来|以)*(?P<v>{_CHANNEL})(?:给我|联系|沟通|通知|了|我|推销|打扰|骚扰|找我|来)*$"
)
_MOMENTARY = re.compile(
    r"现在|马上|立刻|立即|今天|明天|今晚|明晚|等下|等会|一会�?|稍后|待会|打字不方便|不方便打字|刚刚|这会儿|尽快|赶紧|验证码|发票|合同|文件|链接|截图|照片|单号|地址|回单|二维码|[一二三四五六七八九十\d]+点|分钟"
)
_GENERAL = re.compile(
    r"有(?:什么)?(?:事|问题|消息|进展|更新|情况|需要)|以后|今后|平时|请|尽量|最好|优先|首选|习惯|喜欢|一般|都|为主|统一|一律|就行|就好|即可|希望|倾向|方便|只|更|务必"
)
_LIMIT_TIME = re.compile(
    r"(?:(?:工作日|周末|节假日|晚上|早上|中午|午休|上午|下午|夜里|凌晨|上班|开会|休息|睡觉)?[^，。]{0,8}?(?:以后|之后|以前|之前|期间|时间|时候|点(?:后|前|半)?|[后前])|工作日|周末|周[一二三四五六日天]|节假日|晚上|早上|中午|午休|上班时间?|夜里|凌晨|开会时)"
)
_CONSTRAINT_NOT = re.compile(
    r"(?P<q>(?:请)?(?:不要|别|请勿|勿|不准|不许|禁止|不能|不可以|不接|千万别|千万不要))(?P<v>(?:再|总|老)?(?:给我|跟我|对我|把|在|向我)?[^，。]{0,4}?(?:打电话|来电|电话|发(?:短信|消息|邮件|微信)|联系|打扰|送(?:货|件|快递)|派送|配送|上门|敲门|按门铃|放门口|安排|推送|推荐|催|叫我|寄|发货|开发票|透露|告诉)[^，。]{0,12})"
)
_STRICT = re.compile(
    r"^(?:以后|今后|从现在开始|往后|每次|一直|永远|始终|务必|一定要?|请(?:始终|务必|一定|每次|以后|都)|麻烦(?:以后|每次))(?:请|都|要|你|您|给我|记得|务必|一定|跟我|对我|的?回复|的?回答)*(?P<v>(?:回答|回复|说话|用|叫|称呼|发|写|给|先|提前|确认|通知|联系|送|放|开|附|列|保持|简短|简洁|直接|不要|别)[^，。]{1,20})$"
)
_STYLE = re.compile(
    r"^(?:请|麻烦|希望|以后|都|尽量|最好|你|您)*(?P<v>(?:回答|回复|说话|解释|语气|表达)(?:得|的时候|时|要|请|能|可以|尽量|都)*(?:再|更)?(?:简短|简洁|简单|精简|直接|正式|口语化?|通俗|详细|幽默|温柔|专业|客气)(?:一?[点些])?(?:儿)?)(?:吧|就好|就行)?$"
)
_ANSWER_IN = re.compile(
    r"^(?:请|麻烦|以后|今后|都|你|您|可以|能|统一|一律|最好|尽量|希望|从现在起|要|务必|始终|一直)*用(?P<v>简体中文|繁体中文|中文|英文|英语|日文|日语|韩文|韩语|法语|法文|德语|德文|西班牙语|粤语|普通话|俄语|葡萄牙语|意大利语|泰语|越南语)(?:来|和我|跟我|给我|与我)*(?:回复|回答|交流|沟通|说|聊|写|对话|答复|联系|讲)"
)
_MOTHER_TONGUE = re.compile(r"^(?:我的)?母语(?:是|：)(?P<v>[\u4e00-\u9fff]{2,5})$")
_TIME_ZONE = re.compile(
    r"(?:时区(?:是|在|：|:|为)?|在)(?P<v>东[一二三四五六七八九十]+区|UTC[+-]\d{1,2}|GMT[+-]\d{1,2}|北京时间|东京时间|美东时间|美西时间|伦敦时间)"
)
_NEED = re.compile(
    r"^(?:现在|目前|最近|还|也|就|想|正|正在|急|急着|很|非常|只|主要|这次|今天|有点|一直)*(?:需要|想要|急需|要(?=[一二两三四五六七八九十几\d])|想(?:买|订|租|换|入手|购买|定|找|预订|预定|报|要)|要(?:买|订|租|购买|预订|预定)|打算(?:买|订|租|购买|入手)|准备(?:买|订|租|购买|入手)|计划(?:买|订|租)|在(?:找|看|选|物色|挑)|正在(?:找|看|选|挑)|求购|求|缺(?=一|个|台)|想入)"
)
_GET = re.compile(r"(?:拿到|收到|买到?|订到?|租到?|预订|购买|换|找到?|领取|取得|一份|得到|要到)")
_NOT_NEED = re.compile(
    r"^(?:你|您|他|她|它|帮|退|换(?!一)|改|取消|查|修|去|来|做|知道|了解|确认|尽快|重新|时间|考虑|多久|多少|什么|怎么|咨询|投诉|联系|人工|客服|申请|问|说|看看|看一下|等|再|先|和|跟|把|被|提供|填|注意|解决|处理|休息|帮助|帮忙|支持|一下|一个(?:说法|解释|答复|交代|理由|人|机会|方案|结果)|一点(?:时间|帮助)|说法|解释|答复|安静|冷静|时候|上传|下载|登录|注册|付|支付|补|开(?!发票)|吃|喝|睡|钱|加班|出差|开会|学|练|的|了|不|没|有|是|在家|办理|用到?|这|那|调|变|提前|另外|怎样|哪|几|想|减|早|按|经常|每)"
)
_CLASSIFIER = re.compile(
    r"^(?:[一二两三四五六七八九十几半\d]+(?:[台个张部双件套份本条只款间辆瓶盒箱把块副支盏床顶组次对位名种架座幅杯斤公斤人间晚])|新的?|更)"
)
_BUDGET_WORD = re.compile(
    r"预算|花(?:费)?(?:不|超|最多|在)|最多(?:花|出|付|能|只)|不(?:想|能|要)?(?:花)?超过|价位|价格(?:在|不|控制|最好)|心理价|接受的?价|上限|以内|控制在"
)
_NOT_BUDGET = re.compile(
    r"花了|付了|扣了|退款|工资|月薪|年薪|收费|收了|卖|罚|优惠|满\d|充值|押金|运费|尾款|账单|公司(?:的)?预算|部门预算|他|她|老板"
)
_BUDGET_OBJECT = re.compile(
    r"(?:^|我|，)(?:想|要|打算|准备|计划|给[^，]{1,4})*(?P<verb>买|装修|租|换|订|购买|入手|添置|配|选|报|办|旅游|去[^，]{1,5}旅[游行])(?P<o>[^，\d]{0,12}?)(?:的)?预算|(?:^|我的?|，)(?P<p>[\u4e00-\u9fffA-Za-z ]{1,8}?)(?:的)?预算(?=是|为|在|大概|大约|不|最|有|：|:|控|上|只|就|\d|[一二两三四五六七八九十])"
)
_AFTER_OBJECT = re.compile(
    r"(?:元|块|块钱|万|以内|左右|美元|欧元|预算)(?:左右|以内|的预算)?(?:来|想|要|去|用来|用于)?(?P<verb>买|装修|租|换|订|购买|入手|配)(?P<o>[^，。\d]{1,10})"
)
_REMEMBER = re.compile(
    r"(?:^|[，。！!\n]|\s)(?:请|麻烦|你|您|帮我|一定要?|千万|务必|要)*(?:记住|记一下|记下(?:来)?|备注(?:一下)?|请注意|记好|记得)(?:了)?(?P<sep>[，,：:！! ]*)(?P<v>[^。！!?？\n]{3,120})"
)
NOT_STORED = re.compile(
    r"(?:别|不要|不用|不许|不准|请勿|无需)(?:把)?(?:这(?:句|个|条|些|段|件事)?|它)?(?:话)?(?:给我)?(?:记(?!得|错|挂|仇|者)|存|保存|留存|记录|储存)|(?:忘|忘掉|忘记|删|删掉|删除|清除|抹掉)(?:关于我|你记住|我(?:之前|刚才)?说)|(?:删除|清除|忘记|忘掉|忘了)[^，。]{0,6}(?:所有|全部|一切|我的(?:信息|资料|记忆|数据))|仅此一次别记"
)


def find(clause: Clause) -> Iterator[Finding]:
    """Contact, constraints, reply language, time zone and needs of one clause."""
    if clause.subject not in {USER, ""}:
        return
    found = list(_contact(clause)) or list(_language(clause)) or list(_constraint(clause))
    yield from found
    if not found and clause.subject == USER:
        yield from _need(clause)


def find_budgets(clauses: Sequence[Clause], needs: Sequence[Finding]) -> Iterator[Finding]:
    """Budgets, each with what it is for: named beside it, else what was needed before it."""
    for clause in clauses:
        text = clause.whole.text
        if clause.subject not in {USER, ""} or _NOT_BUDGET.search(text) or (_HEDGE.search(text) and "预算" not in text):
            continue
        needed = [need for need in needs if need.key == "need" and need.start <= clause.start]
        told = _BUDGET_WORD.search(text)
        amounts = find_amounts(text, money_only="预算" not in text or bool(find_amounts(text)))
        if (
            not told
            or not amounts
            or len(amounts) > 2
            or ("预算" not in text and not needed and not re.search(r"花|价|超过", text))
        ):
            continue
        amount = amounts[-1]
        named = _budget_object(text) or (needed[-1].object if needed else None)
        yield Finding(
            key="budget", value=text[amount.start : amount.end], op="+", start=clause.start, end=clause.start + max(amount.end, len(text)),
            object=named, rule="zh.budget",
        )  # fmt: skip


_HEDGE = re.compile(r"可能|也许|大概率|如果|要是")


def find_other(text: str, known: Sequence[Finding]) -> Iterator[Finding]:
    """What was to be remembered and fits no key: kept as said."""
    for match in _REMEMBER.finditer(text):
        value, begin = match["v"].strip(), match.start("v")
        cue = match[0][: match.start("v") - match.start()]
        if (
            "记得" in cue
            or re.search(r"吗$|没有$", value)
            or re.match(r"(?:了|的|下|一下|我说的$|这(?:一?点|个)?$|密码|吧|哦|啊|没)", value)
            or (not match["sep"] and not re.match(r"我|本|咱|每|周|工|订|这|公司|家|门|下", value))
        ):
            continue
        if any(finding.start < begin + len(value) and finding.end > begin for finding in known):
            continue
        yield Finding(key="other", value=value, op="+", start=begin, end=begin + len(value), rule="zh.remember")


def _contact(clause: Clause) -> Iterator[Finding]:
    text = clause.whole.text
    text = text[1:] if False else text
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
        lasting = re.match(r"以后|今后|永远|任何|千万|从现在", text)
        if limited or (lasting and re.search(r"我", text)):
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


def _need(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    match = _NEED.match(body.text)
    if (
        match is None
        or re.search(r"不需要|不想|不要|可能|也许|需不需要|要不要", body.text)
        or (clause.dropped and not re.match(r"需要|想|要|打算|准备|求", match[0]))
    ):
        return
    rest = body.tail(match.end())
    buying = re.search(r"(?:买|订|租|换|入手|购买|找|看|选|预订|预定|求购|挑|物色|定)$", match[0])
    limit = re.match(r"在?[^，]{1,12}?(?:之前|以前|前|内|之内)\s*", rest.text)
    if limit:
        rest = rest.tail(limit.end())
    got = _GET.match(rest.text)
    if got and not rest.text.startswith("一份"):
        rest, buying = rest.tail(got.end()), got
    times = find_times(rest.text)
    if times and times[0].start == 0:
        rest = rest.tail(times[0].end)
    region = re.match(r"[\u4e00-\u9fffA-Za-z0-9 +.-]{2,24}", rest.text)
    if region is None:
        return
    value = re.sub(r"(?:了|吧|呢|啊|哈|哦|呀|，.*)$", "", region[0])
    value = re.sub(
        r"^(?:一?个|一?[台部款双副])?[\d一二两三四五六七八九十百千万]+(?:块钱?|元)?(?:左右|以内|上下|以下|出头)的",
        "",
        value,
    )
    value = re.split(r"(?:，|,|预算|用来|来用|给我|送给|可以吗|怎么|，|的话)", value)[0].strip()
    if _NOT_NEED.match(value) or len(value) < 2 or re.search(r"[你您他她我]|吗|什么|怎么|多少", value):
        return
    if not (
        buying
        or _CLASSIFIER.match(value)
        or (
            len(value) <= 8
            and re.search(
                r"(?:票|单|书|表|报告|材料|证明|卡|机|器|电脑|手机|耳机|房|车|衣|鞋|包|桌|椅|床|灯|券|证|合同|方案|发票|收据|座|餐|药|椅子|账号|套餐|宽带|名额|位置)$",
                value,
            )
        )
    ):
        return
    bare = re.sub(
        r"^(?:[一二两三四五六七八九十几半\d]+[台个张部双件套份本条只款间辆瓶盒箱把块副支盏床顶组次对位名种架座幅杯斤]|[台个张部双件套份本条只款间辆瓶盒箱把块副支]|新的?)",
        "",
        value,
    )
    yield Finding(
        key="need", value=value, op="+", start=clause.start, end=clause.whole.end, object=bare or value, rule="zh.need"
    )


def _budget_object(text: str) -> str | None:
    match = _BUDGET_OBJECT.search(text)
    if match and match["verb"]:
        thing = _unmeasured(match["o"])
        return (
            thing
            if match["verb"] in {"买", "购买", "入手", "换", "订", "配", "选", "添置"} and thing
            else match["verb"] + thing
        )
    if (
        match
        and match["p"]
        and not re.fullmatch(
            r"我|我的|总|总的|大概|目前|这次|全部|整体|最高|最多|现在|的|每月|每个月|你|有|说|这边|一个人", match["p"]
        )
    ):
        return _unmeasured(match["p"])
    if after := _AFTER_OBJECT.search(text):
        return _unmeasured(after["o"])
    return None


def _unmeasured(text: str) -> str:
    return re.sub(r"^(?:一?[台个张部双件套份本条只款间辆瓶把块副支]|新的?|了)", "", text.strip()).removesuffix("的")

"""What someone needs and may spend, and what was to be remembered: Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from llm.rules.clauses_zh import Clause
from llm.rules.finding import USER, Finding
from memory.amounts import find_amounts
from memory.dates import find_times

_NEED = re.compile(
    r"^(?:现在|目前|最近|还|也|就|想|正|正在|急|急着|很|非常|只|主要|这次|今天|有点|一直)*(?:需要"
    r"|想要|急需|要(?=[^，]{0,14}(?:拿|收|领|取)到)|要(?=[一二两三四五六七八九十几\d])|想(?:买|订|租|换|入手|购买|定|找|预订|预定|报"
    r"|要)|要(?:买|订|租|购买|预订|预定)|打算(?:买|订|租|购买|入手)|准备(?:买|订|租|购买|入手)"
    r"|计划(?:买|订|租)|在(?:找|看|选|物色|挑)|正在(?:找|看|选|挑)|求购|求|缺(?=一|个|台)|想入)"
)
_EARLY_LIMIT = re.compile(r"在?[^，我]{1,10}?(?:之前|以前|前)我?(?:还|也|就|一定|必须)*(?=需要|想要|急需|要)")
_GET = re.compile(r"(?:拿到|收到|买到?|订到?|租到?|预订|购买|换|找到?|领取|取得|一份|得到|要到)")
_NOT_NEED = re.compile(
    r"^(?:你|您|他|她|它|帮|退|换(?!一)|改|取消|查|修|去|来|做|知道|了解|确认|尽快|重新|时间|考虑"
    r"|多久|多少|什么|怎么|咨询|投诉|联系|人工|客服|申请|问|说|看看|看一下|等|再|先|和|跟|把|被"
    r"|提供|填|注意|解决|处理|休息|帮助|帮忙|支持|一下|一个(?:说法|解释|答复|交代|理由|人|机会"
    r"|方案|结果)|一点(?:时间|帮助)|说法|解释|答复|安静|冷静|时候|上传|下载|登录|注册|付|支付|补"
    r"|开(?!发票)|吃|喝|睡|钱|加班|出差|开会|学|练|的|了|不|没|有|是|在家|办理|用到?|这|那|调|变"
    r"|提前|另外|怎样|哪|几|想|减|早|按|经常|每)"
)
_CLASSIFIER = re.compile(
    r"^(?:[一二两三四五六七八九十几半\d]+(?:[台个张部双件套份本条只款间辆瓶盒箱把块副支盏床顶组次对位名种架座幅杯斤公斤人间晚])"
    r"|新的?|更)"
)
_BUDGET_WORD = re.compile(
    r"预算|(?:可以|能)(?:用来)?花|花(?:费)?(?:不|超|最多|在)|最多(?:花|出|付|能|只)|不(?:想|能|要)?(?:花)?超过|价位"
    r"|价格(?:在|不|控制|最好)|心理价|接受的?价|上限|以内|控制在"
)
_NOT_BUDGET = re.compile(
    r"花了|付了|扣了|退款|工资|月薪|年薪|收费|收了|卖|罚|优惠|满\d|充值|押金|运费|尾款|账单"
    r"|公司(?:的)?预算|部门预算|他|她|老板"
)
_BUDGET_OBJECT = re.compile(
    r"(?:^|我|，)(?:想|要|打算|准备|计划|给[^，]{1,4})*(?P<verb>买|装修|租|换|订|购买|入手|添置|配"
    r"|选|报|办|旅游|去[^，]{1,5}旅[游行])(?P<o>[^，\d]{0,12}?)(?:的)?预算|(?:^|我的?"
    r"|，)(?P<p>[\u4e00-\u9fffA-Za-z ]{1,8}?)(?:的)?预算(?=是|为|在|大概|大约|不|最|有|：|:|控|上"
    r"|只|就|改|提|涨|升|加|降|减|调|变|\d|[一二两三四五六七八九十])"
)
_AFTER_OBJECT = re.compile(
    r"(?:元|块|块钱|万|以内|左右|美元|欧元|预算)(?:左右|以内|的预算)?(?:来|想|要|去|用来"
    r"|用于)?(?P<verb>买|装修|租|换|订|购买|入手|配)(?P<o>[^，。\d]{1,10})"
)
_REMEMBER = re.compile(
    r"(?:^|[，。！!\n]|\s)(?:请|麻烦|你|您|帮我|一定要?|千万|务必|要)*(?:记住|记一下|记下(?:来)?"
    r"|备注(?:一下)?|请注意|记好|记得)(?:了)?(?P<sep>[，,：:！! ]*)(?P<v>[^。！!?？\n]{3,120})"
)
NOT_STORED = re.compile(
    r"(?:别|不要|不用|不许|不准|请勿|无需)(?:把)?(?:这(?:句|个|条|些|段|件事)?"
    r"|它)?(?:话)?(?:给我)?(?:记(?!得|错|挂|仇|者)|存|保存|留存|记录|储存)|(?:忘|忘掉|忘记|删|删掉"
    r"|删除|清除|抹掉)(?:关于我|你记住|我(?:之前|刚才)?说)|(?:删除|清除|忘记|忘掉"
    r"|忘了)[^，。]{0,6}(?:所有|全部|一切|我的(?:信息|资料|记忆|数据))|仅此一次别记"
)
_HEDGE = re.compile(r"可能|也许|大概率|如果|要是")


def find(clause: Clause) -> Iterator[Finding]:
    """What is needed or looked for, in one clause."""
    if clause.subject != USER:
        return
    body, dropped = clause.body, clause.dropped
    if early := _EARLY_LIMIT.match(body.text):
        body, dropped = body.tail(early.end()), dropped and "我" not in early[0]
    match = _NEED.match(body.text)
    if (
        match is None
        or re.search(r"不需要|不想|不要|可能|也许|需不需要|要不要", body.text)
        or (dropped and not re.match(r"需要|想|要|打算|准备|求", match[0]))
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
    value = re.sub(r"^个(?=.)|(?:了|吧|呢|啊|哈|哦|呀|，.*)$", "", region[0])
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
                r"(?:票|单|书|表|报告|材料|证明|卡|机|器|电脑|手机|耳机|房|车|衣|鞋|包|桌|椅|床|灯|券|证|合同"
                r"|方案|发票|收据|座|餐|药|椅子|账号|套餐|宽带|名额|位置)$",
                value,
            )
        )
    ):
        return
    bare = re.sub(
        r"^(?:[一二两三四五六七八九十几半\d]+[台个张部双件套份本条只款间辆瓶盒箱把块副支盏床顶组次对位名种架座幅杯斤]"
        r"|[台个张部双件套份本条只款间辆瓶盒箱把块副支]|新的?)",
        "",
        value,
    )
    yield Finding(
        key="need", value=value, op="+", start=clause.start, end=clause.whole.end, object=bare or value, rule="zh.need"
    )


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
            or ("预算" not in text and not needed and not re.search(r"花|价|超过|控制在", text))
        ):
            continue
        amount = amounts[-1]
        named = _budget_object(text) or (needed[-1].object if needed else None)
        yield Finding(
            key="budget", value=text[amount.start : amount.end], op="+",
            start=clause.start, end=clause.start + max(amount.end, len(text)), object=named, rule="zh.budget",
        )  # fmt: skip


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

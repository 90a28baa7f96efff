"""What someone likes, dislikes, avoids, gave up, does by habit: Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules import values_zh as values
from llm.rules.clauses_zh import PAST, Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from schemas.drafts import Polarity

_MUCH = (
    r"(?:很|特别|最|非常|超级?|挺|比较|还是|一直|一向|也|真的|都|就|蛮|相当|尤其|从小|从来|其实"
    r"|现在|最近|这几年|平时|平常|只|更|越来越|本来|可|贼|巨|老|总是|一般|还|确实|真|太|特|极其"
    r"|无敌|格外|向来|始终|仍然|依然|已经|真心|实在|一点|一点都|有点儿?|有些|又|开始|重新)*"
)
_LIKE = re.compile(
    rf"^{_MUCH}(?P<cue>喜欢上了?|喜欢|喜爱|热爱|偏爱|钟爱|酷爱|爱好(?:是|就是)?|爱(?!人|情|心|好|国"
    rf"|理|答|咋|干嘛)|迷上了|痴迷(?:于)?|沉迷(?:于)?|中意|偏好|好(?=[吃喝](?!货)|甜口"
    rf"|辣口))\s*(?!的)"
)
_DISLIKE = re.compile(
    rf"^{_MUCH}(?P<cue>不(?:太|怎么|大|是很|是特别|算|那么)?(?:喜欢|爱|中意)|讨厌|厌恶|反感|受不了"
    rf"|忍不了|接受不了|无法忍受|烦(?=[^，]{{2,}})|恨(?!不得)|嫌弃|(?:吃|喝|闻|用|穿|看)不惯"
    rf"|对(?=[^，]{{1,8}}无感))\s*"
)
_DEVOTED = re.compile(
    rf"^{_MUCH}对(?P<v>[^，]{{1,12}}?){_MUCH}(?P<cue>情有独钟|欲罢不能|爱不释手|(?:很|特别|非常)?(?:着迷|痴迷|入迷|上瘾)"
    rf"|(?P<no>(?:完全|实在|真的|都|就|并)*(?:没(?:有|什么|啥)?(?:什么|啥)?兴趣|不感兴趣|不感冒|无感|提不起兴趣)))(?:了|的)?$"
)
_FAN = re.compile(
    r"^(?:也|一直|其实)*(?P<no>不)?是(?:一?[个名位])?(?P<v>[^，的是]{1,10}?)的?(?:铁杆|忠实|死忠|资深|超级|狂热|骨灰级?|老|头号|铁)?"
    r"(?:粉丝|拥趸|爱好者|发烧友|球迷|影迷|歌迷|书迷)(?:了|啦)?$"
)
_DOUBLE = re.compile(
    r"不是(?:不|讨厌|没有不)|(?:并不|没有|不)(?:讨厌|反感)|没(?:有)?不喜欢|不得不|谈不上|说不上|不至于"
)
_TOPIC_LIKE = re.compile(
    r"^(?P<v>[\u4e00-\u9fffA-Za-z0-9 ]{1,10}?)(?:我|，我)?(?:是|就|还是|一直|也|都)?(?P<much>很|最"
    r"|特别|超级?|非常|挺)(?P<cue>喜欢|爱(?:吃|喝|玩|看)?|讨厌)(?:吃|喝|玩|看|用|了|的)?$"
    r"|^(?P<w>[\u4e00-\u9fffA-Za-z0-9 ]{1,10}?)我(?:真的|实在|就是|一直|从来|是)*(?P<no>不喜欢"
    r"|不爱|不太喜欢|讨厌|受不了|接受不了)(?:吃|喝)?(?:的)?$"
)
_NEVER = re.compile(
    r"^(?P<v>[\u4e00-\u9fffA-Za-z]{1,8}?)(?:我|是|真的|绝对|完全|坚决|一律|也|就)*(?P<cue>绝对不行"
    r"|坚决不行|绝对不碰|从来不碰|从不碰|不行(?!了|的话)|碰都不碰|一口都不(?:吃|碰)|完全接受不了"
    r"|接受不了|受不了|退散|达咩|敬而远之|我的天敌)$"
)
_GAVE_UP = re.compile(
    r"^(?:(?:现在|已经|早就|就|早|也|都|一直|最近|后来|从此|上个?月|去年|今年|终于|从去年(?:开始)?"
    r"|从今年(?:开始)?|从上个?月(?:开始)?|怀孕后|体检后)*)(?:(?:再也|不再|再)?不(?:再)?(?:吃|喝|抽"
    r"|碰|玩|喜欢|爱|看|养|打|听|穿|追)(?:吃|喝|看|听|玩)?(?P<v>[\u4e00-\u9fffA-Za-z0-9、和 "
    r"]{1,14}?)(?:很久|好久|好多年|多年)?了|(?:再也不|不再|再不)(?:吃|喝|抽|碰|玩|喜欢|爱|看|打|听"
    r"|追)(?:吃|喝|看|听|玩)?(?P<w>[\u4e00-\u9fffA-Za-z0-9、和 ]{1,12})"
    r"|把(?P<y>[\u4e00-\u9fffA-Za-z]{1,8}?)(?:都|也|给|全|彻底)*戒(?:掉)?了|戒(?:掉)?(?:了)?(?P<x>[\u4e00-\u9fffA-Za-z]{1,8}?)(?:了)?(?:[一二三四五六七八九十两半\d]+(?:个)?(?:年"
    r"|月|天|周|多年))?(?:了)?)$"
)
_TOPIC_GAVE_UP = re.compile(
    r"^(?P<v>[\u4e00-\u9fffA-Za-z]{1,10}?)(?:我|嘛|的话|这东西|是)?(?:现在|已经|早就|早|都|也"
    r"|，)*(?:(?:再也|不再)?不(?:再)?(?:吃|喝|抽|碰|玩|喜欢|爱|看|打|追)(?:吃|喝|看|玩)?了"
    r"|(?:已经)?戒(?:掉)?了(?:[一二三四五六七八九十两半\d]+(?:个)?(?:年|月|天|周)(?:多)?)?(?:了)?"
    r"|不再(?:吃|喝|碰|喜欢)(?:了)?)$"
)
_ONLY = re.compile(
    r"^(?:现在|平时|一般|我)?只(?:吃|喝|爱喝|爱吃|喜欢|用|穿)(?P<v>[\u4e00-\u9fffA-Za-z、和 ]{1,12}?)(?:了)?$"
)
_AVOID = re.compile(
    r"^(?:一直|从来|从不|从|也|都|平时|一般|绝对|完全|真的|现在|向来|自小|从小"
    r"|因为[^，]{1,8})*(?:不(?:能)?(?:吃|喝|碰|沾|穿)|吃不了|喝不了|不能接触|忌口?|忌食|避免(?:吃"
    r"|喝)?|滴(?P<drop>酒)不沾|少吃|不敢吃|不敢喝|不可以吃)(?P<v>[\u4e00-\u9fffA-Za-z、和或 "
    r"]{0,14}?)(?:的|的人)?$"
)
# What is left out of meals, by kind: given up, it is avoided. Of a habit (烟, 奶茶) only the liking ends.
_FOODS = (
    r"(?:(?:精制|添加|白)?糖(?:分)?|甜的|碳水(?:化合物)?|麸质|小麦|麦麸|面食|精米白面|谷物|主食|乳制品|奶制品"
    r"|牛奶|乳糖|豆制品|油炸(?:食品|的)?|盐|辣(?:的|椒)?|生冷(?:的)?|发物|咖啡因|红肉|肉类?|海鲜|含糖饮料|反式脂肪)"
)
_SPAN = r"(?:[一二三四五六七八九十两半几\d]+(?:多)?(?:个)?(?:多)?(?:年|月|天|周|星期|礼拜)(?:多)?)?"
_LATELY = (
    r"(?:现在|最近|目前|近期|这(?:段时间|阵子|几个?月)|一直|已经|从去年(?:开始)?|从今年(?:开始)?|都|也|就|早就|终于"
    r"|正|主动|尽量)*"
)
_WITHOUT = re.compile(
    rf"^{_LATELY}(?:(?:在|正在)(?:戒|断|忌口?|忌食|避开|避免(?:吃|喝|摄入)?|远离|控制不吃)"
    rf"(?P<v>[\u4e00-\u9fffA-Za-z、和 ]{{1,12}}?)(?:的)?"
    rf"|(?:避开|远离)(?P<w>{_FOODS}(?:[、和及]{_FOODS})*)(?:了)?"
    rf"|(?:戒|断)(?:掉)?(?:了)?(?P<x>{_FOODS}(?:[、和及]{_FOODS})*)(?:了)?{_SPAN}(?:了)?"
    rf"|(?:把|将)(?P<y>{_FOODS}(?:[、和及]{_FOODS})*)(?:都|也|给|全|彻底)*(?:戒|断)(?:掉)?了)$"
)
_NO_FOOD = re.compile(
    r"^(?:他|她|你|它|人|这|那|网|社交|危险|人群|喧嚣|城市|是非|话题|问题|高峰|堵车|阳光|紫外线|骄|躁"
    r"|冲突|尴尬|误会|争吵|麻烦|风险|浪费|迟到|失误|错误|拥堵|接触|出门)"
)
# 又开始吃糖了, 现在能吃辣了: what was avoided is no more.
_AGAIN = re.compile(
    r"^(?:现在|最近|终于|已经|从[^，]{1,6}(?:开始|起)|这(?:周|个月))*(?:(?:又|重新)(?:可以|能|开始|敢)*(?:吃|喝|碰)(?:上|起)?(?:回)?"
    r"|恢复(?:吃|喝)|(?:终于|现在)(?:可以|能)(?:吃|喝)|不(?:再|用)?(?:忌口?|忌食|避开|避免(?:吃|喝)?|戒)(?!不))"
    r"(?P<v>[\u4e00-\u9fffA-Za-z、和]{1,8}?)(?:的)?了$"
)
_NOT_AGAIN = re.compile(r"^(?:多|撑|胖|饱|药|完|错|坏|亏|醉|酒精|吐|早|晚|饭|瓜|席|口|到|不)")
_FAVOURITE = re.compile(
    r"^(?:我)?(?:的)?(?:最(?:喜欢|爱)(?:吃|喝|看|听|玩|用)?的(?:[\u4e00-\u9fff]{1,8})?|爱好"
    r"|兴趣(?:爱好)?|最爱)(?:是|就是|还是|有|：|:|一直是|包括)\s*(?P<v>[^，。]{1,24})$"
)
_IS_FAVOURITE = re.compile(
    r"^(?P<v>[\u4e00-\u9fffA-Za-z]{1,10})(?:是|一直是|就是|才是)我(?:的)?(?:最爱|最(?:喜欢"
    r"|爱)(?:吃|喝|看|听|玩)?的(?:[\u4e00-\u9fff]{1,6})?)$"
)
_HABIT = re.compile(
    r"^(?:我)?(?P<v>(?:每天(?:早上|晚上|中午|早晨|下午|睡前|都)*"
    r"|每周(?:[一二三四五六日末天])?(?:都)?|每个?(?:周末|星期|月|早上|晚上)(?:都)?|周末(?:都|一般"
    r"|通常|习惯)|平时(?:都|一般|习惯)|习惯(?:了)?(?:每天|早上|晚上|睡前|早起|晚睡)?|一般(?:早上"
    r"|晚上|周末)|通常(?:早上|晚上|周末)?)(?:会|要|都会|都要)?(?:坚持)?(?:\d+点"
    r"|[一二三四五六七八九十]+点半?)?(?:跑步|游泳|健身|晨跑|夜跑|散步|骑车|打球|打篮球|打羽毛球"
    r"|练瑜伽|做瑜伽|瑜伽|冥想|看书|读书|写日记|喝[^，]{1,6}|吃[^，]{1,6}|早起|起床|睡觉|睡|加班"
    r"|遛狗|做饭|去健身房|爬山|钓鱼|学[^，]{1,6}|练[^，]{1,6}|跑[^，]{1,6})(?:[^，]{0,6})?)$"
)


def find(clause: Clause) -> Iterator[Finding]:
    """Likes, dislikes, what was given up, avoidances, habits of one clause."""
    if clause.hedged or _DOUBLE.search(clause.whole.text):
        return
    yield from _favourite(clause)
    if clause.subject:
        yield from (
            list(_without(clause))
            or list(_dropped(clause))
            or list(_avoid(clause))
            or list(_devoted(clause))
            or list(_taste(clause))
        )


def _favourite(clause: Clause) -> Iterator[Finding]:
    match = _FAVOURITE.match(clause.whole.text)
    if match and clause.subject == USER and (clause.whole.text.startswith("我") or clause.dropped):
        yield from each_thing(clause, "likes", part(clause.whole, match, "v"), "+")
    elif (match := _IS_FAVOURITE.match(clause.whole.text)) and values.is_thing(match["v"]):
        yield stated(clause, "likes", part(clause.whole, match, "v"), "+", end=clause.whole.end, subject=USER)


def _without(clause: Clause) -> Iterator[Finding]:
    """What somebody does without, and what they take again."""
    body = clause.body
    if match := _WITHOUT.match(body.text):
        value = part(body, match, next(name for name in ("v", "w", "x", "y") if match[name]))
        if not _NO_FOOD.match(value.text):
            yield from each_thing(clause, "avoid", value, "-", end=body.start + match.end())
    elif (match := _AGAIN.match(body.text)) and not _NOT_AGAIN.match(match["v"]):
        yield from each_thing(clause, "avoid", part(body, match, "v"), "retract", end=clause.whole.end)


def _dropped(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    match = _GAVE_UP.match(body.text)
    if match and not re.search(
        r"不(?:吃|喝|玩|看|用|打)(?:饭|下|得|完|起|到|出|懂|上|惯|动|习惯|电话|扰|一下)|忍不住", body.text
    ):
        name = next(group for group in ("v", "w", "x", "y") if match[group])
        yield from each_thing(clause, "likes", part(body, match, name), "retract", end=clause.whole.end)
    elif (
        (match := _TOPIC_GAVE_UP.match(clause.whole.text))
        and clause.subject == USER
        and not re.match(r"(?:现在|已经|最近|我|早就|从此|后来|他|她|你|以后|真的|实在|都|也|再也)", match["v"])
    ):
        eaten = part(clause.whole, match, "v")
        # 糖我戒了 says what is left out of meals; 奶茶我戒了 that a liking is over.
        left_out = re.fullmatch(_FOODS, eaten.text) and "戒" in match[0]
        key, op = ("avoid", "-") if left_out else ("likes", "retract")
        yield from each_thing(clause, key, eaten, op, end=clause.whole.end)
    elif match := _ONLY.match(body.text):
        yield from each_thing(clause, "likes", part(body, match, "v"), "+")


def _avoid(clause: Clause) -> Iterator[Finding]:
    match = _AVOID.match(clause.body.text)
    if match is None or clause.body.text.endswith("了") or re.search(r"吃不(?!了)|少吃(?:点|一)", clause.body.text):
        return
    value = part(clause.body, match, "drop" if match["drop"] else "v")
    if value.text and not re.match(
        r"(?:饭|下|得|完|起|到|出|动|早饭|早餐|晚饭|午饭|药|亏|苦|东西|太|这|那|完|饱|惯|任何东西|外卖$)", value.text
    ):
        yield from each_thing(clause, "avoid", value, "-", end=clause.body.start + match.end())


def _devoted(clause: Clause) -> Iterator[Finding]:
    """对爵士乐情有独钟, 对足球没兴趣, 是皇马的忠实球迷."""
    match = _DEVOTED.match(clause.body.text) or _FAN.match(clause.body.text)
    if match and not PAST.match(clause.body.text):
        op: Polarity = "-" if match["no"] else "+"
        yield from each_thing(clause, "likes", part(clause.body, match, "v"), op, end=clause.whole.end)


def _taste(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    past = PAST.match(body.text)
    inner = body.tail(past.end()) if past else body
    if match := _DISLIKE.match(inner.text):
        if past is None:
            rest = inner.tail(match.end())
            rest = Piece(re.sub(r"无感$", "", rest.text), rest.start)
            yield from each_thing(clause, "likes", rest, "-")
        return
    if match := _LIKE.match(inner.text):
        rest = inner.tail(match.end())
        if not _relative(rest.text):
            yield from each_thing(clause, "likes", rest, "past" if past else "+")
        return
    if clause.subject != USER or past:
        return
    whole = clause.whole
    if match := _TOPIC_LIKE.match(whole.text):
        negative = match["no"] is not None or match["cue"] == "讨厌"
        value = part(whole, match, "w" if match["no"] else "v")
        if not re.match(r"(?:我|你|他|她|其实|真的|也|还|确实|最|不)", value.text):
            yield from each_thing(clause, "likes", value, "-" if negative else "+", end=whole.end)
    elif (match := _NEVER.match(whole.text)) and not re.match(
        r"(?:我|你|这|那|他|她|网络|手机|电脑|现在|今天|明天|质量|系统|密码|登录|支付|时间|方案|颜色"
        r"|身体|胃|真的|还是|都|实在)",
        match["v"],
    ):
        yield from each_thing(clause, "likes", part(whole, match, "v"), "-", end=whole.end)
    elif match := _HABIT.match(whole.text):
        yield stated(clause, "habit", part(whole, match, "v"), "+")


def _relative(rest: str) -> bool:
    """喜欢的那家店, 喜欢看书的人: the liking only describes something else."""
    return (
        rest.startswith("的")
        or re.search(r"的(?:那|这|人|店|东西|时候|话|是|朋友|客户|用户|原因|理由|样子|程度)", rest) is not None
    )


def each_thing(clause: Clause, key: str, rest: Piece, op: Polarity, *, end: int | None = None) -> Iterator[Finding]:
    """One finding per thing that `rest` names."""
    for thing in values.things(rest, choice=key == "likes" and op in {"+", "past"}):
        if len(thing.text) == 1 and thing.text not in "茶酒辣糖猫狗鱼肉葱姜蒜盐烟醋面虾蟹奶蛋米甜咸酸花书":
            continue
        yield stated(clause, key, thing, op, end=end)

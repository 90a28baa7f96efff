"""Chinese values: names, places, employers, occupations, things. What is none of them is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.finding import Piece
from llm.rules.lexicon_en import CITIES, COMPANIES, NAMES
from llm.rules.lexicon_zh import (
    COMMON_SURNAMES,
    COMPANIES_ZH,
    COMPOUND_SURNAMES,
    DOUBLED_NAMES,
    JOB_ENDINGS,
    NOT_EMPLOYERS,
    NOT_JOBS,
    PLACE_ENDINGS,
    PLACE_SET,
    PLACES,
    SURNAMES,
)

_PLACE_WORDS = re.compile("|".join(sorted(PLACES, key=len, reverse=True)))
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]+")
_NAME_ENDINGS = frozenset("员师生家工手长人者商民兵族座控党粉迷奴友狗号机车票吧呢啊哦嘛的了过吗子")
_NOT_NAME = re.compile(
    r"外卖|快递|滴滴|救护|出租|专车|保安|警察|客服|老板|程序|高中|马上|何必|别人|什么|不|没|了|过"
    r"|在|是|的|一个|一下|服务|经理|老师|先生|女士|太太|小姐|同学|全家|安全|成都|江苏|江西|云南"
    r"|海南|河南|湖南|管理|金牌|白金|黄金|会员|撇子|猫子|东方人|平安|安卓|苹果|高级|普通"
)
_NICK = re.compile(
    r"(?:小|老|阿|大)[\u4e00-\u9fff]{1,2}|([\u4e00-\u9fff])\1|[\u4e00-\u9fff]{1,2}(?:哥|姐|叔|总"
    r"|工|老师|同学|先生|女士|小姐)"
)
_LATIN_NAME = re.compile(r"[A-Z][a-z]+(?:\s[A-Z][a-z]+){0,2}|[a-z]{2,12}\b")
_NAME_STOP = re.compile(r"\s*(?:$|[，,。.!！、（(]|今年|来自|是|就|吧|哈|哦|呀|啊|也|和|做|在|，)")
_PLACE_TAIL = re.compile(
    r"(?:[\u4e00-\u9fff]{1,4}?(?:新区|高新区|开发区|区|县|镇|街道|路|城|半岛|湾|岛))|(?:浦东|浦西"
    r"|徐汇|静安|海淀|朝阳|福田|南山|宝安|罗湖|龙岗|天河|越秀|番禺|西湖|滨江|余杭|萧山|武侯|锦江"
    r"|望京|中关村|国贸|陆家嘴|五道口|张江|虹桥)"
)
_PLACE_STOP = re.compile(
    r"\s*(?:$|了|的|和|跟|与|，|,|。|那边|这边|附近|已经|快|有|\d|一|两|三|四|五|六|七|八|九|十|几"
    r"|多|好|市中心|市区|郊区|定居|生活|工作|上班|读书|上学|发展|租房|住|啦|呢|哦|啊|吧|呀|做|当"
    r"|、|/|现在|不久|很久|这里|这儿|后|周边|做生意|落户|买房|安家|养老|过|、)"
)
_THING_STOP = re.compile(
    r"[，,。.!！?？；;（()）]|(?:所以|因为|但是|不过|而且|特别是|尤其是|之类的?|什么的|等等|这种"
    r"|那种|的时候|就行|就好|了$|呢$|啊$|呀$|哦$|吧$|啦$|哈$|嘛$|来着$|得很$|得不行$|很多年|好多年"
    r"|多年)"
)
_LIST = re.compile(r"\s*(?:、|和|跟|以及|还有|或者?|与|及|&|/)\s*")
_HELD = ("和牛", "和服", "和菓子", "温和", "和平", "跟团", "和面", "总和", "共和", "和声", "暖和", "参与")
_NO_THING = re.compile(
    r"^(?:你|您|他|她|它|我|这|那|咱|谁|什么|怎么|哪|如何|人家|别人|大家|自己|所有|一切|任何|的|得"
    r"|地|了|着|过|上了|上(?![网班学海])|到|就|都|也|还|很|太(?!.{1,4}的)|真|不|没|吗|呢|吧|啊|被|把|给|让|跟"
    r"|说|问|等|看到|听到|知道|觉得|死|不得|起来|一下|点|些|一点|一些|有(?!机)|是|在(?!家|户)"
    r"|去(?!旅|爬|健|海|看|钓|逛)|来|用你|用这|为|以|从|对|因)|(?:东西|产品|服务|颜色|款式|感觉"
    r"|方案|设计|功能|版本|结果|答案|回复|建议|活动|时候|地方|人|事|事情|样子|回答|态度|效果"
    r"|问题)$"
)
_INNER = re.compile(
    r"[你您他她它]|我|这个|那个|这家|那家|这款|那款|这样|那样|什么|怎么|的(?:那|这)|(?:那|这)(?:种"
    r"|件|个|家|款|部|次)|为什么"
)

# The characters that foreign names are written with, those that often stand for themselves left out.
_SOUNDS = (
    "阿埃艾安昂奥巴拜鲍贝比彼宾波伯博勃布策茨达戴丹但德邓迪蒂丁顿敦多俄恩尔法凡菲费芬弗佛盖冈戈格根瓜圭哈赫亨惠霍基吉加"
    "贾杰津卡凯坎柯科克肯库昆拉莱兰劳勒雷黎里利列烈隆卢鲁伦罗洛吕玛马麦曼芒梅蒙米密摩莫墨默姆穆拿那纳娜奈内尼涅纽努诺"
    "欧帕潘庞佩彭皮珀普齐奇恰乔钦琼丘撒萨塞赛桑瑟森沙莎舍圣施士史舒斯苏索塔泰坦汤唐陶特滕廷突图托瓦威韦维温翁沃乌希锡"
    "谢辛休雅亚耶伊依尤约泽扎詹佐莉丽琳妮娅古买热孜江提帕措卓格吉其仁次央措旦罕"
)
_BY_SOUND = re.compile(f"[{_SOUNDS}]{{2,6}}")
_NO_SOUND = re.compile(r"^[那内]|^.[里内]$")
_VAGUE_EMPLOYER = re.compile(r"一家|某|这家|那家|自己|外地|一个|小|大|互联网|国有|外资|私人|初创|创业")
_NO_EMPLOYER = re.compile(
    r"^(?:一|两|几|某|这|那|哪|同一|自己|老家|家|外|国|网|晚|早|周|平|努|认|拼|专|远|好|继|路|忙|加|当|做|不|没|很|正"
    r"|各|每|全|刚|已|学校|公司|单位|医院|银行|餐厅|互联网|工厂|事业)"
    r"|(?:家|里|上|下|中|边|外|面|时|天|点|门口|附近|公司上|房|着|的|了|行业|单位)$"
)


def person(text: Piece, *, sure: bool) -> Piece | None:
    """A name at the start of `text`. `sure`: 叫我, 名字是: nicknames and Latin names count too."""
    lead = re.match(r"[\s“\"'「]*(?:做|作)?", text.text)
    text = text.tail(lead.end()) if lead else text
    latin = _LATIN_NAME.match(text.text)
    if latin and _NAME_STOP.match(text.text[latin.end() :]):
        known = latin[0].split()[0].lower() in NAMES
        return Piece(latin[0], text.start) if known or (sure and latin[0][0].isupper()) else None
    run = _HAN_RUN.match(text.text)
    if run is None:
        return None
    for size in (4, 3, 2):
        name = run[0][:size]
        if len(name) == size and _NAME_STOP.match(text.text[size:]) and _is_name(name, sure=sure):
            return Piece(name, text.start)
    return None


def _is_name(name: str, *, sure: bool) -> bool:
    if _NOT_NAME.search(name) and not (sure and _NICK.fullmatch(name) and not re.search(r"[不没了的是在]", name)):
        return False
    if _BY_SOUND.fullmatch(name) and not _NO_SOUND.search(name) and name not in PLACE_SET:
        return sure or name[-1] in "莉娜丽莎琳妮娅雅亚玛" or (len(name) > 2 and name[-1] in "江提孜帕措吉仁央罕特尔姆")
    if any(name.startswith(surname) for surname in COMPOUND_SURNAMES) and len(name) in {3, 4}:
        return True
    if sure and _NICK.fullmatch(name):
        return True
    if name in PLACE_SET or name[0] not in SURNAMES or len(name) > 3:
        return False
    return (sure and name[-1] not in "的了过吗呢吧") or name[-1] not in _NAME_ENDINGS


def is_pet_name(said: str) -> bool:
    """Whether somebody close is called so: 小林, 老王, 阿强, 朵朵."""
    familiar = len(said) == 2 and said[0] in "小老阿" and said[1] in COMMON_SURNAMES
    return familiar or (len(said) == 2 and said in DOUBLED_NAMES)


def place(text: Piece) -> Piece | None:
    """A place at the start of `text`, with its district: 上海浦东, 成都高新区, Berlin."""
    latin = re.match(r"[A-Z][a-z]+(?:\s[A-Z][a-z]+){0,2}", text.text)
    if latin and latin[0].lower() in CITIES:
        return Piece(latin[0], text.start)
    known = _PLACE_WORDS.match(text.text)
    if known is None:
        named = re.match(r"[\u4e00-\u9fff]{2,7}?(?:市|区|县|镇|自治州|州|村|岛)(?!中心|场|里|民|区|政)", text.text)
        good = (
            named
            and not re.match(
                r"(?:学校|公司|小区|社区|市区|郊区|城区|老城区|校区|厂区|园区|景区|山区|一个|这个|那个|什么"
                r"|哪个|我们|单位|宿舍|同一)",
                named[0],
            )
            and not named[0].endswith(("小区", "社区", "市区", "郊区", "园区", "校区", "同城市", "城市"))
        )
        return Piece(named[0], text.start) if named and good and _PLACE_STOP.match(text.text[named.end() :]) else None
    end = known.end()
    for _ in range(3):
        more = (
            _PLACE_WORDS.match(text.text, end)
            or re.compile(r"市(?!中心|区|场|里)|省|自治区").match(text.text, end)
            or _PLACE_TAIL.match(text.text, end)
        )
        if more is None:
            break
        end = more.end()
    return Piece(text.text[:end], text.start) if _PLACE_STOP.match(text.text[end:]) else None


def home(text: Piece) -> Piece | None:
    """A place that somebody lives in: a known one, or a foreign one that is written by its sound: 根特, 斯普利特."""
    found = place(text)
    if found is not None:
        return found
    run = _HAN_RUN.match(text.text)
    for size in range(min(6, len(run[0]) if run else 0), 1, -1):
        name = text.text[:size]
        if _BY_SOUND.fullmatch(name) and not _NO_SOUND.search(name) and _PLACE_STOP.match(text.text[size:]):
            return Piece(name, text.start)
    return None


def employer(text: Piece) -> Piece | None:
    """An employer that is the whole of `text`, a place before it left out: 北京的字节跳动."""
    text = text.stripped()
    located = re.match(rf"(?:{_PLACE_WORDS.pattern})(?:市)?(?:的|那边的)", text.text)
    if located:
        text = text.tail(located.end())
    if text.text in COMPANIES_ZH:
        return text
    text = Piece(re.sub(r"(?:这家公司|那家公司|这边|那边|里|当|做)$", "", text.text), text.start).stripped()
    value = text.text
    if value in COMPANIES_ZH:
        return text
    if re.fullmatch(r"[A-Za-z][\w&. -]{1,30}", value):
        return text if value[0].isupper() or value.lower() in COMPANIES else None
    return text if _is_employer(value) else None


def _is_employer(value: str) -> bool:
    if not 2 <= len(value) <= 14 or value in NOT_EMPLOYERS or _INNER.search(value) or _VAGUE_EMPLOYER.match(value):
        return False
    named = value.endswith(("公司", "集团", "科技", "银行", "大学", "医院"))
    if _NO_EMPLOYER.search(value) and not named:
        return False
    if value in PLACE_SET or _PLACE_WORDS.fullmatch(value) or (value.endswith(PLACE_ENDINGS) and not named):
        return False
    return re.fullmatch(r"[\u4e00-\u9fffA-Za-z0-9]+", value) is not None


# Trades are named without end: 急救员, 训犬师. Members of something are no trade: 会员, 党员, 家庭成员.
_TRADE = re.compile(
    r"[\u4e00-\u9fff][^\W会成党团人学委队一组动病职]员$|[\u4e00-\u9fff][^\W工巨]匠$|[\u4e00-\u9fff][^\W老大出]师$"
)


def occupation(text: Piece, *, strict: bool = True) -> Piece | None:
    """A job at the start of `text`, measure words left out. It must end in a known occupation."""
    lead = re.match(
        r"(?:一名|一位|一个|一枚|名|位|个|一|这边的?|全职|兼职|专业的?|资深的?|普通的?|小小的?|[980]\d后)*", text.text
    )
    text = text.tail(lead.end()) if lead else text
    region = re.match(
        r"[\u4e00-\u9fffA-Za-z0-9+# /]+?(?=$|[，,。.!！、（(]|一枚|的$|了$|出身|已经|快|兼|，|工作$"
        r"|这一?行|有\d|\d+年|多年|好几年)",
        text.text,
    )
    if region is None:
        return None
    value = region[0].strip()
    if (
        not 2 <= len(value) <= 14
        or value in NOT_JOBS
        or _INNER.search(value)
        or re.match(r"(?:不|没|很|被|把|想|要|来|去|在|有|说|怕|为|因|由|你|他|她|谁|哪|什么|第|新用户|老客户)", value)
    ):
        return None
    if "的" in value[:-1] and not re.search(r"(?:公司|大学|医院|学校|银行|部门?|团队)的", value):
        return None
    ends = any(value.endswith(ending) for ending in JOB_ENDINGS) or _TRADE.search(value)
    return Piece(value, text.start) if ends or not strict else None


def things(text: Piece, *, most: int = 10, choice: bool = False) -> Iterator[Piece]:
    """The things of a liking, one by one, 吃 and 喝 left out; nothing when the first is not a thing.

    `choice`: what is joined by 或 is weighed, not listed, and stays one thing as it was said.
    """
    stop = _THING_STOP.search(text.text)
    region = Piece(text.text[: stop.start()] if stop else text.text, text.start).stripped()
    parts = [_bare_thing(part) for part in split_list(region)]
    if choice and len(parts) > 1 and "或" in region.text and all(is_thing(part.text, most=most) for part in parts):
        first, last = parts[0].start - region.start, parts[-1].end - region.start
        yield Piece(region.text[first:last], parts[0].start)
    elif parts and is_thing(parts[0].text, most=most):
        yield from (part for part in parts if is_thing(part.text, most=most))


def _bare_thing(part: Piece) -> Piece:
    verb = re.match(r"(?:吃|喝)(?!货|素|力|亏|苦|醋)(?=.)", part.text)
    part = part.tail(verb.end()) if verb else part
    taste = part.text.endswith(("辣的", "甜的", "咸的", "酸的", "冰的", "热的", "苦的"))
    return part if taste else Piece(re.sub(r"(?:了|的|呢|啊|呀)$", "", part.text), part.start)


def split_list(region: Piece) -> Iterator[Piece]:
    """The parts of 苹果、梨和香蕉; words such as 和牛 stay whole."""
    at = 0
    for match in _LIST.finditer(region.text):
        held = any(
            region.text.startswith(word, match.start() - word.index(match[0].strip()[0]))
            for word in _HELD
            if match[0].strip() and match[0].strip()[0] in word and match.start() >= word.index(match[0].strip()[0])
        )
        if held:
            continue
        if match.start() > at:
            yield Piece(region.text[at : match.start()], region.start + at).stripped()
        at = match.end()
    if at < len(region.text):
        yield Piece(region.text[at:], region.start + at).stripped()


def is_thing(value: str, *, most: int = 10) -> bool:
    """Whether a phrase can name a thing or an activity."""
    if not value or _NO_THING.search(value) or _INNER.search(value):
        return False
    han = len(re.findall(r"[\u4e00-\u9fff]", value))
    if han > most or (not han and not re.fullmatch(r"[A-Za-z][\w +#.'&-]{0,30}", value)):
        return False
    return not re.search(r"[吗呢吧]$|就|便|关门|所以", value)

"""Who someone is, in Chinese: name, age, birth, city, employer, occupation, gender, languages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules import values_zh as values
from llm.rules.clauses_zh import Clause
from llm.rules.finding import USER, Finding, Piece
from memory.codes import LANGUAGE, code_of
from schemas.drafts import Polarity

PAST = re.compile(
    r"^(?:[^，。]{0,6}?)(?:以前|之前|曾经|曾|过去|原先|从前|早些年|前几年|小时候|当年|上学时|毕业前|那会儿|老早|原来(?=在|是|住|做))"
)
_NAME = re.compile(
    r"^(?:(?:我|本人)(?:的)?(?:名字|大名|全名|中文名|英文名|姓名|小名|昵称)?(?:是|叫做?|就叫|改名叫|改叫)|(?:姓名|名字|昵称)(?:是|叫|：|:)|(?:我|本人)?姓[\u4e00-\u9fff]{1,2}，?(?:名|叫))\s*"
)
_CALL_ME = re.compile(r"(?:^|请|可以|就|都|直接|以后)(?:叫|称呼|喊|管)我(?:做|为|叫)?\s*(?:叫)?")
_I_AM = re.compile(r"^(?:我是|本人是?|这里是|我系)\s*(?:客户|用户|买家|会员)?")
_AGE = re.compile(
    r"(?:^|(?<=我)|今年|现在|已经|年龄(?:是|：|:)?|年纪)\s*(?:都|也|刚|刚刚|才|已经|刚满|满|有|快)*\s*(?P<v>\d{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九两])(?P<unit>周?岁)?(?P<rest>(?:多|半)?(?:了|啦|的)?)(?=$|[，,。.!！、]|男|女|老|[\u4e00-\u9fff]{2,6}$)"
)
_AGE_NOT = re.compile(r"岁(?:以上|以下|以内|的时候|时|那年|生日|前|后|起|之)|满\d+岁(?:才|可)|\d+岁(?:就|才|开始)")
_BORN = re.compile(
    r"(?:(?:生于|出生于|出生在|是)\s*)?(?P<v>(?:19|20)\d\d年(?:\d{1,2}月(?:\d{1,2}[日号])?)?)(?:的?(?:出生|生人|生的)|出生|生$|$)"
)
_BIRTHDAY = re.compile(r"生日(?:是|在|：|:)\s*(?P<v>(?:(?:19|20)\d\d年)\d{1,2}月\d{1,2}[日号])")
_LIVE = re.compile(
    r"^(?:家(?:就)?(?:住|在)|现居(?:住)?(?:在|于)?|常住(?:在)?|定居(?:在|于)?|长期住在?|目前住在?|坐标(?:是|在)?|base在?|居住在|居住于|(?:我|本人)?(?:现在|目前|一直|常年|也|都|平时|还|已经|最近|主要|就|跟[^，]{1,6}一起|和[^，]{1,6}一起|一个人)*住(?:在|到了?)?|(?:现在|目前|一直|常年|长期)?生活在|所在(?:城市|地)(?:是|：)?|(?:现在|目前)?城市(?:是|：))\s*",
    re.IGNORECASE,
)
_IN_LIVE = re.compile(
    r"^(?:现在|目前|一直|常年|就|还|已经)*在\s*(?=(?P<p>[^，]{2,12}?)(?:定居|生活|安家|落户|住(?!院|宿|过|了(?![^，]*了$)|了[^，]*酒店)))"
)
_MOVED = re.compile(
    r"(?:从(?P<from>[^，]{2,12}?))?(?:搬家?|迁|移居|移民|调|搬回|搬迁)(?:到|去|来|至|回)?(?:了)?\s*(?P<to>[^，]{2,16})"
)
_LEFT_CITY = re.compile(r"^(?:已经|早就|现在)*不(?:再)?(?:住|在)(?:在)?\s*(?P<v>[^，]{2,10}?)(?:住|生活)?了$")
_LIVED = re.compile(r"在\s*(?P<v>[^，]{2,10}?)(?:住过|生活过|待过|呆过|住了|生活了|定居过|住(?=$))")
_WORK = re.compile(
    r"^(?:(?:现在|目前|一直|还|也|都|刚|正|已经|主要|一直都|毕业后就?|\d+年|就|平时|这几年)*)(?:在|于)\s*(?P<v>[^，]{1,20}?)(?P<verb>上过班|工作过|干过|待过|实习过|工作|上班|任职|就职|供职|干活|搬砖|打工|实习|(?:做|当|担任|任职|任|干|从事|负责)(?P<job>[^，]{2,16}))(?P<rest>的|了[^，]*|过[^，]*|[^，]{0,6})?$"
)
_AT = re.compile(
    r"^(?:现在|目前|一直|刚|也|还)*(?:就职于|供职于|任职于|受雇于|服务于|效力于|入职(?:了|于)?|加入(?:了)?|跳槽(?:到|去)(?:了)?|进(?:了|入)|(?:换|转)到(?:了)?)\s*(?P<v>[^，]{2,16}?)(?:公司)?(?:(?:做|当|担任|任|，做)(?P<job>[^，]{2,14}))?(?:了|工作|上班)?$"
)
_COMPANY_IS = re.compile(
    r"^(?:我(?:们)?(?:的)?|本人)?(?:公司|单位|东家|雇主|工作单位)(?:是|叫|：|:|就是)\s*(?P<v>[^，]{2,14})$"
)
_QUIT = re.compile(
    r"^(?:(?:已经|早就|刚刚?|上个?月|上周|去年|今年|最近|前(?:阵子|不久|段时间)|昨天|前天|终于|[一二三四五六七八九十\d]+月份?)*)从\s*(?P<v>[^，]{2,14}?)(?:离职|辞职|离开|裸辞|退休|跳槽|出来|走人|跑路)(?:了)?(?:(?:到|去|来)(?:了)?(?P<to>[^，]{2,14}?))?(?:了)?$"
)
_LEFT = re.compile(
    r"^(?:已经|早就|刚|刚刚|上个?月|上周|去年|今年|最近|终于)*(?:离开了?|被(?P<w>[^，]{2,10}?)(?:裁|辞退|开除|优化)(?:掉)?|辞(?:掉|去)了?(?:在)?)\s*(?P<v>[^，]{2,14}?)(?:的工作|的职位)?(?:了)?$|^(?:已经|早就|现在)*不(?:再)?在\s*(?P<n>[^，]{2,14}?)(?:上班|工作|干|做|任职|待|那边)*了$"
)
_JOB = re.compile(
    r"^(?:(?:现在|目前|一直|就|也|都|还|主要|本来|平时|已经)*)(?:是(?:一?[名个位枚]|做|当|搞|干)?|做(?:的是)?|当|担任|任|从事|干(?:的是)?|改行做|转行(?:做|当|成了?)|转(?:做|岗做|岗到|成)|升(?:职)?(?:为|成|到)了?|成(?:了|为)|(?:的)?(?:职业|工作|岗位|职位|职务)(?:是|：|:|为))\s*(?P<v>[^，]{2,18})$"
)
_JOB_LABEL = re.compile(
    r"^(?:我的?|本人)?(?:的)?(?:职业|工作|岗位|职位|职务|身份)(?:是|：|:|为)\s*(?:一?[名个位])?(?P<v>[^，]{2,16})$"
)
_JOB_PIECE = re.compile(r"^(?:[980]\d后|单身|普通|一枚|一名|一个|\d+岁)*(?P<v>[\u4e00-\u9fffA-Za-z]{2,10})一枚$")
_NO_JOB = re.compile(r"^(?:已经|早就|现在)*不(?:再)?(?:是|做|当|干|从事)\s*(?P<v>[^，]{2,12}?)(?:这一?行)?了$")
_FIELD = re.compile(
    r"^(?:(?:现在|目前|一直|主要|已经|早就)*)(?P<no>不(?:再)?)?(?:是)?(?:做|搞|干|从事)(?P<v>销售|财务|运营|设计|开发|测试|外贸|电商|行政|人事|采购|市场|审计|软件开发|前端开发|后端开发|数据分析|新媒体|新媒体运营|建筑设计|室内设计|平面设计|金融|教育|法务|公关|物流|培训|咨询|量化|算法|自媒体|直播)(?:的|工作|这一?行|方面的(?:工作)?)?(?P<over>了)?$"
)
_GENDER = re.compile(
    r"^(?:是(?:一?个|位|名)?)?(?:\d{1,3}岁(?:的)?)?(?P<v>女生|男生|女性|男性|女的|男的|女孩子?|男孩子?|妹子)$|^性别(?:是|：|:)?(?P<w>男|女)$"
)
_SPEAKS = re.compile(r"^(?:会|能)(?:说|讲)(?:一点|流利的?)?(?P<v>[\u4e00-\u9fff、和与跟]{2,20})$")


def find(clause: Clause) -> Iterator[Finding]:
    """Identity facts of one clause."""
    if not clause.subject or clause.hedged:
        return
    yield from _name(clause)
    yield from _age(clause)
    yield from _city(clause)
    jobs = list(_work(clause))
    yield from jobs
    if not jobs:
        yield from _job(clause)
    body = clause.body
    if (match := _GENDER.match(body.text)) and clause.subject == USER:
        yield _finding(clause, "gender", _part(body, match, "v" if match["v"] else "w"), "+")
    if match := _SPEAKS.match(body.text):
        for part in values.split_list(_part(body, match, "v")):
            if code_of(LANGUAGE, part.text):
                yield _finding(clause, "skill", part, "+")


def _name(clause: Clause) -> Iterator[Finding]:
    whole, body = clause.whole, clause.body
    if clause.subject == USER:
        match = _NAME.match(whole.text)
        if match and "是" in match[0][-1:] and not re.search(r"名|姓", match[0]):
            match = None
        call = _CALL_ME.search(whole.text)
        if (match and (found := values.person(whole.tail(match.end()), sure="名字" in match[0] or "昵称" in match[0]))) or (
            call
            and not re.search(r"别|不要|不用", whole.text[: call.end()])
            and (found := values.person(whole.tail(call.end()), sure=True))
        ) or (
            (match := _I_AM.match(whole.text))
            and (found := values.person(whole.tail(match.end()), sure=False))
            and found.end == whole.end
        ) or (re.match(r"[\u4e00-\u9fff]{2,4}本人$", whole.text) and (
            found := values.person(Piece(whole.text[:-2], whole.start), sure=False)
        )):
            yield _finding(clause, "name", found, "+")
    elif match := re.match(r"(?:的)?(?:名字)?(?:叫做?|名叫)\s*", body.text):
        if match[0] and (found := values.person(body.tail(match.end()), sure=True)):
            yield _finding(clause, "name", found, "+")
    if clause.named and clause.subject != USER and values.person(Piece(clause.named, 0), sure=False):
        at = clause.whole.text.index(clause.named)
        yield _finding(clause, "name", Piece(clause.named, clause.start + at), "+")


def _age(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if _AGE_NOT.search(body.text) or PAST.match(body.text):
        return
    if (match := _BORN.match(body.text) or _BIRTHDAY.search(body.text)) and ("生" in match[0] or "生于" in body.text):
        yield _finding(clause, "birth", _part(body, match, "v"), "+")
        return
    match = _AGE.search(body.text)
    if match is None or match.start() > 4:
        return
    led = re.match(r"(?:今年|现在|年龄|已经|刚满)", match[0])
    number = match["v"]
    if not match["unit"] and not (
        (led
        and "今年" in match[0])
        or "年龄" in match[0]
        or (clause.whole.text.startswith("我") and body.text == number and number.isdigit() and 14 <= int(number) <= 90)
    ):
        return
    if match["rest"].startswith("多") or "快" in match[0]:
        return
    if clause.dropped and not led and clause.subject == USER and match.start() != 0:
        return
    yield _finding(clause, "age", _part(body, match, "v"), "+")


def _city(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    past = PAST.match(body.text)
    inner = body.tail(past.end()) if past else body
    op: Polarity = "past" if past else "+"
    if match := _LEFT_CITY.match(inner.text):
        if found := values.place(_part(inner, match, "v")):
            yield _finding(clause, "city", found, "retract", end=clause.whole.end)
        return
    if (match := _MOVED.search(inner.text)) and not re.search(
        r"不搬|没搬|要搬|想搬|搬(?:东西|砖|运|起|不)", inner.text
    ):
        if past is None:
            yield from _move(clause, inner, match)
        return
    if (
        (past
        and (match := _LIVED.search(inner.text)))
        or (match := re.match(r"(?:我)?在\s*(?P<v>[^，]{2,10}?)(?:住过|生活过|待过|呆过)", inner.text))
    ):
        if found := values.place(_part(inner, match, "v")):
            yield _finding(clause, "city", found, "past", end=clause.whole.end)
        return
    match = _LIVE.match(inner.text) or _IN_LIVE.match(inner.text)
    if match and not re.search(r"住院|住宿|住酒店|住过|住了.{0,4}(?:晚|天|夜)", inner.text):
        found = values.place(inner.tail(match.end()))
        weak = match[0].strip() in {"家在", "家就在"} and False
        if found and not weak:
            yield from _each_city(clause, inner, found, op)


def _each_city(clause: Clause, inner: Piece, found: Piece, op: Polarity) -> Iterator[Finding]:
    yield _finding(clause, "city", found, op)
    rest = inner.tail(found.end - inner.start)
    if (also := re.match(r"\s*(?:和|、|跟)\s*", rest.text)) and (second := values.place(rest.tail(also.end()))):
        yield _finding(clause, "city", second, op)


def _move(clause: Clause, inner: Piece, match: re.Match[str]) -> Iterator[Finding]:
    verb = match[0]
    if re.match(r"(?:从[^，]*)?调", verb) and "搬" not in verb:
        return
    if not re.search(r"(?:到|去|来|至|回|移居|移民)", verb):
        return
    to = values.place(_part(inner, match, "to"))
    if to is not None:
        yield _finding(clause, "city", to, "+", end=clause.whole.end)
        if match["from"] and (origin := values.place(_part(inner, match, "from"))):
            yield _finding(clause, "city", origin, "past", end=clause.whole.end)


def _work(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    past = PAST.match(body.text)
    inner = body.tail(past.end()) if past else body
    op: Polarity = "past" if past else "+"
    if (match := _COMPANY_IS.match(clause.whole.text)) and clause.subject == USER:
        if found := values.employer(_part(clause.whole, match, "v")):
            yield _finding(clause, "company", found, "+")
        return
    if match := _QUIT.match(inner.text):
        if found := values.employer(_part(inner, match, "v")):
            yield _finding(clause, "company", found, "retract", end=clause.whole.end)
        if match["to"] and (found := values.employer(_part(inner, match, "to"))):
            yield _finding(clause, "company", found, "+", end=clause.whole.end)
        return
    if match := _LEFT.match(inner.text):
        name = next((group for group in ("n", "w", "v") if match[group]), "v")
        found = values.employer(_part(inner, match, name))
        if found and not values.place(found):
            yield _finding(clause, "company", found, "retract", end=clause.whole.end)
        return
    if match := _AT.match(inner.text):
        yield from _at(clause, inner, match, op)
    elif match := _WORK.match(inner.text):
        if "过" in match["verb"] or re.match(r"过", match["rest"] or ""):
            op = "past"
        yield from _at(clause, inner, match, op)


def _at(clause: Clause, inner: Piece, match: re.Match[str], op: Polarity) -> Iterator[Finding]:
    found = values.employer(_part(inner, match, "v"))
    if found and not re.search(r"群|党|俱乐部|比赛|会议|直播间|购物车|房间|页面|决赛", found.text):
        yield _finding(clause, "company", found, op, end=inner.start + match.end())
    if match["job"]:
        job = _part(inner, match, "job")
        if title := values.occupation(Piece(re.sub(r"(?:了|的|工作)$", "", job.text), job.start)):
            yield _finding(clause, "job", title, op, end=title.end)


def _job(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if match := _NO_JOB.match(body.text):
        if found := values.occupation(_part(body, match, "v")):
            yield _finding(clause, "job", found, "retract", end=clause.whole.end)
            return
    past = PAST.match(body.text)
    inner = body.tail(past.end()) if past else body
    op: Polarity = "past" if past else "+"
    whole = clause.whole
    if (
        clause.dropped
        and clause.subject == USER
        and clause.sentence.strip().startswith(("我", "本人"))
        and whole.start > 0
        and re.fullmatch(r"[\u4e00-\u9fff]{2,8}", whole.text)
    ):
        if (
            (found := values.occupation(whole))
            and found.text == whole.text
            and not re.search(r"客服|前台|测试|产品|老板|经理$", found.text)
        ):
            yield _finding(clause, "job", found, "+")
        return
    if (match := _FIELD.match(inner.text)) is not None and bool(match["no"]) == bool(match["over"]):
        yield _finding(
            clause, "job", _part(inner, match, "v"), "retract" if match["over"] else op, end=clause.whole.end
        )
        return
    if (match := _JOB_PIECE.match(clause.whole.text)) and clause.dropped and clause.subject == USER:
        if found := values.occupation(_part(clause.whole, match, "v")):
            yield _finding(clause, "job", found, op)
        return
    match = _JOB_LABEL.match(clause.whole.text)
    if match and clause.subject == USER:
        if found := values.occupation(_part(clause.whole, match, "v"), strict=False):
            yield _finding(clause, "job", found, op)
        return
    match = _JOB.match(inner.text)
    if match is None or re.match(
        r"(?:做|干|当)(?:了|完|好|过|不|得|饭|菜|事|题|梦|客|心|真|然|时|天|面|个)", inner.text
    ):
        return
    if (
        clause.dropped
        and not past
        and not re.search(r"现在|目前|如今", clause.sentence)
        and inner.text.startswith("是")
        and not clause.sentence.strip().startswith(("我", "本人"))
        and clause.subject == USER
    ):
        return
    if found := values.occupation(_part(inner, match, "v")):
        yield _finding(clause, "job", found, op)


def _part(piece: Piece, match: re.Match[str], name: str) -> Piece:
    return Piece(match[name], piece.start + match.start(name))


def _finding(clause: Clause, key: str, value: Piece, op: Polarity, *, end: int | None = None) -> Finding:
    return Finding(
        key=key,
        value=value.text,
        op=op,
        start=clause.start,
        end=max(value.end, end or 0),
        subject=clause.subject,
        rule=f"zh.{key}",
    )

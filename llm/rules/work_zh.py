"""For whom someone works, and as what: Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from llm.rules import values_zh as values
from llm.rules.clauses_zh import PAST, Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from llm.rules.lexicon_zh import COMPANIES_ZH
from schemas.drafts import Polarity

_IS_ONE = re.compile(r"(?:公司|集团|银行|医院|大学|研究院|研究所|航空)$")

_NOW_AT = re.compile(r"^(?:我)?(?:现在|目前|如今|转头)*(?:在|去了|到了|进了|换到了?)\s*(?P<v>[^，]{2,12}?)(?:了)?$")
_OF = re.compile(r"^是\s*(?P<v>[^，的]{2,12})的(?:一?[名个位])?(?P<job>[^，的]{2,12})$")
_NOT_LISTED = re.compile(r"客服|前台|测试|产品|老板|经理$")
_NOT_DOING = re.compile(r"(?:做|干|当)(?:了|完|好|过|不|得|饭|菜|事|题|梦|客|心|真|然|时|天|面|个)")
_WORK = re.compile(
    r"^(?:(?:现在|目前|一直|还|也|都|刚|正|已经|主要|一直都|毕业后就?|\d+年|就|平时|这几年)*)(?:在"
    r"|于)\s*(?P<v>[^，]{1,20}?)(?:找到了?(?:一?份)?新?|找了(?:一?份)?新?|谋了一?份)?(?P<verb>上过班|工作过|干过|待过|实习过|工作|上班|任职|就职|供职"
    r"|干活|搬砖|打工|实习|(?:做|当|担任|任职|任|干|从事|负责)(?P<job>[^，]{2,16}))(?P<rest>的"
    r"|了[^，]*|过[^，]*|[^，]{0,6})?$"
)
_AT = re.compile(
    r"^(?:现在|目前|一直|刚|也|还)*(?:就职于|供职于|任职于|受雇于|服务于|效力于|入职(?:了|于)?"
    r"|加入(?:了)?|跳槽(?:到|去)(?:了)?|进(?:了|入)|(?:换"
    r"|转)到(?:了)?)\s*(?P<v>[^，]{2,16}?)(?:公司)?(?:(?:做|当|担任|任"
    r"|，做)(?P<job>[^，]{2,14}))?(?:了|工作|上班)?$"
)
_COMPANY_IS = re.compile(
    r"^(?:我(?:们)?(?:的)?|本人)?(?:公司|单位|东家|雇主|工作单位)(?:是|叫|：|:|就是)\s*(?P<v>[^，]{2,14})$"
)
_QUIT = re.compile(
    r"^(?:(?:已经|早就|刚刚?|上个?月|上周|去年|今年|最近|前(?:阵子|不久|段时间)|昨天|前天|终于"
    r"|[一二三四五六七八九十\d]+月份?)*)从\s*(?P<v>[^，]{2,14}?)(?:离职|辞职|离开|裸辞|退休|跳槽"
    r"|出来|走人|跑路)(?:了)?(?:(?:到|去|来)(?:了)?(?P<to>[^，]{2,14}?))?(?:了)?$"
)
_LEFT = re.compile(
    r"^(?:已经|早就|刚|刚刚|上个?月|上周|去年|今年|最近|终于)*(?:离开了?"
    r"|被(?P<w>[^，]{2,10}?)(?:裁|辞退|开除|优化)(?:掉)?|辞(?:掉"
    r"|去)了?(?:在)?)\s*(?P<v>[^，]{2,14}?)(?:的工作|的职位)?(?:了)?$|^(?:已经|早就"
    r"|现在)*不(?:再)?在\s*(?P<n>[^，]{2,14}?)(?:上班|工作|干|做|任职|待|那边)*了$"
)
_JOB = re.compile(
    r"^(?:(?:现在|目前|一直|就|也|都|还|主要|本来|平时|已经)*)(?:是(?:一?[名个位枚]|做|当|搞|干)?"
    r"|做(?:的是)?|当|担任|任|从事|干(?:的是)?|改行做|转行(?:做|当|成了?)|转(?:做|岗做|岗到|成)"
    r"|升(?:职)?(?:为|成|到)了?|成(?:了|为)|(?:的)?(?:职业|工作|岗位|职位|职务)(?:是|：|:"
    r"|为))\s*(?P<v>[^，]{2,18})$"
)
_JOB_LABEL = re.compile(
    r"^(?:我的?|本人)?(?:的)?(?:职业|工作|岗位|职位|职务|身份)(?:是|：|:|为)\s*(?:一?[名个位])?(?P<v>[^，]{2,16})$"
)
_JOB_PIECE = re.compile(r"^(?:[980]\d后|单身|普通|一枚|一名|一个|\d+岁)*(?P<v>[\u4e00-\u9fffA-Za-z]{2,10})一枚$")
_NO_JOB = re.compile(r"^(?:已经|早就|现在)*不(?:再)?(?:是|做|当|干|从事)\s*(?P<v>[^，]{2,12}?)(?:这一?行)?了$")
_FIELD = re.compile(
    r"^(?:(?:现在|目前|一直|主要|已经|早就)*)(?P<no>不(?:再)?)?(?:是)?(?:做|搞|干|从事)(?P<v>销售"
    r"|财务|运营|设计|开发|测试|外贸|电商|行政|人事|采购|市场|审计|软件开发|前端开发|后端开发"
    r"|数据分析|新媒体|新媒体运营|建筑设计|室内设计|平面设计|金融|教育|法务|公关|物流|培训|咨询"
    r"|量化|算法|自媒体|直播)(?:的|工作|这一?行|方面的(?:工作)?)?(?P<over>了)?$"
)


def find(clause: Clause) -> Iterator[Finding]:
    """Employer and occupation of one clause."""
    if clause.subject and not clause.hedged:
        yield from _employed(clause) or _of_company(clause) or list(_job(clause))


def find_next(clauses: Sequence[Clause], known: Sequence[Finding]) -> Iterator[Finding]:
    """Where someone works now, told right after the employer that they left: 现在在盒马."""
    for left, clause in pairwise(clauses):
        over = [one for one in known if one.key == "company" and one.op in {"retract", "past"}]
        if not any(left.start <= one.start < left.whole.end and one.subject == clause.subject for one in over):
            continue
        match = None if clause.hedged else _NOW_AT.match(clause.whole.text)
        found = values.employer(part(clause.whole, match, "v")) if match else None
        if found and (found.text in COMPANIES_ZH or _IS_ONE.search(found.text) or found.text.isascii()):
            yield stated(clause, "company", found, "+", end=clause.whole.end)


def _employed(clause: Clause) -> list[Finding]:
    past = PAST.match(clause.body.text)
    inner = clause.body.tail(past.end()) if past else clause.body
    op: Polarity = "past" if past else "+"
    if clause.subject == USER and (match := _COMPANY_IS.match(clause.whole.text)):
        return _employer(clause, part(clause.whole, match, "v"), "+")
    if match := _QUIT.match(inner.text):
        joined = _employer(clause, part(inner, match, "to"), "+") if match["to"] else []
        return _employer(clause, part(inner, match, "v"), "retract") + joined
    if match := _LEFT.match(inner.text):
        left = part(inner, match, next((name for name in ("n", "w", "v") if match[name]), "v"))
        return [] if values.place(left) else _employer(clause, left, "retract")
    if match := _AT.match(inner.text):
        return list(_at(clause, inner, match, op))
    if match := _WORK.match(inner.text):
        over = "过" in match["verb"] or (match["rest"] or "").startswith("过")
        return list(_at(clause, inner, match, "past" if over else op))
    return []


def _of_company(clause: Clause) -> list[Finding]:
    """是国航的飞行员: a company that is known, or called one, and an occupation."""
    past = PAST.match(clause.body.text)
    inner = clause.body.tail(past.end()) if past else clause.body
    op: Polarity = "past" if past else "+"
    match = _OF.match(inner.text)
    if match is None or _unowned(clause, inner):
        return []
    company, job = part(inner, match, "v"), values.occupation(part(inner, match, "job"))
    found = values.employer(company)
    known = found is not None and (found.text in COMPANIES_ZH or _IS_ONE.search(company.text) is not None)
    if found is None or job is None or not known:
        return []
    return [stated(clause, "company", found, op, end=job.end), stated(clause, "job", job, op)]


def _employer(clause: Clause, text: Piece, op: Polarity) -> list[Finding]:
    found = values.employer(text)
    return [stated(clause, "company", found, op, end=clause.whole.end)] if found else []


def _at(clause: Clause, inner: Piece, match: re.Match[str], op: Polarity) -> Iterator[Finding]:
    found = values.employer(part(inner, match, "v"))
    if found and not re.search(r"群|党|俱乐部|比赛|会议|直播间|购物车|房间|页面|决赛", found.text):
        yield stated(clause, "company", found, op, end=inner.start + match.end())
    if match["job"]:
        job = part(inner, match, "job")
        if title := values.occupation(Piece(re.sub(r"(?:了|的|工作)$", "", job.text), job.start)):
            yield stated(clause, "job", title, op, end=title.end)


def _job(clause: Clause) -> Iterator[Finding]:
    body, whole = clause.body, clause.whole
    past = PAST.match(body.text)
    inner = body.tail(past.end()) if past else body
    op: Polarity = "past" if past else "+"
    if (match := _NO_JOB.match(body.text)) and (found := values.occupation(part(body, match, "v"))):
        yield stated(clause, "job", found, "retract", end=whole.end)
    elif (match := _FIELD.match(inner.text)) and bool(match["no"]) == bool(match["over"]):
        op = "retract" if match["over"] else op
        yield stated(clause, "job", part(inner, match, "v"), op, end=whole.end)
    elif (found := _job_named(clause)) is not None:
        yield stated(clause, "job", found, op)
    elif (match := _JOB.match(inner.text)) and not _NOT_DOING.match(inner.text):
        owned = past is not None or not _unowned(clause, inner)
        found = values.occupation(part(inner, match, "v")) if owned else None
        yield from [stated(clause, "job", found, op)] if found else ()


def _job_named(clause: Clause) -> Piece | None:
    """A clause that is a job and nothing more: `职业是...`, `程序员一枚`, `程序员` in a list about oneself."""
    whole = clause.whole
    if clause.subject != USER:
        return None
    if match := _JOB_LABEL.match(whole.text):
        return values.occupation(part(whole, match, "v"), strict=False)
    if clause.dropped and (match := _JOB_PIECE.match(whole.text)):
        return values.occupation(part(whole, match, "v"))
    listed = clause.dropped and whole.start > 0 and clause.sentence.strip().startswith(("我", "本人"))
    bare = re.fullmatch(r"(?![是当做任干搞])[\u4e00-\u9fff]{2,8}", whole.text)
    if not listed or not bare or _NOT_LISTED.search(whole.text):
        return None
    found = values.occupation(whole)
    return found if found is not None and found.text == whole.text else None


def _unowned(clause: Clause, inner: Piece) -> bool:
    """`是...` with nobody before it, unless the sentence is about oneself now."""
    owned = clause.sentence.strip().startswith(("我", "本人")) or re.search(r"现在|目前|如今", clause.sentence)
    return clause.dropped and clause.subject == USER and inner.text.startswith("是") and not owned

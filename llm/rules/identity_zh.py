"""Who someone is, in Chinese: name, age, birth, gender, languages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules import values_zh as values
from llm.rules.clauses_zh import PAST, Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from llm.rules.words import words
from memory.codes import LANGUAGE, code_of

_HIMSELF = re.compile(r"[\u4e00-\u9fff]{2,4}本人$")
_IS_CALLED = re.compile(r"(?:的)?(?:名字)?(?:叫做?|名叫)\s*")
_NAME = re.compile(
    r"^(?:(?:我|本人)(?:的)?(?:名字|大名|全名|中文名|英文名|姓名|小名|昵称)?(?:是|叫做?|就叫"
    r"|改名叫|改叫)|(?:姓名|名字|昵称)(?:是|叫|：|:)|(?:我|本人)?姓[\u4e00-\u9fff]{1,2}，?(?:名"
    r"|叫))\s*"
)
_CALL_ME = re.compile(r"(?:^|请|可以|就|都|直接|以后)(?:叫|称呼|喊|管)我(?:做|为|叫)?\s*(?:叫)?")
_I_AM = re.compile(r"^(?:我是|本人是?|这里是|我系)\s*(?:客户|用户|买家|会员)?")
_AGE = re.compile(
    r"(?:^|(?<=我)|今年|现在|已经|年龄(?:是|：|:)?|年纪)\s*(?:都|也|刚|刚刚|才|已经|刚满|满|有"
    r"|快)*\s*(?P<v>\d{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?"
    r"|[一二三四五六七八九两])(?P<unit>周?岁)?(?P<rest>(?:多|半)?(?:了|啦|的)?)(?=$|[，,。.!！、]"
    r"|男|女|老|[\u4e00-\u9fff]{2,6}$)"
)
_AGE_NOT = re.compile(r"岁(?:以上|以下|以内|的时候|时|那年|生日|前|后|起|之)|满\d+岁(?:才|可)|\d+岁(?:就|才|开始)")
_BORN = re.compile(
    r"(?:(?:生于|出生于|出生在|是)\s*)?(?P<v>(?:19"
    r"|20)\d\d年(?:\d{1,2}月(?:\d{1,2}[日号])?)?)(?:的?(?:出生|生人|生的)|出生|生$|$)"
)
_BIRTHDAY = re.compile(r"生日(?:是|在|：|:)\s*(?P<v>(?:(?:19|20)\d\d年)\d{1,2}月\d{1,2}[日号])")
_PETS = words("狗 狗狗 猫 猫咪 兔子 仓鼠 鹦鹉 乌龟 鱼 鸟 宠物")
_PET_NAME = re.compile(r"^(?!个|了|得|声|唤|起|我|人|他|她|你|不|什么)[\u4e00-\u9fffA-Za-z]{2,4}$")
_SURNAME_FIRST = re.compile(r"^(?:名)?(?:叫|名)\s*")
_GENDER = re.compile(
    r"^(?:是(?:一?个|位|名)?)?(?:\d{1,3}岁(?:的)?)?(?P<v>女生|男生|女性|男性|女的|男的|女孩子?"
    r"|男孩子?|妹子)$|^性别(?:是|：|:)?(?P<w>男|女)$"
)
_SPEAKS = re.compile(r"^(?:会|能)(?:说|讲)(?:一点|流利的?)?(?P<v>[\u4e00-\u9fff、和与跟]{2,20})$")


def find(clause: Clause) -> Iterator[Finding]:
    """Name, age, birth, gender, languages of one clause."""
    if not clause.subject or clause.hedged:
        return
    yield from _name(clause)
    yield from _age(clause)
    body = clause.body
    if (match := _GENDER.match(body.text)) and clause.subject == USER:
        yield stated(clause, "gender", part(body, match, "v" if match["v"] else "w"), "+")
    if match := _SPEAKS.match(body.text):
        for spoken in values.split_list(part(body, match, "v")):
            if code_of(LANGUAGE, spoken.text):
                yield stated(clause, "skill", spoken, "+")


def _name(clause: Clause) -> Iterator[Finding]:
    found = _own_name(clause.whole, clause.sentence) if clause.subject == USER else None
    named = _IS_CALLED.match(clause.body.text) if clause.subject != USER else None
    if named:
        called = clause.body.tail(named.end())
        found = values.person(called, sure=True)
        if found is None and clause.subject in _PETS and _PET_NAME.match(called.text):
            found = called
    if found is not None:
        yield stated(clause, "name", found, "+")
    if clause.named and clause.subject != USER and _is_name(clause.named):
        at = clause.whole.text.index(clause.named)
        yield stated(clause, "name", Piece(clause.named, clause.start + at), "+")


def _is_name(said: str) -> bool:
    return values.person(Piece(said, 0), sure=False) is not None or values.is_pet_name(said)


def _before(whole: Piece, sentence: str) -> str:
    """What stands before a clause in its sentence."""
    place = sentence.find(whole.text)
    return sentence[:place] if place > 0 else ""


def _own_name(whole: Piece, sentence: str) -> Piece | None:
    text = whole.text
    match = _NAME.match(text)
    labelled = match is not None and re.search(r"名|姓|昵称", match[0]) is not None
    if match and (labelled or not match[0].rstrip().endswith("是")):
        sure = "名字" in match[0] or "昵称" in match[0]
        return values.person(whole.tail(match.end()), sure=sure)
    if (match := _CALL_ME.search(text)) and not re.search(r"别|不要|不用", match[0]):
        return values.person(whole.tail(match.end()), sure=True)
    if match := _I_AM.match(text):
        found = values.person(whole.tail(match.end()), sure=False)
        return found if found is not None and found.end == whole.end else None
    if (match := _SURNAME_FIRST.match(text)) and re.search(r"我(?:本人)?姓", _before(whole, sentence)):
        return values.person(whole.tail(match.end()), sure=True)
    return values.person(Piece(text[:-2], whole.start), sure=False) if _HIMSELF.match(text) else None


def _age(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if _AGE_NOT.search(body.text) or PAST.match(body.text):
        return
    if (born := _BORN.match(body.text) or _BIRTHDAY.search(body.text)) and "生" in body.text[: born.end()]:
        yield stated(clause, "birth", part(body, born, "v"), "+")
        return
    match = _AGE.search(body.text)
    if match is None or match.start() > 4 or match["rest"].startswith("多") or "快" in match[0]:
        return
    led = re.match(r"(?:今年|现在|年龄|已经|刚满)", match[0])
    number = match["v"]
    alone = clause.whole.text.startswith("我") and body.text == number and number.isdigit() and 14 <= int(number) <= 90
    sure = match["unit"] or alone or (led and led[0] in {"今年", "年龄"})
    mine = led or match.start() == 0 or not (clause.dropped and clause.subject == USER)
    if sure and mine:
        yield stated(clause, "age", part(body, match, "v"), "+")

"""Allergies, diets and special categories: Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.clauses_zh import PAST, Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from llm.rules.taste_zh import each_thing
from memory.codes import DIET, code_of

_ALLERGY = re.compile(
    r"^(?:我|也|是|一直|从小(?:就)?|现在|天生|有点|的确|其实|好像)*对\s*(?P<v>[^，。]{1,24}?)(?:都"
    r"|有点儿?|有些|轻度|轻微|中度|重度|严重|特别|非常|很|也|会|是|真的|一直|比较|超级|极度|有"
    r"|全部|过敏性)*(?P<cue>过敏|不耐受|不耐(?=症))(?:的|史|反应|症)?(?:了)?$"
)
_ALLERGY_PLAIN = re.compile(
    r"^(?:我|有|患有|严重的?|轻微的?|一点|是)*(?P<v>[\u4e00-\u9fff、和]{1,12}?)(?:严重|重度"
    r"|轻度)?(?P<cue>过敏|不耐受|不耐(?=症))(?:史|症|体质|者|患者)?(?:的)?$|^(?:我的)?过敏[源原](?:是|有|为"
    r"|：|:|包括)?(?P<w>[\u4e00-\u9fff、和]{1,16})$"
)
_NOT_ALLERGIC = re.compile(
    r"^(?:我|现在|已经|早就|也|其实|并|都)*(?:对\s*(?P<v>[^，。]{1,12}?)(?:已经|现在|早就|并|也"
    r"|其实|都)*不(?:再)?过敏(?P<over>了)?|不(?:再)?对\s*(?P<w>[^，。]{1,12}?)过敏(?P<over2>了)?"
    r"|不(?:再)?(?P<x>[\u4e00-\u9fff]{1,6}?)不耐(?:受|症)(?P<over3>了)?)$"
)
_NOT_ALLERGEN = re.compile(
    r"^(?:[^，]{1,4}的(?!水果|坚果|食物)|皮肤|鼻子|眼睛|脸|身体|体质|什么|没有|没|不|无|药物$"
    r"|食物$|容易|季节性?|换季|经常|有时|会|这个|那个|它|他|她|你|过|都|一直|接触性?|他们)|吗|呢"
    r"|什么|没有|任何"
)
_DIET = re.compile(
    r"^(?:(?:是(?:一?个|位|名)?|一直|现在|开始|已经|也|都|只|长期|坚持|从小|最近|在|改|严格|常年"
    r"|信佛|平时|我|全家)*)(?P<v>吃全素|全素|吃长素|纯素(?:食)?(?:主义)?者?|吃纯素|严格素食(?:者"
    r"|主义者)?|吃素(?:的)?|吃斋|素食(?:主义)?者?|蛋奶素|鱼素者?|清真(?:饮食|食品)?|吃清真(?:的"
    r"|食品)?|生酮(?:饮食)?|吃生酮|低碳水?(?:饮食)?|无麸质(?:饮食)?|低糖饮食|控糖|低盐饮食"
    r"|弹性素食)(?P<over>了)?(?:[一二三四五六七八九十两半\d]+(?:多)?年)?(?:了)?$"
)
_NO_DIET = re.compile(
    r"^(?:已经|现在|早就|也)*不(?P<again>再)?(?:是)?(?P<v>吃素|吃全素|素食(?:主义)?者?|纯素(?:主义)?者?"
    r"|生酮|吃清真)(?:了|者了|(?(again)|(?!)))$"
)
_SPECIALS = (
    ("pregnancy", re.compile(r"(?P<v>怀孕|有孕在身|怀上(?:宝宝|孩子)?|怀二胎|怀了(?:宝宝|孩子|二胎|双胞胎))")),
    (
        "religion",
        re.compile(
            r"^(?:是|信)(?:一?名|个|虔诚的)?(?P<v>基督徒|基督教徒|天主教徒|穆斯林|佛教徒|道教徒|信佛|佛"
            r"|基督教?|伊斯兰教|道教|天主教)(?:的|徒)?$"
        ),
    ),
    (
        "health",
        re.compile(
            r"^(?:有|得了|患有|患|被?(?:确诊|诊断)(?:了|为|出)?(?:患有)?|一直有|查出(?:了|来)?)(?:轻度"
            r"|重度|中度|严重的?|慢性|先天性?)*(?P<v>糖尿病|高血压|哮喘|癫痫|抑郁症|焦虑症|冠心病|心脏病"
            r"|癌症|胃病|胃炎|甲亢|甲减|痛风|关节炎|肾炎|乙肝|乳腺癌|肺癌|自闭症|多动症|失眠症?|偏头痛"
            r"|类风湿)(?:了|的)?"
        ),
    ),
    ("orientation", re.compile(r"^是(?:一?个|位)?(?P<v>同性恋|双性恋|女同|男同|同志|拉拉)(?:者)?$")),
    ("politics", re.compile(r"^是(?:一?名|个)?(?P<v>(?:中共)?党员|共产党员|民主党(?:人|派)?|共和党人?|国民党员?)$")),
    ("union", re.compile(r"^是(?:一?名|个)?(?P<v>工会会员|工会成员)$")),
)


def find(clause: Clause) -> Iterator[Finding]:
    """An allergy, else a diet, else a special category, of one clause."""
    if clause.subject and not clause.hedged:
        yield from list(_allergy(clause)) or list(_diet(clause)) or list(_special(clause))


def _allergy(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if match := _NOT_ALLERGIC.match(body.text):
        over = match["over"] or match["over2"] or match["over3"] or "不再" in body.text
        value = part(body, match, next(name for name in ("v", "w", "x") if match[name]))
        if not _NOT_ALLERGEN.search(value.text):
            yield from each_thing(clause, "allergy", value, "retract" if over else "-", end=clause.whole.end)
        return
    if "不过敏" in body.text or "没过敏" in body.text or "没有过敏" in body.text:
        return
    past = PAST.match(body.text)
    inner = body.tail(past.end()) if past else body
    match = _ALLERGY.match(inner.text) or _ALLERGY_PLAIN.match(inner.text)
    if match is None:
        return
    value = part(inner, match, "v" if match["v"] else "w")
    if _NOT_ALLERGEN.search(value.text) or ("w" in match.groupdict() and not match["v"] and clause.subject != USER):
        return
    yield from each_thing(clause, "allergy", value, "past" if past else "+", end=inner.start + match.end())


def _diet(clause: Clause) -> Iterator[Finding]:
    body = clause.body
    if (match := _NO_DIET.match(body.text)) and (code := code_of(DIET, match["v"])):
        yield stated(clause, "diet", Piece(code, body.start + match.start("v")), "retract", end=clause.whole.end)
        return
    past = PAST.match(body.text)
    inner = body.tail(past.end()) if past else body
    if (match := _DIET.match(inner.text)) and (
        code := code_of(DIET, re.sub("^(?:吃全素|全素|吃纯素|吃长素)$", "全素", match["v"]).replace("蛋奶素", "素食"))
    ):
        yield stated(
            clause,
            "diet",
            Piece(code, inner.start + match.start("v")),
            "past" if past else "+",
            end=inner.start + match.end(),
        )


def _special(clause: Clause) -> Iterator[Finding]:
    text = clause.body.text
    if re.search(r"没有?怀|未怀|不是|没有|没得|备孕|想怀|治好|痊愈", text) or PAST.match(text):
        return
    for key, pattern in _SPECIALS:
        if (match := pattern.search(text)) and match.start() <= 8:
            yield stated(clause, key, part(clause.body, match, "v"), "+")
            return

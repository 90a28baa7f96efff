"""How two things stand to each other: the predicates of relations and triples, with their English and Chinese words.

A predicate that is not here is kept in the words in which it was said; nothing is read into it.
"""

from __future__ import annotations

from collections.abc import Mapping

from memory.codes import Code, fold

PREDICATES: Mapping[str, Code] = {
    code.code: code
    for code in (
        Code("contains", "contains", "包含", ("contain", "includes", "include", "has in it", "含有", "里有", "内有")),
        Code("belongs_to", "belongs to", "属于", ("is part of", "part of", "is a", "is an", "is in", "归属")),
        Code("order", "has the order", "有订单", ("order number", "orders", "订单", "订单号", "下单")),
        Code("ticket", "has the ticket", "有工单", ("ticket number", "tickets", "工单", "工单号", "对应工单")),
        Code(
            "about",
            "is about",
            "关于",
            ("about", "concerns", "concern", "relates to", "refers to", "is linked to", "linked to", "关联", "涉及"),
        ),
        Code("bought_with", "was bought with", "购买于", ("bought under", "bought with", "came with", "购于")),
        Code("owns", "owns", "拥有", ("own", "has", "bought", "买了", "买过", "购买了", "持有")),
        Code(
            "falls_under",
            "falls under",
            "适用规则",
            ("is covered by", "covered by", "falls within", "hits", "命中", "依据"),
        ),
        Code("applies_to", "applies to", "适用于", ("apply to", "covers", "for", "适用", "适用对象")),
        Code("allows", "allows", "允许", ("allow", "permits", "grants", "允许补偿", "允许类型", "可以")),
        Code("window", "allows within", "时间窗口", ("time window", "return window", "within", "期限", "时限", "窗口")),
        Code("warranty", "has a warranty of", "保修期", ("warranty period", "guarantee", "保修", "质保")),
        Code("supports", "supports", "支持", ("support",)),
        Code("version_of", "is a version of", "的版本", ("version", "是版本", "版本")),
        Code("replaced_by", "was replaced by", "被替换为", ("replaced with", "换成", "替换为", "取代为")),
        Code("refused", "refused", "驳回", ("rejected", "declined", "denied", "拒绝")),
        Code("approved", "approved", "批准", ("approve", "granted", "同意", "审批通过")),
        Code("located_in", "is located in", "位于", ("in", "located at", "坐落于")),
        Code("alias", "is also called", "又称", ("alias of", "also known as", "aka", "same as", "别名", "也叫", "即")),
    )
}
"""Code -> its words."""

_RELATED = Code("related", "is related to", "有关", ())


def predicate_of(said: str | None) -> str:
    """The code of a predicate, its folded words when it has none, `related` for nothing at all."""
    if said is None or not fold(said):
        return _RELATED.code
    bare = fold(said).replace("_", " ")
    return _BY_WORD.get(bare) or bare


def predicate_text(code: str, language: str) -> str:
    """A predicate as it is read in `zh` or `en`."""
    known = PREDICATES.get(code) or (_RELATED if code == _RELATED.code else None)
    if known is None:
        return code
    return known.zh if language == "zh" else known.en


_BY_WORD: Mapping[str, str] = {
    word: code.code
    for code in PREDICATES.values()
    for word in (fold(code.code).replace("_", " "), fold(code.en), fold(code.zh), *map(fold, code.said))
}

"""How orders, tickets, products and policies belong together, in Chinese. Only what is numbered is sure enough."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.rules.clauses_zh import Clause
from llm.rules.finding import USER, Finding, Piece, part

_ID = r"#?(?=[A-Za-z0-9/_-]*\d)[A-Za-z0-9][A-Za-z0-9/_-]*"
_KIND = r"(?:订单|工单)(?:号码?|编号)?"
_THING = rf"{_KIND}\s*[:：#]?\s*{_ID}"
_CODE = r"[A-Za-z]{1,8}-?\d{2,6}[A-Za-z]{0,3}"
_PRODUCT = rf"(?:[\u4e00-\u9fff]{{1,8}}\s?)?{_CODE}(?:\s?(?!和|跟|还有|以及)[\u4e00-\u9fff]{{1,6}})?"
_COUNT = r"(?:(?:[一两二三四五六七八九十\d]+)(?:[副个台部只件双套款条张本把]|对)?\s*)"
_LEAD = r"(?:这个|那个|我的|我那个|该|此|上次的)?"
_CONTAINS = re.compile(
    rf"^{_LEAD}(?P<s>{_THING})(?:里面?|中|内)?(?:一共|总共|只|就|还)?(?:有|包含|含有?|包括|买的是|下的是|订的是)了?"
    r"(?P<v>.+)$"
)
_ITEM = re.compile(rf"^{_COUNT}?(?P<v>{_PRODUCT})$")
_LIST = re.compile(r"[、,，]|和|跟|还有|以及")
_LINKED = re.compile(
    rf"^{_LEAD}(?P<s>{_THING}|{_CODE})(?P<p>是?关于|关联(?:的是|到|了)?|对应(?:的是)?|涉及|针对|说的是|属于|适用|命中)"
    rf"(?:的是)?{_LEAD}(?P<v>{_THING}|{_PRODUCT}|[\u4e00-\u9fff]{{2,8}}(?:政策|规则|规定))(?:的|有关的?)?$"
)
_PREDICATES = {"属于": "belongs_to", "适用": "falls_under", "命中": "falls_under"}
_OWN_NUMBER = re.compile(rf"^(?:我的?)?(?P<k>订单|工单)(?:号码?|编号)?(?:是|为|：|:)\s*(?P<v>{_ID})$")
_OWN = re.compile(rf"我的(?P<k>订单|工单)(?:号码?|编号)?\s*#?\s*(?P<v>{_ID})(?![A-Za-z0-9-])")
_BOUGHT = re.compile(
    rf"^(?:我(?:的)?)?(?P<v>{_PRODUCT})是(?:用|在|从|通过)?(?P<s>订单\s*{_ID})(?:里|中)?(?:买|下单|订)的$"
)
_BOUGHT_IN = re.compile(
    rf"^(?:我)?(?:在|用|通过)(?P<s>订单\s*{_ID})(?:里|中)?(?:买|下单|订|购买)了?{_COUNT}?(?P<v>{_PRODUCT})$"
)
_OWNS = re.compile(rf"^(?:已经|之前|上周|上个?月|昨天|前天|刚|刚刚)?(?:买了|有|入手了|买过){_COUNT}(?P<v>{_PRODUCT})$")


def find(clause: Clause) -> Iterator[Finding]:
    """Order - contains - product, ticket - is about - order, user - has - order, of one clause."""
    if clause.hedged:
        return
    whole = clause.whole
    if match := _CONTAINS.match(whole.text):
        yield from _contents(clause, part(whole, match, "s"), part(whole, match, "v"))
    elif match := _LINKED.match(whole.text):
        yield _link(clause, _PREDICATES.get(match["p"], "about"), part(whole, match, "v"), subject=match["s"])
    elif match := _OWN_NUMBER.match(whole.text):
        yield _link(clause, "order" if match["k"] == "订单" else "ticket", part(whole, match, "v"))
    elif match := _BOUGHT.match(whole.text):
        order = part(whole, match, "s")
        yield _link(clause, "bought_with", order, subject=match["v"])
    elif match := _BOUGHT_IN.match(whole.text):
        order, product = part(whole, match, "s"), part(whole, match, "v")
        yield _link(clause, "contains", product, subject=order.text)
        yield _link(clause, "owns", product)
    yield from _owned(clause)


def _owned(clause: Clause) -> Iterator[Finding]:
    whole = clause.whole
    if match := _OWN.search(whole.text):
        yield _link(clause, "order" if match["k"] == "订单" else "ticket", part(whole, match, "v"))
    if clause.subject == USER and (match := _OWNS.match(clause.body.text)):
        yield _link(clause, "owns", part(clause.body, match, "v"))


def _contents(clause: Clause, subject: Piece, listed: Piece) -> Iterator[Finding]:
    at = 0
    for text in _LIST.split(listed.text):
        start = listed.text.index(text, at)
        at = start + len(text)
        if match := _ITEM.match(text):
            yield _link(clause, "contains", part(Piece(text, listed.start + start), match, "v"), subject=subject.text)


def _link(clause: Clause, predicate: str, value: Piece, *, subject: str = USER) -> Finding:
    text = value.text.lstrip("#")
    start = value.end - len(text)
    return Finding(
        key="relation",
        value=text,
        op="+",
        start=clause.start,
        end=max(start + len(text), clause.start + len(subject)),
        rule="zh.relation",
        subject=subject,
        object=predicate,
    )

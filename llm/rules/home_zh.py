"""Where someone lives, lived, moved to and from: Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from llm.rules import values_zh as values
from llm.rules.clauses_zh import PAST, Clause
from llm.rules.finding import USER, Finding, Piece, part, stated
from schemas.drafts import Polarity

_LODGING = re.compile(r"住院|住宿|住酒店|住过|住了.{0,4}(?:晚|天|夜)")
_HAS_LIVED = re.compile(r"(?:我)?在\s*(?P<v>[^，]{2,10}?)(?:住过|生活过|待过|呆过)")
_MOVED_OUT = re.compile(
    r"^(?:已经|早就|刚刚?|终于|都|就|也|上周|上个?月|去年|今年|昨天|前天)*"
    r"(?:搬(?:离|出)(?:了)?\s*(?P<v>[^，]{2,10}?)|从(?P<w>[^，]{2,10}?)搬(?:走|离|出)(?:去|来)?)(?:了)?$"
)
_NOT_MOVED = re.compile(r"不搬|没搬|要搬|想搬|搬(?:东西|砖|运|起|不)")
_LIVE = re.compile(
    r"^(?:(?:现在|目前|已经|一直|长期)*定居(?:在|于)?|家(?:就)?(?:住|在)|现居(?:住)?(?:在|于)?"
    r"|常住(?:在)?|定居(?:在|于)?|长期住在?|目前住在?"
    r"|坐标(?:是|在)?|base在?|居住在|居住于|(?:我|本人)?(?:现在|目前|一直|常年|也|都|平时|还|已经"
    r"|最近|主要|就|跟[^，]{1,6}一起|和[^，]{1,6}一起|一个人)*住(?:在|到了?)?|(?:现在|目前|一直"
    r"|常年|长期)?生活在|所在(?:城市|地)(?:是|：)?|(?:现在|目前)?城市(?:是|：))\s*",
    re.IGNORECASE,
)
_IN_LIVE = re.compile(
    r"^(?:现在|目前|一直|常年|就|还|已经)*在\s*(?=(?P<p>[^，]{2,12}?)(?:定居|生活|安家|落户"
    r"|住(?!院|宿|过|了(?![^，]*了$)|了[^，]*酒店)))"
)
_MOVED = re.compile(
    r"(?:从(?P<from>[^，]{2,12}?))?(?:搬家?|迁|移居|移民|调|搬回|搬迁)(?:到|去|来|至|回)?(?:了)?\s*(?P<to>[^，]{2,16})"
)
_LEFT_CITY = re.compile(r"^(?:已经|早就|现在)*不(?:再)?(?:住|在)(?:在)?\s*(?P<v>[^，]{2,10}?)(?:住|生活)?了$")
_LIVED = re.compile(r"在\s*(?P<v>[^，]{2,10}?)(?:住过|生活过|待过|呆过|住了|生活了|定居过|住(?=$))")

_HOME_IN = re.compile(r"^我(?:们)?家(?:就|现在)?在\s*(?P<v>[^，]{2,10})$")
_NOW_IN = re.compile(r"^(?:人)?在\s*(?P<v>[^，]{2,10})$")
_NOT_THERE = re.compile(r"不(?:再)?住|搬(?:走|离|出)|离开")
_DAYS_AT = re.compile(
    r"(?P<days>周[一二三四五六日天](?:[到至~-]周?[一二三四五六日天])?|工作日|周末|平时|夏天|冬天)(?:我|都|一般|就|则)*"
    r"(?:住在|住|在|回)(?!家|公司|学校|老家)(?P<v>[\u4e00-\u9fff]{2,8})"
)


def find(clause: Clause) -> Iterator[Finding]:
    """Where someone lives, lived, moved to and from, in one clause."""
    if clause.hedged:
        return
    yield from _named_home(clause)
    if not clause.subject:
        return
    if halves := _by_days(clause):
        yield from halves
        return
    past = PAST.match(clause.body.text)
    inner = clause.body.tail(past.end()) if past else clause.body
    if match := _LEFT_CITY.match(inner.text):
        yield from _placed(clause, part(inner, match, "v"), "retract")
    elif past is None and (match := _MOVED_OUT.match(inner.text)):
        yield from _placed(clause, part(inner, match, "v" if match["v"] else "w"), "retract")
    elif (match := _MOVED.search(inner.text)) and not _NOT_MOVED.search(inner.text):
        yield from () if past else _move(clause, inner, match)
    elif (match := _LIVED.search(inner.text) if past else _HAS_LIVED.match(inner.text)) is not None:
        yield from _placed(clause, part(inner, match, "v"), "past")
    elif (match := _LIVE.match(inner.text) or _IN_LIVE.match(inner.text)) and not _LODGING.search(inner.text):
        yield from _each_city(clause, inner.tail(match.end()), "past" if past else "+")


def _named_home(clause: Clause) -> Iterator[Finding]:
    """我家在苏州 and nothing more; 不住南京了，现在在扬州: where one is, beside where one no longer lives."""
    match = _HOME_IN.match(clause.whole.text)
    if match is None and clause.subject == USER and clause.dropped and "现在" in clause.sentence:
        match = _NOW_IN.match(clause.whole.text) if _NOT_THERE.search(clause.sentence) else None
    found = values.home(part(clause.whole, match, "v")) if match else None
    if found is not None and found.end == clause.whole.end:
        yield stated(clause, "city", found, "+", subject=USER)


def _by_days(clause: Clause) -> list[Finding]:
    """周一到周四在上海，周五回杭州: two homes, each with its days; one alone is a trip."""
    if clause.subject != USER or len(_DAYS_AT.findall(clause.sentence)) < 2:
        return []
    match = _DAYS_AT.search(clause.whole.text)
    found = values.home(part(clause.whole, match, "v")) if match else None
    if match is None or found is None:
        return []
    return [replace(stated(clause, "city", found, "+"), object=match["days"])]


def _placed(clause: Clause, text: Piece, op: Polarity) -> Iterator[Finding]:
    if found := values.home(text):
        yield stated(clause, "city", found, op, end=clause.whole.end)


def _each_city(clause: Clause, text: Piece, op: Polarity) -> Iterator[Finding]:
    found = values.home(text)
    if found is None:
        return
    yield stated(clause, "city", found, op)
    rest = text.tail(found.end - text.start)
    if (also := re.match(r"\s*(?:和|、|跟)\s*", rest.text)) and (second := values.home(rest.tail(also.end()))):
        yield stated(clause, "city", second, op)


def _move(clause: Clause, inner: Piece, match: re.Match[str]) -> Iterator[Finding]:
    verb = match[0]
    if re.match(r"(?:从[^，]*)?调", verb) and "搬" not in verb:
        return
    if not re.search(r"(?:到|去|来|至|回|移居|移民)", verb):
        return
    to = values.home(part(inner, match, "to"))
    if to is not None:
        yield stated(clause, "city", to, "+", end=clause.whole.end)
        if match["from"] and (origin := values.home(part(inner, match, "from"))):
            yield stated(clause, "city", origin, "past", end=clause.whole.end)

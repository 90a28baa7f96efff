"""Chinese time phrases: 上周三, 下下周一, 两周前, 大后天, 明天下午5点, 上个月, 月底, 国庆节, 3月3号, 去年."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from memory import calendar
from memory.calendar import Stay, one_day
from memory.dates_rules import ZH_CLOCK, ZH_NUMBER, Rule, Said, number_of

_AT = rf"(?:的?\s*(?:{ZH_CLOCK}|早上|上午|中午|下午|傍晚|晚上))?"
_DAYS = {
    "大前天": -3, "前天": -2, "前晚": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0, "今日": 0,
    "今晚": 0,
    "今早": 0, "今晨": 0, "明天": 1, "明日": 1, "明晚": 1, "明早": 1, "大后天": 3, "后天": 2,
}  # fmt: skip
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_WEEK = r"(?:周|星期|礼拜)"
_TURN = r"(?P<turn>上+|下+|这|本)"
_EDGES = {"初": "start", "中": "middle", "中旬": "middle", "底": "end", "末": "end"}
_HOLIDAYS = (
    "元旦节?|情人节|妇女节|劳动节|五一节?|儿童节|六一|教师节|国庆节?|双十一|双11|双十二|平安夜"
    "|圣诞节?|春节|过年|端午节?|中秋节?"
)


def _rule(pattern: str, read: Callable[[Said, re.Match[str]], Stay | datetime | None]) -> Rule:
    return Rule(re.compile(pattern), read)


def _turns(text: str) -> int:
    return -len(text) if text[0] == "上" else len(text) if text[0] == "下" else 0


def _near_day(said: Said, match: re.Match[str]) -> Stay:
    return one_day(said.today + timedelta(days=_DAYS[match["day"]]))


def _week(said: Said, match: re.Match[str]) -> Stay:
    weeks, weekday = _turns(match["turn"]), match["weekday"]
    if not weekday:
        return calendar.week_of(said.today, weeks)
    if weekday == "末":
        return calendar.weekend_of(said.today, weeks)
    return calendar.weekday_of(said.today, weeks, _weekday(weekday))


def _weekday(char: str) -> int:
    return 6 if char in "日天" else "一二三四五六".index(char)


def _coming_weekday(said: Said, match: re.Match[str]) -> Stay:
    return one_day(said.today + timedelta(days=(_weekday(match["weekday"]) - said.today.weekday()) % 7))


def _month(said: Said, match: re.Match[str]) -> Stay:
    stay = calendar.month_of(said.today, _turns(match["turn"]))
    if match["edge"]:
        return calendar.edge_of(stay, _EDGES[match["edge"]])
    return one_day(stay.first.replace(day=number_of(match["day"]))) if match["day"] else stay


def _month_edge(said: Said, match: re.Match[str]) -> Stay:
    return calendar.edge_of(calendar.month_of(said.today), _EDGES[match["edge"]])


def _year(said: Said, match: re.Match[str]) -> Stay | None:
    named = match["year"]
    year = said.today.year + _YEARS[named] if named in _YEARS else int(named.rstrip("年"))
    if match["edge"]:
        return calendar.edge_of(calendar.year_of(year), _EDGES[match["edge"]])
    if match["holiday"]:
        return calendar.holiday(said.today, match["holiday"], year)
    if not match["month"]:
        return calendar.year_of(year)
    month = number_of(match["month"])
    if match["month_edge"]:
        return calendar.edge_of(calendar.named_month(year, month), _EDGES[match["month_edge"]])
    return one_day(date(year, month, number_of(match["day"]))) if match["day"] else calendar.named_month(year, month)


def _year_edge(said: Said, match: re.Match[str]) -> Stay:
    return calendar.edge_of(calendar.year_of(said.today.year), _EDGES[match["edge"]])


def _month_day(said: Said, match: re.Match[str]) -> Stay:
    return one_day(calendar.nearest(said.today, number_of(match["month"]), number_of(match["day"])))


def _month_alone(said: Said, match: re.Match[str]) -> Stay:
    stay = calendar.past_month(said.today, number_of(match["month"]))
    return calendar.edge_of(stay, _EDGES[match["edge"]]) if match["edge"] else stay


def _distance(said: Said, match: re.Match[str]) -> Stay | datetime:
    sign = -1 if match["side"] == "前" else 1
    if match["number"] == "半":
        return _half(said, match["unit"], sign)
    count, unit = sign * number_of(match["number"]), match["unit"]
    if unit in {"小时", "钟头", "分钟"}:
        return said.local + (timedelta(minutes=count) if unit == "分钟" else timedelta(hours=count))
    if unit in {"天", "日"}:
        return one_day(said.today + timedelta(days=count))
    if unit in {"周", "星期", "礼拜"}:
        return calendar.week_of(said.today, count)
    return calendar.month_of(said.today, count) if unit == "月" else calendar.year_of(said.today.year + count)


def _half(said: Said, unit: str, sign: int) -> Stay | datetime:
    if unit == "年":
        return calendar.month_of(said.today, sign * 6)
    if unit == "月":
        return calendar.week_of(said.today, sign * 2)
    if unit in {"小时", "钟头"}:
        return said.local + timedelta(minutes=sign * 30)
    msg = "no such half"
    raise ValueError(msg)


def _holiday(said: Said, match: re.Match[str]) -> Stay | None:
    return calendar.holiday(said.today, match["holiday"])


def _distance_of(said: Said, match: re.Match[str]) -> Stay | datetime:
    bare = re.fullmatch(
        r"(?P<number>.*?)(?P<unit>天|日|周|星期|礼拜|月|年|小时|钟头|分钟)(?P<side>前|后)", _plain(match[0])
    )
    if bare is None:
        msg = "no distance"
        raise ValueError(msg)
    return _distance(said, bare)


def _plain(phrase: str) -> str:
    return re.sub(r"(?:之|以)(?=[前后]$)", "", phrase).replace("个", "")


_UNITS = r"(?P<unit>天|日|个?(?:周|星期|礼拜|月)|年|个?(?:小时|钟头)|分钟)"

ZH_RULES: tuple[Rule, ...] = (
    _rule(
        rf"(?P<day>大前天|大后天|前天|前晚|昨天|昨日|昨晚|昨夜|今天|今日|今晚|今早|今晨|明天|明日|明晚"
        rf"|明早|(?<!然)后天){_AT}",
        _near_day,
    ),
    _rule(rf"{_TURN}个?{_WEEK}(?P<weekday>[一二三四五六日天末])?{_AT}", _week),
    _rule(rf"(?<![上下这本个每]){_WEEK}(?P<weekday>[一二三四五六日天])(?:之前|以前|前)", _coming_weekday),
    _rule(rf"{_TURN}个?月(?:(?P<edge>初|中旬?|底|末)|(?P<day>{ZH_NUMBER})[日号])?{_AT}", _month),
    _rule(r"(?<![上下这本个每\d一二三四五六七八九十])月(?P<edge>初|中旬?|底|末)", _month_edge),
    _rule(
        rf"(?P<year>大前年|前年|去年|今年|明年|(?<!然)后年|(?:19|20)\d\d年)(?:年?(?P<edge>初|底|末)"
        rf"|的?(?P<holiday>{_HOLIDAYS})|的?(?P<month>{ZH_NUMBER})月份?(?:(?P<month_edge>初|中旬?|底|末)"
        rf"|(?P<day>{ZH_NUMBER})[日号])?)?{_AT}",
        _year,
    ),
    _rule(r"(?<![去今明前后\d每])年(?P<edge>初|底|末)", _year_edge),
    _rule(rf"(?<![\d年上下个])(?P<month>{ZH_NUMBER})月(?P<day>{ZH_NUMBER})[日号]{_AT}", _month_day),
    _rule(
        r"(?<![\d年上下个一二三四五六七八九十])(?P<month>1[0-2]|[1-9]|十[一二]?"
        r"|[一二三四五六七八九])月(?:份|(?P<edge>初|中旬?|底|末))?(?![\d一二三四五六七八九十])",
        _month_alone,
    ),
    _rule(rf"(?P<number>{ZH_NUMBER}|半){_UNITS}(?:之|以)?(?P<side>前|后)(?!悔|来|面|天|年)", _distance_of),
    _rule(rf"(?P<holiday>{_HOLIDAYS})", _holiday),
)

"""English time phrases: `yesterday`, `two weeks ago`, `next Friday at 5pm`, `since 2019`, `in May`, `by 3 March`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from memory import calendar
from memory.calendar import Stay, one_day
from memory.dates_rules import EN_CLOCK, Rule, Said, number_of

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAY = (
    r"(?P<weekday>mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|mon|tues?"
    r"|wed|thurs?|fri|sat|sun)"
)
_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
)
_NUMBER = (
    r"(?P<number>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:a\s+)?couple(?:\s+of)?)"
)
_UNIT = r"(?P<unit>day|week|month|year|hour|minute)s?"
_AT = rf"(?:,?\s+{EN_CLOCK})?"
_BY = r"(?:by|before|until|till|since|from|on|in|during|around|back in|earlier|later|as of|starting|at)"
_OFFSETS = {"today": 0, "tonight": 0, "yesterday": -1, "last night": -1, "tomorrow": 1}


def _rule(pattern: str, read: Callable[[Said, re.Match[str]], Stay | datetime | None]) -> Rule:
    return Rule(re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE), read)


def _near_day(said: Said, match: re.Match[str]) -> Stay:
    words = " ".join(match[0].lower().split())
    if words.startswith("the day before yesterday"):
        return one_day(said.today - timedelta(days=2))
    if words.startswith("the day after tomorrow"):
        return one_day(said.today + timedelta(days=2))
    found = next((days for word, days in _OFFSETS.items() if word in words), 0)
    return one_day(said.today + timedelta(days=found))


def _distance(said: Said, match: re.Match[str], sign: int) -> Stay | datetime:
    words = re.sub(r"^a\s+(?=couple)", "", " ".join(match["number"].lower().split()))
    count, unit = sign * number_of(words), match["unit"].lower()
    if unit in {"hour", "minute"}:
        return said.local + timedelta(**{f"{unit}s": count})
    if unit == "day":
        return one_day(said.today + timedelta(days=count))
    if unit == "week":
        return calendar.week_of(said.today, count)
    return calendar.month_of(said.today, count) if unit == "month" else calendar.year_of(said.today.year + count)


def _ago(said: Said, match: re.Match[str]) -> Stay | datetime:
    return _distance(said, match, -1)


def _ahead(said: Said, match: re.Match[str]) -> Stay | datetime:
    return _distance(said, match, 1)


def _turn_of(said: Said, match: re.Match[str]) -> Stay:
    turn = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}[match["turn"].lower()]
    unit = match["unit"].lower()
    if unit == "week":
        return calendar.week_of(said.today, turn)
    if unit == "weekend":
        return calendar.weekend_of(said.today, turn)
    return calendar.month_of(said.today, turn) if unit == "month" else calendar.year_of(said.today.year + turn)


def _weekday(said: Said, match: re.Match[str]) -> Stay:
    weekday = next(number for number, name in enumerate(_DAYS) if name.startswith(match["weekday"].lower()[:3]))
    ahead = (weekday - said.today.weekday() - 1) % 7 + 1
    turn = match["turn"].lower()
    if turn in {"last", "past"}:
        return one_day(said.today - timedelta(days=(said.today.weekday() - weekday - 1) % 7 + 1))
    if turn == "this":
        return calendar.weekday_of(said.today, 0, weekday)
    coming = said.today + timedelta(days=ahead)
    after = calendar.weekday_of(said.today, 1, weekday).first
    # "Next Friday" on a Monday is this week's for some and next week's for others: keep both.
    return one_day(coming) if turn == "coming" or coming == after else Stay(coming, after, "week")


def _bare_weekday(said: Said, match: re.Match[str]) -> Stay:
    weekday = next(number for number, name in enumerate(_DAYS) if name.startswith(match["weekday"].lower()[:3]))
    return one_day(said.today + timedelta(days=(weekday - said.today.weekday()) % 7))


def _month_number(match: re.Match[str]) -> int:
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(match["month"].lower()[:3]))


def _month_alone(said: Said, match: re.Match[str]) -> Stay:
    month, lead = _month_number(match), (match["lead"] or "").lower()
    if match["year"]:
        return calendar.named_month(int(match["year"]), month)
    if lead == "next" or lead in {"by", "before", "until", "till"}:
        return calendar.coming_month(said.today, month)
    if lead == "last" and month == said.today.month:
        return calendar.named_month(said.today.year - 1, month)
    return calendar.named_month(said.today.year, month) if lead == "this" else calendar.past_month(said.today, month)


def _month_day(said: Said, match: re.Match[str]) -> Stay:
    month, day = _month_number(match), int(match["day"])
    return one_day(date(int(match["year"]), month, day) if match["year"] else calendar.nearest(said.today, month, day))


def _iso(said: Said, match: re.Match[str]) -> Stay:
    del said
    return one_day(date(int(match["year"]), int(match["m"]), int(match["day"])))


def _year(said: Said, match: re.Match[str]) -> Stay:
    del said
    return calendar.year_of(int(match["year"]))


def _edge(said: Said, match: re.Match[str]) -> Stay:
    turn = {"last": -1, "this": 0, "the": 0, "next": 1}[match["turn"].lower()]
    edge = {"beginning": "start", "start": "start", "middle": "middle", "end": "end"}[match["edge"].lower()]
    if match["unit"].lower() == "month":
        return calendar.edge_of(calendar.month_of(said.today, turn), edge)
    return calendar.edge_of(calendar.year_of(said.today.year + turn), edge)


def _holiday(said: Said, match: re.Match[str]) -> Stay | None:
    turn, name = (match["turn"] or "").lower(), match["name"].lower().replace("’", "'")
    year = int(match["year"]) if match["year"] else None
    near = calendar.holiday(said.today, name, year)
    if near is None or not turn:
        return near
    step = -1 if turn == "last" else 1
    year = said.today.year
    this_year = calendar.holiday(said.today, name, year)
    passed = this_year is not None and (this_year.first < said.today)
    if turn == "this":
        return this_year
    return calendar.holiday(said.today, name, year if passed == (step < 0) else year + step)


def _from_now(said: Said, match: re.Match[str]) -> Stay | datetime:
    if match["number"]:
        return _ahead(said, match)
    inner = re.fullmatch(rf"{_NUMBER}\s+{_UNIT}", f"{match['later']} {match['after']}", re.IGNORECASE)
    if inner is None:
        msg = "no distance"
        raise ValueError(msg)
    return _ahead(said, inner)


EN_RULES: tuple[Rule, ...] = (
    _rule(
        rf"(?:the day before yesterday|the day after tomorrow|today|yesterday|tomorrow)(?:\s+(?:morning"
        rf"|afternoon|evening|night))?{_AT}|tonight{_AT}|last night|this (?:morning|afternoon"
        rf"|evening){_AT}",
        _near_day,
    ),
    _rule(rf"{_NUMBER}\s+{_UNIT}\s+ago", _ago),
    _rule(
        rf"in\s+{_NUMBER}\s+{_UNIT}(?:'s?\s+time)?"
        rf"|{_NUMBER.replace('<number>', '<later>')}\s+{_UNIT.replace('<unit>', '<after>')}\s+from\s+now",
        _from_now,
    ),
    _rule(
        r"(?:(?:earlier|later)\s+)?(?P<turn>last|past|previous|this|next|coming)\s+(?P<unit>weekend"
        r"|week|month|year)",
        _turn_of,
    ),
    _rule(rf"(?P<turn>last|past|this|next|coming)\s+{_DAY}{_AT}", _weekday),
    _rule(rf"(?:by|before|until|till)\s+{_DAY}{_AT}", _bare_weekday),
    _rule(
        rf"(?:(?P<lead>last|this|next|in|since|by|before|until|till|from|during|back "
        rf"in)\s+){_MONTH}(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d))?(?!\s+\d)",
        _month_alone,
    ),
    _rule(rf"(?P<lead>){_MONTH},?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)", _month_alone),
    _rule(
        rf"{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![:\d]|\s?[ap]m)(?:,?\s+(?P<year>(?:19"
        rf"|20)\d\d))?{_AT}",
        _month_day,
    ),
    _rule(
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>(?:19"
        rf"|20)\d\d))?{_AT}",
        _month_day,
    ),
    _rule(rf"(?P<year>(?:19|20)\d\d)[-/.](?P<m>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?:[ T]\d{{1,2}}:\d{{2}})?{_AT}", _iso),
    _rule(
        r"(?:in|since|from|during|back in|by|until|till|before)\s+(?P<year>(?:19|20)\d\d)(?![-/\d,.]\d"
        r"|\s*(?:dollars|euros|yuan|pounds))",
        _year,
    ),
    _rule(
        r"(?:the\s+)?(?P<edge>beginning|start|middle|end)\s+of\s+(?P<turn>the|this|last"
        r"|next)\s+(?P<unit>month|year)",
        _edge,
    ),
    _rule(
        r"(?:(?P<turn>last|this|next)\s+)?(?P<name>christmas(?:\s+(?:day|eve))?|new year['’]s (?:day"
        r"|eve)|valentine['’]s day|halloween)(?:\s+(?P<year>(?:19|20)\d\d))?",
        _holiday,
    ),
)

"""Times that people say, resolved from the moment and the zone of speech."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.dates import find_times, resolve

SHANGHAI = ZoneInfo("Asia/Shanghai")
MONDAY = datetime(2026, 11, 30, 9, 0, tzinfo=SHANGHAI)

DAYS = {
    "今天": "2026-11-30",
    "昨天": "2026-11-29",
    "前天": "2026-11-28",
    "大前天": "2026-11-27",
    "明天": "2026-12-01",
    "后天": "2026-12-02",
    "大后天": "2026-12-03",
    "昨晚": "2026-11-29",
    "上周三": "2026-11-25",
    "下周五": "2026-12-11",
    "上上周日": "2026-11-22",
    "下下周一": "2026-12-14",
    "这周六": "2026-12-05",
    "本周二": "2026-12-01",
    "三天后": "2026-12-03",
    "10天前": "2026-11-20",
    "两天之前": "2026-11-28",
    "国庆节": "2026-10-01",
    "去年国庆节": "2025-10-01",
    "春节": "2027-02-06",
    "去年春节": "2025-01-29",
    "3月3号": "2027-03-03",
    "10月8日": "2026-10-08",
    "2025年3月9日": "2025-03-09",
    "下个月15号": "2026-12-15",
    "去年5月20日": "2025-05-20",
    "周五之前": "2026-12-04",
    "双十一": "2026-11-11",
    "圣诞节": "2026-12-25",
    "下个星期天": "2026-12-13",
    "today": "2026-11-30",
    "yesterday": "2026-11-29",
    "last night": "2026-11-29",
    "tomorrow": "2026-12-01",
    "the day before yesterday": "2026-11-28",
    "the day after tomorrow": "2026-12-02",
    "in three days": "2026-12-03",
    "10 days ago": "2026-11-20",
    "last Friday": "2026-11-27",
    "this Friday": "2026-12-04",
    "by Friday": "2026-12-04",
    "March 3rd": "2027-03-03",
    "3 March 2025": "2025-03-03",
    "2026-03-04": "2026-03-04",
    "October 8": "2026-10-08",
    "last Christmas": "2025-12-25",
    "Halloween": "2026-10-31",
    "yesterday evening": "2026-11-29",
}
SPANS = {
    "上周": ("2026-11-23", "2026-11-29", "week"),
    "下下周": ("2026-12-14", "2026-12-20", "week"),
    "两周前": ("2026-11-16", "2026-11-22", "week"),
    "上个月": ("2026-10-01", "2026-10-31", "month"),
    "三个月前": ("2026-08-01", "2026-08-31", "month"),
    "半年前": ("2026-05-01", "2026-05-31", "month"),
    "去年": ("2025-01-01", "2025-12-31", "year"),
    "2019年": ("2019-01-01", "2019-12-31", "year"),
    "今年5月": ("2026-05-01", "2026-05-31", "month"),
    "月底": ("2026-11-26", "2026-11-30", "week"),
    "下月初": ("2026-12-01", "2026-12-05", "week"),
    "年底": ("2026-12-01", "2026-12-31", "month"),
    "去年底": ("2025-12-01", "2025-12-31", "month"),
    "这周末": ("2026-12-05", "2026-12-06", "day"),
    "5月": ("2026-05-01", "2026-05-31", "month"),
    "last week": ("2026-11-23", "2026-11-29", "week"),
    "two weeks ago": ("2026-11-16", "2026-11-22", "week"),
    "last month": ("2026-10-01", "2026-10-31", "month"),
    "a couple of years ago": ("2024-01-01", "2024-12-31", "year"),
    "since 2019": ("2019-01-01", "2019-12-31", "year"),
    "in May": ("2026-05-01", "2026-05-31", "month"),
    "May 2024": ("2024-05-01", "2024-05-31", "month"),
    "next May": ("2027-05-01", "2027-05-31", "month"),
    "next week": ("2026-12-07", "2026-12-13", "week"),
    "next Friday": ("2026-12-04", "2026-12-11", "week"),
    "three weeks from now": ("2026-12-21", "2026-12-27", "week"),
    "the end of the month": ("2026-11-26", "2026-11-30", "week"),
    "last weekend": ("2026-11-28", "2026-11-29", "day"),
    "next year": ("2027-01-01", "2027-12-31", "year"),
}
INSTANTS = {
    "明天下午5点": "2026-12-01T17:00",
    "前天晚上8点半": "2026-11-28T20:30",
    "昨天10:15": "2026-11-29T10:15",
    "下周一上午九点": "2026-12-07T09:00",
    "一小时前": "2026-11-30T08:00",
    "半小时后": "2026-11-30T09:30",
    "20分钟前": "2026-11-30T08:40",
    "tomorrow at 5pm": "2026-12-01T17:00",
    "yesterday at 10:30": "2026-11-29T10:30",
    "2 hours ago": "2026-11-30T07:00",
    "last Friday at noon": "2026-11-27T12:00",
}


def local(moment: datetime) -> str:
    return moment.astimezone(SHANGHAI).strftime("%Y-%m-%dT%H:%M")


@pytest.mark.parametrize("phrase", sorted(DAYS))
def test_a_day(phrase: str) -> None:
    found = resolve(phrase, said_at=MONDAY, zone=SHANGHAI)

    assert found is not None
    assert (local(found.start), found.precision) == (DAYS[phrase] + "T00:00", "day")
    assert found.end - found.start == timedelta(days=1)


@pytest.mark.parametrize("phrase", sorted(SPANS))
def test_a_span(phrase: str) -> None:
    first, last, precision = SPANS[phrase]
    found = resolve(phrase, said_at=MONDAY, zone=SHANGHAI)

    assert found is not None
    assert (local(found.start), found.precision) == (first + "T00:00", precision)
    assert local(found.end - timedelta(days=1)) == last + "T00:00"


@pytest.mark.parametrize("phrase", sorted(INSTANTS))
def test_an_instant(phrase: str) -> None:
    found = resolve(phrase, said_at=MONDAY, zone=SHANGHAI)

    assert found is not None
    assert (local(found.start), found.end, found.precision) == (INSTANTS[phrase], found.start, "instant")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I may be 34 in May", ["in May"]),
        ("may go", []),
        ("in 2024 dollars", []),
        ("recently, a few days ago", []),
        ("我上周三从杭州搬到成都，下个月15号入职", ["上周三", "下个月15号"]),
        ("几天前", []),
        ("然后天黑了", []),
        ("最近很忙", []),
        ("I moved on March 3 and left two weeks ago", ["March 3", "two weeks ago"]),
        ("每年年底", ["年底"]),
        ("call after 9pm", []),
        ("The 2020 model costs 2019 euros", []),
        ("2月30日", ["2月30日"]),
        ("", []),
    ],
)
def test_times_are_found_where_they_stand(text: str, expected: list[str]) -> None:
    spans = find_times(text)

    assert [span.text for span in spans] == expected
    assert all(text[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize("phrase", ["2月30日", "2025年13月", "February 31 2025", "soon", "很久以前", "13:99", ""])
def test_what_is_on_no_calendar_is_not_resolved(phrase: str) -> None:
    assert resolve(phrase, said_at=MONDAY, zone=SHANGHAI) is None


def test_yesterday_is_the_speakers() -> None:
    said = datetime(2026, 7, 24, 17, 30, tzinfo=UTC)
    there = resolve("yesterday", said_at=said, zone=SHANGHAI)
    here = resolve("yesterday", said_at=said, zone=UTC)

    assert there is not None
    assert here is not None
    assert (there.start, here.start) == (
        datetime(2026, 7, 23, 16, tzinfo=UTC),
        datetime(2026, 7, 23, tzinfo=UTC),
    )


def test_a_naive_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        resolve("today", said_at=datetime(2026, 1, 1), zone=UTC)  # noqa: DTZ001


def test_a_day_of_a_clock_change_ends_at_the_next_midnight() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = resolve("today", said_at=datetime(2026, 3, 29, 12, tzinfo=berlin), zone=berlin)

    assert found is not None
    assert found.end - found.start == timedelta(hours=23)


MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
ZONES = st.sampled_from(["UTC", "Asia/Shanghai", "America/New_York", "Pacific/Auckland", "Asia/Kathmandu"])
PHRASES = st.sampled_from([*DAYS, *SPANS, *INSTANTS])


@given(phrase=PHRASES, said_at=MOMENTS, zone=ZONES)
def test_an_answer_is_an_aware_interval_of_its_precision(phrase: str, said_at: datetime, zone: str) -> None:
    found = resolve(phrase, said_at=said_at, zone=ZoneInfo(zone))
    longest = {"instant": 0, "day": 2.1, "week": 8.1, "month": 31.1, "year": 366.1}

    if found is not None:
        assert found.start.tzinfo is UTC
        assert found.end.tzinfo is UTC
        assert timedelta(0) <= found.end - found.start <= timedelta(days=longest[found.precision])


@given(count=st.integers(1, 400), said_at=MOMENTS, zone=ZONES)
def test_days_ago_and_days_ahead_mirror(count: int, said_at: datetime, zone: str) -> None:
    place = ZoneInfo(zone)
    today = said_at.astimezone(place).date()
    for ago, ahead in ((f"{count} days ago", f"in {count} days"), (f"{count}天前", f"{count}天后")):
        before = resolve(ago, said_at=said_at, zone=place)
        after = resolve(ahead, said_at=said_at, zone=place)
        assert before is not None
        assert after is not None
        assert (today - before.start.astimezone(place).date()).days == count
        assert (after.start.astimezone(place).date() - today).days == count


@given(text=st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    spans = find_times(text)
    resolve(text, said_at=MONDAY, zone=SHANGHAI)

    assert all(a.end <= b.start for a, b in pairwise(spans))

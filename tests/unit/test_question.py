from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.question import asks_past, coverage, excerpt, heading_language, named_time, weight
from memory.terms import query_terms
from recall_builders import NOON


@pytest.mark.parametrize(
    "query",
    [
        "用户以前住在哪里？",
        "之前在哪家公司？",
        "他曾经喝咖啡吗？",
        "上一家公司是哪家？",
        "Where did the user live before?",
        "Where did she use to work? What was her previous employer?",
        "Which city did he used to live in?",
        "What was the old address?",
        "How did things stand back then?",
    ],
)
def test_questions_about_the_past(query: str) -> None:
    assert asks_past(query)


@pytest.mark.parametrize(
    "query",
    [
        "用户现在住在哪里？",
        "Where does the user live?",
        "When did the user move to Lyon?",
        "What should be done before calling the user?",
        "上周说了什么？",
    ],
)
def test_questions_about_the_present_or_a_time(query: str) -> None:
    assert not asks_past(query)


def test_a_named_time_resolves_in_the_askers_zone() -> None:
    shanghai = ZoneInfo("Asia/Shanghai")

    assert named_time("what happened last week?", now=NOON, zone=UTC) == (
        datetime(2026, 2, 16, tzinfo=UTC),
        datetime(2026, 2, 23, tzinfo=UTC),
    )
    assert named_time("上个月的订单", now=NOON, zone=shanghai) == (
        datetime(2026, 1, 31, 16, tzinfo=UTC),
        datetime(2026, 2, 28, 16, tzinfo=UTC),
    )
    assert named_time("where does the user live?", now=NOON, zone=UTC) is None


def test_headings_speak_chinese_or_english() -> None:
    assert heading_language("BT-500 的保修期多久？") == "zh"
    assert heading_language("How long is the warranty of BT-500?") == "en"
    assert heading_language("Сколько?") == "en"


@given(st.text(max_size=40), st.text(max_size=80))
def test_coverage_is_a_share(query: str, text: str) -> None:
    assert 0.0 <= coverage(query_terms(query), text) <= 1.0


def test_coverage_of_a_text_that_holds_the_question_is_whole() -> None:
    assert coverage(query_terms("耳机的保修期"), "这款耳机的保修期是一年") == 1.0
    assert coverage(query_terms("warranty of the headset"), "the headset's warranty lasts a year") == 1.0
    assert coverage([], "anything") == 0.0


@pytest.mark.parametrize(
    ("query", "weighs"),
    [
        ("花生", 4),
        ("我的花生呢？", 4 + 0.5 + 0.5),
        ("这是什么？", 0),
        ("who are you?", 0),
        ("peanut allergy", 4),
        ("BT-500", 8),
    ],
)
def test_what_only_joins_or_asks_weighs_nothing(query: str, weighs: float) -> None:
    assert weight(query_terms(query)) == weighs


def test_a_question_of_function_words_is_covered_by_nothing() -> None:
    assert coverage(query_terms("这是什么？"), "这是什么？") == 0.0


@given(st.text("ab 。.\n字", max_size=300), st.integers(10, 80))
def test_an_excerpt_fits(text: str, max_chars: int) -> None:
    found = excerpt(text, ["a"], max_chars)

    assert len(found) <= max_chars
    assert found.strip("…").strip() in text


def test_an_excerpt_is_taken_where_the_answer_stands() -> None:
    text = "The weather is nice. " * 20 + "The code word is blue heron. " + "We talked on. " * 20

    found = excerpt(text, query_terms("What is the code word?"), 120)

    assert "blue heron" in found
    assert found.startswith("…")
    assert found.endswith("…")

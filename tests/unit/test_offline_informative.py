"""Which turns can hold something, and which language they are in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.informative import any_informative, asks, is_bare_no, is_bare_yes, is_filler, is_informative
from memory.language import han_ratio, language_of
from offline_fixtures import Say, assistant, turns, user


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "OK!!",
        "Thanks a lot!",
        "thank you so much :)",
        "ok thanks 👍",
        "haha nice",
        "谢谢",
        "好的，谢谢！",
        "收到，辛苦了~",
        "在吗",
        "嗯嗯",
        "👍",
        "...",
        "",
        "哈哈哈",
        "no, thanks",
    ],
)
def test_fillers_hold_nothing(text: str) -> None:
    assert is_filler(text)
    assert not is_informative(turns(user(text))[0])


@pytest.mark.parametrize(
    "text",
    [
        "Peanuts.",
        "42",
        "I live in Oslo",
        "我住杭州",
        "花生",
        "order 5",
        "i don't have that",
        "thanks, I moved to Rome",
        "好的，改成微信",
    ],
)
def test_what_says_something_is_kept(text: str) -> None:
    assert is_informative(turns(user(text))[0])


@pytest.mark.parametrize("reply", ["嗯", "yes", "ok", "Peanuts.", "没有"])
@pytest.mark.parametrize(
    "question", ["Any allergies?", "您对什么过敏吗", "Please tell me your city.", "Is this right? "]
)
def test_after_an_assistants_question_every_reply_is_informative(question: str, reply: str) -> None:
    question_turn, reply_turn = turns(assistant(question), user(reply))

    assert asks(question_turn)
    assert is_informative(reply_turn, question_turn)
    assert any_informative([reply_turn], [question_turn])


def test_a_question_of_the_user_or_a_statement_does_not_make_a_filler_informative() -> None:
    assert not any_informative(turns(assistant("Done."), user("ok")))
    assert not any_informative(turns(user("ok?"), user("ok")))


def test_a_tool_result_is_informative() -> None:
    assert any_informative(turns(Say("tool", "{}", ok=True)))


@pytest.mark.parametrize("text", ["yes", "Yes.", "yep", "是的", "对", "嗯，对的", "好的，谢谢", "That's right"])
def test_a_bare_yes(text: str) -> None:
    assert is_bare_yes(text)
    assert not is_bare_no(text)


@pytest.mark.parametrize("text", ["yes, but in Leeds", "对花生过敏", "no", "不是", "", "是王芳"])
def test_no_bare_yes(text: str) -> None:
    assert not is_bare_yes(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I live in Oslo", "en"),
        ("我住在上海", "zh"),
        ("我用 MacBook Pro 和 iPhone 15 Pro Max", "zh"),
        ("I love 北京", "en"),
        ("Rust很好", "zh"),
        ("Please send 王芳 the report", "en"),
        ("東京はいいところ", "ja"),
        ("안녕하세요", "ko"),
        ("Привет, как дела", "ru"),
        ("12345", "und"),
        ("👍", "und"),
        ("see https://example.com/中文/路径 please", "en"),
        ("", "und"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


@given(text=st.text(max_size=200))
def test_any_text_has_a_language_and_a_ratio(text: str) -> None:
    assert language_of(text) in {"zh", "en", "ja", "ko", "ru", "und"}
    assert 0.0 <= han_ratio(text) <= 1.0
    assert isinstance(is_filler(text), bool)

"""What was given up and is liked again, or newly liked, is a statement like any other."""

from __future__ import annotations

import pytest

from llm.offline import extract


@pytest.mark.parametrize(
    ("text", "value", "op"),
    [
        ("我又开始喜欢喝咖啡了。", "咖啡", "+"),
        ("我又喜欢喝咖啡了。", "咖啡", "+"),
        ("我开始喜欢喝茶了。", "茶", "+"),
        ("我又开始讨厌下雨天了。", "下雨天", "-"),
        ("I've started to like coffee again.", "coffee", "+"),
        ("I started liking jazz.", "jazz", "+"),
    ],
)
def test_a_taste_that_begins_is_read(text: str, value: str, op: str) -> None:
    assert [(one.key, one.value, one.op) for one in extract(text)] == [("likes", value, op)]


@pytest.mark.parametrize("text", ["我开始上班了。", "开始吧，我都行。", "I started to work on it."])
def test_a_beginning_alone_is_no_taste(text: str) -> None:
    assert [one for one in extract(text) if one.key == "likes"] == []

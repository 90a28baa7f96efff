"""Changes as people tell them in Chinese: a new job, a diet given up, a budget moved, a deadline before the wish."""

from __future__ import annotations

import pytest

from llm.offline import extract


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我转行了，现在是护士。", [("job", None, "护士", "+")]),
        ("我换了工作，现在当护士。", [("job", None, "护士", "+")]),
        ("我换工作了，现在是一名护士。", [("job", None, "护士", "+")]),
        ("我转行了，现在是急救员。", [("job", None, "急救员", "+")]),
        ("我是一名训犬师。", [("job", None, "训犬师", "+")]),
        ("我不再吃素。", [("diet", None, "vegetarian", "retract")]),
        ("我现在又吃肉了，不再吃素。", [("diet", None, "vegetarian", "retract")]),
        ("沙发的预算改成1200元吧。", [("budget", "沙发", "1200元", "+")]),
        ("沙发的预算提高到1200元。", [("budget", "沙发", "1200元", "+")]),
        ("我要在下周三之前拿到合同原件。", [("need", "合同原件", "合同原件", "+")]),
        ("我周五之前要收到发票。", [("need", "发票", "发票", "+")]),
        ("下周三之前我要拿到合同原件。", [("need", "合同原件", "合同原件", "+")]),
    ],
)
def test_a_change_is_read(text: str, expected: list[tuple[str, str | None, str, str]]) -> None:
    assert [(one.key, one.object, one.value, one.op) for one in extract(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "我是你们的白金会员。",
        "我是家庭成员之一。",
        "我是党员。",
        "我们是一个团队的成员。",
        "现在是晚上。",
        "我要拿到。",
    ],
)
def test_what_only_looks_like_one_is_left_out(text: str) -> None:
    assert [one for one in extract(text) if one.key in {"job", "need"}] == []

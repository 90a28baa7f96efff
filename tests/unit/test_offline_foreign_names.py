"""Foreign names in Chinese are written by sound: a home or a first name that no list holds is still one."""

from __future__ import annotations

import pytest

from llm.offline import extract


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在根特。", [("city", "根特", "+")]),
        ("我住在耶拿。", [("city", "耶拿", "+")]),
        ("我现在住在斯普利特。", [("city", "斯普利特", "+")]),
        ("我上周搬到了格但斯克。", [("city", "格但斯克", "+")]),
        ("我以前住在特罗姆瑟。", [("city", "特罗姆瑟", "past")]),
        ("我叫奥莉。", [("name", "奥莉", "+")]),
        ("我叫安德烈亚，住在耶拿。", [("city", "耶拿", "+"), ("name", "安德烈亚", "+")]),
        ("我是一名箍桶匠。", [("job", "箍桶匠", "+")]),
    ],
)
def test_a_name_by_sound_is_read(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert sorted((one.key, one.value, one.op) for one in extract(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "我住在那里。", "我住在三楼。", "我住在酒店。", "我住在朋友家。", "我住在公司宿舍。", "我住在郊区。",
        "我住在山里。", "我住在塔里。", "我住在隔壁。", "我住在国外。", "我搬到了那里。",
        "我叫了外卖。", "我叫滴滴。", "我叫他别来。",
    ],
)  # fmt: skip
def test_a_whereabouts_is_no_home_and_a_call_no_name(text: str) -> None:
    assert [one for one in extract(text) if one.key in {"city", "name"}] == []

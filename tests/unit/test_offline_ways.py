"""Ways in which people say the same: callers, new employers, days, ceilings, devotion, homes left; and what is none."""

from __future__ import annotations

import pytest

from llm.offline import extract
from memory.registry import canonical
from memory.verify import verify
from offline_fixtures import digest, turns, user
from schemas.decisions import Dropped

READ: list[tuple[str, set[tuple[str, str, str]]]] = [
    ("Hello, Oluwaseun Adeyemi speaking.", {("name", "Oluwaseun Adeyemi", "+")}),
    ("Good morning, Sarah Connor calling from Leeds.", {("name", "Sarah Connor", "+")}),
    ("I'm Dr. Helena Voss.", {("name", "Helena Voss", "+")}),
    ("I left Tesco, I'm with Aldi now.", {("company", "Tesco", "retract"), ("company", "Aldi", "+")}),
    ("I need to get the signed contract by Friday.", {("need", "the signed contract", "+")}),
    ("I want to have the keys by tomorrow.", {("need", "the keys", "+")}),
    ("I can't get enough of sudoku.", {("likes", "sudoku", "+")}),
    ("Don't call, just email.", {("contact", "phone", "-"), ("contact", "email", "+")}),
    ("I'd like to order two bags of potting soil.", {("need", "two bags of potting soil", "+")}),
    ("I need a solar panel.", {("need", "a solar panel", "+")}),
    ("I've become a pescatarian.", {("diet", "pescatarian", "+")}),
    ("I moved out of Bristol last week.", {("city", "Bristol", "retract")}),
    ("我从阿里离职了，现在在腾讯。", {("company", "阿里", "retract"), ("company", "腾讯", "+")}),
    ("我们希望控制在2500元以下。", {("budget", "控制在2500元以下", "+")}),
    ("我叫次仁央措。", {("name", "次仁央措", "+")}),
    ("我姓欧阳，叫欧阳娜娜。", {("name", "欧阳娜娜", "+")}),
    ("我的狗叫旺财。", {("name", "旺财", "+")}),
    ("我夏天的时候从阿里离职了。", {("company", "阿里", "retract")}),
    ("我在沃尔玛找到工作了。", {("company", "沃尔玛", "+")}),
    ("我对古典音乐情有独钟。", {("likes", "古典音乐", "+")}),
    ("我对足球没什么兴趣。", {("likes", "足球", "-")}),
    ("我是皇马的忠实球迷。", {("likes", "皇马", "+")}),
    ("请发邮件给我，不要打电话。", {("contact", "email", "+"), ("contact", "phone", "-")}),
    ("我上周搬离了青岛。", {("city", "青岛", "retract")}),
    ("我从青岛搬走了。", {("city", "青岛", "retract")}),
    ("请永远不要把包裹放外面。", {("constraint", "请永远不要把包裹放外面", "-")}),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_it_is_read_and_borne_out(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert {(one.key, one.value, one.op) for one in extract(text)} == expected
    assert [one for one in verify(digest(user(text)), turns(user(text))) if isinstance(one, Dropped)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Strictly speaking it's fine.",
        "Anyone calling?",
        "I'm with Anna now.",
        "I need to have a shower by noon.",
        "No more than 3 people.",
        "Wow, I love getting parking tickets.",
        "We moved out of our flat.",
        "哇，我最爱收罚单了。",
        "我叫了外卖。",
        "我叫特价房。",
        "我喜欢春天的时候",
        "我对你们的产品不感兴趣",
        "我是你的粉丝",
        "把发票发邮件给我，别打电话催了",
        "我搬出宿舍了",
        "我的狗叫个不停",
    ],
)
def test_what_only_sounds_like_it_is_left_out(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't want to spend more than $800 on a phone.", "<=800 USD"),
        ("I can't go above 300 dollars for the sofa.", "<=300 USD"),
        ("No more than 40 euros per person, please.", "<=40 EUR"),
        ("My budget can't exceed 500 euros.", "<=500 EUR"),
        ("My budget is over $500.", ">=500 USD"),
        ("我不想超过300块。", "<=300 CNY"),
        ("预算不能高于500元。", "<=500 CNY"),
        ("预算超过500元。", ">=500 CNY"),
        ("预算不少于500元。", ">=500 CNY"),
    ],
)
def test_a_ceiling_is_no_floor(text: str, expected: str) -> None:
    (found,) = extract(text)

    assert (found.key, canonical("budget", found.value, "en")) == ("budget", expected)
    (kept,) = verify(digest(user(text)), turns(user(text)))
    assert not isinstance(kept, Dropped)
    assert kept.canonical == expected

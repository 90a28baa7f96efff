"""What people leave out of their meals, and take again: every tense, both languages, and borne out."""

from __future__ import annotations

import pytest

from llm.offline import extract
from memory.verify import verify
from offline_fixtures import digest, turns, user
from schemas.decisions import Dropped
from schemas.drafts import Polarity

LEFT_OUT: list[tuple[str, str, str, Polarity]] = [
    ("I'm avoiding gluten.", "avoid", "gluten", "-"),
    ("I've been avoiding dairy since spring.", "avoid", "dairy", "-"),
    ("I've cut out dairy.", "avoid", "dairy", "-"),
    ("I'm cutting out red meat.", "avoid", "red meat", "-"),
    ("I've eliminated gluten from my diet.", "avoid", "gluten", "-"),
    ("I'm staying away from fried food.", "avoid", "fried food", "-"),
    ("I eat gluten again.", "avoid", "gluten", "retract"),
    ("I've gone back to eating dairy.", "avoid", "dairy", "retract"),
    ("I can eat nuts again.", "avoid", "nuts", "retract"),
    ("I no longer avoid gluten.", "avoid", "gluten", "retract"),
    ("I stopped avoiding sugar.", "avoid", "sugar", "retract"),
    ("I used to avoid eggs.", "avoid", "eggs", "past"),
    ("I'm off dairy.", "likes", "dairy", "retract"),
    ("我戒糖了。", "avoid", "糖", "-"),
    ("我把糖戒了。", "avoid", "糖", "-"),
    ("糖我早就戒了。", "avoid", "糖", "-"),
    ("我最近在戒碳水。", "avoid", "碳水", "-"),
    ("我在忌口辣的。", "avoid", "辣", "-"),
    ("我在避开乳制品。", "avoid", "乳制品", "-"),
    ("我又开始吃糖了。", "avoid", "糖", "retract"),
    ("我现在又能吃辣了。", "avoid", "辣", "retract"),
    ("我恢复喝牛奶了。", "avoid", "牛奶", "retract"),
    ("我不再忌口海鲜了。", "avoid", "海鲜", "retract"),
    ("我戒烟了。", "likes", "烟", "retract"),
    ("I'm intolerant to lactose.", "allergy", "lactose", "+"),
    ("I'm not lactose intolerant any more.", "allergy", "lactose", "retract"),
    ("我有乳糖不耐症。", "allergy", "乳糖", "+"),
    ("我不再乳糖不耐受了。", "allergy", "乳糖", "retract"),
    ("I'm keen on counseling or working in mental health.", "likes", "counseling or working in mental health", "+"),
    ("我喜欢喝红茶或者绿茶。", "likes", "红茶或者绿茶", "+"),
]


@pytest.mark.parametrize(("text", "key", "value", "op"), LEFT_OUT)
def test_it_is_read_and_borne_out(text: str, key: str, value: str, op: Polarity) -> None:
    assert [(one.key, one.value, one.op) for one in extract(text)] == [(key, value, op)]
    assert [one for one in verify(digest(user(text)), turns(user(text))) if isinstance(one, Dropped)] == []


@pytest.mark.parametrize(
    "text",
    [
        "I'm avoiding my boss.",
        "I'm avoiding the question.",
        "I cut out the coupon.",
        "I'm cutting out early today.",
        "I might start eating meat again.",
        "My doctor told me to avoid salt.",
        "I'm eating again.",
        "I'm back on track.",
        "我想戒糖。",
        "医生让我忌口辣的。",
        "我又吃多了。",
        "我又吃药了。",
        "我在避开他。",
        "我断网了。",
        "我没在戒糖。",
    ],
)
def test_what_only_sounds_like_it_is_left_out(text: str) -> None:
    assert extract(text) == []


def test_plain_things_of_a_list_stay_apart() -> None:
    assert {one.value for one in extract("I like tea and coffee.")} == {"tea", "coffee"}
    assert {one.value for one in extract("I don't eat pork or shellfish.")} == {"pork", "shellfish"}
    assert {one.value for one in extract("我喜欢猫和狗。")} == {"猫", "狗"}

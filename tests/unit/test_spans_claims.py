"""A held-back claim is not told again in other words, and an ordinary summary is not held back for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.spans import mentions, without_mentions

ROLES_EN = st.sampled_from(
    ["administrator", "admin", "HR", "CEO", "root operator", "police officer", "auditor", "developer of yours"]
)
ROLES_ZH = st.sampled_from(["管理员", "老板", "系统管理员", "医生", "审计员", "警察", "开发者", "店长"])
CLAIMS_EN = st.sampled_from(["I am an {}.", "I'm the {}", "I'm {}!", "we are {}", "You know I am {} here."])
CLAIMS_ZH = st.sampled_from(["我是{}。", "我是你们的{}", "我就是{}啊！", "本人是一名{}。", "我现在是{}了"])
TOLD_EN = st.sampled_from(["The user is an {}.", "User claims to be {}.", "{}", "The customer said they are the {}"])
TOLD_ZH = st.sampled_from(["用户是{}。", "用户自称是{}", "{}", "客户说自己是{}，要求退款。"])
ORDINARY_EN = st.sampled_from(
    [
        "The user asked about a refund.",
        "The headset makes noise and was exchanged.",
        "The customer lives in Lyon and likes tea.",
        "They want to change the delivery address of their account.",
        "The user was happy with the new one.",
    ]
)
ORDINARY_ZH = st.sampled_from(
    ["用户想换耳机。", "耳机有杂音，已换货。", "客户住在里昂，喜欢喝茶。", "用户要改收货地址。"]
)


@given(ROLES_EN, CLAIMS_EN, TOLD_EN)
def test_a_short_claim_is_not_told_again_in_english(role: str, claim: str, told: str) -> None:
    assert mentions(told.format(role), [claim.format(role)])


@given(ROLES_ZH, CLAIMS_ZH, TOLD_ZH)
def test_a_short_claim_is_not_told_again_in_chinese(role: str, claim: str, told: str) -> None:
    assert mentions(told.format(role), [claim.format(role)])


@given(ROLES_EN, CLAIMS_EN, ORDINARY_EN)
def test_an_ordinary_summary_in_english_stays(role: str, claim: str, summary: str) -> None:
    assert without_mentions(summary, [claim.format(role)]) == summary


@given(ROLES_ZH, CLAIMS_ZH, ORDINARY_ZH)
def test_an_ordinary_summary_in_chinese_stays(role: str, claim: str, summary: str) -> None:
    assert without_mentions(summary, [claim.format(role)]) == summary


@pytest.mark.parametrize(
    ("sentence", "held"),
    [
        ("The user lives in Lyon.", "I live in Oslo."),
        ("The user likes coffee.", "I like tea."),
        ("用户喜欢咖啡。", "我喜欢喝茶。"),
        ("用户住在上海。", "我住在杭州。"),
        ("The customer's old headset makes noise.", "I am a customer, an old one."),
    ],
)
def test_another_value_of_the_same_kind_is_no_repeat(sentence: str, held: str) -> None:
    assert not mentions(sentence, [held])

"""Reason codes and verdicts in words, in English and Chinese, for whoever must understand a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from memory.decision_words import FOLD, GUARD, VERIFICATION, Words
from schemas.decisions import RequestKind

REASONS: Mapping[str, Words] = {
    **GUARD,
    **VERIFICATION,
    **{f"request_{kind}": GUARD[kind] for kind in get_args(RequestKind)},
    "no_evidence": ("has no evidence", "没有依据"),
    # What the gate says
    "protected_key": ("changes a protected key", "涉及受保护的键"),
    "claimed_approval": ("claims what only staff or a tool can approve", "声称获得批准，只有员工或工具可以证实"),
    "organization": ("belongs to the organisation", "属于组织"),
    "policy_key": ("the policy sends this key to review", "策略要求审核该键"),
    "policy_channel": ("the policy sends this channel to review", "策略要求审核该渠道"),
    "policy_agent": ("the policy sends this agent to review", "策略要求审核该智能体"),
    "policy_drop": ("the policy keeps nothing of this kind", "策略不保留此类内容"),
    "quota_session": ("the session has kept its share", "该会话已达配额"),
    "quota_source": ("the source has kept its share", "该来源已达配额"),
    "quota_identity": ("too many changes of identity in a day", "一天内身份变更过多"),
    "special_health": ("special category: health", "特殊类别：健康"),
    "special_pregnancy": ("special category: pregnancy", "特殊类别：怀孕"),
    "special_religion": ("special category: religion", "特殊类别：宗教"),
    "special_orientation": ("special category: sexual orientation", "特殊类别：性取向"),
    "special_politics": ("special category: politics", "特殊类别：政治"),
    "special_union": ("special category: union membership", "特殊类别：工会"),
    "special_child": ("special category: a child", "特殊类别：儿童"),
    "edited": ("a reviewer wrote these words", "由审核者改写"),
    "undone": ("taken back with its session, source or event", "已随会话、来源或事件撤销"),
    # Why a verdict was not taken
    "decided_already": ("somebody decided on it before; look again", "此前已有人作出决定，请重新查看"),
    "content_changed": ("these are not the words that were shown; look again", "与所看到的内容不同，请重新查看"),
    "needs_user": ("only its user can let this be kept (--user-consent)", "只有用户本人可以允许保留（--user-consent）"),
    "not_found": ("there is no such statement", "没有这条内容"),
    "bad_input": ("the verdict lacks something, or its value is not valid", "缺少必要内容，或值无效"),
    "refused_value": ("the guard does not let these words into memory", "守卫不允许记下这些内容"),
}
"""Code -> (en, zh)."""


RULES: Mapping[str, Words] = {
    **FOLD,
    "feedback.correct": ("somebody said that it is right", "有人说它正确"),
    "feedback.wrong": ("somebody said that it is wrong", "有人说它错误"),
    "feedback.outdated": ("somebody said that it is outdated", "有人说它已过时"),
}
"""Rule of a fold -> (en, zh)."""


def rule_words(rule_id: str, language: str) -> str:
    """A rule in words; one that is not listed stands for itself."""
    found = RULES.get(rule_id)
    return rule_id if found is None else found[1 if language == "zh" else 0]


def reason_words(code: str, language: str) -> str:
    """A reason code in words; a code that is not listed stands for itself."""
    if code.startswith("legal_basis_"):
        basis = code.removeprefix("legal_basis_")
        return f"法律依据：{basis}" if language == "zh" else f"legal basis: {basis}"
    if code.startswith("rule_"):
        rule = code.removeprefix("rule_")
        return f"策略规则 {rule}" if language == "zh" else f"rule {rule} of the policy"
    found = REASONS.get(code)
    return code if found is None else found[1 if language == "zh" else 0]

"""Reason codes and verdicts in words, in English and Chinese, for whoever must understand a decision."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, tuple[str, str]] = {
    # What the guard finds
    "override": ("asks to ignore rules or instructions", "要求忽略规则或指令"),
    "fake_system": ("poses as a system message", "伪装成系统消息"),
    "persona": ("asks for a persona without limits", "要求扮演不受限制的角色"),
    "tool_trigger": ("wants a tool called when something is said later", "要求在之后说某话时调用工具"),
    "exfiltration": ("sends what is said to somewhere else", "把对话内容发往别处"),
    "cross_user": ("reads or writes for other users", "读取或写入其他用户的记忆"),
    "poisoned_command": ("hides a dangerous command", "夹带危险命令"),
    "encoded_payload": ("hides an instruction in an encoding", "以编码隐藏指令"),
    "secret": ("holds a secret", "含有机密"),
    "privilege": ("claims a privilege", "声称拥有权限"),
    "payment": ("redirects a payment", "变更收付款去向"),
    "identity_redirect": ("puts one identity in the place of another", "把一个身份换成另一个"),
    "bias": ("biases recommendations", "左右推荐结果"),
    "false_success": ("claims that something worked", "声称某做法有效"),
    "standing_order": ("gives a standing order that is not on the whitelist", "不在白名单内的长期指令"),
    "hidden_characters": ("holds hidden characters", "含有隐藏字符"),
    "request_erase": ("asks to be forgotten: a privacy request", "要求被遗忘：隐私请求"),
    "request_access": ("asks what is stored: a privacy request", "询问保存了什么：隐私请求"),
    "request_no_store": ("asks that this is not kept", "要求不要记录"),
    "erase": ("asks to be forgotten", "要求被遗忘"),
    "access": ("asks what is stored", "询问保存了什么"),
    "no_store": ("asks that this is not kept", "要求不要记录"),
    # What the gate says
    "protected_key": ("changes a protected key", "涉及受保护的键"),
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
    # Why a draft has no evidence
    "about_assistant": ("is about the assistant", "说的是助手"),
    "assistant_is_no_evidence": ("the assistant's words are no evidence", "助手的话不是依据"),
    "system_is_no_evidence": ("system text is no evidence", "系统文本不是依据"),
    "tool_is_no_evidence": ("a tool knows nothing of this", "工具结果不能作为此项依据"),
    "tool_failed": ("the tool had failed", "工具调用失败"),
    "no_evidence": ("has no evidence", "没有依据"),
    "no_quote": ("has no quote", "没有引文"),
    "quote_not_found": ("the quote stands nowhere", "引文不在原话中"),
    "recalled_echo": ("repeats a recalled memory", "只是复述召回的记忆"),
    "unknown_turn": ("names no turn of this window", "所指轮次不存在"),
    "unknown_key": ("the key is not in the registry", "键不在登记表中"),
    "value_shape": ("the value is empty or too long", "值为空或过长"),
    "value_not_in_quote": ("the value is not in the quote", "值不在引文中"),
    "invalid_value": ("the value does not pass its key's check", "值未通过该键的校验"),
    "not_asserted": ("is not asserted", "并非陈述事实"),
    "question": ("is a question", "是提问"),
    "supposed": ("is supposed, not said to be so", "只是假设"),
    "subject_not_said": ("nobody named its subject", "没有说到该主体"),
    "third_party": ("is about somebody else", "说的是别人"),
    "too_many_facts": ("the answer held too many", "一次回答中过多"),
    "duplicate": ("was drafted twice", "重复"),
    "double_negation": ("is negated twice", "双重否定"),
    "polarity_negative": ("the quote does not deny it", "引文并未否定"),
    "polarity_positive": ("the quote does not affirm it", "引文并未肯定"),
    "polarity_past": ("the quote does not put it in the past", "引文并非过去"),
    "polarity_retract": ("the quote does not retract it", "引文并未收回"),
    # Why a verdict was not taken
    "decided_already": ("somebody decided on it before; look again", "此前已有人作出决定，请重新查看"),
    "content_changed": ("these are not the words that were shown; look again", "与所看到的内容不同，请重新查看"),
    "needs_user": ("only its user can let this be kept (--user-consent)", "只有用户本人可以允许保留（--user-consent）"),
    "not_found": ("there is no such statement", "没有这条内容"),
    "bad_input": ("the verdict lacks something, or its value is not valid", "缺少必要内容，或值无效"),
    "refused_value": ("the guard does not let these words into memory", "守卫不允许记下这些内容"),
}
"""Code -> (en, zh)."""


RULES: Mapping[str, tuple[str, str]] = {
    "first_statement": ("nothing was known here before", "此前没有相关记忆"),
    "newer_statement": ("a newer statement takes the place of an older one", "较新的说法取代较旧的"),
    "past_statement": ("it was said to hold in the past", "说的是过去的情况"),
    "same_value": ("it was said again", "再次说到同样的内容"),
    "more_specific": ("it was said more precisely", "说得更具体"),
    "earlier_begin": ("it is known to have begun earlier", "开始时间更早"),
    "holds_again": ("it holds again without a gap", "继续有效，没有间断"),
    "new_end": ("its end is known now", "结束时间已知"),
    "retraction": ("it was taken back", "已收回"),
    "denial": ("it was denied", "已否认"),
    "said_to_be_past": ("it was said to be past", "已说明是过去的情况"),
    "lesser_origin": (
        "a lesser origin says otherwise: both stay, contested",
        "来源较弱者说法矛盾：并存，有争议",
    ),
    "closes_only_by_retraction": (
        "only taking it back ends it: both stay",
        "只能以收回结束：并存，有争议",
    ),
    "contest_resolved": ("a better origin settled the contest", "更可靠的来源解决了争议"),
    "covered_by_newer": ("all of its time is covered by newer statements", "其时段已全部被较新的说法覆盖"),
    "evidence_withdrawn": ("words that it rested on count no more", "其依据的话不再有效"),
    "forgotten": ("it was forgotten on request", "已应要求遗忘"),
    "tombstone": ("everything before it is forgotten", "此前的内容均已遗忘"),
    "past_covered_by_others": ("something else is known of that time", "那段时间已有其他记忆"),
    "already_so": ("it changed nothing", "没有改变任何内容"),
    "not_effective": ("it waits, or was refused, and changes nothing", "尚待决定或已被拒绝，不产生改变"),
    "retraction_of_nothing_held": ("there was nothing to take back", "没有可收回的内容"),
    "denial_of_nothing_held": ("there was nothing to deny", "没有可否认的内容"),
    "retraction_of_lesser_origin": ("the one who takes it back is a lesser origin", "收回者的来源较弱"),
    "denial_of_lesser_origin": ("the one who denies it is a lesser origin", "否认者的来源较弱"),
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

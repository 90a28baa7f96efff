"""What each code of the guard, of verification and of the fold means, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

Words = tuple[str, str]

GUARD: Mapping[str, Words] = {
    "override": ("an instruction to drop or replace the rules", "要求忽略或替换规则的指令"),
    "persona": ("an instruction to become somebody without limits", "要求扮演不受限制的角色"),
    "fake_system": ("text that poses as a system message or a role", "冒充系统消息或角色的文本"),
    "tool_trigger": ("a trigger that is to call a tool later", "以后触发工具调用的条件"),
    "exfiltration": ("sending what is said somewhere else", "把对话内容发往别处"),
    "cross_user": ("reading or writing the memory of others", "读写他人的记忆"),
    "poisoned_command": ("a command that loads and runs foreign code", "下载并执行外来代码的命令"),
    "encoded_payload": ("an encoded text that decodes to something flagged", "解码后命中规则的编码文本"),
    "secret": ("a password, key, card or national id", "密码、密钥、卡号或证件号"),
    "privilege": ("a claim to rights or exemptions", "自称拥有权限或豁免"),
    "payment": ("another account for payments", "更换收付款账户"),
    "identity_redirect": ("using one person's record for another", "把一个人的记录用于另一个人"),
    "bias": ("a lasting recommendation of a brand or source", "长期推荐某个品牌或来源"),
    "false_success": ("praise of a way of doing that no result shows", "没有结果证明的“成功做法”"),
    "standing_order": ("a standing order to the assistant", "对助手的长期命令"),
    "hidden_characters": ("hidden characters", "隐藏字符"),
    "erase": ("a request to erase", "删除请求"),
    "access": ("a request to see what is known", "查询已知内容的请求"),
    "correct": ("a request to correct what is kept", "更正请求"),
    "object": ("an objection to what is done with their data", "反对处理"),
    "no_store": ("a request not to keep this", "要求不保存本句"),
}
VERIFICATION: Mapping[str, Words] = {
    "unknown_key": ("a key that the registry does not have", "登记表中没有的键"),
    "no_quote": ("no quote, or one too long", "没有引文，或引文过长"),
    "unknown_turn": ("a turn that is not in the window", "窗口中没有的轮次"),
    "quote_not_found": ("a quote that does not stand in its turn", "引文不在该轮次中"),
    "recalled_echo": ("words of a memory that was recalled into the turn", "召回到该轮次中的旧记忆"),
    "assistant_is_no_evidence": ("words of the assistant that nobody confirmed", "未经用户确认的助手的话"),
    "system_is_no_evidence": ("words of a system turn", "系统轮次的话"),
    "tool_is_no_evidence": ("a tool's words for a key that is not a tool's", "该键不接受工具结果"),
    "tool_failed": ("the result of a tool that failed", "失败的工具结果"),
    "not_asserted": ("said as a supposition, report, joke or question", "假设、转述、玩笑或提问"),
    "question": ("asked, not stated", "是提问而非陈述"),
    "supposed": ("supposed, not stated", "是假设而非陈述"),
    "about_assistant": ("about the assistant", "关于助手自身"),
    "third_party": ("about somebody else than the draft says", "实际说的是别人"),
    "subject_not_said": ("about a subject that nobody named", "没有人提到的主体"),
    "value_shape": ("a value that is empty or too long", "值为空或过长"),
    "value_not_in_quote": ("a value that its quote does not hold", "值不在引文中"),
    "invalid_value": ("a value that its key's validator refuses", "值未通过该键的校验"),
    "double_negation": ("a double negation", "双重否定"),
    "polarity_negative": ("said to be disliked, though the quote does not", "引文并无否定"),
    "polarity_positive": ("said to hold, though the quote denies it", "引文实为否定"),
    "polarity_retract": ("said to be over, though the quote does not", "引文未说不再如此"),
    "polarity_past": ("said to be past, though the quote does not", "引文未说是过去"),
    "duplicate": ("the same statement twice in one answer", "同一回答中的重复陈述"),
    "too_many_facts": ("beyond the bound of one answer", "超出单次回答的上限"),
}
FOLD: Mapping[str, Words] = {
    "first_statement": ("the first statement of a slot begins it", "槽位的第一条陈述建立事实"),
    "newer_statement": (
        "newer and not of lesser origin: the older value ends where the newer begins",
        "更新且来源不低：旧值到新值开始为止",
    ),
    "more_specific": (
        "the same value, more precisely: it takes the place of the shorter one",
        "同一值的更具体说法，取代较短的说法",
    ),
    "earlier_begin": ("an earlier begin was named", "说出了更早的开始时间"),
    "new_end": ("another end was named", "说出了新的结束时间"),
    "holds_again": ("the same value holds again after an end", "结束之后同一值再次成立"),
    "past_statement": ("a past fact fills only what nobody claims", "过去的事实只填补无人占用的时间"),
    "past_covered_by_others": (
        "a past fact whose time others fill changes nothing",
        "其时间已被占用的过去事实不起作用",
    ),
    "said_to_be_past": ("said to be past: what held until now ends", "说是过去：至今成立的值结束"),
    "lesser_origin": (
        "of lesser origin and contradicting: both stay, contested",
        "来源较低且矛盾：两者并存，标为有争议",
    ),
    "closes_only_by_retraction": (
        "contradicting, but this key closes by retraction only: both stay, contested",
        "矛盾，但该键只因收回而结束：两者并存",
    ),
    "contest_resolved": ("the better origin said it again: the contest is over", "更高来源再次陈述：争议解除"),
    "evidence_withdrawn": ("its evidence was rejected, corrected or undone", "其证据被拒绝、更正或撤销"),
    "forgotten": ("forgotten on request", "按请求遗忘"),
    "covered_by_newer": ("newer statements fill all of its time", "更新的陈述占满其全部时间"),
    "same_value": (
        "the same value again: it confirms, and makes no second row",
        "同一值再次陈述：只作印证，不另立一条",
    ),
    "retraction": ("retracted: what holds ends, the opposite is not asserted", "收回：成立的值结束，并不断言相反"),
    "denial": ("denied: what holds ends", "否认：成立的值结束"),
    "retraction_of_lesser_origin": ("retracted by a lesser origin: no effect", "来源较低者收回：不起作用"),
    "retraction_of_nothing_held": ("retracted though nothing of it holds: no effect", "收回并不成立的值：不起作用"),
    "denial_of_lesser_origin": ("denied by a lesser origin: no effect", "来源较低者否认：不起作用"),
    "denial_of_nothing_held": ("denied though nothing of it holds: no effect", "否认并不成立的值：不起作用"),
    "tombstone": ("what was forgotten stays forgotten", "已遗忘的保持遗忘"),
    "already_so": ("said again without effect on the versions", "重复陈述，版本不变"),
    "not_effective": ("pending or rejected: no effect", "待审核或被拒绝：不起作用"),
}
CARDINALITY: Mapping[str, Words] = {
    "single": ("one value at a time; a newer one ends the older", "同一时间只有一个值；新值使旧值结束"),
    "multi": (
        "each value by itself; only the other polarity, or a retraction, ends it",
        "每个值各自成立；只因相反极性或收回而结束",
    ),
    "by_object": ("one value for each object", "每个对象一个值"),
    "free": ("each statement by itself", "每条陈述各自成立"),
}
STATUS: Mapping[str, Words] = {
    "auto": ("kept at once", "直接保存"),
    "review": ("waits for review", "等待审核"),
    "user": ("waits for the user's word", "等待用户确认"),
    "rejected": ("rejected", "拒绝"),
    "dropped": ("dropped", "丢弃"),
    "request": ("opens a privacy request", "开立隐私请求"),
}

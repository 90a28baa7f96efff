"""What each rule decides, as a document: from the registry, the guard's families and a policy, by asking the gate.

Nothing is described twice: an outcome in the table is the gate's answer to a sample of that key, role and flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from memory.decision_words import CARDINALITY, FOLD, GUARD, STATUS, VERIFICATION, Words
from memory.gate import Counts, decide
from memory.guard_rules import RULES
from memory.policy import ANY_SOURCE, SPECIAL_CLASSES, GatePolicy
from memory.registry import REGISTRY, SPECIAL, KeySpec
from schemas.decisions import Decision, Flag, FlagAction, Verified

ROLES: Sequence[tuple[str, Words]] = (
    ("user", ("user", "用户")),
    ("staff", ("staff", "工作人员")),
    ("tool", ("tool", "工具")),
)
_MORE_FLAGS: Sequence[tuple[str, FlagAction]] = (
    ("encoded_payload", "reject"),
    ("secret", "reject"),
    ("hidden_characters", "pending"),
)
_SAMPLE_CHARS = 6


def markdown(policy: GatePolicy, language: str) -> str:
    """The document in `zh` or `en`. Repeat: the same text for the same policy."""
    zh = language == "zh"
    parts: list[str] = [
        "# 每条规则决定什么" if zh else "# What each rule decides",
        _origin(policy, zh=zh),
        *_keys(policy, zh=zh),
        *_guard(policy, zh=zh),
        *_special(policy, zh=zh),
        *_policy(policy, zh=zh),
        *_listed(("冲突时" if zh else "When statements of one slot meet"), FOLD, zh=zh),
        *_listed(("未通过核对而丢弃" if zh else "Dropped for lack of evidence"), VERIFICATION, zh=zh),
    ]
    return "\n\n".join(parts) + "\n"


def _origin(policy: GatePolicy, *, zh: bool) -> str:
    command = "`./afterturn policy table`"
    if zh:
        return f"由登记表与策略 `{policy.version}` 生成（{command}），请勿手改。"
    return f"Generated from the registry and the policy `{policy.version}` by {command}: do not edit."


def guard_codes() -> list[tuple[str, FlagAction]]:
    """Every code of the guard with its action, special categories left out."""
    return list(dict.fromkeys([*((rule.code, rule.action) for rule in RULES), *_MORE_FLAGS]))


def _keys(policy: GatePolicy, *, zh: bool) -> list[str]:
    head = ["键", "名称", "取值", "性质", *(_say(words, zh=zh) for _, words in ROLES)]
    if not zh:
        head = ["key", "title", "values", "nature", *(_say(words, zh=zh) for _, words in ROLES)]
    rows = [_key_row(spec, policy, zh=zh) for spec in REGISTRY.values()]
    what = [f"- {name}: {_say(words, zh=zh)}" for name, words in CARDINALITY.items()]
    title = "## 键：未被标记的陈述" if zh else "## Keys: a statement that nothing flags"
    return [title, "\n".join(what), _table(head, rows)]


def _key_row(spec: KeySpec, policy: GatePolicy, *, zh: bool) -> list[str]:
    nature = [
        _say(words, zh=zh)
        for words, holds in (
            (("volatile", "易变"), spec.volatile),
            (("protected", "受保护"), spec.name in policy.protected_keys),
            (("special category", "特殊类别"), spec.special is not None),
            (("closes by retraction only", "只因收回而结束"), spec.closes_explicitly),
            (("style wish: no quota", "风格愿望：不计配额"), spec.name in policy.style_keys),
            (("stays in its ticket", "留在工单内"), spec.scope == "ticket"),
        )
        if holds
    ]
    said = [_outcome(_sample(spec.name, role), (), policy, zh=zh) if _may_say(spec, role) else "—" for role, _ in ROLES]
    return [f"`{spec.name}`", spec.zh if zh else spec.en, spec.cardinality, ", ".join(nature), *said]


def _may_say(spec: KeySpec, role: str) -> bool:
    """A tool is heard for the keys that are a tool's."""
    return role != "tool" or spec.tool


def _guard(policy: GatePolicy, *, zh: bool) -> list[str]:
    head = (["代码", "内容"] if zh else ["code", "what"]) + [_say(words, zh=zh) for _, words in ROLES]
    rows = [
        [
            f"`{code}`",
            _say(GUARD[code], zh=zh),
            *(_outcome(_sample("other", role), [_flag(code, action)], policy, zh=zh) for role, _ in ROLES),
        ]
        for code, action in guard_codes()
    ]
    return ["## 守卫标记的句子" if zh else "## Sentences that the guard flags", _table(head, rows)]


def _special(policy: GatePolicy, *, zh: bool) -> list[str]:
    head = ["类别", "用户所说", "策略"] if zh else ["class", "said by the user", "policy"]
    rows = [
        [
            f"`{name}`",
            _outcome(_sample("other", "user"), [_flag(SPECIAL + name, "pending")], policy, zh=zh),
            policy.special.get(name, "confirm"),
        ]
        for name in SPECIAL_CLASSES
    ]
    return ["## 特殊类别" if zh else "## Special categories", _table(head, rows)]


def _policy(policy: GatePolicy, *, zh: bool) -> list[str]:
    none = "（无）" if zh else "(none)"
    quota = _sample("city", "user")
    over = (
        (
            ("kept in one session", "单个会话内保存"),
            policy.max_per_session,
            Counts(kept_in_session=policy.max_per_session),
        ),
        (
            ("changes of identity in a day", "一天内的身份变更"),
            policy.max_identity_changes_per_day,
            Counts(identity_changes_today=policy.max_identity_changes_per_day),
        ),
    )
    beyond = "超出" if zh else "beyond"
    lines = [
        f"- {_say(words, zh=zh)}: {most}; {beyond}: {_outcome(quota, (), policy, zh=zh, counts=counts)}"
        for words, most, counts in over
    ]
    by_source = ", ".join(
        f"{name if name != ANY_SOURCE else 'default'} {most}" for name, most in sorted(policy.max_per_source.items())
    )
    lines += [
        f"- {'每个来源每天' if zh else 'per source and day'}: {by_source or none}",
        f"- {'从不保存的键' if zh else 'keys never kept'}: {_names(policy.drop_keys) or none}",
        f"- {'从不保存的渠道' if zh else 'channels never kept'}: {_names(policy.drop_channels) or none}",
        f"- {'从不保存的智能体' if zh else 'agents never kept'}: {_names(policy.drop_agents) or none}",
    ]
    rules = [
        f"{number}. `{rule.id}` → {rule.then}: "
        + "; ".join(f"{name} = {_names(values)}" for name, values in sorted(rule.when.items()))
        for number, rule in enumerate(policy.rules, 1)
    ]
    title = "## 策略的配额与自有规则" if zh else "## Quotas and rules of the policy"
    return [title, "\n".join(lines), "\n".join(rules) or ("没有自有规则。" if zh else "It has no rules of its own.")]


def _listed(title: str, meanings: Mapping[str, Words], *, zh: bool) -> list[str]:
    head = ["代码", "含义"] if zh else ["code", "meaning"]
    return [f"## {title}", _table(head, [[f"`{code}`", _say(said, zh=zh)] for code, said in meanings.items()])]


def _outcome(
    one: Verified, flags: Sequence[Flag], policy: GatePolicy, *, zh: bool, counts: Counts | None = None
) -> str:
    found = decide(one, flags, policy=policy, counts=counts or Counts())
    said = _say(STATUS[_status(found, one.role)], zh=zh)
    plain = {flag.code for flag in flags} | {f"request_{flag.code}" for flag in flags}
    codes = [code for code in found.reason_codes if code not in plain]
    return f"{said} ({', '.join(codes)})" if codes else said


def _status(found: Decision, role: str) -> str:
    if found.write_status == "pending_review":
        return found.confirm_by or "review"
    if role == "user" and any(code.startswith("request_") for code in found.reason_codes):
        return "request"
    return found.write_status


def _sample(key: str, role: str) -> Verified:
    """A statement of this key by this role: whole, plain, of today."""
    spec = REGISTRY[key]
    local = role in {"staff", "tool"} or spec.scope == "ticket"
    return Verified(
        ordinal=0,
        subject="user",
        key=key,
        type=spec.type,
        object=None,
        op="+",
        value="sample",
        canonical="sample",
        quote="sample",
        event_id=UUID(int=1),
        quote_start=0,
        quote_end=_SAMPLE_CHARS,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        role=role,
        scope="ticket" if local else "user",
        scope_key="T-1" if local else None,
    )


def _flag(code: str, action: FlagAction) -> Flag:
    return Flag(0, _SAMPLE_CHARS, code, action)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _say(words: Words, *, zh: bool) -> str:
    return words[1] if zh else words[0]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])

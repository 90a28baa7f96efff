"""Why the contract refuses a value, in Chinese: its own reasons are English."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_ZH: Mapping[str, str] = {
    "is required": "必填",
    "is not valid": "无效",
    "is too large": "数值过大",
    "is nested too deeply": "嵌套过深",
    "is only for eval": "只用于评测",
    "is no cursor of this list": "不是该列表的游标",
    "is not the agent of this key": "不是该密钥所属的智能体",
    "is the id of another event": "已是另一个事件的编号",
    "needs the right staff, which this key does not have": "需要 staff 权限，该密钥没有",
    "there is no such file": "没有这个文件",
    "is a folder": "是文件夹",
    "cannot be read": "无法读取",
    "is there already with other content: a version never changes": "已有内容不同的同一版本：版本不可更改",
    "a tenant needs one": "租户需要名称",
    "another tenant has it already": "已有同名租户",
    "the id alone, not the whole credential": "只需编号，不是完整的凭据",
    "there is no such version, or it was withdrawn before": "没有该版本，或已撤回",
    "must be UTF-8 text": "必须是 UTF-8 文本",
    "must be JSON": "必须是 JSON",
    "must be JSON with each name once, and no NaN": "必须是 JSON，字段名不可重复，也不能有 NaN",
    "must be a day or an RFC 3339 time": "必须是日期或 RFC 3339 时间",
    "must be subject, predicate and object": "必须是主体、谓词与客体",
    "must be a list of three, or an object": "必须是三项的列表，或对象",
    "must have source, version and triples": "必须有 source、version 与 triples",
    "has other fields than subject, predicate, object and not": "含有 subject、predicate、object 与 not 以外的字段",
    "must be a JSON object": "必须是 JSON 对象",
    "must be a UUID": "必须是 UUID",
    "must be a W3C traceparent": "必须是 W3C traceparent",
    "must be a datetime": "必须是时间",
    "must be a list": "必须是列表",
    "must be a list or null": "必须是列表或 null",
    "must be a positive integer": "必须是正整数",
    "must be a string": "必须是字符串",
    "must be a string or null": "必须是字符串或 null",
    "must be an IANA time zone such as Europe/Paris": "必须是 IANA 时区，例如 Europe/Paris",
    "must be an RFC 3339 time": "必须是 RFC 3339 时间",
    "must be an integer": "必须是整数",
    "must be an object": "必须是对象",
    "must be an object or null": "必须是对象或 null",
    "must be true or false": "必须是 true 或 false",
    "must carry a time zone": "必须带时区",
    "must have printable field names of at most 256 characters": "字段名必须是可打印字符，且不超过 256 个字符",
    "must lie between the years 1971 and 9998": "必须在 1971 年至 9998 年之间",
    "is given twice": "重复出现",
    "is not valid YAML": "不是有效的 YAML",
    "must be letters, digits, points, dashes or underscores, at most 64": "只能是字母、数字、点、横线、下划线",
    "must not use YAML aliases": "不能使用 YAML 别名",
    "must not be after the end": "不能晚于结束时间",
    "must not be empty": "不能为空",
    "must not begin or end with a space": "首尾不能有空格",
    "must not hold control characters": "不能含控制字符",
    "must not hold control or invisible characters": "不能含控制字符或不可见字符",
    "must not hold lone surrogates": "不能含孤立的代理字符",
}
_ZH_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"must be at least (\S+)"), lambda m: f"不能小于 {m[1]}"),
    (re.compile(r"must be at most (\d+) here"), lambda m: f"此处不能高于 {m[1]}"),
    (re.compile(r"must be at most (\d+) bytes of (\S+)"), lambda m: f"不能超过 {m[1]} 字节（{m[2]}）"),
    (re.compile(r"must be nested at most (\d+) deep"), lambda m: f"嵌套不能超过 {m[1]} 层"),
    (re.compile(r"must have 1 to (\d+) characters of plain text"), lambda m: f"必须是 1 至 {m[1]} 个字符的纯文本"),
    (re.compile(r"no dead letter (\S+)"), lambda m: f"没有死信 {m[1]}"),
    (re.compile(r"no key (\S+)"), lambda m: f"没有凭据 {m[1]}"),
    (re.compile(r"one (?:or more )?of (.+)"), lambda m: f"可用：{_listed(m[1])}"),
    (re.compile(r"must have at most (\d+) characters"), lambda m: f"不能超过 {m[1]} 个字符"),
    (re.compile(r"must have at most (\d+) items"), lambda m: f"不能超过 {m[1]} 项"),
    (re.compile(r"must have at most (\d+) fields"), lambda m: f"不能超过 {m[1]} 个字段"),
    (re.compile(r"is no field here; known are (.+)"), lambda m: f"此处没有该字段；可用：{_listed(m[1])}"),
    (re.compile(r"must hold (\S+)"), lambda m: f"必须含有 {m[1]}"),
    (re.compile(r"must not hold ([a-z_]+)"), lambda m: f"不能含有 {m[1]}"),
    (re.compile(r"must be one of (.+)"), lambda m: f"必须是其中之一：{_listed(m[1])}"),
    (re.compile(r"must be ('.+')"), lambda m: f"必须是 {_listed(m[1])}"),
)


def reason_text(reason: str, language: str) -> str:
    """A reason of the contract in the caller's language, as it is when nobody has translated it."""
    if language != "zh":
        return reason
    if reason in _ZH:
        return _ZH[reason]
    found = ((match, say) for pattern, say in _ZH_PATTERNS if (match := pattern.fullmatch(reason)))
    return next((say(match) for match, say in found), reason)


def _listed(names: str) -> str:
    return names.replace(", ", "、").replace(" or ", " 或 ")

"""The sentences of refusals in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

KeyFault = Literal["missing", "malformed", "unknown"]

TITLES: Mapping[str, Mapping[int, str]] = {
    "en": {
        400: "Bad request",
        401: "Not authenticated",
        403: "Not allowed",
        404: "Not found",
        405: "Method not allowed",
        406: "Not acceptable",
        409: "Conflict",
        413: "Body too large",
        415: "Unsupported media type",
        422: "Bad input",
        429: "Too many requests",
        500: "Internal error",
        503: "Not ready, try again",
    },
    "zh": {
        400: "请求有误",
        401: "未通过身份验证",
        403: "没有权限",
        404: "未找到",
        405: "不支持该方法",
        406: "无法提供所要求的格式",
        409: "冲突",
        413: "请求体过大",
        415: "不支持的内容类型",
        422: "输入有误",
        429: "请求过多",
        500: "内部错误",
        503: "暂时不可用，请重试",
    },
}
DETAILS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "unauthorized": "This key does not pass.",
        "key_revoked": "This key was revoked. Ask the operator for another.",
        "key_expired": "This key has expired. Ask the operator for another.",
        "key_rotated": "This key has a newer secret, and this one's grace is over. Ask the operator for the new one.",
        "forbidden": "This key does not have the right that the request needs.",
        "not_found": "There is no such thing in this tenant.",
        "method_not_allowed": "This path does not take that method.",
        "not_acceptable": "The answer cannot be given in the format that was asked for.",
        "unsupported_media_type": "Send the body as application/json.",
        "bad_request": "The request cannot be read.",
        "bad_input": "The request holds something that this path does not take.",
        "error": "The request was refused.",
        "event_version": "This server reads events of version 1. Update it, then send the event again.",
        "malformed_json": "The body is not valid JSON in UTF-8.",
        "body_too_large": "The body is larger than this server accepts.",
        "store_busy": "A store did not answer in time. Nothing was accepted; send the same request again.",
        "transient": "Something that can work later failed. Send the same request again.",
        "no_events": "The body must hold an event, or a list of at least one.",
        "too_many_events": "The body holds more events than one request may.",
        "conflict": "It is not as you saw it any more. Look again, then decide.",
        "decided_already": "Somebody decided on this before. Look at it again.",
        "content_changed": "These are not the words that you were shown. Look at it again, then decide.",
        "needs_user": "Only its user can let this be kept: ask them, or say that they agreed (has_user_consent).",
        "refused_value": "The guard does not let these words into memory.",
        "joined_elsewhere": "This id is joined to another user. Part them first.",
        "alias_is_root": "This id is the one that the others are joined to. Part those from it.",
        "too_many_aliases": "One person has at most 50 ids.",
        "internal": "This is a bug on our side. Its traceback is in the log under the request id.",
    },
    "zh": {
        "unauthorized": "该密钥无法通过验证。",
        "key_revoked": "该密钥已被吊销；请向运维人员索取新的密钥。",
        "key_expired": "该密钥已过期；请向运维人员索取新的密钥。",
        "key_rotated": "该密钥已更换，旧密钥的宽限期已过；请向运维人员索取新的密钥。",
        "forbidden": "该密钥没有此请求所需的权限。",
        "not_found": "该租户中没有这个对象。",
        "method_not_allowed": "此路径不支持该方法。",
        "not_acceptable": "无法以所要求的格式应答。",
        "unsupported_media_type": "请以 application/json 发送请求体。",
        "bad_request": "无法读取该请求。",
        "bad_input": "请求中有此路径不接受的内容。",
        "error": "请求被拒绝。",
        "event_version": "本服务器只能读取版本 1 的事件；请升级后重新发送。",
        "malformed_json": "请求体不是有效的 UTF-8 JSON。",
        "body_too_large": "请求体超过了服务器允许的大小。",
        "store_busy": "存储未能及时响应；没有接收任何内容，请重新发送同一请求。",
        "transient": "暂时失败，请重新发送同一请求。",
        "no_events": "请求体必须是一个事件，或至少含一个事件的列表。",
        "too_many_events": "请求体中的事件数超过了单次请求的上限。",
        "conflict": "内容已与您看到的不同；请重新查看后再决定。",
        "decided_already": "此前已有人作出决定；请重新查看。",
        "content_changed": "这不是您所看到的内容；请重新查看后再决定。",
        "needs_user": "只有用户本人可以允许保留；请询问用户，或注明用户已同意（has_user_consent）。",
        "refused_value": "守卫不允许记下这些内容。",
        "joined_elsewhere": "该编号已归到另一位用户名下；请先分开。",
        "alias_is_root": "其他编号都归在该编号名下；请分开那些编号。",
        "too_many_aliases": "同一个人最多可有 50 个编号。",
        "internal": "这是我们的错误；日志中可按请求编号找到详情。",
    },
}
KEY_FAULTS: Mapping[str, Mapping[KeyFault, str]] = {
    "en": {
        "missing": "No key was sent. Send the agent's key as a bearer token: Authorization: Bearer at_...",
        "malformed": "What was sent is no key: one looks like at_<12 characters>_<43 characters>. Copy it whole.",
        "unknown": "This key is not known here, or its secret is wrong. Check AFTERTURN_KEY and the service's address.",
    },
    "zh": {
        "missing": "没有发送密钥；请以 Bearer 令牌发送智能体的密钥：Authorization: Bearer at_...",
        "malformed": "所发送的不是密钥：其形式为 at_<12 个字符>_<43 个字符>；请重新完整复制。",
        "unknown": "此处没有该密钥，或其密钥部分有误；请检查 AFTERTURN_KEY 与服务地址。",
    },
}
"""What keeps a caller out, as far as he is told. A key that ended says so by its own code."""
NO_PATH: Mapping[str, str] = {"en": "There is no such path.", "zh": "没有这个路径。"}

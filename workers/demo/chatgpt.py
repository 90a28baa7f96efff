"""A ChatGPT export (`conversations.json`): trees of messages; the branch that ends in `current_node` was kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from workers.demo.transcripts import BadFile, Said, Transcript, rows, table, text, wrong_kind

OWNER = "me"
_ROLES = {"user", "assistant", "tool"}


def transcript(conversations: list[Any], place: str) -> Transcript:
    """The kept branch of every conversation; one user, one session a conversation."""
    said = [
        said
        for index, item in enumerate(conversations)
        for said in _conversation(table(item, f"{place}, [{index}]"), f"{place}, [{index}]", index)
    ]
    if not said:
        raise BadFile(place, "no message with text on any kept branch", "保留的分支上没有带文字的消息")
    said.sort(key=lambda turn: turn.at)
    return Transcript(source="chatgpt", said=tuple(said))


def _conversation(value: dict[str, Any], place: str, index: int) -> Iterator[Said]:
    mapping = table(value.get("mapping"), f"{place}.mapping")
    session = str(value.get("conversation_id") or value.get("id") or f"conversation-{index}")
    clock = _time(value.get("create_time"), f"{place}.create_time")
    for node_id in _branch(mapping, value.get("current_node"), place):
        spot = f"{place}.mapping.{node_id}"
        message = table(mapping[node_id], spot).get("message")
        if message is None:
            continue
        message = table(message, f"{spot}.message")
        role, words = _role(message, spot), _words(message, spot)
        if message.get("create_time") is not None:
            clock = _time(message["create_time"], f"{spot}.message.create_time")
        else:
            clock = _later(clock, spot)
        if role in _ROLES and words:
            yield Said(
                label=f"{session}/{node_id}",
                place=spot,
                user=OWNER,
                session=session,
                role=role,
                text=words,
                at=clock,
            )


def _branch(mapping: dict[str, Any], current: object, place: str) -> list[str]:
    """Ids from the root to the current node."""
    node = text(current, f"{place}.current_node")
    path: list[str] = []
    while True:
        if node not in mapping:
            raise BadFile(f"{place}.mapping", f"node {node!r} is named but not there", f"节点 {node!r} 被引用却不存在")
        if node in path:
            raise BadFile(f"{place}.mapping", f"node {node!r} is its own ancestor", f"节点 {node!r} 是自己的祖先")
        path.append(node)
        parent = table(mapping[node], f"{place}.mapping.{node}").get("parent")
        if parent is None:
            return path[::-1]
        node = text(parent, f"{place}.mapping.{node}.parent")


def _role(message: dict[str, Any], place: str) -> str:
    author = table(message.get("author"), f"{place}.message.author")
    return text(author.get("role"), f"{place}.message.author.role")


def _words(message: dict[str, Any], place: str) -> str:
    """The text parts; pictures and other objects are left out, hidden messages too."""
    metadata = message.get("metadata")
    if isinstance(metadata, dict) and cast("dict[str, Any]", metadata).get("is_visually_hidden_from_conversation"):
        return ""
    content = table(message.get("content"), f"{place}.message.content")
    parts = content.get("parts", [content["text"]] if isinstance(content.get("text"), str) else [])
    kept: list[str] = []
    for part in rows(parts, f"{place}.message.content.parts"):
        if isinstance(part, str):
            kept.append(part)
        elif isinstance(part, dict):
            inner = cast("dict[str, Any]", part).get("text")
            if isinstance(inner, str):
                kept.append(inner)
        else:
            raise wrong_kind(f"{place}.message.content.parts", "text or an object", "文本或对象", part)
    return "\n".join(part for part in kept if part.strip()).strip()


def _time(value: object, place: str) -> datetime:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_kind(place, "seconds since 1970", "自 1970 年起的秒数", value)
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        raise BadFile(place, "no time that a calendar has", "历法中没有这个时间") from None


def _later(clock: datetime, place: str) -> datetime:
    try:
        return clock + timedelta(seconds=1)
    except OverflowError:
        raise BadFile(f"{place}.message.create_time", "no time that a calendar has", "历法中没有这个时间") from None

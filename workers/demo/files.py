"""Any of the three kinds of file as a Transcript: which kind it is, and whether it can be read at all."""

from __future__ import annotations

from pathlib import Path

from afterturn.errors import BadEvent
from afterturn.events import parse_event
from afterturn.ids import uuid7
from schemas.reasons import reason_text
from workers.demo import chatgpt, jsonlines, locomo
from workers.demo.transcripts import BadFile, Said, Transcript, kind_of, read_json, rows, table, wrong_kind

MAX_BYTES = 512 * 1024 * 1024
_FIELDS = {
    "user_id": "user",
    "session_id": "session",
    "content": "text",
    "thread_id": "thread",
    "ticket_id": "ticket",
    "actor_id": "actor",
}


def read(path: Path) -> Transcript:
    """A file whole: every turn of it would be taken by the service. Raises BadFile; never answers a part."""
    found = _read(path)
    for said in found.said:
        _check(said)
    return found


def _check(said: Said) -> None:
    """Refuses now, with the place, what the service would refuse later."""
    fields = {
        "kind": "turn",
        "event_id": str(uuid7()),
        "user_id": said.user,
        "session_id": said.session,
        "role": said.role,
        "content": said.text,
        "at": said.at.isoformat(),
        "name": said.name,
        "thread_id": said.thread,
        "ticket_id": said.ticket,
        "tz": said.tz,
        "actor_id": said.actor,
    }
    try:
        parse_event({name: value for name, value in fields.items() if value is not None})
    except BadEvent as exc:
        place = f"{said.place}, {_FIELDS.get(exc.field, exc.field)}"
        raise BadFile(place, exc.reason, reason_text(exc.reason, "zh")) from None


def _read(path: Path) -> Transcript:
    """Any of the three kinds of file, told apart by what they hold. Raises BadFile; never answers a part."""
    raw = _raw(path)
    place = str(path)
    head = raw.lstrip()
    if not head:
        raise BadFile(place, "the file is empty", "文件是空的")
    if path.suffix in {".jsonl", ".ndjson"} or (head[0] == "{" and jsonlines.looks_like(head)):
        return jsonlines.transcript(raw, place)
    value = read_json(raw, place)
    kind = kind_of(value)
    if kind == "a list":
        return chatgpt.transcript(rows(value, place), place)
    if kind == "an object":
        return locomo.transcript(table(value, place), place)
    raise wrong_kind(place, "a conversation", "一段对话", value)


def _raw(path: Path) -> str:
    if not path.exists():
        raise BadFile(str(path), "there is no such file", "没有这个文件")
    if not path.is_file():
        raise BadFile(str(path), "is not a file", "不是文件")
    if path.stat().st_size > MAX_BYTES:
        raise BadFile(str(path), f"larger than {MAX_BYTES // 2**20} MiB", f"超过 {MAX_BYTES // 2**20} MiB")
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise BadFile(f"{path}, line {line}", "not UTF-8", "不是 UTF-8") from None

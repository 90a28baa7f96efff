"""Files of all three kinds are read whole, or refused with the place that is wrong."""

from __future__ import annotations

import json
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workers.demo.files import read
from workers.demo.transcripts import BadFile
from workers.speech import speak


def _write(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def _locomo(**changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat."},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a grey cat"},
        ],
        "session_2_date_time": "10:00 am on 9 May, 2023",
        "qa": [
            {"question": "What did Ann adopt?", "answer": "a cat", "evidence": ["D1:1; D1:02"], "category": 4},
            {"question": "Nothing usable", "evidence": ["D9:9"], "category": 3},
        ],
    }
    return {**value, **changes}


def _message(role: str, text: Any, at: float | None = 1767258060.5, **more: Any) -> dict[str, Any]:
    return {"author": {"role": role}, "create_time": at, "content": {"content_type": "text", "parts": [text]}, **more}


def _chatgpt() -> list[dict[str, Any]]:
    mapping = {
        "r": {"message": None, "parent": None},
        "a": {"message": _message("user", "我住在杭州。"), "parent": "r"},
        "old": {"message": _message("user", "edited away"), "parent": "r"},
        "b": {"message": _message("assistant", {"asset_pointer": "x"}), "parent": "a"},
        "c": {"message": _message("assistant", "好的。", None), "parent": "b"},
    }
    return [{"create_time": 1767258000, "conversation_id": "c1", "current_node": "c", "mapping": mapping}]


def test_a_locomo_file_gives_turns_speakers_captions_and_usable_questions(tmp_path: Path) -> None:
    transcript = read(_write(tmp_path, "7.json", _locomo()))

    assert [(said.user, said.name, said.thread, said.label) for said in transcript.said] == [
        ("ann", "Ann", "7", "D1:1"),
        ("bo", "Bo", "7", "D1:2"),
    ]
    assert transcript.said[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert transcript.said[1].text == "Look! [photo: a grey cat]"
    assert [question.gold for question in transcript.questions] == [("D1:1", "D1:2")]


def test_a_locomo_file_under_a_conversation_key_reads_the_same(tmp_path: Path) -> None:
    flat = _locomo()
    nested = {"qa": flat["qa"], "conversation": {key: value for key, value in flat.items() if key != "qa"}}

    assert read(_write(tmp_path, "7.json", nested)) == read(_write(tmp_path, "7.json", flat))


def test_a_chatgpt_export_keeps_the_branch_of_the_current_node_only(tmp_path: Path) -> None:
    transcript = read(_write(tmp_path, "conversations.json", _chatgpt()))

    assert [(said.role, said.text) for said in transcript.said] == [("user", "我住在杭州。"), ("assistant", "好的。")]
    assert transcript.said[1].at > transcript.said[0].at


def test_json_lines_keep_the_zone_and_the_line(tmp_path: Path) -> None:
    line = {"user": "u1", "session": "s1", "at": "2026-01-10T09:00:00+08:00", "role": "user", "text": "我住在杭州。"}
    transcript = read(_write(tmp_path, "mine.jsonl", json.dumps(line) + "\n\n" + json.dumps(line)))

    assert [said.label for said in transcript.said] == ["1", "3"]
    assert transcript.said[0].at.utcoffset() is not None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("", "f.json"),
        ("{\n oops", "f.json, line 2, column 2"),
        ("12", "f.json"),
        ({"title": "no sessions"}, "f.json"),
        (_locomo(session_1=[{"speaker": "Ann", "dia_id": "D1:1"}]), "f.json, session_1[0].text"),
        (_locomo(session_1=[{"dia_id": "D1:1", "text": "hi"}]), "f.json, session_1[0].speaker"),
        (_locomo(session_1_date_time="soon"), "f.json, session_1_date_time"),
        (_locomo(session_1_date_time="1:56 pm on 38 May, 2023"), "f.json, session_1_date_time"),
        (_locomo(session_1=[{"speaker": "A", "dia_id": "D1:1", "text": "x"}] * 2), "f.json, dia_id D1:1"),
        ([{"current_node": "a"}], "f.json, [0].mapping"),
        ([{**_chatgpt()[0], "current_node": "zz"}], "f.json, [0].mapping"),
        ([{**_chatgpt()[0], "create_time": "yesterday"}], "f.json, [0].create_time"),
        ('{"user": "u", "text": "x"}', "f.json, line 1, role"),
        (
            '{"user": "u", "session": "s", "role": "user", "text": " ", "at": "2026-01-01T00:00:00Z"}',
            "f.json, line 1, text",
        ),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, value: object, place: str) -> None:
    with pytest.raises(BadFile) as caught:
        read(_write(tmp_path, "f.json", value))

    assert caught.value.place == f"{tmp_path}/{place}"


def _line(**changes: Any) -> dict[str, Any]:
    line = {"user": "u1", "session": "s1", "at": "2026-01-10T09:00:00+08:00", "role": "user", "text": "我住在杭州。"}
    return {**line, **changes}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (_line(text="x" * 300_000), "text"),
        (_line(tz="Mars/Base"), "tz"),
        (_line(user="u" * 400), "user"),
        (_line(role="staff"), "actor"),
        (_line(text="\ud800"), "text"),
        (_line(at="0900-01-01T00:00:00Z"), "at"),
    ],
)
def test_what_the_service_would_refuse_is_refused_with_its_line(
    tmp_path: Path, line: dict[str, Any], field: str
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(_line()) + "\n" + json.dumps(line) + "\n", encoding="utf-8")

    with pytest.raises(BadFile) as caught:
        read(path)

    assert caught.value.place == f"{path}, line 2, {field}"


def test_a_number_that_never_ends_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="too long"):
        read(_write(tmp_path, "f.json", "[" + "9" * 5000 + "]"))


def test_a_clock_at_the_end_of_the_calendar_is_refused(tmp_path: Path) -> None:
    value = _chatgpt()
    value[0]["create_time"] = 253402300799
    value[0]["mapping"]["a"]["message"]["create_time"] = None

    with pytest.raises(BadFile, match="calendar"):
        read(_write(tmp_path, "f.json", value))


def test_a_loop_in_a_tree_of_messages_is_refused(tmp_path: Path) -> None:
    value = _chatgpt()
    value[0]["mapping"]["a"]["parent"] = "c"

    with pytest.raises(BadFile, match="its own ancestor"):
        read(_write(tmp_path, "f.json", value))


def test_bytes_that_are_not_utf8_are_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(b'{"a":\n"\xff"}')

    with pytest.raises(BadFile) as caught:
        read(path)

    assert caught.value.place == f"{path}, line 2"


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    nowhere = tmp_path / "none.json"

    with pytest.raises(BadFile) as caught:
        read(nowhere)

    assert str(caught.value) == f"{nowhere}: there is no such file"


def test_a_broken_line_is_named_even_when_it_is_the_first(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('\n{"user": "u", "text": "x"\n', encoding="utf-8")

    with pytest.raises(BadFile) as caught:
        read(path)

    assert caught.value.place == f"{path}, line 2, column 26"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{\n oops", "f.json，第 2 行第 2 列：不是 JSON"),
        ("12", "f.json：应为一段对话，却是数字"),
        ({"title": "no sessions"}, "不是 LoCoMo 对话"),
        (_locomo(session_1=[{"dia_id": "D1:1", "text": "hi"}]), "session_1[0].speaker：应为文本，却是null"),
        (_locomo(session_1_date_time="soon"), "这样的时间"),
        (_locomo(session_1=[{"speaker": "A", "dia_id": "D1:1", "text": "x" * 300_000}]), "不能超过 262144 字节"),
        ([{**_chatgpt()[0], "current_node": "zz"}], "节点 'zz' 被引用却不存在"),
        ('{"user": "u", "text": "x"}', "f.json，第 1 行, role：应为文本，却是null"),
    ],
)
def test_who_reads_chinese_is_told_in_chinese(tmp_path: Path, value: object, said: str) -> None:
    path = _write(tmp_path, "f.json", value)

    def told() -> str:
        speak("zh")
        with pytest.raises(BadFile) as caught:
            read(path)
        return str(caught.value)

    assert said in copy_context().run(told)

"""LoCoMo conversations: flat (`session_1`, `session_1_date_time`, ..., `qa`) or under a `conversation` key.

Both speakers are people who talk to each other: each is a user of its own, and one thread holds them both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from workers.demo.transcripts import BadFile, Question, Said, Transcript, rows, table, text, wrong_kind

_SESSION = re.compile(r"session_(\d+)")
_TIME = re.compile(r"(\d{1,2}):(\d{2}) (am|pm) on (\d{1,2}) (\w+),? (\d{4})")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LABEL = re.compile(r"D(\d+):(\d+)")
#: The files give one time for a session; its turns follow each other at this pace.
PACE = timedelta(seconds=30)


def transcript(value: dict[str, Any], place: str) -> Transcript:
    """The turns of every session and the questions with usable evidence."""
    talk = table(value["conversation"], f"{place}, conversation") if "conversation" in value else value
    numbers = sorted(int(match[1]) for key in talk if (match := _SESSION.fullmatch(key)))
    if not numbers:
        raise BadFile(
            place,
            "no session_1, session_2, ...: this is not a LoCoMo conversation",
            "没有 session_1、session_2……：不是 LoCoMo 对话",
        )
    thread = Path(place).name.rsplit(".", 1)[0]
    said = [said for number in numbers for said in _session(talk, number, thread, place)]
    if not said:
        raise BadFile(place, "no turn in any session", "各会话都没有对话")
    labels = [turn.label for turn in said]
    twice = next((label for index, label in enumerate(labels) if label in labels[:index]), None)
    if twice is not None:
        raise BadFile(f"{place}, dia_id {twice}", "stands twice", "出现了两次")
    questions = tuple(_questions(value.get("qa", []), set(labels), place))
    said.sort(key=lambda turn: turn.at)
    return Transcript(source="locomo", said=tuple(said), questions=questions)


def _session(talk: dict[str, Any], number: int, thread: str, place: str) -> Iterator[Said]:
    here = f"{place}, session_{number}"
    start = _time(talk.get(f"session_{number}_date_time"), f"{here}_date_time")
    for index, item in enumerate(rows(talk[f"session_{number}"], here)):
        spot = f"{here}[{index}]"
        turn = table(item, spot)
        speaker = text(turn.get("speaker"), f"{spot}.speaker")
        words = text(turn.get("text") or turn.get("blip_caption"), f"{spot}.text")
        caption = turn.get("blip_caption")
        if isinstance(caption, str) and caption and caption not in words:
            words = f"{words} [photo: {caption}]"
        yield Said(
            label=text(turn.get("dia_id"), f"{spot}.dia_id"),
            place=spot,
            user=speaker.lower(),
            session=f"session_{number}",
            role="user",
            name=speaker,
            text=words,
            at=start + index * PACE,
            thread=thread,
        )


def _time(value: object, place: str) -> datetime:
    match = _TIME.fullmatch(text(value, place).strip().lower())
    if match is None or match[5] not in _MONTHS:
        like = "'1:56 pm on 8 May, 2023'"
        raise BadFile(place, f"expected a time like {like}", f"应为 {like} 这样的时间")
    hour = int(match[1]) % 12 + (12 if match[3] == "pm" else 0)
    try:
        return datetime(int(match[6]), _MONTHS.index(match[5]) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)
    except ValueError:
        raise BadFile(place, "no time that a calendar has", "历法中没有这个时间") from None


def _questions(value: object, labels: set[str], place: str) -> Iterator[Question]:
    for index, item in enumerate(rows(value, f"{place}, qa")):
        spot = f"{place}, qa[{index}]"
        question = table(item, spot)
        category = question.get("category")
        if not isinstance(category, int):
            raise wrong_kind(f"{spot}.category", "a number", "数字", category)
        evidence = " ".join(str(part) for part in rows(question.get("evidence", []), f"{spot}.evidence"))
        gold = tuple(dict.fromkeys(f"D{int(a)}:{int(b)}" for a, b in _LABEL.findall(evidence)))
        usable = tuple(label for label in gold if label in labels)
        if usable:
            words = text(question.get("question"), f"{spot}.question")
            yield Question(text=words, gold=usable, category=category, answer=str(question.get("answer", "")))

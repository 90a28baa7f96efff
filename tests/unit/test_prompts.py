"""The question for a window: a prefix that never moves, data that stays data."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import get_args
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from memory import prompts
from memory.prompts import KEYS, turn_labels, window_messages
from memory.registry import key_names
from memory.turns import TurnView
from schemas import drafts
from schemas.drafts import EntityDraft, FactDraft, ProcedureDraft, WindowDraft

AT = datetime(2026, 1, 1, 9, tzinfo=UTC)


def turn(content: str, **fields: object) -> TurnView:
    return TurnView(**{"event_id": UUID(int=1), "role": "user", "content": content, "at": AT, **fields})  # pyright: ignore[reportArgumentType] - a builder


def rows(text: str, section: str) -> list[dict[str, object]]:
    part = text.partition(f"# {section}")[2].partition("\n# ")[0]
    return [json.loads(line) for line in part.splitlines() if line.startswith("{")]


def test_the_system_message_is_the_same_bytes_for_every_window() -> None:
    one = window_messages([turn("Hello.")])
    other = window_messages([turn("我搬到里昂了。")] * 9, context=[turn("x")], procedures=["refund"])

    assert one[0] == other[0]
    assert [message["role"] for message in one] == ["system", "user"]


def test_the_system_message_is_long_enough_to_be_cached_and_names_everything() -> None:
    system = window_messages([])[0]["content"]

    assert len(system) > 5000
    assert "JSON" in system
    for model in (WindowDraft, FactDraft, EntityDraft, ProcedureDraft):
        assert all(f'"{field}"' in system for field in model.model_fields)
    for options in (drafts.Outcome, drafts.Sentiment, drafts.Modality, drafts.Polarity, drafts.FactType):
        assert all(f'"{option}"' in system for option in get_args(options))
    assert all(f"\n- {key}: " in system for key in KEYS)


def test_the_prompts_keys_are_the_registrys() -> None:
    assert set(KEYS) == set(key_names())


def test_the_prompt_holds_no_realistic_example() -> None:
    # Names, places, amounts and dates of examples come back as facts of real users.
    assert not re.search(r"\b(?:\d{2,}|Alice|Bob|John|Paris|London)\b|张|李|王|北京|上海", prompts._RULES)  # pyright: ignore[reportPrivateUsage]


def test_turns_are_numbered_with_speaker_and_local_time_and_context_is_not() -> None:
    said = [
        turn("我对花生过敏。", name="小周", tz="Asia/Shanghai"),
        turn("Noted.", role="assistant", utc_offset_minutes=-120),
        turn("{}", role="tool", tool="crm", tool_ok=False, procedure_name="exchange"),
    ]

    text = window_messages(said, context=[turn("Earlier.")], procedures=["exchange", "退款"])[1]["content"]

    assert rows(text, "Turns") == [
        {"turn": "t1", "role": "user", "name": "小周", "at": "2026-01-01T17:00:00+08:00", "text": "我对花生过敏。"},
        {"turn": "t2", "role": "assistant", "at": "2026-01-01T07:00:00-02:00", "text": "Noted."},
        {
            "turn": "t3",
            "role": "tool",
            "at": "2026-01-01T09:00:00+00:00",
            "tool": "crm",
            "ok": False,
            "procedure": "exchange",
            "text": "{}",
        },
    ]
    assert rows(text, "Context") == [{"role": "user", "at": "2026-01-01T09:00:00+00:00", "text": "Earlier."}]
    assert '\n["exchange", "退款"]\n' in text
    assert text.index("# Context") < text.index("# Turns") < text.index("# Answer")


@given(st.lists(st.text(st.characters()), min_size=1, max_size=5))
def test_no_text_can_forge_a_line(texts: list[str]) -> None:
    user = window_messages([turn(text) for text in texts])[1]["content"]

    lines = user.splitlines()
    assert len(lines) == len(texts) + 3
    assert [json.loads(line)["turn"] for line in lines[1 : 1 + len(texts)]] == turn_labels(len(texts))
    sent = [text.encode("utf-8", "replace").decode() for text in texts]
    assert [json.loads(line)["text"] for line in lines[1 : 1 + len(texts)]] == sent
    user.encode()

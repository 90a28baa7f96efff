"""A scripted server, windows to ask it about, and one call of the real model against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from llm.config import ModelConfig
from llm.face import Answer, WindowRequest
from llm.openai_model import OpenAIModel
from memory.prompts import PROMPT_VERSION
from memory.turns import TurnView
from scripted_model import ScriptedModel

SECRET = "-".join(("zebra", "42"))
AT = datetime(2026, 1, 1, 9, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


def turn(number: int, content: str, role: str = "user") -> TurnView:
    return TurnView(event_id=UUID(int=number), role=role, content=content, at=AT + timedelta(minutes=number))


def window(*texts: str) -> WindowRequest:
    said = [turn(number, text) for number, text in enumerate(texts or ("I live in Leeds.", "Call me Ann."), 1)]
    return WindowRequest(turns=said, prompt_version=PROMPT_VERSION)


def ask(server: ScriptedModel, request: WindowRequest | None = None, **settings: object) -> Answer:
    config = replace(ModelConfig(base_url=server.url, model_small="small", timeout_seconds=20), **settings)  # pyright: ignore[reportArgumentType] - names are checked by replace
    model = OpenAIModel(config)
    try:
        return model.digest(request or window())
    finally:
        model.close()

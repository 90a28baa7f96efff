"""What a window costs: one call, two at most, by the model that its stage names, charged to its tenant's day."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session, select

from api.app import create_app
from delivery_fixtures import turn
from digest_fixtures import Shop, new_shop, server
from llm.config import ModelConfig
from llm.face import WindowRequest
from llm.failures import BilledBadAnswer, BilledModelBusy
from llm.openai_model import OpenAIModel
from memory.turns import TurnView
from recall_builders import NOON
from schemas.tables import Spending, Tenant
from scripted_model import BEHAVIOURS, COMPLETION_TOKENS, PROMPT_TOKENS, ScriptedModel, draft, fact, good
from stores import tenancy
from stores.metrics import READINGS

__all__ = ["server"]

GOOD = good(draft(facts=[fact("I live in Lyon", "city", "Lyon")]))
PRICES = {"small": {"input": 1.0, "output": 10.0}, "large": {"input": 5.0, "output": 50.0}}


@pytest.fixture
def shop(home: Path, server: ScriptedModel) -> Generator[Shop]:
    llm: dict[str, Any] = {
        **{"base_url": server.url, "api_key": "test", "model_small": "small", "model_large": "large"},
        "prices": PRICES,
    }
    with new_shop(home, llm=llm) as made:
        yield made


def spent(shop: Shop) -> dict[tuple[str, str], tuple[int, float]]:
    """Calls and dollars by stage and model."""
    with shop.kit.db.read() as session:
        rows = session.exec(select(Spending)).all()
    return {(row.stage, row.model): (row.calls, round(row.cost_usd, 6)) for row in rows}


def test_a_window_costs_one_call_of_the_small_model(shop: Shop, server: ScriptedModel) -> None:
    server.always(GOOD)
    for number in range(3):
        shop.say(turn("I live in Lyon.", number, session_id=f"s{number}"))
    shop.settle()

    assert server.chat_calls == len(shop.windows()) == 3
    dollars = 3 * (PROMPT_TOKENS * 1.0 + COMPLETION_TOKENS * 10.0) / 1_000_000
    assert spent(shop) == {("digest", "small"): (3, round(dollars, 6))}
    assert [window.usage["calls"] for window in shop.windows()] == [1, 1, 1]


def test_an_unusable_answer_is_asked_for_once_more_of_the_large_one(shop: Shop, server: ScriptedModel) -> None:
    server.script(BEHAVIOURS["wrong_keys"], GOOD)
    shop.say(turn("I live in Lyon."))
    shop.settle()

    assert [call.body["model"] for call in server.calls] == ["small", "large"]
    assert {place: calls for place, (calls, _) in spent(shop).items()} == {
        ("digest", "small"): 1,
        ("repair", "large"): 1,
    }
    assert shop.window().usage["calls"] == 2
    assert shop.facts() == ["+Lyon"]


@pytest.mark.parametrize("name", sorted(set(BEHAVIOURS) - {"timeout"}))
def test_no_attempt_makes_more_than_two_completions(name: str, server: ScriptedModel) -> None:
    server.always(BEHAVIOURS[name])
    model = OpenAIModel(ModelConfig(base_url=server.url, model_small="small", model_large="large"))
    said = TurnView(event_id=UUID(int=1), role="user", content="I live in Lyon.", at=NOON)

    try:
        usage = model.digest(WindowRequest(turns=[said], prompt_version="test")).usage
    except (BilledModelBusy, BilledBadAnswer) as error:
        usage = error.usage
    finally:
        model.close()

    # A refused form of request is no completion: the humbler one after it is.
    answered = [call for call in server.calls if not name.startswith("schema_") or call.mode == "json_object"]
    assert 1 <= len(answered) <= 2
    assert sum(line.calls for line in usage.lines) == usage.calls == server.chat_calls


def test_stages_are_set_by_name(home: Path, server: ScriptedModel) -> None:
    llm = {"base_url": server.url, "api_key": "test", "model_small": "small", "model_large": "large"}
    server.always(GOOD)
    with new_shop(home, llm={**llm, "stages": {"digest": "large"}}) as shop:
        shop.say(turn("I live in Lyon."))
        shop.settle()

        assert list(spent(shop)) == [("digest", "large")]


def test_a_tenant_sees_its_own_spend_over_http_and_prometheus_all_of_it(shop: Shop, server: ScriptedModel) -> None:
    server.always(GOOD)
    shop.say(turn("I live in Lyon."))
    shop.settle()

    def other(session: Session) -> str:
        tenant: Tenant = tenancy.create_tenant(session, "another")
        return tenancy.create_key(session, tenant, ("admin",))[1]

    def ours(session: Session) -> str:
        return tenancy.create_key(session, session.get_one(Tenant, shop.key.tenant_id), ("admin",))[1]

    bearers = [shop.kit.db.write(make) for make in (ours, other)]
    with TestClient(create_app(replace(shop.kit)), raise_server_exceptions=False) as http:
        told, theirs = (
            http.get("/v1/spend", headers={"Authorization": f"Bearer {bearer}"}).json() for bearer in bearers
        )
        http.get("/metrics")

    assert (told["calls"], told["tokens"]) == (1, PROMPT_TOKENS + COMPLETION_TOKENS)
    assert told["cost_usd"] == pytest.approx(0.0003)
    assert [row["model"] for row in told["rows"]] == ["small"]
    assert (theirs["rows"], theirs["calls"]) == ([], 0)
    labels = {"tenant": str(shop.key.tenant_id), "model": "small", "stage": "digest"}
    assert READINGS.get_sample_value("afterturn_llm_today_calls", labels) == 1
    assert READINGS.get_sample_value("afterturn_llm_today_cost_usd", labels) == pytest.approx(0.0003)

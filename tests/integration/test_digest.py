"""One window, one answer, one application: whatever the model does, and whoever dies on the way."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import col, select

from delivery_fixtures import turn
from digest_fixtures import Shop, model_shop, server
from llm.config import ModelConfig
from llm.face import Answer, WindowRequest
from llm.openai_model import OpenAIModel
from schemas.delivery import WindowState
from schemas.errors import StaleClaim
from schemas.tables import Circuit, DeadLetter, Episode, Fact, Turn, User, Window
from scripted_model import BEHAVIOURS, ScriptedModel, draft, error, fact, good
from stores import circuit, ledger, windows
from tasks.answer import answer
from tasks.apply import apply
from tasks.digest import digest

__all__ = ["model_shop", "server"]

LIVES = draft(summary="The user moved.", facts=[fact("I live in Lyon", "city", "Lyon")])


def _claim(shop: Shop) -> windows.Claim:
    shop.cut()
    claim = windows.claim_next(shop.kit.db, lease_seconds=60)
    assert claim is not None
    return claim


def _states(shop: Shop) -> dict[str, int]:
    with shop.kit.db.read() as session:
        return ledger.states(session, shop.key.tenant_id)


def _calls(shop: Shop) -> int:
    return int(shop.window().usage.get("calls", 0))


def test_a_digest_applies_one_window_once(model_shop: Shop, server: ScriptedModel) -> None:
    server.script(good(LIVES))
    model_shop.say(turn("I live in Lyon."), turn("Noted!", 1, role="assistant"))

    model_shop.settle()

    assert model_shop.facts() == ["+Lyon"]
    assert model_shop.summaries() == ["The user moved."]
    assert model_shop.window().state == WindowState.APPLIED
    assert _states(model_shop) == {"digested": 2}
    assert (server.chat_calls, _calls(model_shop)) == (1, 1)


def test_applying_again_changes_nothing(model_shop: Shop, server: ScriptedModel) -> None:
    server.script(good(LIVES))
    model_shop.say(turn("I live in Lyon."))
    claim = _claim(model_shop)
    said = answer(model_shop.kit, claim)
    apply(model_shop.kit, claim, said)
    before = model_shop.everything()

    with pytest.raises(StaleClaim):
        apply(model_shop.kit, claim, said)

    assert digest(model_shop.kit) is None
    assert model_shop.everything() == before


def test_a_claim_whose_lease_ran_out_writes_nothing(model_shop: Shop, server: ScriptedModel) -> None:
    server.always(good(LIVES))
    model_shop.say(turn("I live in Lyon."))
    late = _claim(model_shop)
    said = answer(model_shop.kit, late)
    model_shop.lose_leases()
    before = model_shop.everything()

    with pytest.raises(StaleClaim):
        apply(model_shop.kit, late, said)
    assert model_shop.everything() == before

    model_shop.settle()
    assert model_shop.facts() == ["+Lyon"]
    assert server.chat_calls == 1


def test_an_answer_from_before_an_erasure_is_thrown_away(model_shop: Shop, server: ScriptedModel) -> None:
    server.script(good(LIVES))
    model_shop.say(turn("I live in Lyon."))
    claim = _claim(model_shop)
    said = answer(model_shop.kit, claim)
    model_shop.change(User, generation=1)

    with pytest.raises(StaleClaim):
        apply(model_shop.kit, claim, said)

    assert model_shop.rows(Fact) == []
    assert model_shop.rows(Episode) == []


def test_a_worker_that_dies_after_its_answer_was_stored_pays_nothing_again(
    model_shop: Shop, server: ScriptedModel
) -> None:
    server.script(good(LIVES))
    model_shop.say(turn("I live in Lyon."))
    answer(model_shop.kit, _claim(model_shop))
    assert model_shop.window().state == WindowState.ANSWERED
    model_shop.lose_leases()

    model_shop.settle()

    assert model_shop.facts() == ["+Lyon"]
    assert (server.chat_calls, _calls(model_shop)) == (1, 1)


def test_a_truncated_answer_is_asked_for_in_halves(model_shop: Shop, server: ScriptedModel) -> None:
    first = draft(summary="First.", facts=[fact("I live in Lyon", "city", "Lyon")])
    second = draft(summary="Second.", facts=[fact("I work at Cedar Labs", "company", "Cedar Labs")])
    server.script(BEHAVIOURS["length"], good(first), good(second))
    model_shop.say(turn("I live in Lyon."), turn("I work at Cedar Labs.", 1))

    model_shop.settle()

    assert model_shop.facts() == ["+Cedar Labs", "+Lyon"]
    assert model_shop.summaries() == ["First.\nSecond."]
    assert (server.chat_calls, _calls(model_shop)) == (3, 3)
    assert model_shop.window().usage["input_tokens"] == 300


def test_a_half_that_was_answered_is_not_paid_again(model_shop: Shop, server: ScriptedModel) -> None:
    first = draft(facts=[fact("I live in Lyon", "city", "Lyon")])
    second = draft(facts=[fact("I work at Cedar Labs", "company", "Cedar Labs")])
    server.script(BEHAVIOURS["length"], good(first), BEHAVIOURS["server_error"])
    model_shop.say(turn("I live in Lyon."), turn("I work at Cedar Labs.", 1))
    model_shop.digest()
    assert (model_shop.window().state, model_shop.facts()) == (WindowState.WAITING, [])

    server.script(good(second))
    model_shop.due_now()
    model_shop.settle()

    assert model_shop.facts() == ["+Cedar Labs", "+Lyon"]
    assert [call.turns for call in server.calls[1:]] == [
        ["I live in Lyon."],
        ["I work at Cedar Labs."],
        ["I work at Cedar Labs."],
    ]


def test_a_single_long_turn_goes_out_in_parts(model_shop: Shop, server: ScriptedModel) -> None:
    text = "I live in Lyon. " + "The weather was fine that day. " * 100 + "I work at Cedar Labs."
    too_long = error(400, "maximum context length is 512 tokens", code="context_length_exceeded")
    first = draft(summary="First.", facts=[fact("I live in Lyon", "city", "Lyon")])
    second = draft(summary="Second.", facts=[fact("I work at Cedar Labs", "company", "Cedar Labs")])
    server.script(too_long, good(first), good(second))
    model_shop.say(turn(text))

    model_shop.settle()

    assert model_shop.facts() == ["+Cedar Labs", "+Lyon"]
    assert "".join(text for call in server.calls[1:] for text in call.turns) == text


def test_where_the_model_refuses_the_rules_take_over(model_shop: Shop, server: ScriptedModel) -> None:
    server.script(BEHAVIOURS["refusal_field"])
    model_shop.say(turn("I live in Lyon."))

    model_shop.settle()

    assert model_shop.facts() == ["+Lyon"]
    assert (server.chat_calls, _calls(model_shop)) == (1, 1)


def test_what_says_nothing_costs_nothing(model_shop: Shop, server: ScriptedModel) -> None:
    model_shop.say(turn("ok"), turn("谢谢", 1))

    model_shop.settle()

    assert model_shop.window().state == WindowState.APPLIED
    assert server.chat_calls == 0


def test_a_busy_model_is_asked_again_when_it_says_so_and_the_rest_goes_on(
    model_shop: Shop, server: ScriptedModel
) -> None:
    server.script(BEHAVIOURS["rate_limited"], good(draft(summary="The other one.")))
    model_shop.say(turn("I live in Lyon."), turn("I live in Graz.", 1, user_id="u2", session_id="s2"))

    model_shop.settle()

    (waiting,) = model_shop.rows(Window, Window.state == WindowState.WAITING)
    with model_shop.kit.db.read() as session:
        now = model_shop.kit.db.now(session)
    assert timedelta(seconds=5) < waiting.next_try_at - now < timedelta(seconds=20)
    assert (waiting.attempts, waiting.error_code, waiting.lease_until) == (0, "rate_limited", None)
    assert model_shop.summaries() == ["The other one."]


def test_an_endpoint_that_is_set_up_wrong_never_buries(model_shop: Shop, server: ScriptedModel) -> None:
    server.always(error(401, "Incorrect API key provided."))
    model_shop.say(turn("I live in Lyon."))
    tight = model_shop.with_windows(max_attempts=1, patience_seconds=0.0)

    for _ in range(3):
        tight.digest()
        tight.due_now()
    assert (model_shop.window().state, model_shop.window().error_code) == (WindowState.WAITING, "unauthorized")

    server.always(good(LIVES))
    tight.settle()
    assert model_shop.facts() == ["+Lyon"]


@pytest.mark.parametrize("manner", ["server_error", "rate_limited", "html_in_200"])
def test_a_model_that_is_away_buries_nothing_however_long(model_shop: Shop, server: ScriptedModel, manner: str) -> None:
    server.always(BEHAVIOURS[manner])
    model_shop.say(turn("I live in Lyon."), turn("I live in Graz.", 1, user_id="u2", session_id="s2"))
    tight = model_shop.with_windows(max_attempts=2, patience_seconds=0.0)

    for _ in range(6):
        tight.digest()
        tight.due_now()
        tight.change(Circuit, opened_until=None)
    assert server.chat_calls >= 6
    assert {row.state for row in tight.rows(Window)} == {WindowState.WAITING}

    server.always(good(LIVES))
    tight.settle()
    assert _states(tight) == {"digested": 2}


def test_a_window_that_a_model_fails_over_while_it_answers_others_ends_as_a_dead_letter(
    model_shop: Shop, server: ScriptedModel
) -> None:
    server.always(BEHAVIOURS["server_error"])
    model_shop.say(turn("I live in Lyon."))
    tight = model_shop.with_windows(max_attempts=2, patience_seconds=0.0)

    for _ in range(2):
        model_shop.kit.db.write(circuit.succeeded)  # another worker's window was answered
        tight.digest()
        tight.due_now()

    window = model_shop.window()
    (letter,) = model_shop.rows(DeadLetter)
    assert (window.state, letter.key, letter.error_code) == (WindowState.DEAD, str(window.id), "server_error")
    assert _states(model_shop) == {"dead_window": 1}
    assert window.usage["calls"] == 2

    server.always(good(LIVES))
    assert model_shop.kit.db.write(lambda session: windows.revive(session, window.id))
    model_shop.settle()
    assert model_shop.facts() == ["+Lyon"]


class _Broken:
    """A model with a bug."""

    name = "broken"

    def digest(self, request: WindowRequest) -> Answer:
        msg = f"boom {request.turns[0].content}"
        raise RuntimeError(msg)

    def close(self) -> None:
        pass


def test_a_bug_ends_as_a_dead_letter_and_quotes_nobody(
    model_shop: Shop, server: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    model_shop.say(turn("I live in Lyon."))
    broken = model_shop.with_model(_Broken()).with_windows(max_attempts=3)

    for _ in range(3):
        assert all(row.state == WindowState.WAITING for row in model_shop.windows())
        broken.digest()
        broken.due_now()

    assert model_shop.window().state == WindowState.DEAD
    assert [letter.error_code for letter in model_shop.rows(DeadLetter)] == ["bug"]
    assert "boom" not in caplog.text
    assert "Lyon" not in caplog.text


@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
def test_whatever_the_server_does_a_window_is_applied_once_or_waits(
    name: str, model_shop: Shop, server: ScriptedModel
) -> None:
    server.always(BEHAVIOURS[name])
    model_shop.say(turn("I live in Lyon."), turn("Noted!", 1, role="assistant"))
    hasty = model_shop.with_model(_hasty(server)) if name == "timeout" else model_shop

    for _ in range(3):
        hasty.digest()
        hasty.due_now()

    window = model_shop.window()
    assert window.state in {WindowState.APPLIED, WindowState.WAITING}
    assert len(model_shop.episodes()) == (window.state == WindowState.APPLIED)
    assert [row.window_id for row in _turns(model_shop)] == [window.id, window.id]
    asked = server.chat_calls
    assert window.usage["calls"] == asked

    server.always(good(LIVES))
    model_shop.settle()
    assert model_shop.window().state == WindowState.APPLIED
    assert len(model_shop.episodes()) == 1
    assert model_shop.facts() in (["+Lyon"], [])


def _hasty(server: ScriptedModel) -> OpenAIModel:
    return OpenAIModel(
        ModelConfig(base_url=server.url, model_small="scripted", model_large="scripted", timeout_seconds=0.3)
    )


def _turns(shop: Shop) -> list[Turn]:
    with shop.kit.db.read() as session:
        return list(session.exec(select(Turn).order_by(col(Turn.at))))

"""The circuit that all workers share: it opens by everybody's failures, and nobody asks, waits or sleeps meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import update
from sqlmodel import Session, col

from delivery_fixtures import START, ended, turn
from digest_fixtures import Shop, model_shop, server
from memory.circuit import CircuitPolicy
from schemas.tables import Circuit
from scripted_model import BEHAVIOURS, ScriptedModel, error
from stores import circuit, windows
from stores.kit import open_kit
from stores.settings import load_settings
from tasks.digest import digest
from tasks.sweep import sweep

__all__ = ["model_shop", "server"]

TWO = CircuitPolicy(failures=2, rest_seconds=60)


def _say(shop: Shop, count: int) -> None:
    for number in range(count):
        where = {"session_id": f"s{number}", "user_id": f"u{number}"}
        shop.say(turn("I moved to Lyon yesterday.", number, **where), ended(number + 1, **where))
    shop.cut()


def _rested(shop: Shop) -> None:
    """Lets the open circuit's time pass."""
    past = update(Circuit).where(col(Circuit.opened_until).is_not(None)).values(opened_until=START)
    shop.kit.db.write(lambda session: session.connection().execute(past))


def _wait(shop: Shop) -> float:
    with shop.kit.db.read() as session:
        return circuit.wait_seconds(session)


def _fail(shop: Shop, times: int, policy: CircuitPolicy, retry_after: float | None = None) -> None:
    def fail(session: Session) -> None:
        circuit.failed(session, "server_error", retry_after, policy)

    for _ in range(times):
        shop.kit.db.write(fail)


def test_failures_of_several_workers_add_up_and_then_nobody_asks(model_shop: Shop, server: ScriptedModel):
    _say(model_shop, 12)
    server.always(BEHAVIOURS["server_error"])
    other = open_kit(model_shop.kit.settings)  # another process's own stores

    try:
        for number in range(10):
            digest((model_shop.kit, other)[number % 2])
    finally:
        other.close()

    assert server.chat_calls == model_shop.kit.policies.circuit.failures == 5
    assert _wait(model_shop) > 0
    # The windows that were not tried are as they were: due as soon as the model is asked again.
    assert sum(row.error_code is None for row in model_shop.windows()) == 7
    # Before the first failure the model had not failed: that one may have been its window's own.
    assert sum(row.attempts for row in model_shop.windows()) == 1


def test_one_probe_decides_and_a_model_that_is_back_gets_everything(model_shop: Shop, server: ScriptedModel):
    _say(model_shop, 4)
    _fail(model_shop, 5, CircuitPolicy())
    assert digest(model_shop.kit) is None
    _rested(model_shop)

    model_shop.settle()

    assert [row.state for row in model_shop.windows()] == ["applied"] * 4
    assert server.chat_calls == 4
    assert _wait(model_shop) == 0.0


def test_a_failed_probe_leaves_it_alone_for_longer(model_shop: Shop, server: ScriptedModel):
    _say(model_shop, 4)
    _fail(model_shop, 5, CircuitPolicy())
    first = _wait(model_shop)
    _rested(model_shop)
    server.always(BEHAVIOURS["server_error"])

    digest(model_shop.kit)
    digest(model_shop.kit)

    assert server.chat_calls == 1
    assert _wait(model_shop) > 1.5 * first


def test_only_one_of_many_gets_the_probe(model_shop: Shop):
    _fail(model_shop, 2, TWO)
    _rested(model_shop)

    with ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(model_shop.kit.db.write, _take) for _ in range(8)]

    assert sorted(attempt.result() for attempt in tries) == [False] * 7 + [True]


def _take(session: Session) -> bool:
    return circuit.take_probe(session, 60)


def test_a_call_that_lost_the_race_for_the_probe_puts_its_window_off_without_blame(
    model_shop: Shop, server: ScriptedModel
):
    _say(model_shop, 2)
    _fail(model_shop, 5, CircuitPolicy())
    claim = windows.claim_next(model_shop.kit.db, lease_seconds=60)  # claimed when it was still closed
    assert claim is not None
    model_shop.lose_leases()
    _rested(model_shop)
    assert model_shop.kit.db.write(_take)

    assert digest(model_shop.kit) is None

    assert server.chat_calls == 0


def test_a_retry_after_is_kept_by_everybody(model_shop: Shop, server: ScriptedModel):
    _say(model_shop, 8)
    server.always(error(429, "Slow down.", retry_after="1200"))

    for _ in range(8):
        digest(model_shop.kit)

    assert server.chat_calls == 5
    assert 1100 < _wait(model_shop) <= 1200


def test_a_wrong_key_opens_it_too_and_an_odd_answer_does_not(model_shop: Shop, server: ScriptedModel):
    _say(model_shop, 8)
    server.always(BEHAVIOURS["refusal_field"])
    for _ in range(6):
        digest(model_shop.kit)
    assert _wait(model_shop) == 0.0

    _say_more(model_shop, 8)
    server.always(error(401, "no such key"))
    for _ in range(8):
        digest(model_shop.kit)

    assert _wait(model_shop) > 0.0
    with model_shop.kit.db.read() as session:
        assert circuit.last_error(session) == "unauthorized"


def _say_more(shop: Shop, count: int) -> None:
    for number in range(count):
        where = {"session_id": f"t{number}", "user_id": f"u{number}"}
        shop.say(turn("I moved to Oslo yesterday.", number, **where), ended(number + 1, **where))
    shop.cut()


class Counting:
    """A broker that nobody reads."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []

    def queued(self, name: str) -> int:
        return 0

    def hint(self, name: str, count: int) -> bool:
        self.sent.append((name, count))
        return True


def test_while_it_is_open_no_hints_are_sent_but_for_stored_answers(model_shop: Shop, server: ScriptedModel):
    _say(model_shop, 3)
    claim = windows.claim_next(model_shop.kit.db, lease_seconds=60)
    assert claim is not None
    model_shop.kit.db.write(lambda session: windows.save_answer(session, claim, _EMPTY, {}))
    model_shop.kit.db.write(lambda session: windows.postpone(session, claim, "store_busy", 0))
    _fail(model_shop, 5, CircuitPolicy())
    broker = Counting()

    sweep(model_shop.kit, broker)
    worked = digest(model_shop.kit)

    assert [count for name, count in broker.sent if name == "afterturn.digest"] == [1]
    assert worked is not None
    assert worked.window_id == claim.window_id
    assert server.chat_calls == 0
    assert digest(model_shop.kit) is None


_EMPTY = (
    b'\0{"summary":"","outcome":"unknown","outcome_turns":[],"sentiment":"neutral","tags":[],"entities":[],'
    b'"facts":[],"procedure":null}'
)


def test_rules_are_never_left_alone(model_shop: Shop):
    _say(model_shop, 1)
    _fail(model_shop, 5, CircuitPolicy())
    settings = model_shop.kit.settings
    offline = open_kit(load_settings(home=settings.home, database_url=settings.database_url))

    try:
        claim = digest(offline)
    finally:
        offline.close()

    assert claim is not None
    assert [row.state for row in model_shop.windows()] == ["applied"]


def test_a_lost_probe_makes_way_for_another(model_shop: Shop):
    _fail(model_shop, 2, TWO)
    _rested(model_shop)

    assert model_shop.kit.db.write(lambda session: circuit.take_probe(session, -1))
    assert model_shop.kit.db.write(_take)
    assert not model_shop.kit.db.write(_take)

"""A suspect window in a process of its own: what ends that process counts against the window, but a wish to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from delivery_fixtures import turn
from delivery_processes import CHECKOUT, pid_behind
from digest_fixtures import Shop, new_shop, scripted
from schemas.delivery import WindowState
from schemas.tables import DeadLetter
from scripted_model import Call, Reply, ScriptedModel, good
from stores import windows
from tasks.alone import run_alone
from tasks.digest import digest

EXITS = signal.SIGUSR1
# A library that ends the process by itself, without a signal and without an exception.
_CUSTOM = "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os._exit(3))\n"


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def shop(home: Path, server: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Generator[Shop]:
    (home / "custom").mkdir()
    (home / "custom" / "sitecustomize.py").write_text(_CUSTOM, "ascii")
    paths = (home / "custom", CHECKOUT, CHECKOUT / "client" / "src")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
    with new_shop(home, **scripted(server)) as made:
        yield made.with_windows(backoff_base_seconds=0.001, max_crashes=2)


def _run(shop: Shop, server: ScriptedModel, number: signal.Signals) -> int:
    """The crashes of the window after its lone process got this signal in the middle of its call."""

    def end(call: Call) -> Reply:
        os.kill(pid_behind(call.peer), number)
        return Reply(hangs=True)

    server.script(end)
    shop.due_now()
    claim = windows.claim_next(shop.kit.db, lease_seconds=60, max_crashes=2)
    assert claim is not None
    assert claim.is_suspect
    run_alone(shop.kit, claim)
    return shop.window().crashes


def test_only_a_process_that_did_not_end_in_order_counts(shop: Shop, server: ScriptedModel):
    shop.say(turn("I live in Lyon."))
    shop.cut()
    assert windows.claim_next(shop.kit.db, lease_seconds=60) is not None
    shop.lose_leases()

    assert _run(shop, server, signal.SIGTERM) == 0
    assert _run(shop, server, EXITS) == 1
    assert _run(shop, server, signal.SIGSEGV) == 2

    # The last crash buries, and no sweep is needed for that.
    assert shop.window().state == WindowState.DEAD
    (letter,) = shop.rows(DeadLetter)
    assert (letter.error_code, letter.attempts) == ("worker_lost", 2)
    server.always(good())
    assert digest(shop.kit) is None

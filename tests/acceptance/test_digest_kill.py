"""Workers killed in the middle of a digest: every turn in one window, every window applied once, nothing paid twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from sqlmodel import Session, col, select

from afterturn import Publisher
from delivery_fixtures import World, new_world
from delivery_processes import Running, beat, worker
from schemas.delivery import WindowState
from schemas.envelopes import disclose
from schemas.tables import DeadLetter, Episode, Evidence, Fact, Moment, OutboxRow, ProcedureOutcome, Turn, Window
from scripted_model import Call, Reply, ScriptedModel, draft, fact, good
from services import wait_until
from stores import ledger

SECONDS = 90.0
CITIES = ("Lyon", "Oslo", "Graz", "Jena", "Ghent", "Turin", "Porto", "Bergen", "Split", "Delft")
SESSIONS = 20

pytestmark = pytest.mark.timeout(300)

# Seconds of counting in the middle of the transaction that applies a window: long enough to be killed in.
SLOW_APPLICATION = """
CREATE TRIGGER slow_application BEFORE INSERT ON episodes BEGIN
  SELECT max(x) FROM (
    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000000) SELECT x FROM n
  );
END
"""


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    """A model that takes its time, and answers with what was said."""
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def killed_world(home: Path, broker_url: str) -> Generator[World]:
    """A tenant on SQLite beside a fresh broker."""
    made = new_world(home, broker_url=broker_url)
    yield made
    made.db.dispose()


def _answer(seconds: float) -> Callable[[Call], Reply]:
    def reply(call: Call) -> Reply:
        told = [text for text in call.turns if text.startswith("I live in ")]
        facts = [fact(text.rstrip("."), "city", text.removeprefix("I live in ").split(",")[0]) for text in told]
        said = good(draft(summary="The user said where they live.", facts=facts))
        return Reply(body=said.body, headers=said.headers, delay_seconds=seconds)

    return reply


def _settings(server: ScriptedModel) -> dict[str, str]:
    return {
        "llm_base_url": server.url,
        "llm_api_key": "test",
        "llm_model_small": "scripted",
        # The lease of a killed worker is twice this and the margin.
        "llm_timeout_seconds": "5",
        "window_write_margin_seconds": "1",
        "window_idle_seconds": "0.2",
        "workers_sweep_seconds": "0.3",
        # Three digests at once: each window of a killed worker then has a process of its own, one after another.
        "workers_slots": "5",
        "workers_reserved_slots": "2",
    }


def _publish(world: World) -> list[str]:
    """One short talk a session, two sessions a user, with a procedure that ran."""
    publisher = Publisher(key=world.credential, url=world.kit.settings.broker_url)
    said: list[str] = []
    for number in range(SESSIONS):
        user, session = f"u{number // 2}", f"s{number}"
        said.append(publisher.turn(user, session, "user", f"I live in {CITIES[number // 2]}, as I said {number}."))
        said.append(publisher.turn(user, session, "tool", "ok", tool="swap", ok=True, procedure="exchange"))
        publisher.end(session, user=user, outcome="success")
    assert publisher.flush(30)
    publisher.close()
    return said


def _windows(world: World) -> list[Window]:
    with world.db.read() as session:
        return list(session.exec(select(Window).order_by(col(Window.id))))


def _in_flight(world: World) -> set[UUID]:
    """Windows that somebody was working on, still without an answer."""
    return {row.id for row in _windows(world) if row.lease_until is not None and row.state == WindowState.WAITING}


def _is_quiet(world: World) -> bool:
    with world.db.read() as session:
        owed = session.exec(select(OutboxRow.id).limit(1)).first()
        turns = session.exec(select(Turn.event_id).where(col(Turn.window_id).is_(None))).first()
    rows = _windows(world)
    return bool(rows) and owed is None and turns is None and all(row.state == WindowState.APPLIED for row in rows)


@contextmanager
def _processes(home: Path, server: ScriptedModel) -> Generator[dict[str, str]]:
    settings = _settings(server)
    with worker(home, "ingest", **settings), beat(home, "beat", **settings):
        yield settings


def _audit(world: World, said: list[str]) -> None:
    with world.db.read() as session:
        windows = session.exec(select(Window)).all()
        episodes = session.exec(select(Episode)).all()
        evidence = session.exec(select(Evidence)).all()
        facts = session.exec(select(Fact).where(col(Fact.superseded_at).is_(None))).all()
        outcomes = session.exec(select(ProcedureOutcome)).all()
        moments = session.exec(select(Moment)).all()
        assert session.exec(select(DeadLetter)).all() == []
        assert ledger.states(session)["digested"] == len(said)
    placed = [turn_id for row in windows for turn_id in row.turn_ids]
    assert sorted(placed) == sorted(said)
    assert sorted(str(row.window_id) for row in episodes) == sorted(str(row.id) for row in windows)
    assert len({row.event_id for row in evidence}) == len(evidence) == SESSIONS
    assert sorted(disclose(row.value) for row in facts) == sorted(CITIES)
    assert all(len(row.evidence_ids) == 2 for row in facts)
    assert len({row.event_id for row in outcomes}) == len(outcomes) == SESSIONS
    assert len(moments) == SESSIONS


def _audit_calls(world: World, server: ScriptedModel, *, killed: int, gave_up: int) -> None:
    """Every call is charged to its window, but for those whose worker was killed meanwhile; and none is in vain."""
    charged = sum(int(row.usage["calls"]) for row in _windows(world))
    assert charged <= server.chat_calls <= charged + killed
    assert charged <= len(_windows(world)) + gave_up


def _gave_up(running: Running) -> int:
    """How often a machine too busy for the model's time-out made a worker ask again; both workers write one log."""
    return sum("window postponed" in str(line) for line in running.lines())


def _calls(server: ScriptedModel) -> Counter[str]:
    """How often each session's words were sent."""
    return Counter(call.turns[0] for call in server.calls if call.path.endswith("/chat/completions"))


def test_a_worker_killed_before_its_answers_costs_one_call_more_each(
    home: Path, killed_world: World, server: ScriptedModel
) -> None:
    # Nothing is applied when the worker is killed, so that no claim of the index is lost with it, which lasts longer.
    server.always(_answer(3.0))
    with _processes(home, server) as settings:
        with worker(home, "app", **settings) as first:
            said = _publish(killed_world)
            server.wait_for_calls(2, timeout_seconds=SECONDS)
            first.kill_group()
        killed = _in_flight(killed_world)
        assert killed
        server.always(_answer(0.01))
        with worker(home, "app", **settings) as second:
            wait_until(lambda: _is_quiet(killed_world), seconds=SECONDS, what="every window applied and indexed")

    _audit(killed_world, said)
    _audit_calls(killed_world, server, killed=len(killed), gave_up=_gave_up(second))


def test_a_worker_killed_between_its_answer_and_its_application_pays_nothing_again(
    home: Path, killed_world: World, server: ScriptedModel
) -> None:
    server.always(_answer(0.05))
    killed_world.db.write(lambda session: _execute(session, SLOW_APPLICATION))
    with _processes(home, server) as settings:
        with worker(home, "app", **settings) as first:
            said = _publish(killed_world)
            answered = wait_until(lambda: _answered(killed_world), seconds=SECONDS, what="an answer")
            first.kill_group()
        killed_world.db.write(lambda session: _execute(session, "DROP TRIGGER slow_application"))
        assert _answered(killed_world) >= answered
        killed = _in_flight(killed_world)
        texts = _first_words(killed_world, answered)
        before = _calls(server)
        with worker(home, "app", **settings) as second:
            wait_until(lambda: _is_quiet(killed_world), seconds=SECONDS, what="every window applied and indexed")

    _audit(killed_world, said)
    assert {text: _calls(server)[text] for text in texts} == {text: before[text] for text in texts}
    _audit_calls(killed_world, server, killed=len(killed), gave_up=_gave_up(second))


def _execute(session: Session, statement: str) -> None:
    session.connection().exec_driver_sql(statement)


def _answered(world: World) -> set[UUID]:
    """Windows with a stored answer that nobody has applied."""
    return {row.id for row in _windows(world) if row.state == WindowState.ANSWERED}


def _first_words(world: World, window_ids: set[UUID]) -> list[str]:
    firsts = [UUID(row.turn_ids[0]) for row in _windows(world) if row.id in window_ids]
    with world.db.read() as session:
        return [disclose(row.content) for row in session.exec(select(Turn).where(col(Turn.event_id).in_(firsts)))]

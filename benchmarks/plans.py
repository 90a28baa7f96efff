"""What beat, sweep and claims ask all the time, at any size: `python -m benchmarks.plans --turns 5000000`.

Fills a scratch database of each kind, asks everything once to warm up and then so many times, and prints the median,
what was read from end to end, and a JSON line. With `--show` the plans as well. Nothing is committed.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, event
from sqlmodel import Session, col, select

from afterturn.ids import uuid7
from benchmarks.ingest import instance
from benchmarks.tables import Sizes, fill
from memory.windows import WindowPolicy
from schemas.delivery import EventState
from schemas.tables import Tenant, Turn, User, metadata
from stores import (
    cutting,
    dead,
    episodes,
    index_states,
    jobs,
    ledger,
    moments,
    outbox,
    reconciling,
    sessions,
    sights,
    suspects,
    tenancy,
    turns,
    upkeep,
    waits,
    windows,
)
from stores.sql import Database, database_now, upgrade
from tasks.app import SWEEP

#: These grow for as long as the service lives, or for as long as the index is away.
GROWING = frozenset(
    ("turns", "event_ledger", "sessions", "users", "windows", "outbox", "facts", "evidence", "episodes", "moments")
)

# A partial index may be read to its end: it holds what is still to do.
_OF_WHAT_IS_OPEN = frozenset(
    index.name
    for table in metadata.sorted_tables
    for index in table.indexes
    if index.dialect_options["sqlite"]["where"] is not None
)

Question = Callable[[Session], object]
T = TypeVar("T")

_IN_THREAD = select(col(Turn.tenant_id), col(Turn.event_id)).where(
    col(Turn.thread_id) == "t40", col(Turn.window_id).is_not(None)
)


def _some(found: T | None) -> T:
    """What was found: to ask for what is not there would measure nothing."""
    if not found:
        msg = "the tables hold nothing of the kind"
        raise LookupError(msg)
    return found


def _cut(session: Session) -> object:
    tenants = _some(cutting.due_tenants(session, after=None, limit=10))
    done = cutting.cut_due(
        session, policy=WindowPolicy(), limit=10, new_id=uuid7, prompt_version="p", tenant_ids=tenants
    )
    return _some(done.turns)


def _claim(session: Session) -> windows.Claim:
    return _some(windows.claim(session, lease_seconds=60))


def _claimed_alone(session: Session) -> object:
    claim = _claim(session)
    return suspects.adopt(session, claim.window_id, claim.epoch, lease_seconds=60)


def _given_back(session: Session) -> object:
    return suspects.release(session, [_claim(session)])


def _outcome(session: Session) -> object:
    return windows.finish(session, _claim(session))


def _index_batch(session: Session) -> object:
    rows = _some(outbox.claim(session, limit=64, lease_seconds=60))
    outbox.postpone_all(session, [(rows[0], 1.0, "busy")])
    return outbox.settle_all(session, rows[1:])


def _walk(session: Session) -> object:
    tenant_id = _some(session.exec(select(Tenant.id)).first())
    owners = reconciling.owners_after(session, tenant_id, None, 500)
    last = reconciling.owners_after(session, tenant_id, owners[-1], 500)
    records = _some(reconciling.records_after(session, tenant_id, owners[1], None, 500))
    ids = [record.id for record in records]
    return [
        *(last, reconciling.owners_of(session, ids), reconciling.shown(session, ids), reconciling.owed(session, ids)),
        reconciling.owe(session, tenant_id, records),
    ]


def _rebuilt(session: Session) -> object:
    index_states.lose(session, _some(session.exec(select(Tenant.id)).first()), None, generation=1)
    index_states.walked(session, _some(index_states.next_walk(session, every_seconds=0)), {})
    return [index_states.settle(session), index_states.has_rebuilt(session)]


def _expire(session: Session) -> object:
    now = database_now(session)
    facts, ended = _some(upkeep.due_facts(session, now, 50)), _some(upkeep.due_episodes(session, now, 50))
    upkeep.redate(session, facts[0], now, extended=True)
    upkeep.owe(session, "fact", facts)
    return upkeep.owe(session, "moment", moments.soft_delete(session, [row.id for row in ended], now=now))


def _volatile(session: Session) -> object:
    return _some(upkeep.outlived_volatile(session, database_now(session), 50))


def _decay(session: Session) -> object:
    facts = _some(upkeep.facts_after(session, "", 500))
    upkeep.set_strength(session, facts[0], 0.1)
    return upkeep.facts_after(session, str(facts[-1].id), 500), upkeep.episodes_after(session, str(facts[-1].id), 500)


def _consolidate(session: Session) -> object:
    _, first = _some(upkeep.next_user_with_episodes(session, ""))
    tenant_id, user_ref = _some(upkeep.next_user_with_episodes(session, str(first)))
    return [
        *(upkeep.owed_episode_ids(session, user_ref), upkeep.compared(session, tenant_id, user_ref)),
        tenancy.lock_users(session, tenant_id, [user_ref]),
        *(episodes.live(session, tenant_id, user_ref), episodes.merged_ids(session, user_ref)),
    ]


def _beside(session: Session) -> object:
    """What indexes of threads, tickets and windows are for."""
    turn = _some(session.get(Turn, _some(session.exec(_IN_THREAD.limit(1)).first())))
    thread_id = str(turn.thread_id)
    return [
        turns.before(session, turn.tenant_id, [turn.event_id]),
        _some(turns.neighbours(session, turn.tenant_id, [turn.event_id])),
        turns.tail(session, turn.tenant_id, turn.session_ref, limit=10),
        moments.share(session, turn.tenant_id, thread_id),
        sights.is_in_thread(session, turn.tenant_id, [turn.user_ref], thread_id),
        sights.shared_threads(session, turn.tenant_id, [turn.user_ref], [thread_id]),
        sessions.shared_threads(session, turn.tenant_id, [thread_id], turn.user_ref),
        ledger.close_window(session, _some(turn.window_id), EventState.DIGESTED),
    ]


def _tickets(session: Session) -> object:
    users = session.exec(select(User.id).order_by(col(User.id)).limit(80)).all()
    query = select(Turn).where(col(Turn.user_ref).in_(users), col(Turn.ticket_id).is_not(None))
    return _some(session.exec(query.limit(50)).all())


QUESTIONS: dict[str, Question] = {
    "sweep: cut what is due": _cut,
    "sweep: cut, of everybody": lambda session: cutting.cut_due(
        session, policy=WindowPolicy(), limit=10, new_id=uuid7, prompt_version="p"
    ),
    "sweep: bury what was lost": lambda session: windows.bury_lost(session, max_crashes=1),
    "sweep: backlog": windows.backlog,
    "sweep: owed to the index": lambda session: outbox.due(session, limit=2),
    "sweep: parked": dead.parked,
    "sweep: done": lambda session: jobs.note(session, SWEEP),
    "digest: claim": _claim,
    "digest: claim of what is answered": lambda session: windows.claim(session, lease_seconds=60, answered_only=True),
    "digest: claim, alone": _claimed_alone,
    "digest: give back": _given_back,
    "digest: finish": _outcome,
    "index: claim and settle": _index_batch,
    "reconcile: walk": _walk,
    "reconcile: rebuilt": _rebuilt,
    "expire: what is due": _expire,
    "expire: volatile": _volatile,
    "decay": _decay,
    "consolidate": _consolidate,
    "turns of a thread": _beside,
    "turns of a user's tickets": _tickets,
    "metrics: oldest": waits.oldest,
    "metrics: due": waits.due,
    "metrics: over budget": waits.over_budget,
    "metrics: owed to the index": lambda session: outbox.counts(session, limit=waits.MOST_COUNTED),
    "metrics: suspects": suspects.waiting,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How one statement is run."""

    statement: str
    lines: tuple[str, ...]

    @property
    def scanned(self) -> list[str]:
        """Growing tables that are read from end to end."""
        found = re.findall(r"(?:Seq Scan on|SCAN) (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", "\n".join(self.lines))
        return sorted(GROWING.intersection(table for table, index in found if index not in _OF_WHAT_IS_OPEN))


@contextmanager
def _heard(database: Database) -> Generator[list[tuple[str, Any]]]:
    asked: list[tuple[str, Any]] = []

    def note(_c: Connection, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def plans(database: Database, question: Question) -> list[Plan]:
    """The plans of all statements of a question that name a growing table. Changes nothing."""

    def ask(session: Session) -> list[Plan]:
        with _heard(database) as asked:
            question(session)
        connection = session.connection()
        found = [_plan(connection, statement, given) for statement, given in list(asked) if _has_plan(statement)]
        session.rollback()
        return found

    return database.write(ask)


def _has_plan(statement: str) -> bool:
    return any(f" {table}" in statement for table in GROWING)


def _plan(connection: Connection, statement: str, parameters: Any) -> Plan:
    # Of many rows one will do.
    given = cast("list[Any]", parameters)[0] if isinstance(parameters, list) else parameters
    is_sqlite = connection.dialect.name == "sqlite"
    rows = connection.exec_driver_sql(f"EXPLAIN {'QUERY PLAN ' if is_sqlite else ''}{statement}", given).all()
    return Plan(statement, tuple(str(row[-1]) for row in rows))


def seconds(database: Database, question: Question, runs: int) -> float:
    """The median of so many runs, each undone."""

    def ask(session: Session) -> float:
        started = time.perf_counter()
        question(session)
        took = time.perf_counter() - started
        session.rollback()
        return took

    database.write(ask)
    return statistics.median(database.write(ask) for _ in range(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", default="sqlite,postgres")
    parser.add_argument("--turns", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--show", action="store_true", help="the plans as well")
    asked = parser.parse_args()
    told: list[dict[str, Any]] = []
    for store in asked.stores.split(","):
        with instance(store) as settings:
            upgrade(settings)
            database = Database(settings.database_url)
            sizes = Sizes.of(asked.turns)
            database.write(lambda session, sizes=sizes: fill(session.connection(), sizes))
            for name, question in QUESTIONS.items():
                found = plans(database, question)
                scanned = sorted({table for plan in found for table in plan.scanned})
                took_ms = round(seconds(database, question, asked.runs) * 1000, 2)
                told.append({"store": store, "question": name, "ms": took_ms, "scanned": scanned})
                print(f"{store:9} {took_ms:10.2f} ms  {name}  {' '.join(scanned)}", flush=True)
                for plan in found if asked.show else ():
                    print("", plan.statement, *plan.lines, sep="\n    ")
            database.dispose()
    print(json.dumps({"benchmark": "plans", "turns": asked.turns, "rows": told}))


if __name__ == "__main__":
    main()

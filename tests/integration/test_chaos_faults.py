"""What the chaos run does to a database must not fail for the database's own reasons."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg

from schemas_ready import bring_up
from workers.chaos.cluster import lock_turns
from workers.chaos.faults import patiently


def test_a_lock_that_met_a_deadlock_is_taken_in_the_end(postgres_url: str) -> None:
    """Found as a run of five minutes that ended with a traceback: the writer waited for us, and we for it."""
    bring_up(postgres_url)
    writer = psycopg.connect(postgres_url.replace("+psycopg", "", 1))
    writer.execute("LOCK TABLE windows IN ROW EXCLUSIVE MODE")
    held: list[psycopg.Connection[tuple[object, ...]]] = []

    def take() -> None:
        held.append(lock_turns(postgres_url))

    with ThreadPoolExecutor(1) as pool, writer:
        taking = pool.submit(patiently, take)
        while not _is_waiting(writer):
            assert not taking.done()
        with suppress(psycopg.errors.DeadlockDetected):  # either of the two may be the one that gives way
            writer.execute("LOCK TABLE turns IN ROW EXCLUSIVE MODE")
        writer.rollback()
        taking.result(timeout=20)

    assert len(held) == 1
    held[0].close()


def test_what_the_run_itself_holds_still_is_set_going_while_it_waits(postgres_url: str) -> None:
    bring_up(postgres_url)
    frozen = psycopg.connect(postgres_url.replace("+psycopg", "", 1))
    frozen.execute("LOCK TABLE turns IN ROW EXCLUSIVE MODE")

    undo = patiently(lambda: lock_turns(postgres_url).close, frozen.close)

    assert undo is not None
    undo()


def _is_waiting(session: psycopg.Connection[tuple[object, ...]]) -> bool:
    found = session.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'ExclusiveLock'").fetchone()
    return found is not None and found[0] == 1

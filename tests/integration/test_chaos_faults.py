"""What the chaos run does to a database must not fail for the database's own reasons."""

from __future__ import annotations

import psycopg
import pytest

from schemas_ready import bring_up
from workers.chaos.cluster import lock_turns
from workers.chaos.faults import patiently


def test_a_lock_on_turns_waits_for_no_other_table(postgres_url: str) -> None:
    """Found as a run that ended with a traceback: a writer held one table and waited for the next, and so did we."""
    bring_up(postgres_url)
    writer = psycopg.connect(postgres_url.replace("+psycopg", "", 1))
    writer.execute("LOCK TABLE event_ledger, windows IN ROW EXCLUSIVE MODE")

    held = lock_turns(postgres_url)

    with pytest.raises(psycopg.errors.LockNotAvailable):
        writer.execute("SET lock_timeout = '20ms'; LOCK TABLE turns IN ROW EXCLUSIVE MODE")
    held.close()
    writer.close()


def test_what_the_run_itself_holds_still_is_set_going_while_it_waits(postgres_url: str) -> None:
    bring_up(postgres_url)
    frozen = psycopg.connect(postgres_url.replace("+psycopg", "", 1))
    frozen.execute("LOCK TABLE turns IN ROW EXCLUSIVE MODE")

    undo = patiently(lambda: lock_turns(postgres_url).close, frozen.close)

    assert undo is not None
    undo()

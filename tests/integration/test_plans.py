"""What beat, sweep and claims ask all the time reads indexes, never a growing table to its end.

SQLite plans by the indexes alone; PostgreSQL by what it knows of the rows, so that there are 20,000 of each.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from benchmarks.plans import QUESTIONS, plans
from benchmarks.tables import Sizes, fill
from schemas_ready import bring_up
from services import postgres_database, scratch
from store_fixtures import STORES
from stores.sql import Database

#: Decay, consolidation and the choice of some user go through everything, a page at a time.
ALLOWED = {
    "decay": {"facts", "episodes"},
    "consolidate": {"episodes"},
    "turns of a user's tickets": {"users"},
}


@pytest.fixture(scope="module")
def sqlite() -> Generator[Database]:
    with scratch() as folder:
        yield from _filled(f"sqlite:///{folder / 'afterturn.db'}", Sizes.each(5_000))


@pytest.fixture(scope="module")
def postgresql(postgres_cluster: str) -> Generator[Database]:
    with postgres_database(postgres_cluster) as url:
        yield from _filled(url, Sizes.each(20_000))


def _filled(url: str, sizes: Sizes) -> Generator[Database]:
    bring_up(url)
    database = Database(url)
    database.write(lambda session: fill(session.connection(), sizes))
    yield database
    database.dispose()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_it_reads_no_growing_table_from_end_to_end(request: pytest.FixtureRequest, store: str, name: str):
    database: Database = request.getfixturevalue(store)

    found = plans(database, QUESTIONS[name])

    scans = ["\n".join((plan.statement, *plan.lines)) for plan in found if set(plan.scanned) - ALLOWED.get(name, set())]
    assert not scans, "\n\n".join(scans)

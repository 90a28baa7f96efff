"""Index writes that are owed: one row a record, one claim a user, nothing lost when a record moves."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from schemas.tables import OutboxRow, Tenant
from services import wait_until
from store_fixtures import STORES, migrated
from stores import outbox
from stores.sql import Database

TENANT = uuid4()


@pytest.fixture(params=STORES)
def db(request: pytest.FixtureRequest) -> Generator[Database]:
    yield from migrated(request)


def _owe(db: Database, user: UUID, record: UUID | None = None, *, version: int = 1, generation: int = 0) -> UUID:
    record = record or uuid4()
    db.write(
        lambda s: outbox.owe(
            s,
            tenant=TENANT,
            user=user,
            kind="fact",
            record_id=record,
            row_version=version,
            generation=generation,
        )
    )
    return record


def _claim(db: Database, limit: int = 10, lease_seconds: float = 60.0) -> list[OutboxRow]:
    return db.write(lambda s: outbox.claim(s, limit=limit, lease_seconds=lease_seconds))


def _counts(db: Database) -> outbox.OutboxCounts:
    with db.read() as session:
        return outbox.counts(session, limit=10)


def test_a_record_is_owed_once_with_its_newest_version(db: Database) -> None:
    user = uuid4()
    record = _owe(db, user)
    _owe(db, user, record, version=2, generation=1)

    (row,) = _claim(db)

    assert (row.record_id, row.row_version, row.generation) == (record, 2, 1)
    assert (row.epoch, row.attempts) == (1, 1)


def test_a_settled_claim_is_gone(db: Database) -> None:
    _owe(db, uuid4())
    (row,) = _claim(db)

    assert db.write(lambda s: outbox.settle(s, row)) is True
    assert _counts(db) == outbox.OutboxCounts(owed=0, leased=0, failed=0)
    assert db.write(lambda s: outbox.settle(s, row)) is False


@pytest.mark.parametrize("moved", [{"version": 2}, {"generation": 1}])
def test_a_record_that_moved_meanwhile_is_due_again_at_once(db: Database, moved: dict[str, int]) -> None:
    user = uuid4()
    record = _owe(db, user)
    (row,) = _claim(db)
    _owe(db, user, record, **moved)
    assert _claim(db) == []

    assert db.write(lambda s: outbox.settle(s, row)) is False

    (again,) = _claim(db)
    assert (again.record_id, again.epoch) == (record, 2)


def test_one_claim_per_user_at_a_time(db: Database) -> None:
    busy, free = uuid4(), uuid4()
    _owe(db, busy)
    (held,) = _claim(db)
    _owe(db, busy)
    other = _owe(db, free)

    assert [row.record_id for row in _claim(db)] == [other]

    db.write(lambda s: outbox.settle(s, held))
    assert len(_claim(db)) == 1


def test_a_claim_takes_a_user_s_rows_together_and_no_more_than_asked(db: Database) -> None:
    user = uuid4()
    for _ in range(5):
        _owe(db, user)

    assert len(_claim(db, limit=3)) == 3
    assert _claim(db, limit=3) == []


def test_a_lease_that_ran_out_is_claimed_by_the_next(db: Database) -> None:
    _owe(db, uuid4())
    (lost,) = _claim(db, lease_seconds=0.05)

    (taken,) = wait_until(lambda: _claim(db), what="the lease to end")

    assert (taken.epoch, taken.attempts) == (2, 2)
    assert db.write(lambda s: outbox.settle(s, lost)) is False
    assert db.write(lambda s: outbox.postpone(s, lost, delay_seconds=0, error_code="late")) is False
    assert db.write(lambda s: outbox.settle(s, taken)) is True


def test_a_failed_claim_waits_for_its_delay(db: Database) -> None:
    _owe(db, uuid4())
    (row,) = _claim(db)

    assert db.write(lambda s: outbox.postpone(s, row, delay_seconds=3600, error_code="store_busy")) is True

    assert _claim(db) == []
    found = _counts(db)
    assert (found.owed, found.leased, found.failed) == (1, 0, 1)


def test_what_moves_while_it_waits_after_a_failure_is_due_at_once(db: Database) -> None:
    user = uuid4()
    record = _owe(db, user)
    (row,) = _claim(db)
    db.write(lambda s: outbox.postpone(s, row, delay_seconds=3600, error_code="store_busy"))

    _owe(db, user, record, version=2)

    (again,) = _claim(db)
    assert (again.row_version, again.attempts, again.error_code) == (2, 1, None)


def test_claims_at_once_never_share_a_row_or_a_user(db: Database) -> None:
    users = [uuid4() for _ in range(6)]
    for number in range(60):
        _owe(db, users[number % 6])

    with ThreadPoolExecutor(6) as pool:
        claiming = [pool.submit(_claim, db, 7) for _ in range(12)]
        claims = [claim.result() for claim in claiming]

    rows = [row.record_id for claim in claims for row in claim]
    assert len(rows) == len(set(rows))
    holders: dict[UUID, int] = {}
    for number, claim in enumerate(claims):
        for row in claim:
            assert holders.setdefault(row.user_ref, number) == number


def test_counts_end_at_their_limit(db: Database) -> None:
    for _ in range(4):
        _owe(db, uuid4())
    failed = _claim(db, limit=2)
    db.write(lambda s: outbox.postpone_all(s, [(row, 3600.0, "store_busy") for row in failed]))
    _claim(db, limit=1)

    with db.read() as session:
        assert outbox.counts(session, limit=10) == outbox.OutboxCounts(owed=4, leased=1, failed=2)
        assert outbox.counts(session, limit=1) == outbox.OutboxCounts(owed=1, leased=1, failed=1)
        assert outbox.count(session) == 4


@pytest.mark.parametrize("fails", [True, False])
def test_the_oldest_that_is_owed_tells_since_when_whether_it_failed_or_not(db: Database, fails: bool) -> None:
    with db.read() as session:
        assert outbox.oldest(session) is None
    db.write(lambda s: s.add(Tenant(id=TENANT, name="t", hash_key=b"k", created_at=datetime.now(UTC))))
    _owe(db, uuid4())
    (first,) = _claim(db)
    _owe(db, uuid4())

    if fails:
        db.write(lambda s: outbox.postpone(s, first, delay_seconds=3600, error_code="store_busy"))

    with db.read() as session:
        assert outbox.oldest(session) == first.created_at

"""Receipts end to end: a real publisher, a real broker, a real ingest worker, and everything lost between them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlmodel import col, select

from afterturn import Publisher, generate_credential, parse_credential
from afterturn.credentials import seal_key
from afterturn.envelope import wrap
from afterturn.ids import uuid7, uuid7_text
from afterturn.receipts import BatchReceipt, list_name, seal_receipt
from delivery_fixtures import World, new_world
from delivery_processes import worker
from schemas.tables import Turn
from services import wait_until
from stores import ledger
from stores.settings import redis_url

QUEUE = "afterturn:v1:ingest"
SECONDS = 60.0


@pytest.fixture
def agents_world(home: Path, broker_url: str) -> Generator[World]:
    """A tenant on the embedded stores."""
    made = new_world(home, broker_url=broker_url)
    yield made
    made.db.dispose()


@pytest.fixture
def client(broker_url: str) -> Generator[Redis]:
    """The broker's books."""
    made: Redis = Redis.from_url(redis_url(broker_url))  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
    yield made
    made.close()


def turn_ids(world: World) -> list[str]:
    with world.db.read() as session:
        return [str(event_id) for event_id in session.exec(select(Turn.event_id).order_by(col(Turn.event_id)))]


def publisher_of(world: World, **options: Any) -> Publisher:
    return Publisher(world.credential, world.kit.settings.broker_url, **options)


def test_every_event_is_receipted_and_a_reject_reaches_its_agent(home: Path, agents_world: World, client: Redis):
    told: list[tuple[str, str, str | None]] = []
    with worker(home, "ingest"), publisher_of(agents_world, on_reject=lambda *why: told.append(why)) as publisher:
        said = [publisher.turn("u1", "s1", "user", f"turn {number}") for number in range(250)]
        again = publisher.turn("u1", "s1", "user", "turn 0, told otherwise", event_id=said[0])
        staff = publisher.turn("u1", "s1", "staff", "I may not say this", actor="boss")
        assert publisher.flush(SECONDS, receipts=True)
        stats = publisher.stats()

    assert turn_ids(agents_world) == said
    assert again == said[0]
    assert sorted(told) == sorted([(again, "id_conflict", "event_id"), (staff, "right", "role")])
    assert (stats.published, stats.sent, stats.receipted, stats.unreceipted) == (252, 252, 252, 0)
    assert (stats.stored, stats.rejected, stats.resent, stats.forged) == (250, 2, 0, 0)
    assert all(-1 != int(str(client.ttl(key))) for key in client.scan_iter("afterturn:v1:receipts:*"))

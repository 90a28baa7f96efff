"""What a scrape reads: queues and their age from a real broker, work and jobs from SQL, and nothing of a store away."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from prometheus_client import generate_latest

from afterturn.envelope import wrap
from afterturn.ids import uuid7_text
from api.observed import observe
from schemas_ready import bring_up
from services import free_port
from stores import jobs
from stores.kit import Kit, open_kit
from stores.metrics import READINGS
from stores.settings import load_settings
from stores.sql import Database
from tasks.app import PREFIX, SWEEP


@pytest.fixture
def kit(home: Path) -> Generator[Kit]:
    settings = load_settings(home=home)
    bring_up(settings.database_url)
    opened = open_kit(settings)
    yield opened
    opened.close()


def told(kit: Kit) -> dict[str, float]:
    observe(kit)
    lines = [line for line in generate_latest(READINGS).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_depth_and_age_of_a_queue_come_from_the_broker(kit: Kit, broker_url: str) -> None:
    client: Any = redis.Redis.from_url(kit.settings.redis_url)  # pyright: ignore[reportUnknownMemberType]
    now = int(time.time())
    for age in (300, 20):  # pushed on the left, taken from the right
        client.lpush(f"{PREFIX}ingest", wrap("blob", uuid7_text(), uuid7_text(), now - age))
    client.hset(f"{PREFIX}unacked.llm", "tag", "message")

    found = told(kit)

    assert found['afterturn_queue_depth{queue="ingest"}'] == 2
    assert found['afterturn_queue_unacked{role="llm"}'] == 1
    assert 300 <= found['afterturn_oldest_unprocessed_event_age_seconds{stage="ingest"}'] < 310
    assert found['afterturn_store_up{store="broker"}'] == 1


def test_a_message_that_does_not_say_when_it_was_sent_gives_no_age(kit: Kit, broker_url: str) -> None:
    client: Any = redis.Redis.from_url(kit.settings.redis_url)  # pyright: ignore[reportUnknownMemberType]
    client.lpush(f"{PREFIX}ingest", wrap("blob", uuid7_text(), uuid7_text()))

    found = told(kit)

    assert found['afterturn_queue_depth{queue="ingest"}'] == 1
    assert 'afterturn_oldest_unprocessed_event_age_seconds{stage="ingest"}' not in found


def test_jobs_are_told_with_their_interval(kit: Kit) -> None:
    kit.db.write(lambda session: jobs.note(session, SWEEP))

    found = told(kit)

    assert abs(found[f'afterturn_beat_last_success_timestamp_seconds{{task="{SWEEP}"}}'] - time.time()) < 30
    assert found[f'afterturn_beat_interval_seconds{{task="{SWEEP}"}}'] == kit.settings.workers.sweep_seconds
    assert found['afterturn_work_due{stage="digest"}'] == 0
    assert found['afterturn_index_owed{state="failed"}'] == 0


def test_a_store_that_is_away_tells_nothing_old(kit: Kit, home: Path) -> None:
    told(kit)
    away = load_settings(home=home, broker_url=f"redis://127.0.0.1:{free_port()}/0")
    gone = replace(kit, settings=away, db=Database("postgresql+psycopg://nobody@127.0.0.1:9/none"))

    found = told(gone)

    assert found['afterturn_store_up{store="database"}'] == 0
    assert found['afterturn_store_up{store="broker"}'] == 0
    assert not [name for name in found if name.startswith(("afterturn_work_due", "afterturn_queue", "afterturn_dead"))]
    gone.db.dispose()

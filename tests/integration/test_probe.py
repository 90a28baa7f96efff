"""What a real worker answers an orchestrator, and what becomes of it when its broker freezes or it stands still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlmodel import Session

from afterturn import Publisher
from schemas_ready import bring_up
from services import free_port, wait_until
from stores import tenancy
from stores.settings import as_environment, load_settings
from stores.sql import Database
from workers import probe


@contextmanager
def worker(home: Path, role: str, *, broker_url: str) -> Generator[str]:
    """A worker process with its probe; gives the probe's address."""
    port = free_port()
    settings = load_settings(home=home, broker_url=broker_url, workers={"probe_port": port})
    bring_up(settings.database_url)
    running = subprocess.Popen(
        [sys.executable, "-m", "workers", *(("worker", role) if role != "beat" else ("beat",))],
        env={**os.environ, **as_environment(settings)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: _status(address, "/readyz") == 200, seconds=30, what=f"{role} to be ready")
        yield address
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(10)


def test_a_worker_says_that_it_is_alive_and_what_its_children_counted(home: Path, broker_url: str) -> None:
    with worker(home, "ingest", broker_url=broker_url) as address:
        database = Database(load_settings(home=home).database_url)
        with Publisher(database.write(_key), broker_url) as publisher:
            publisher.turn("u1", "s1", "user", "I live in Lyon.")
            assert publisher.flush(10, receipts=True)
        database.dispose()

        told = httpx.get(f"{address}/metrics").text

        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
        assert 'afterturn_events_total{outcome="stored"} 1.0' in told
        assert 'afterturn_event_lag_seconds_count{stage="committed"} 1.0' in told
        assert 'afterturn_task_duration_seconds_count{outcome="done",task="afterturn.ingest"} 1.0' in told
        assert "Lyon" not in told
        assert "u1" not in told
        assert httpx.get(f"{address}/anything").status_code == 404


def test_beat_answers_too(home: Path, broker_url: str) -> None:
    with worker(home, "beat", broker_url=broker_url) as address:
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}


def test_a_worker_that_stands_still_is_deaf_only_while_its_broker_answers(
    home: Path, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = load_settings(home=home, broker_url=broker_url).redis_url
    monkeypatch.setattr(probe.pulse, "last_at", probe.pulse.last_at - 3600)

    assert probe.state(url) == "deaf"
    assert probe.state(f"redis://127.0.0.1:{free_port()}/0") == "broker_down"

    probe.pulse.beats()
    assert probe.state(url) == "ok"


def _key(session: Session) -> str:
    tenant = tenancy.create_tenant(session, "shop")
    return tenancy.create_key(session, tenant, ["publish"])[1]


def _status(address: str, path: str) -> int:
    try:
        return httpx.get(address + path, timeout=2).status_code
    except httpx.TransportError:
        return 0

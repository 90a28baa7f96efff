"""Fixtures that every test may use. No test sees the operator's environment or data folder."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

import compiled_once
from services import postgres, postgres_database, postgres_folder, scratch
from stores.settings import embedded_broker_url
from weaviate_node import WHY_SKIPPED, Address, can_start, drop, given, shared
from workers import broker

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in it is made by mkdtemp
_PLENTY_BYTES = 6 << 30
_SCRATCH_HOME = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Scrubs the environment before any module of ours is imported by a test."""
    for name in list(os.environ):
        ours = name.startswith("AFTERTURN_") and not name.startswith("AFTERTURN_TEST_")
        if ours or name.startswith(("OPENAI_", "FLOWER_", "CELERY_")):
            del os.environ[name]
    _prefer_memory()
    home = Path(tempfile.mkdtemp(prefix="at-"))
    config.stash[_SCRATCH_HOME] = home
    os.environ["AFTERTURN_HOME"] = str(home)
    compiled_once.share()


def _prefer_memory() -> None:
    """Scratch folders stand in memory where there is plenty: a kill -9 leaves there what it leaves on a disk."""
    if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _PLENTY_BYTES:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)


# How long an example takes, or to make one up, says how busy the machine is.
settings.register_profile("afterturn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("afterturn")


def pytest_collection_finish() -> None:
    """What was imported stays to the end: it is not looked through for garbage again and again (5 % of the CPU)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the scratch data folder."""
    if (home := config.stash.get(_SCRATCH_HOME, None)) is not None:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def home() -> Generator[Path]:
    """An empty data folder with a short path."""
    with scratch() as folder:
        yield folder


@pytest.fixture
def broker_url(home: Path) -> Generator[str]:
    """A fresh broker of our own on `home`, as `./afterturn up` starts it."""
    running = broker.start(home)
    try:
        yield embedded_broker_url(home)
    finally:
        broker.stop(home)
        if running.process is not None:
            running.process.wait(timeout=10)


@pytest.fixture(scope="session")
def postgres_cluster() -> Generator[str]:
    """AFTERTURN_TEST_POSTGRES_URL, else a cluster started for this run, else a skip that says so."""
    if given := os.environ.get("AFTERTURN_TEST_POSTGRES_URL"):
        yield given
        return
    programs = postgres_folder()
    if programs is None:
        pytest.skip("no PostgreSQL: set AFTERTURN_TEST_POSTGRES_URL or install postgresql")
    with postgres(programs) as url:
        yield url


@pytest.fixture
def postgres_url(postgres_cluster: str) -> Generator[str]:
    """A fresh, empty PostgreSQL database."""
    with postgres_database(postgres_cluster) as url:
        yield url


@pytest.fixture(scope="session")
def weaviate_address(testrun_uid: str) -> Generator[Address]:
    """AFTERTURN_TEST_WEAVIATE_URL, else the one node of this run, else a skip that says so."""
    if (server := given()) is not None:
        yield server
        return
    if not can_start():
        pytest.skip(WHY_SKIPPED)
    with shared(testrun_uid) as address:
        yield address


@pytest.fixture(scope="session")
def weaviate_place(weaviate_address: Address) -> Generator[str]:
    """An index on it for the tests of one process, whose tests take a tenant each."""
    alias = f"At{uuid4().hex}"
    yield json.dumps([alias, *weaviate_address])
    drop(weaviate_address, alias)

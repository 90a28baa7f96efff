"""Agents with a spool: a folder, publishers in this process, and scripts in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from afterturn import Credential, Publisher
from client_fixtures import Broker, environment, events_in

HEAD = """
import os, signal, sys, threading, time
from afterturn import Publisher
pub = Publisher(durability="spool")
"""
MIB = 1024 * 1024
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def make(broker: Broker, credential: Credential, folder: Path) -> Iterator[Callable[..., Publisher]]:
    made: list[Publisher] = []

    def publisher(url: str = broker.url, **options: Any) -> Publisher:
        made.append(Publisher(credential.text(), url, "spool", spool=folder, **options))
        return made[-1]

    yield publisher
    for one in made:
        one.close()


def say(publisher: Publisher, count: int, first: int = 0) -> list[str]:
    return [publisher.turn("u1", "s1", "user", f"turn {number}") for number in range(first, first + count)]


def contents(broker: Broker, credential: Credential) -> list[str]:
    return [str(event["content"]) for event in events_in(broker, credential)]


def ids(broker: Broker, credential: Credential) -> set[str]:
    return {str(event["event_id"]) for event in events_in(broker, credential)}


def segments(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.seg"))


def run(script: str, broker: Broker, credential: Credential, folder: Path, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HEAD + script],
        env={**environment(broker, credential), "AFTERTURN_HOME": str(folder.parent), **changes},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(agent: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = agent.communicate(timeout=200)
    return agent.returncode, out, err

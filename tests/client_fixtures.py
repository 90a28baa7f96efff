"""A broker of our own for the client's tests: the real server, on a free port, in a scratch folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from afterturn import Credential, generate_credential
from afterturn.batches import decode_batch
from afterturn.credentials import seal_key
from afterturn.sealing import open_sealed
from services import free_port, freeze
from workers.broker import find_binary


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Returns when the condition holds; fails when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold in time"
        time.sleep(0.01)


class Broker:
    """A server that can be stopped, frozen, filled and started again on the same port and folder.

    `remembers`: it writes a log. `binary`: default, what the launcher finds.
    """

    def __init__(self, *, remembers: bool = True, binary: str | None = None) -> None:
        self._binary = binary or str(find_binary())
        self._appends = "yes" if remembers else "no"
        self.folder = Path(tempfile.mkdtemp(prefix="at-"))
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.socket_url = f"redis+socket://{self.folder}/s.sock?virtual_host=0"
        self.process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(port=self.port, socket_timeout=5)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                self._binary,
                *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""),
                *("--unixsocket", str(self.folder / "s.sock")),
                *("--appendonly", self._appends, "--maxmemory-policy", "noeviction"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_until(self._answers)

    def _answers(self) -> bool:
        with contextlib.suppress(redis.ConnectionError):
            return bool(self.client.ping())  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
        return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        assert self.process is not None
        freeze(self.process.pid)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def messages(self) -> list[str]:
        """What waits in the queue, oldest first."""
        elements: list[bytes] = self.client.lrange("afterturn:v1:ingest", 0, -1)  # pyright: ignore[reportAssignmentType, reportUnknownMemberType] - redis types both clients at once
        return [element.decode() for element in reversed(elements)]

    def close(self) -> None:
        self.client.close()
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def broker() -> Iterator[Broker]:
    running = Broker()
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture
def credential() -> Credential:
    return generate_credential()


def blob_of(message: str) -> str:
    """The sealed blob of a queued message."""
    import json

    envelope = json.loads(message)
    body = json.loads(envelope["body"])
    return str(body[0][0])


def events_in(broker: Broker, credential: Credential) -> list[dict[str, object]]:
    """Every event in the queue, opened with the credential's key, in order."""
    keys = {credential.key_id: seal_key(credential.secret)}
    return [
        event
        for message in broker.messages()
        for event in decode_batch(open_sealed(blob_of(message), keys.get).payload).events
    ]


def environment(broker: Broker, credential: Credential) -> dict[str, str]:
    """For an agent in a process of its own."""
    return {**os.environ, "AFTERTURN_KEY": credential.text(), "AFTERTURN_BROKER_URL": broker.url}

"""A broker of a benchmark's own, to freeze, fill and kill, with a publisher before it and receipts behind it."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from typing import Literal

import redis

from afterturn import Credential, Publisher
from workers.broker import find_binary

Durability = Literal["memory", "spool"]
DURABILITIES: tuple[Durability, ...] = ("memory", "spool")


class Server:
    """A broker on a free port in a scratch folder, ours to freeze and to kill."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="at-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = redis.Redis(port=self.port, socket_timeout=30)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [
                *(find_binary(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder),
                *("--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction"),
            ],
            stdout=subprocess.DEVNULL,
        )
        while True:
            with contextlib.suppress(redis.ConnectionError):
                self.client.ping()  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
                return process
            time.sleep(0.01)

    def limit(self, size: int) -> None:
        """Sets maxmemory; 1 is full, 0 is no limit."""
        self.client.config_set("maxmemory", size)  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments

    def signal(self, number: int) -> None:
        """Sends a signal to the server."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Ends the server, frozen or not."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Ends the server and removes its folder."""
        self.kill()
        self.client.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def roomy(server: Server, credential: Credential, durability: Durability) -> Publisher:
    """A publisher that has room for a whole measurement."""
    return Publisher(
        credential.text(),
        server.url,
        durability,
        spool=server.folder,
        max_events=10**6,
        max_bytes=10**9,
        spool_bytes=10**9,
    )


ANSWERS = """
import sys, time
import redis
from afterturn import parse_credential
from afterturn.credentials import seal_key
from afterturn.receipts import BatchReceipt, list_name, seal_receipt
from afterturn.sealing import open_sealed
import json
key = seal_key(parse_credential(sys.argv[2]).secret)
broker = redis.Redis(port=int(sys.argv[1]))
while True:
    try:
        element = broker.rpop("afterturn:v1:ingest")
        if element is None:
            time.sleep(0.01)
            continue
        opened = open_sealed(json.loads(json.loads(element)["body"])[0][0], lambda _: key)
        told = BatchReceipt(opened.message_id, (("stored", 0),))
        broker.rpush(list_name(key, opened.producer), seal_receipt(told, key, opened.producer))
    except redis.RedisError:
        time.sleep(0.1)
"""


@contextlib.contextmanager
def answering(server: Server, credential: Credential) -> Generator[None]:
    """Receipts for whatever comes, from another process: their share of the Publisher's CPU belongs to the figures."""
    process = subprocess.Popen([sys.executable, "-c", ANSWERS, str(server.port), credential.text()])
    try:
        yield
    finally:
        process.kill()
        process.wait()

"""Whoever takes batches from a test's broker and answers them, with the wire's own functions; real workers do so in
the acceptance tests."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import redis

from afterturn import Credential
from afterturn.batches import decode_batch
from afterturn.credentials import seal_key
from afterturn.receipts import BatchReceipt, State, list_name, runs_of, seal_receipt
from afterturn.sealing import Opened, open_sealed
from client_fixtures import Broker, blob_of

QUEUE = "afterturn:v1:ingest"


class Intake:
    """Takes messages off the queue in a thread of its own, keeps their events by id, and answers as a worker does.

    `answers` decides what is answered: None is no answer at all.
    """

    def __init__(
        self,
        broker: Broker,
        credential: Credential,
        answers: Callable[[Opened, list[State]], list[State] | None] = lambda _, states: states,
    ) -> None:
        self.events: dict[str, dict[str, object]] = {}
        self.messages = 0
        self.blobs: list[str] = []
        self._key = seal_key(credential.secret)
        self._answers = answers
        self._client = redis.Redis(port=broker.port, socket_timeout=5)
        self._over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over = True
        self._thread.join(10)
        self._client.close()

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def contents(self) -> list[str]:
        return [str(event["content"]) for event in list(self.events.values())]

    def _run(self) -> None:
        books: Any = self._client
        while not self._over:
            with contextlib.suppress(redis.RedisError):
                if element := cast("bytes | None", books.rpop(QUEUE)):
                    self._take(blob_of(element.decode()))
                    continue
            time.sleep(0.005)

    def _take(self, blob: str) -> None:
        opened = open_sealed(blob, lambda _: self._key)
        self.blobs.append(blob)
        states: list[State] = []
        for event in decode_batch(opened.payload).events:
            states.append("duplicate" if event["event_id"] in self.events else "stored")
            self.events.setdefault(str(event["event_id"]), event)
        self.messages += 1
        told = self._answers(opened, states)
        if told is not None:
            sealed = seal_receipt(BatchReceipt(opened.message_id, runs_of(told)), self._key, opened.producer)
            self._client.rpush(list_name(self._key, opened.producer), sealed)

"""What a broker held when it lost everything: read in the moment of the loss, and opened with the agents' own keys.

So a run knows exactly which batches were destroyed, instead of forgiving whatever is missing in the end.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from afterturn.batches import decode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.envelope import TASK
from afterturn.errors import BadBatch, BadSeal
from afterturn.sealing import open_sealed
from stores.settings import embedded_broker_url
from tasks.app import PREFIX
from workers import broker

QUEUE = f"{PREFIX}ingest"
UNACKED = f"{PREFIX}unacked.ingest"


def flush(broker_url: str) -> list[str]:
    """Empties the broker, and answers the ingest messages that it held, in one step for everybody else."""
    client: Any = broker.connect(broker_url)
    try:
        with client.pipeline(transaction=True) as line:
            line.lrange(QUEUE, 0, -1)
            line.hvals(UNACKED)
            line.flushall()
            queued, unacked, _ = line.execute()
    finally:
        client.close()
    return _messages(queued, unacked)


def forget(broker_home: Path, binary: Path) -> list[str]:
    """Takes the files of a dead broker away, and answers the ingest messages that they held."""
    files = broker_home / "broker" / "appendonlydir"
    if not files.is_dir():
        return []
    with tempfile.TemporaryDirectory(prefix="at-") as copy:
        shutil.move(files, Path(copy) / "broker" / "appendonlydir")
        running = broker.start(Path(copy), binary=binary)
        client: Any = broker.connect(embedded_broker_url(Path(copy)))
        try:
            return _messages(client.lrange(QUEUE, 0, -1), client.hvals(UNACKED))
        finally:
            client.close()
            broker.stop(Path(copy))
            if running.process is not None:
                running.process.wait()


def event_ids(messages: Iterable[str], credentials: Iterable[str]) -> set[UUID]:
    """The events in these messages. What no key opens (a planted batch) holds none."""
    keys = {found.key_id: seal_key(found.secret) for found in map(parse_credential, credentials)}
    ids: set[UUID] = set()
    for message in messages:
        ids |= _events(message, keys)
    return ids


def _events(message: str, keys: Mapping[str, bytes]) -> set[UUID]:
    """An unacknowledged hint lies in the same book; nothing is lost with it."""
    envelope: dict[str, Any] = json.loads(message)
    if envelope["headers"]["task"] != TASK:
        return set()
    blob = json.loads(_body(envelope))[0][0]
    try:
        opened = open_sealed(str(blob), keys.get)
        return {UUID(str(event["event_id"])) for event in decode_batch(opened.payload).events}
    except (BadSeal, BadBatch):
        return set()


def _body(envelope: Mapping[str, Any]) -> str:
    body = str(envelope["body"])
    return base64.b64decode(body).decode() if envelope["properties"].get("body_encoding") == "base64" else body


def _messages(queued: list[bytes], unacked: list[bytes]) -> list[str]:
    """Kombu keeps an unacknowledged message as [message, exchange, routing key]."""
    held = [json.dumps(cast("list[Any]", json.loads(raw))[0]) for raw in unacked]
    return [raw.decode() for raw in queued] + held

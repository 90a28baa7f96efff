"""Sealed batches as an agent's Publisher sends them, put into the ingest queue by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from redis import Redis

from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.envelope import wrap
from afterturn.ids import uuid7
from afterturn.sealing import Sealer
from delivery_fixtures import START, World
from tasks.app import PREFIX

Message = tuple[str, str]


def queue(name: str) -> str:
    """The key of a queue at the broker."""
    return f"{PREFIX}{name}"


def sealed(world: World, events: Sequence[dict[str, Any]]) -> Message:
    """A sealed batch and its message id, to be sent as often as a test likes."""
    parsed = parse_credential(world.credential)
    message_id = uuid7()
    plain = [{name: str(value) if isinstance(value, UUID) else value for name, value in one.items()} for one in events]
    blob = Sealer(parsed.key_id, seal_key(parsed.secret), uuid7()).seal(message_id, encode_batch(plain, sent_at=START))
    return blob, str(message_id)


def push(client: Redis, message: Message) -> None:
    """Sends it once."""
    blob, message_id = message
    client.lpush(queue("ingest"), wrap(blob, message_id, str(uuid7())))


def is_quiet(client: Redis) -> bool:
    """Nothing waits for the ingest worker, and nothing is in its hands."""
    return not client.llen(queue("ingest")) and not client.hlen(queue("unacked.ingest"))

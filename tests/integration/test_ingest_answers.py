"""What the ingest worker answers to a batch's sender, after the commit, and where the answer waits."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import zstandard
from sqlmodel import Session

from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.ids import uuid7
from afterturn.receipts import CAP, BatchReceipt, Fault, list_name, open_receipt
from afterturn.sealing import Sealer
from client_fixtures import Broker, broker
from delivery_fixtures import START, World, turn, world
from schemas.errors import BadBatch, Forbidden
from stores import dead, ledger, tenancy
from stores.receipts import ReceiptBox
from tasks.ingest import ingest_batch
from tasks.receipts import Sender, answer_through

__all__ = ["broker", "world"]


class Answers:
    """Keeps what was answered, and what the ledger held at that moment."""

    def __init__(self, world: World) -> None:
        self.told: list[tuple[Sender, BatchReceipt]] = []
        self.committed: list[int] = []
        self._world = world

    def __call__(self, sender: Sender, receipt: BatchReceipt) -> None:
        with self._world.db.read() as session:
            self.committed.append(sum(ledger.states(session).values()))
        self.told.append((sender, receipt))

    @property
    def runs(self) -> list[tuple[tuple[str, int], ...]]:
        return [receipt.runs for _, receipt in self.told]

    @property
    def faults(self) -> list[tuple[Fault, ...]]:
        return [receipt.faults for _, receipt in self.told]


@pytest.fixture
def answers(world: World) -> Answers:
    return Answers(world)


def payload(*events: dict[str, Any]) -> bytes:
    plain = [{name: str(value) if isinstance(value, UUID) else value for name, value in one.items()} for one in events]
    return encode_batch(plain, sent_at=START)


def seal(credential: str, content: bytes, producer: UUID, message_id: UUID) -> str:
    parsed = parse_credential(credential)
    return Sealer(parsed.key_id, seal_key(parsed.secret), producer).seal(message_id, content)


def test_each_event_is_answered_after_the_commit(world: World, answers: Answers):
    producer, message_id = uuid7(), uuid7()
    stored, twice, wrong = turn("one", 0), turn("two", 1), turn("", 2)
    blob = seal(world.credential, payload(stored, twice, twice, wrong), producer, message_id)

    ingest_batch(world.kit, blob, answer=answers)
    ingest_batch(world.kit, blob, answer=answers)

    (sender, first), (_, second) = answers.told
    assert (sender.producer, sender.message_id) == (producer, message_id)
    assert sender.seal_key == seal_key(parse_credential(world.credential).secret)
    assert "seal_key" not in repr(sender)
    assert first.runs == (("stored", 2), ("duplicate", 1), ("rejected", 1))
    assert first.faults == (Fault(str(wrong["event_id"]), "rejected", "bad_event", "content"),)
    assert second.runs == (("duplicate", 3), ("rejected", 1))
    assert answers.committed == [3, 3]


def test_a_batch_that_ends_as_one_is_answered_as_one(world: World, answers: Answers):
    producer = uuid7()
    newer = zstandard.ZstdCompressor().compress(b'{"v": 99}')

    with pytest.raises(BadBatch):
        ingest_batch(world.kit, seal(world.credential, b"no batch", producer, uuid7()), answer=answers)
    ingest_batch(world.kit, seal(world.credential, newer, producer, uuid7()), answer=answers)

    assert answers.runs == [(("dead", 0),), (("stored", 0),)]
    assert answers.faults == [(Fault(None, "dead", "not_compressed"),), ()]


def test_a_batch_whose_every_attempt_was_lost_is_answered_as_dead(world: World, answers: Answers):
    import hashlib

    blob = seal(world.credential, payload(turn()), uuid7(), uuid7())
    name = hashlib.sha256(blob.encode()).hexdigest()[:32]
    for _ in range(3):
        world.db.write(lambda session: dead.begin_attempt(session, name))

    ingest_batch(world.kit, blob, redelivered=True, answer=answers)

    assert answers.faults == [(Fault(None, "dead", "lost_workers"),)]


def test_a_key_without_the_right_or_revoked_is_told_so_and_an_unknown_one_nothing(world: World, answers: Answers):
    def make(session: Session) -> tuple[str, str]:
        tenant = tenancy.create_tenant(session, "others")
        mute, gone = (tenancy.create_key(session, tenant, ("recall",))[1] for _ in range(2))
        tenancy.revoke(session, parse_credential(gone).key_id)
        return mute, gone

    mute, gone = world.db.write(make)

    with pytest.raises(Forbidden):
        ingest_batch(world.kit, seal(mute, payload(turn()), uuid7(), uuid7()), answer=answers)
    unknown = f"at_{'a' * 12}_{gone[16:]}"
    for credential in (gone, unknown):
        with pytest.raises(BadBatch):
            ingest_batch(world.kit, seal(credential, payload(turn()), uuid7(), uuid7()), answer=answers)
    with pytest.raises(BadBatch):
        ingest_batch(world.kit, "not base64!", answer=answers)

    assert answers.runs == [(("rejected", 0),), (("dead", 0),)]
    assert answers.faults == [(Fault(None, "rejected", "forbidden"),), (Fault(None, "dead", "key_revoked"),)]
    assert len(answers.committed) == 2


def test_receipts_wait_in_a_short_list_that_ends_by_itself(broker: Broker):
    books: Any = broker.client
    box = ReceiptBox(f"redis://127.0.0.1:{broker.port}/0")
    sender = Sender(uuid7(), uuid7(), bytes(32))
    receipt = BatchReceipt(sender.message_id, (("stored", 7),))
    name = list_name(sender.seal_key, sender.producer)
    books.rpush(name, *["old"] * (CAP + 10))

    answer_through(box)(sender, receipt)
    box.close()

    assert books.llen(name) == CAP
    assert 0 < books.ttl(name) <= 3600
    assert len(books.get("afterturn:v1:epoch")) == 32
    assert open_receipt(books.lindex(name, -1), sender.seal_key, sender.producer) == receipt


def test_an_epoch_that_is_there_stays(broker: Broker):
    books: Any = broker.client
    books.set("afterturn:v1:epoch", "as it was")
    box = ReceiptBox(f"redis://127.0.0.1:{broker.port}/0")

    assert box.put("afterturn:v1:receipts:x", b"receipt")
    box.close()

    assert books.get("afterturn:v1:epoch") == b"as it was"


def test_a_broker_that_is_away_costs_a_receipt_and_no_more(broker: Broker):
    now = [0.0]
    box = ReceiptBox(f"redis://127.0.0.1:{broker.port}/0", clock=lambda: now[0])
    broker.kill()

    assert not box.put("afterturn:v1:receipts:x", b"lost")
    broker.start()
    assert not box.put("afterturn:v1:receipts:x", b"left alone for a second")
    now[0] += 2
    assert box.put("afterturn:v1:receipts:x", b"there")
    box.close()

    assert box.lost == 2

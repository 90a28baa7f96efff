"""What became of events, per event for a caller and per batch for the publisher that sent it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast
from uuid import UUID

from afterturn.receipts import WHOLE, BatchReceipt, Fault, State, list_name, runs_of, seal_receipt
from afterturn.sealing import Opened
from stores.ledger import Tally
from stores.receipts import ReceiptBox


class Receipt(NamedTuple):
    """What became of one event: stored, duplicate, rejected or dead; `code` says why, `field` where."""

    event_id: UUID | None
    state: str
    code: str | None = None
    field: str | None = None


def tally(receipts: Sequence[Receipt]) -> Tally:
    """How many receipts say what."""
    states = [receipt.state for receipt in receipts]
    return Tally(*(states.count(name) for name in Tally._fields))


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sealed a batch, as its seal proves; all that is needed to answer."""

    producer: UUID
    message_id: UUID
    seal_key: bytes = field(repr=False)


Answer = Callable[[Sender, BatchReceipt], object]


def nobody(sender: Sender, receipt: BatchReceipt) -> None:
    """Answers no one: for a batch that did not come from the broker just now."""


def sender_of(opened: Opened, seal_key: bytes) -> Sender:
    """Who sealed what has been opened under this key."""
    return Sender(opened.producer, opened.message_id, seal_key)


def of_events(sender: Sender, receipts: Sequence[Receipt]) -> BatchReceipt:
    """The receipt of a batch whose events were judged, one receipt each."""
    faults = tuple(
        Fault(
            None if one.event_id is None else str(one.event_id),
            cast("State", one.state),
            one.code or "unknown",
            one.field,
        )
        for one in receipts
        if one.state in ("rejected", "dead")
    )
    return BatchReceipt(sender.message_id, runs_of(cast("State", one.state) for one in receipts), faults)


def of_batch(sender: Sender, state: State, code: str) -> BatchReceipt:
    """The receipt of a batch that ended as one."""
    faults = () if state == "stored" else (Fault(None, state, code),)
    return BatchReceipt(sender.message_id, ((state, WHOLE),), faults)


def answer_through(box: ReceiptBox) -> Answer:
    """Answers senders through their lists in the broker."""

    def answer(sender: Sender, receipt: BatchReceipt) -> bool:
        sealed = seal_receipt(receipt, sender.seal_key, sender.producer)
        return box.put(list_name(sender.seal_key, sender.producer), sealed)

    return answer

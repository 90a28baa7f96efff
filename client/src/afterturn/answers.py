"""What the workers said about this publisher's messages: counted, and told to whoever asked for it.

Loaded by the sender's thread alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from uuid import UUID

from afterturn.batches import decode_batch
from afterturn.errors import BadSeal
from afterturn.forks import fork_gate
from afterturn.outgoing import Message
from afterturn.pending import Pending
from afterturn.receipts import BatchReceipt, OnReject, list_name, open_receipt
from afterturn.sealing import open_sealed

log = logging.getLogger("afterturn")


class Answers:
    """Reads receipts of one producer. A receipt that is forged, foreign or not waited for changes nothing."""

    def __init__(self, seal_key: bytes, producer: UUID, on_reject: OnReject | None) -> None:
        self._seal_key = seal_key
        self._producer = producer
        self._on_reject = on_reject
        self.list_name = list_name(seal_key, producer)
        self.stored = self.duplicates = self.rejected = self.dead = self.forged = 0

    def read(self, elements: Sequence[bytes], pending: Pending, now: float) -> list[Message]:
        """The messages that these receipts settle."""
        settled: list[Message] = []
        for element in elements:
            try:
                with fork_gate:
                    receipt = open_receipt(element, self._seal_key, self._producer)
            except BadSeal as exc:
                self.forged += 1
                log.warning("receipt left out: code=%s", exc.code)
                continue
            message = pending.settle(receipt.message_id, now)
            if message is not None:  # Else the second receipt of a message that was sent twice.
                self._count(receipt, message)
                settled.append(message)
        return settled

    def _count(self, receipt: BatchReceipt, message: Message) -> None:
        self.stored += receipt.count("stored", message.event_count)
        self.duplicates += receipt.count("duplicate", message.event_count)
        self.rejected += receipt.count("rejected", message.event_count)
        self.dead += receipt.count("dead", message.event_count)
        if receipt.faults and self._on_reject is not None:
            for event_id, code, field in self._faults(receipt, message):
                self._tell(self._on_reject, event_id, code, field)

    def _faults(self, receipt: BatchReceipt, message: Message) -> Iterator[tuple[str, str, str | None]]:
        for fault in receipt.faults:
            # A batch that ended as one names no event: its own blob, opened again, does.
            for event_id in self._event_ids(message) if receipt.is_whole else [fault.event_id or ""]:
                yield event_id, fault.code, fault.field

    def _event_ids(self, message: Message) -> list[str]:
        with fork_gate:
            opened = open_sealed(message.blob, lambda _: self._seal_key)
            return [str(event["event_id"]) for event in decode_batch(opened.payload).events]

    def _tell(self, on_reject: OnReject, event_id: str, code: str, field: str | None) -> None:
        try:
            on_reject(event_id, code, field)
        except Exception as exc:  # The agent's bug must not end its publisher.
            log.error("on_reject failed: error=%s", type(exc).__name__)

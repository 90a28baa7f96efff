"""What a publisher counts: every event that was published is in exactly one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from afterturn.breaker import BrokerState

if TYPE_CHECKING:
    from afterturn.buffer import Buffer
    from afterturn.durability import Spooling
    from afterturn.sender import Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What became of this process's events so far; a forked child counts from zero.

    published = accepted + refused (at a bound, on a full disk, after close)
    accepted = sent + failed (could not be encoded) + waiting
    sent = receipted + unreceipted: in the broker, with the workers' word on it or without
    stored, duplicates, rejected, dead: that word, for each event; those of `adopted` batches are among them

    resent: events sent again because the broker may have lost them. adopted: events of dead processes, sent here.
    damaged: events that could not be read back from a spool, most of them half written by a death.
    spooled_bytes: on disk, in segments with events that wait for their receipt.
    masked: secrets masked. messages: batches sent, re-sent ones left out. forged: receipts that did not open.
    broker: how it was when last asked. failures: attempts to reach it that did not work; last_error: the present one's
    class. hears_receipts: False where the key may not fetch them; `receipted` then counts what the broker took.
    """

    published: int = 0
    accepted: int = 0
    refused: int = 0
    waiting: int = 0
    sent: int = 0
    failed: int = 0
    receipted: int = 0
    unreceipted: int = 0
    stored: int = 0
    duplicates: int = 0
    rejected: int = 0
    dead: int = 0
    resent: int = 0
    adopted: int = 0
    damaged: int = 0
    spooled_bytes: int = 0
    masked: int = 0
    messages: int = 0
    forged: int = 0
    broker: BrokerState = "unknown"
    failures: int = 0
    last_error: str | None = None
    hears_receipts: bool = True


def stats_of(buffer: Buffer, sender: Sender | None, spooling: Spooling | None = None) -> Stats:
    """The counts as they stand."""
    with buffer.lock:
        answers = sender.answers if sender else None
        unreadable = spooling.buffer.unreadable if spooling else 0
        failed = unreadable + (sender.failed if sender else 0)
        return Stats(
            published=buffer.accepted + buffer.refused,
            accepted=buffer.accepted,
            refused=buffer.refused,
            waiting=buffer.held,
            unreceipted=buffer.unreceipted,
            stored=answers.stored if answers else 0,
            duplicates=answers.duplicates if answers else 0,
            rejected=answers.rejected if answers else 0,
            dead=answers.dead if answers else 0,
            forged=answers.forged if answers else 0,
            sent=sender.sent if sender else 0,
            failed=failed,
            receipted=buffer.released - failed,
            resent=sender.resent if sender else 0,
            adopted=sender.adopted if sender else 0,
            damaged=unreadable + (spooling.takeover.damaged if spooling else 0),
            spooled_bytes=spooling.spool.unsettled_bytes if spooling else 0,
            masked=sender.masked if sender else 0,
            messages=sender.messages if sender else 0,
            broker=sender.broker if sender else "unknown",
            failures=sender.failures if sender else 0,
            last_error=sender.last_error if sender else None,
            hears_receipts=sender.hears_receipts if sender else True,
        )

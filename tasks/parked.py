"""Reads again what an older version had to park: events and batches of a newer producer, sent before this upgrade."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any, cast

from sqlmodel import Session

from schemas.delivery import EventState
from schemas.envelopes import disclose, disclose_json
from schemas.errors import BadBatch, Forbidden
from schemas.tables import DeadLetter
from stores import dead, ledger, tenancy
from stores.ledger import Tally
from tasks.arrivals import Unread, judge
from tasks.ingest import BatchInfo, Receipt, ingest_batch, keep
from tasks.intake import Stores

logger = logging.getLogger(__name__)

LETTERS = 1000
OVERLAP = timedelta(seconds=5)


class ParkedReader:
    """Reads what is parked, each letter once: what this version cannot read today it cannot read in two seconds.

    One for each process. In a rolling upgrade older workers go on parking while newer ones already read.
    """

    def __init__(self) -> None:
        self._place: datetime | None = None

    def read(self, kit: Stores) -> int:
        """Takes in what this version can read of what was parked since the last call; answers how many letters.

        What is newer still stays parked. Repeat: harmless. An event was counted when it arrived, and is not again.
        """
        with kit.db.read() as session:
            letters = dead.parked(session, limit=LETTERS, after=self._place)
        read = sum(_read(kit, letter) for letter in letters)
        if letters:
            # A transaction that began before the newest letter's may still be under way.
            self._place = letters[-1].first_at if len(letters) == LETTERS else letters[-1].first_at - OVERLAP
        if read:
            logger.info("parked read=%d left=%d", read, len(letters) - read)
        return read


def read_parked(kit: Stores) -> int:
    """Takes in what is parked and can be read by this version; answers how many letters that were."""
    return ParkedReader().read(kit)


def _read(kit: Stores, letter: DeadLetter) -> bool:
    if letter.payload is None:
        return False
    if letter.tenant_id is not None:
        return kit.db.write(lambda session: _event(session, kit, letter))
    try:
        receipts = ingest_batch(kit, disclose(letter.payload), arrived_at=letter.first_at)
    except BadBatch:
        receipts = []  # it is a dead letter of its own now
    else:
        if not receipts:
            return False
    return kit.db.write(lambda session: dead.resolve(session, letter.id))


def take_again(session: Session, kit: Stores, letter: DeadLetter, *, counted: str) -> Receipt | None:
    """Keeps the event of a letter as if it arrived now, and says what it became; None when it cannot be read yet.

    It was counted as `counted` when it arrived, and is counted as what it became from now on, on its own day.
    Raises: Forbidden when its key was revoked: an operator decides.
    """
    held = cast("dict[str, Any]", disclose_json(letter.payload or b""))
    key = tenancy.key_info(session, str(held["key_id"]), at=letter.first_at)
    judged = judge(held["event"], key, parks=True)
    if isinstance(judged, Unread) or judged.event_id is None or not dead.resolve(session, letter.id):
        return None
    # The ledger holds the hash of what could not be read; as a rejected entry it makes way for the event itself.
    ledger.mark(session, key.tenant_id, [judged.event_id], EventState.REJECTED, "taken_again")
    info = BatchInfo(producer=str(held["producer"]), clock_offset_ms=held["clock_offset_ms"], is_counted=False)
    (receipt,) = keep(session, kit, key, [judged], info)
    if receipt.state != counted:
        moved = Tally(**{counted: -1, receipt.state: 1})
        ledger.count(session, key.tenant_id, letter.first_at, {info.producer: moved})
    return receipt


def _event(session: Session, kit: Stores, letter: DeadLetter) -> bool:
    try:
        return take_again(session, kit, letter, counted="stored") is not None
    except Forbidden:
        return False

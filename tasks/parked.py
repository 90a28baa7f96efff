"""Reads again what an older version had to park: events and batches of a newer producer, sent before this upgrade."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

from sqlmodel import Session

from schemas.delivery import EventState
from schemas.envelopes import disclose, disclose_json
from schemas.errors import BadBatch, Forbidden
from schemas.tables import DeadLetter
from stores import dead, ledger, tenancy
from tasks.arrivals import Unread, judge
from tasks.ingest import BatchInfo, ingest_batch, keep
from tasks.intake import Stores

logger = logging.getLogger(__name__)

LETTERS = 1000


def read_parked(kit: Stores) -> int:
    """Takes in everything parked that this version can read; answers how many letters that were.

    What is newer still stays parked. Repeat: harmless. An event was counted when it arrived and is not counted again.
    """
    with kit.db.read() as session:
        letters = dead.parked(session, limit=LETTERS)
    read = sum(_read(kit, letter) for letter in letters)
    if letters:
        logger.info("parked read=%d left=%d", read, len(letters) - read)
    return read


def _read(kit: Stores, letter: DeadLetter) -> bool:
    if letter.payload is None:
        return False
    if letter.tenant_id is not None:
        event = cast("dict[str, Any]", disclose_json(letter.payload))
        return kit.db.write(lambda session: _event(session, kit, letter, event))
    try:
        receipts = ingest_batch(kit, disclose(letter.payload))
    except BadBatch:
        receipts = []  # it is a dead letter of its own now
    else:
        if not receipts:
            return False
    return kit.db.write(lambda session: dead.resolve(session, letter.id))


def _event(session: Session, kit: Stores, letter: DeadLetter, parked: dict[str, Any]) -> bool:
    try:
        key = tenancy.key_info(session, str(parked["key_id"]))
    except Forbidden:
        return False  # the key was revoked: an operator decides
    judged = judge(parked["event"], key, parks=True)
    if isinstance(judged, Unread) or judged.event_id is None or not dead.resolve(session, letter.id):
        return False
    # The ledger holds the hash of what nobody could read; as a rejected entry it makes way for the event itself.
    ledger.mark(session, key.tenant_id, [judged.event_id], EventState.REJECTED, "parked")
    info = BatchInfo(producer=str(parked["producer"]), clock_offset_ms=parked["clock_offset_ms"])
    keep(session, kit, key, [judged], replace(info, is_counted=False))
    return True
